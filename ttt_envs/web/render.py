"""Pictures, texts and actions of a game for a browser, from a viewer's view."""

from collections.abc import Sequence
from typing import Any

from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text
from ttt_envs.drawing.frame import without_words
from ttt_envs.drawing.theme import unlit
from ttt_envs.evaluation.analysis import GRADES, Judgement, Thoughts, grade_of
from ttt_envs.registry import options_of
from ttt_envs.web.catalog import opponent, title_of
from ttt_envs.web.games import ServedGame


def position(game: Game, state: Any, viewer: int | None) -> dict[str, Any]:
    """Return the picture and the text of a position in the viewer's view; the first line of the text is the caption.

    The words in the picture are removed; its headline is the entry "head".
    """
    text = game.format_state(state, viewer)
    tips = [[*box, said] for box, said in game.faces.tips(state, viewer)]
    svg, head = without_words(game.draw(state, viewer))
    return {"svg": svg, "head": head, "text": text, "caption": text.splitlines()[0], "tips": tips}


def still(game: Game, state: Any, viewer: int | None) -> dict[str, Any]:
    """Return `position` without yellow, which marks what can be chosen, for a position in which nothing can be."""
    seen = position(game, state, viewer)
    return seen | {"svg": unlit(seen["svg"])}


def clickable(game: Game, state: Any, viewer: int | None, actions: Sequence[int]) -> dict[str, Any]:
    """Return action names with the spots to click, and the places of the spots on the viewer's picture.

    A game without spots has no clicks; the page then lists the names.
    """
    if game.spots is None or game.clicks is None:
        return {"actions": [{"name": game.action_names[action], "clicks": []} for action in actions], "spots": {}}
    found = [{"name": game.action_names[action], "clicks": list(game.clicks(state, action))} for action in actions]
    used = {name for each in found for name in each["clicks"]}
    spots = game.spots(state, viewer)
    return {"actions": found, "spots": {name: list(box) for name, box in spots.items() if name in used}}


def landed(game: Game, states: Sequence[Any], joint: Sequence[int], viewer: int | None) -> list[list[float]]:
    """Return the boxes of the spots of the actions `joint`, if they are at the same place before and after the step."""
    if game.spots is None or game.clicks is None:
        return []
    before, after = (game.spots(state, viewer) for state in states)
    clicked = {name for action in joint if action >= 0 for name in game.clicks(states[0], action)}
    return [list(box) for name, box in before.items() if name in clicked and after.get(name) == box]


