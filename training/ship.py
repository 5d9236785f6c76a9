"""Make the bundled agents: train and measure them, and write their cards and the page of results.

    python -m training.ship super_tic_tac_toe/ntuple --runs runs/shipped
    python -m training.ship super_tic_tac_toe/ntuple --measure score:greedy milliseconds
    python -m training.ship --render

training/recipes.toml describes each agent. Training runs are saved in RUNS/GAME/NAME/seed-K; unfinished runs are
continued, and finished ones are reused. Figures are saved in RUNS/GAME/NAME/measured.json and reused for the same
weights. The weights of the first seed are bundled, as float16. With --measure, nothing is trained, and figures of the
bundled weights are measured again. Without names, only docs/results.md and the cards' pages are written.
"""

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import FILE
from ttt_envs.agents.networks import FORMAT as NETWORK_FORMAT
from ttt_envs.agents.ntuples import FORMAT as NTUPLES_FORMAT
from ttt_envs.agents.pretrained import CARD, Card, Outcome, cards, read_card
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text
from ttt_envs.evaluation import exploitability, mistakes, regret, tournament
from ttt_envs.evaluation.ladder import find, ladder, versions
from ttt_envs.evaluation.regret import over_layouts, regrets
from ttt_envs.learning.exploit import exploit
from ttt_envs.learning.runs.loop import folders_of
from ttt_envs.storage.files import write_whole
from ttt_envs.storage.tensors import read_tensors, write_tensors

ROOT = Path(__file__).resolve().parents[1]
TRAINED = ROOT / "agents" / "trained"
RECIPES = Path(__file__).with_name("recipes.toml")
RESULTS = ROOT / "docs" / "results.md"


@dataclass(frozen=True)
class Config:
    """Settings."""

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[GAME/NAME ...]")] = ()
    """Agents to make, as recipes.toml names them."""
    runs: Path = Path("runs/shipped")
    """Folder of the training runs."""
    measure: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[MEASURE[:AGAINST] ...]")] = ()
    """Measure these figures of the bundled weights again, such as score:greedy or milliseconds, and figures that the
    card lacks; train nothing. Other figures, and those of other training seeds, are kept; the card's texts are copied
    from recipes.toml."""
    render: bool = False
    """Write the pages from the existing cards."""
    seed: int = 1
    """Seed of the measurements."""


def recipes() -> dict[str, dict[str, Any]]:
    """Return GAME/NAME -> recipe."""
    games = tomllib.loads(RECIPES.read_text())
    return {f"{game}/{name}": recipe for game, named in games.items() for name, recipe in named.items()}


def train(recipe: dict[str, Any], folder: Path, console: Console) -> list[Path]:
    """Start or continue the training of all seeds, unless it is finished; return the folders of the runs."""
    program, *words = shlex.split(recipe["train"])
    assert program == "ttt"
    resume = ["--resume"] if folder.exists() else []
    command = [sys.executable, "-m", "ttt_envs", *words, "--seeds", str(recipe["seeds"]), *resume, "--out", str(folder)]
    console.print(f"training: {shlex.join(command)}", highlight=False)
    if subprocess.run(command, cwd=ROOT).returncode:
        raise SystemExit(f"training in {folder} ended with an error")
    return folders_of(folder) or [folder]  # one seed has no folder of its own


def ship(name: str, recipe: dict[str, Any], config: Config, console: Console) -> None:
    """Train and measure an agent, and write its folder."""
    game_id, own = name.split("/")
    folder = TRAINED / game_id / own
    folder.mkdir(parents=True, exist_ok=True)
    runs, digest, steps = [folder], "", 0
    run: dict[str, Any] = {"settings": {"seed": 0}, "seconds": 0.0, "versions": versions()}
    if "train" in recipe:
        trained = train(recipe, config.runs / game_id / own, console)
        facts, tensors = read_tensors(trained[0] / FILE, NETWORK_FORMAT, NTUPLES_FORMAT)
        form, steps = facts.pop("format"), facts["steps"]
        write_tensors(folder / FILE, form, facts, {key: tensor.astype(np.float16) for key, tensor in tensors.items()})
        run = json.loads((trained[0] / "config.json").read_text())
        digest = hashlib.sha256(b"".join((each / FILE).read_bytes() for each in [folder, *trained])).hexdigest()
        runs = [folder, *trained[1:]]
    kept = config.runs / game_id / own / "measured.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    outcomes = []
    for wanted in recipe["outcomes"]:
        key = json.dumps([digest, recipe["agent"], wanted, config.seed])
        if key not in known:
            console.print(f"measuring: {name} {wanted}", highlight=False, markup=False)
            known[key] = asdict(measured(name, recipe, wanted, runs, config.seed))
            write_whole(kept, json.dumps(known, indent=2) + "\n")
        outcomes.append(Outcome(**{**known[key], "seeds": tuple(known[key]["seeds"])}))
        console.print(f"    {outcomes[-1].value:.4f} ({outcomes[-1].low:.4f} to {outcomes[-1].high:.4f})")
    card = Card(
        game=game_id,
        name=own,
        title=recipe["title"],
        best=recipe.get("best", False),
        agent=recipe["agent"],
        method=recipe["method"],
        weaknesses=recipe["weaknesses"],
        train=training_of(recipe),
        seed=run["settings"]["seed"],
        steps=steps,
        seconds=run["seconds"],
        versions=run["versions"],
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        outcomes=tuple(outcomes),
    )
    write_card(folder, card)


