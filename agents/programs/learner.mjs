#!/usr/bin/env node
/* A program that learns while it plays, in JavaScript for Node: it prefers the actions after which it has won. Rate it:

   ttt tournament tic_tac_dice --agents random program:agents/programs/learner.mjs

   Games are played side by side, so what belongs to one is kept under its number, from `start` to `end`. */

import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const worth = new Map(); // name of an action: [sum of rewards, number of games]
const played = new Map(); // number of a game: names of the actions that were played in it

function best(names) {
  const mean = (name) => {
    const [sum, games] = worth.get(name) ?? [1, 1]; // what was never tried is worth trying
    return sum / games;
  };
  return names.reduce((a, b) => (mean(b) > mean(a) ? b : a));
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "hello") {
    say({ type: "ready", protocol: 1 });
  } else if (message.type === "start") {
    played.set(message.game, new Set());
  } else if (message.type === "question") {
    const name = best(message.names);
    played.get(message.game)?.add(name); // outside of tournaments there is no start, and `game` is null
    say({ type: "answer", id: message.id, action: name });
  } else if (message.type === "end") {
    for (const name of played.get(message.game)) {
      const [sum, games] = worth.get(name) ?? [0, 0];
      worth.set(name, [sum + message.reward, games + 1]);
    }
    played.delete(message.game);
  } else if (message.type === "quit") {
    break;
  }
}