def result(game: Game, state: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the end of a game: the winners, a sentence on the result with the players' names, and the rewards."""
    rewards = [float(reward) for reward in state["rewards"]]
    winners, how = [player for player, reward in enumerate(rewards) if reward > 0], ending(game, state)
    who = " and ".join(names[player] for player in winners)
    win = "win" if len(winners) > 1 or who == "You" else "wins"
    return {"winners": winners, "rewards": rewards, "whole": f"{who} {win}: {how}" if winners else f"Draw: {how}"}


def ending(game: Game, state: Any) -> str:
    """Return how a game or a round ended: by `Faces.ending` or, without it, the first line of the state as text."""
    if game.faces.ending is not None:
        return game.faces.ending(state)
    return game.format_state(state, None).splitlines()[0].removeprefix("over: ")


def moves(game: Game, actions: Sequence[Sequence[int]]) -> list[list[tuple[int, str]]]:
    """Return for each ply the players and the names of their actions."""
    return [[(player, game.action_names[a]) for player, a in enumerate(joint) if a >= 0] for joint in actions]


def spoken_names(game: Game) -> dict[str, str]:
    """Return action name -> spoken name; empty if the game has no spoken names."""
    return dict(zip(game.action_names, game.faces.spoken_action_names, strict=False))


def options_text(game: Game) -> str:
    """Return the options that differ from their defaults, such as "size: 4, players: 2"."""
    defaults = {each.name: each.default for each in options_of(game.id)}
    changed = {name: value for name, value in game.options.items() if value != defaults.get(name)}
    # Options with the default None are left out: the game computes their values.
    found = [f"{name}: {as_text(value)}" for name, value in changed.items() if defaults.get(name) is not None]
    return ", ".join(found).replace("_", " ")


def called(served: ServedGame) -> list[str]:
    """Return the players' names: "You", or an opponent's level or kind; equal names get the players' marks."""
    found = ["You" if agent is None else opponent(served.game, agent)[0] for agent in served.seats]
    marks = served.game.player_names
    return [
        name if found.count(name) == 1 else mark if name == "You" else f"{name} ({mark})"
        for name, mark in zip(found, marks, strict=True)
    ]


def game_of(served: ServedGame) -> dict[str, Any]:
    """Return a game as JSON, from the view of the people at the screen."""
    live, game, people, viewer = served.live, served.game, served.people, served.viewer
    names = called(served)
    state = live.state[0]
    asked, acting = live.asked(), live.acting()
    you = viewer if people and viewer is not None else (people[0] if people else None)
    legal = live.legal(you) if you is not None else []
    seen = position(game, state, viewer)
    if people and not legal:
        seen["svg"] = unlit(seen["svg"])
    return {
        "id": served.id,
        "version": served.version,
        "game": {"id": game.id, "title": game.title},
        "ply": live.ply,
        "over": live.over,
        **seen,
        **clickable(game, state, viewer, legal),
        "landed": _landed(served, live.ply),
        "seats": [
            {
                "name": names[k],
                "mark": game.player_names[k],
                "about": "" if agent is None else opponent(game, agent)[1],
                "asked": k in asked,
                "chosen": k in acting and k not in asked,
            }
            for k, agent in enumerate(served.seats)
        ],
        "you": you,
        "chosen": game.action_names[live.waiting[you]] if you in live.waiting else None,
        "moves": moves(game, live.actions),
        "asides": [live.aside(ply) for ply in range(1, live.ply + 1)],
        "rounds": live.rounds,
        "result": result(game, state, names) if live.over else None,
        "trouble": served.trouble,
        "thinking": bool(served.agents_asked),
        "watching": not people,
        "shared": served.shared,
        "may_take_back": served.may_take_back and live.last_decision(people) is not None,
    }


def _landed(served: ServedGame, ply: int) -> list[list[float]]:
    live = served.live
    states = [live.states[each][0] for each in (ply - 1, ply)]
    return landed(served.game, states, live.actions[ply - 1], served.viewer) if ply else []


def about(served: ServedGame) -> dict[str, Any]:
    """Return the constant facts of a game in progress."""
    faces = served.game.faces
    return {
        "rules": faces.rules_text,
        "options": options_text(served.game),
        "pitch": faces.pitch,
        "names": spoken_names(served.game),
    }


def thinkers(served: ServedGame, ply: int) -> list[int]:
    """Return the players whose decisions after `ply` plies may be analysed on the page. In an unfinished game, the
    analysis of other players' decisions would reveal these players' cards and choices.
    """
    acting = served.live.acting(ply)
    if served.live.over or not served.people:
        return acting
    if served.game.hidden_information or ply == served.live.ply:
        return [each for each in acting if each == served.viewer]
    return acting


def past(served: ServedGame, ply: int) -> dict[str, Any]:
    """Return the position after `ply` plies; if that ply ended a round, also the final board of the round."""
    ended, viewer = served.live.ended_round(ply), served.viewer
    return {
        "ply": ply,
        **still(served.game, served.live.states[ply][0], viewer),
        "landed": _landed(served, ply),
        "ended_round": None
        if ended is None
        else {**position(served.game, ended[0], viewer), "how": ending(served.game, ended[0])},
    }


def named(game: Game, thoughts: Thoughts) -> dict[str, Any]:
    """Return an analysis as a JSON object, with action names."""

    def by_name(found: dict[int, float]) -> dict[str, float]:
        return {game.action_names[action]: value for action, value in found.items()}

    return {
        "player": thoughts.player,
        "source": thoughts.source,
        "title": title_of(thoughts.source),
        "values": by_name(thoughts.values),
        "unproved": [game.action_names[action] for action in thoughts.unproved],
        "losses": by_name(thoughts.losses),
        "grades": {game.action_names[action]: grade_of(loss) for action, loss in thoughts.losses.items()},
        "best": [game.action_names[action] for action in thoughts.best],
        "best_probabilities": by_name(thoughts.best_probabilities),
        "probabilities": by_name(thoughts.probabilities),
    }


def judged(game: Game, found: Sequence[Judgement]) -> dict[str, Any]:
    """Return a review as a JSON object: the judgement of each decision."""
    return {
        "limits": GRADES,
        "decisions": [
            {
                "ply": each.ply,
                "player": each.player,
                "played": game.action_names[each.played],
                "best": None if each.best is None else game.action_names[each.best],
                "regret": each.regret,
                "value": each.value,
                "grade": "" if each.regret is None else grade_of(each.regret),
                "source": each.source,
            }
            for each in found
        ],
    }