def training_of(recipe: dict[str, Any]) -> str:
    """Return the recipe's training command, or "" for an agent without weights of its own."""
    return f"{recipe['train']} --seeds {recipe['seeds']}" if "train" in recipe else ""


def remeasure(name: str, recipe: dict[str, Any], config: Config, console: Console) -> None:
    """Measure the figures in `config.measure` again for a bundled agent, and write its card."""
    folder = TRAINED / name
    card = read_card(folder)
    known = {(each.measure, each.against, each.games, as_json(each.options)): each for each in card.outcomes}
    names = {f"{wanted['measure']}:{wanted.get('against', '')}".rstrip(":") for wanted in recipe["outcomes"]}
    for each in config.measure:
        if each not in names:
            raise SystemExit(f"{name} has no figure {each!r}; it has {', '.join(sorted(names))}")
    outcomes: list[Outcome] = []
    for wanted in recipe["outcomes"]:
        what = wanted["measure"], wanted.get("against", "")
        old = known.get((*what, wanted.get("games", 0), as_json(wanted.get("options", {}))))
        if old is not None and ":".join(what).rstrip(":") not in config.measure:
            outcomes.append(old)
            continue
        console.print(f"measuring: {name} {wanted}", highlight=False, markup=False)
        new = measured(name, recipe, wanted, [folder], config.seed)
        # Keep the figures of other training seeds only if agent and command are unchanged.
        same = old is not None and old.command == new.command and card.agent == recipe["agent"]
        outcomes.append(replace(new, seeds=old.seeds if old is not None and same else ()))
        console.print(f"    {new.value:.4f} ({new.low:.4f} to {new.high:.4f})")
    texts = {key: recipe[key] for key in ("title", "agent", "method", "weaknesses")}
    write_card(folder, replace(card, **texts, best=recipe.get("best", False), outcomes=tuple(outcomes)))


def as_json(options: dict[str, Any]) -> str:
    """Return options as JSON text, for comparison."""
    return json.dumps(options, sort_keys=True)


def write_card(folder: Path, card: Card) -> None:
    """Write the card of an agent in its folder."""
    write_whole(folder / CARD, json.dumps(asdict(card), indent=2) + "\n")


def measured(name: str, recipe: dict[str, Any], wanted: dict[str, Any], runs: Sequence[Path], seed: int) -> Outcome:
    """Measure one figure for the weights in `runs[0]`, and with `each_seed` also for those in the other folders."""
    options, games = wanted.get("options", {}), wanted.get("games", 0)
    game, against = ttt_envs.load(name.split("/")[0], **options), wanted.get("against", "")
    text = wanted.get("agent", recipe["agent"])
    several = [ttt_envs.load(game.id, **options, **more) for more in wanted.get("over", [])]

    def of(weights: Path) -> tuple[float, float, float]:
        playing = text.format(folder=weights)
        return (mean_figure(several, playing, wanted, seed),) * 3 if several else figure(game, playing, wanted, seed)

    value, low, high = of(runs[0])
    others = [of(run)[0] for run in (runs[1:] if wanted.get("each_seed") else [])]
    given = " ".join(f"{key}={as_text(each)}" for key, each in options.items())
    shown = text.format(folder=f"agents/trained/{name}")
    on_layouts = wanted["measure"] == "layouts"
    verb = {"score": "ttt tournament", "layouts": "python -m training.layouts", "rating": "ttt ladder"}
    words = [f"{verb.get(wanted['measure'], 'ttt ' + wanted['measure'])} {game.id}"]
    words += [f"--option {given}"] if given and not on_layouts else []
    words += [f"--agent{'' if wanted['measure'] in ('exploit', 'rating') else 's'} {shown}"]
    words += [against] if wanted["measure"] == "score" else []
    counted = {"layouts": "layouts", "mistakes": "positions"}.get(wanted["measure"], "games")
    words += [f"--{counted} {games}"] if games else []
    command = " ".join([*words, f"--seed {seed}"]) if wanted["measure"] != "milliseconds" else "python -m training.ship"
    if "over" in wanted:
        command = f"python -m training.ship {name} --measure {shlex.quote(wanted['measure'] + ':' + against)}"
    return Outcome(wanted["measure"], against, value, low, high, games, options, tuple(others), command)


def mean_figure(games: Sequence[Game], text: str, wanted: dict[str, Any], seed: int) -> float:
    """Return the mean of a figure over several games, and print each game's. Worker processes measure in parallel."""
    figures = []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_figure_of, game.id, dict(game.options), text, wanted, seed) for game in games]
        for game, value in zip(games, waiting, strict=True):
            figures.append(value.result())
            print(f"    {figures[-1]:.4f} {dict(game.options)}", flush=True)
    return float(np.mean(figures))


def _figure_of(game_id: str, options: dict[str, Any], text: str, wanted: dict[str, Any], seed: int) -> float:
    """Load a game, in a worker process, and return its figure."""
    return figure(ttt_envs.load(game_id, **options), text, wanted, seed, quiet=True)[0]


def figure(game: Game, text: str, wanted: dict[str, Any], seed: int, quiet: bool = False) -> tuple[float, float, float]:
    """Return a figure and the ends of its interval; `quiet` hides the progress bar."""
    agent, measure, games = agents.load(text), wanted["measure"], wanted.get("games", 0)
    if measure == "score":
        rated = _whole(tournament(game, [agent, wanted["against"]], games=games, seed=seed, quiet=quiet)).ratings
        return tuple(float(each[0, 1]) for each in (rated.score, rated.score_low, rated.score_high))  # type: ignore[return-value]
    if measure == "rating":
        placed = _whole(ladder(game, agent, games=games, seed=seed, quiet=quiet))
        return placed.rating, *placed.interval
    if measure == "regret":
        (measured,) = _whole(regret(game, [agent], games=games, seed=seed, quiet=quiet)).measurements
        return measured.per_game, *measured.per_game_interval
    if measure == "mistakes":
        (made,) = _whole(mistakes(game, [agent], positions=games, seed=seed, quiet=quiet)).measurements
        return made.share, *made.interval
    if measure == "layouts":
        mean, ends = over_layouts(regrets(game, [agent], layouts=games, seed=seed)[0])
        return mean, *ends
    if measure == "exploitability":
        (known,) = _whole(exploitability(game, [agent], seed=seed, quiet=quiet)).measurements
        return known.exploitability, *known.interval
    if measure == "exploit":
        found = _whole(exploit(game, text, games=games or None, seed=seed, quiet=quiet))
        return found.at_least, *found.interval
    assert measure == "milliseconds", measure
    return milliseconds(game, agent)


def _whole(report: Any) -> Any:
    """Return the report; raise KeyboardInterrupt if it is incomplete, because cards need complete measurements."""
    if not report.complete:
        raise KeyboardInterrupt
    return report


def milliseconds(game: Game, agent: agents.Agent, positions: int = 60) -> tuple[float, float, float]:
    """Return the median CPU time per move, in ms, and its lower and upper quartile, in positions of random games.

    The agent moves in one position at a time. CPU time hardly depends on other load on the machine.
    """
    batch, other = ttt_envs.Batch(game, positions, seed=0), agents.load("random")
    generator = np.random.default_rng(0)
    stop = generator.integers(0, 40, positions)
    views = []
    for ply in range(40):
        for row in np.flatnonzero((stop == ply) & ~batch.done):
            player = 0 if game.simultaneous else int(batch.to_move[row])
            views.append(batch.view(player, np.array([row])) if game.simultaneous else batch.view(rows=np.array([row])))
        if game.simultaneous:
            actions = np.stack([other.act(batch.view(player)) for player in range(game.num_players)], axis=1)
        else:
            actions = other.act(batch.view())
        batch.step(actions)
    views = [view for view in views if view.masks.any()]
    agent.act(views[0])  # compiles
    seconds = []
    for view in views:
        start = time.process_time()
        agent.act(view)
        seconds.append(1e3 * (time.process_time() - start))
    low, middle, high = np.percentile(seconds, (25, 50, 75))
    return float(middle), float(low), float(high)


# --- pages ---

_MEANING = {
    "score": "score against `{against}` (a draw counts half), {games} games, each start from all sides",
    "rating": "Elo on the game's ladder, {games} games against each rung",
    "regret": "reward lost to optimal play per game, {games} games",
    "mistakes": "share of errors in {games} solved positions, sampled evenly by length",
    "layouts": "reward lost to optimal play per round, {games} solved layouts",
    "exploitability": "winnings of a best response per game",
    "exploit": "exploitability, by the best opponent that `ttt exploit` found in three minutes, {games} games",
    "milliseconds": "milliseconds of CPU time per move, median and quartiles",
}
_SEARCHES = ("mcts", "ismcts", "smmcts", "expectimax", "open_spiel")


def _rounded(outcome: Outcome, value: float) -> str:
    digits = {"score": 3, "mistakes": 3, "milliseconds": 1, "rating": 0}.get(outcome.measure, 4)
    return f"{value:.{digits}f}"


def _value(outcome: Outcome) -> str:
    value, low, high = (_rounded(outcome, each) for each in (outcome.value, outcome.low, outcome.high))
    if outcome.measure == "exploit":
        bound = f"at least {value}" if outcome.value > 0 else "unknown, no bound found"
        return f"{bound} (the opponent won {low} to {high})"
    return value if outcome.low == outcome.high else f"{value} ({low} to {high})"


def _distance(outcome: Outcome) -> str:
    name = {"layouts": "regret", "exploit": "exploitability"}.get(outcome.measure, outcome.measure)
    counted = "solved layouts" if outcome.measure == "layouts" else "games"
    origin = "exact" if outcome.low == outcome.high else f"{outcome.games} {counted}"
    return f"{name} {_value(outcome)}, {', '.join(filter(None, (outcome.against, origin)))}"


def _time(outcome: Outcome) -> str:
    return f"{outcome.value:.1f} ms" if outcome.value >= 0.05 else "< 0.1 ms"


def _meaning(outcome: Outcome) -> str:
    text = _MEANING[outcome.measure].format(against=outcome.against, games=outcome.games)
    return text if outcome.measure == "score" or not outcome.against else f"{text}, {outcome.against}"


def _options(outcome: Outcome) -> str:
    return ", ".join(f"{key}={as_text(each)}" for key, each in outcome.options.items())


def rows(card: Card) -> Iterator[str]:
    """Yield the rows of a card's table."""
    yield "| measure | value | other training seeds | options |"
    yield "|:--|--:|:--|:--|"
    for each in card.outcomes:
        others = ", ".join(_rounded(each, value) for value in each.seeds) or "–"
        yield f"| {_meaning(each)} | {_value(each)} | {others} | {_options(each) or '–'} |"


def page(card: Card) -> str:
    """Return the card's page, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    commands = "\n".join(f"    {each.command}" for each in card.outcomes if each.measure != "milliseconds")
    agent = card.agent.format(folder=f"agents/trained/{card.game}/{card.name}")
    also = f", also as `trained:{card.game}`" if card.best else ""
    trained = [
        f"**Training.** `{card.train}`: {card.steps:,} steps in {card.seconds:,.0f} s on a shared "
        f"machine of {card.machine}; {versions}.",
        "",
    ]
    lines = [
        f"# {card.game}/{card.name}: {card.title}",
        "",
        f"`trained:{card.game}/{card.name}`{also}. Plays as `{agent}`, with NumPy and Numba alone.",
        "",
        card.method,
        "",
        *rows(card),
        "",
        "95 % intervals are over games of these weights, not over training seeds.",
        "",
        f"**Weaknesses.** {card.weaknesses}",
        "",
        *(trained if card.train else []),
        "**Commands.**",
        "",
        commands,
    ]
    return "\n".join(lines) + "\n"


def results(shipped: list[Card]) -> str:
    """Return the page of all results, as Markdown."""
    example = next(card for card in shipped if card.best and not card.options)
    lines = [
        "# Results",
        "",
        "The library comes with trained agents. `trained:GAME` is the strongest one for your options,",
        "`trained:GAME/NAME` a specific one. Play against one:",
        "",
        f"    ttt play {example.game} --agents human trained:{example.game}",
        "",
        "## Which agent?",
        "",
        "**Use** is our choice for the game's default options. All ratings are Elo on the game's [ladder](ladder.md),",
        "where `random` has 0, so the agents of a row can be compared. The search is the strongest one on the ladder.",
        "Ratings with ± are those of the ladder itself (`ttt ladder GAME --show`); agents with an interval in brackets",
        "played against all of its rungs (their cards have the command). Far above the top rung, a rating only says",
        "that the agent wins nearly all games. Agents without a rating were not rated.",
        "",
        elo(shipped),
        "",
        "## All bundled agents",
        "",
        "The default agents (bold) beat greedy wherever that was measured; the MaskablePPO baselines (`ppo`) do not",
        "always. The card of an agent, `agents/trained/GAME/NAME/README.md`, has all measurements, their commands, and",
        "known weaknesses.",
        "",
        "- **Distance from optimal play**: the regret per game, for dice per round, or the exploitability; 0 is",
        "  optimal. It is exact, or a mean over the stated number of games or solved layouts of cards.",
        "- **Scores**: shares of the points; a draw counts half. Opponents and options differ between rows, so these",
        "  scores do not rank agents; Elo does.",
        "- **Intervals** (95 %) are over games of exactly these weights; another training seed may differ more.",
        "- **Time**: median CPU time per move. **–**: not measured.",
        "",
        table(shipped),
        "",
    ]
    return "\n".join(lines)


def elo(shipped: list[Card]) -> str:
    """Return a table with a row per game: the agent to use, and ratings on the game's ladder."""
    lines = ["| game | use | `greedy` | a search | bundled agents |", "|:--|:--|:--|:--|:--|"]
    for game_id in ttt_envs.GAMES:
        game = ttt_envs.load(game_id)
        rungs = {row["agent"]: f"{row['elo']:.0f} ± {row['half_width']:.0f}" for row in find(game).rows()}
        *_, search = (name for name in rungs if name.startswith(_SEARCHES))
        rated = {name.rpartition("/")[2]: text for name, text in rungs.items() if name.startswith("trained:")}
        for card in shipped:
            for each in card.outcomes:
                if card.game == game_id and each.measure == "rating":
                    rated[card.name] = _value(each)
        agent = f"`oracle` ({rungs['oracle']})" if "oracle" in rungs else f"`trained:{game_id}`"
        ratings = ", ".join(f"`{name}` {text}" for name, text in rated.items()) or "–"
        lines.append(f"| {game.title} | {agent} | {rungs['greedy']} | `{search}` {rungs[search]} | {ratings} |")
    return "\n".join(lines)


def table(shipped: list[Card]) -> str:
    """Return a table with a row per agent: its distance from optimal play, and its scores against others."""
    lines = [
        "| game | agent | distance from optimal play | score against a search | against greedy | time per move |",
        "|:--|:--|:--|:--|:--|--:|",
    ]
    for game_id in ttt_envs.GAMES:
        for k, card in enumerate(card for card in shipped if card.game == game_id):
            lines.append(f"| {'' if k else f'**{ttt_envs.load(game_id).title}**'} | {_row(card)}")
    return "\n".join(lines)


def _row(card: Card) -> str:
    distances = [each for each in card.outcomes if each.measure in ("regret", "layouts", "exploitability", "exploit")]
    scores = {each.against: each for each in card.outcomes if each.measure == "score"}
    searches = [name for name in scores if name.startswith(_SEARCHES)]
    distance = _distance(distances[0]) if distances else "–"
    search = f"{searches[-1]}: {_value(scores[searches[-1]])}" if searches else "–"
    greedy = _value(scores["greedy"]) if "greedy" in scores else "–"
    times = " ".join(_time(each) for each in card.outcomes if each.measure == "milliseconds")
    mark = "**" if card.best else ""
    return f"{mark}`{card.name}`{mark}, {card.title} | {distance} | {search} | {greedy} | {times} |"


def render() -> None:
    """Write the cards' pages and docs/results.md."""
    shipped = cards()
    for card in shipped:
        write_whole(TRAINED / card.game / card.name / "README.md", page(card))
    write_whole(RESULTS, results(shipped))


def main() -> None:
    """Run the command line."""
    config = tyro.cli(Config, prog="python -m training.ship", description=__doc__)
    console, known = Console(), recipes()
    for name in config.names:
        if name not in known:
            raise SystemExit(f"unknown agent {name!r}; recipes.toml has {', '.join(known)}")
        (remeasure if config.measure else ship)(name, known[name], config, console)
    render()


if __name__ == "__main__":
    main()
