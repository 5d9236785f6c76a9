"""Pictures of all games: contrast, text that fits, letters, themes, and how notebooks show them."""

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.drawing import lettering
from ttt_envs.drawing.frame import FOOT, HEAD, HEADLINE, WIDTH, without_words
from ttt_envs.drawing.parts import split
from ttt_envs.drawing.raster import png, rasterise
from ttt_envs.drawing.theme import COLOURS, GROUNDS, INKS, LIT, STYLE, themed, unlit
from ttt_envs.testing.positions import random_play

SVG = "{http://www.w3.org/2000/svg}"
GAMES = [ttt_envs.load(game_id, **options[0]) for game_id, options in OPTIONS.items()]


@lru_cache
def shown(game: Game) -> tuple[np.void, ...]:
    """The start of a random game, positions in it and its end; and the end of a round, where there are rounds."""
    play = random_play(game, 6)
    last = int((~play.states["done"][:, 0]).sum())
    found = [play.states[int(part * last), 0] for part in (0, 0.2, 0.5, 0.9, 1)]
    for before, joint, after in zip(play.states[:, 0], play.actions[:, 0], play.states[1:, 0], strict=False):
        finished = None if before["done"] else game.faces.finished_round(before, joint, after)
        if finished is not None:
            return (*found, finished[0])
    return tuple(found)


def pictures(game: Game) -> Iterator[str]:
    for k, state in enumerate(shown(game)):
        yield game.draw(state, None if k % 2 else int(state["to_move"]) if state["to_move"] >= 0 else 0)


each_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.id)


# --- colours ---


def test_a_light_colour_has_one_dark_one() -> None:
    assert len({light for light, _ in COLOURS.values()}) == len(COLOURS)


def leaves(svg: str) -> Iterator[tuple[str, str, str]]:
    """Each drawn element alone, and its fill and stroke, in the order of painting."""

    def walk(element: ElementTree.Element, around: tuple[str, str]) -> Iterator[tuple[str, str, str]]:
        for child in element:
            tag = child.tag.removeprefix(SVG)
            if tag == "g":
                assert set(child.attrib) == {"transform"}, "colours are those of single elements"
                yield from walk(child, (f'{around[0]}<g transform="{child.attrib["transform"]}">', f"</g>{around[1]}"))
            elif tag not in ("title", "style"):
                attributes = {name: value for name, value in child.attrib.items() if name != "aria-label"}
                words = " ".join(f'{name}="{value}"' for name, value in attributes.items())
                alone = f"{around[0]}<{tag} {words}/>{around[1]}"
                yield alone, attributes.get("fill", "#000000"), attributes.get("stroke", "none")

    yield from walk(ElementTree.fromstring(svg), ("", ""))


def layer(opening: str, element: str) -> Any:
    """An element alone, 160 pixels wide: a PIL image with an alpha channel."""
    import resvg_py
    from PIL import Image

    data = resvg_py.svg_to_bytes(svg_string=f"{opening}{element}</svg>", width=160, skip_system_fonts=True)
    return Image.open(io.BytesIO(bytes(data))).convert("RGBA")


def luminance(rgb: np.ndarray) -> np.ndarray:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def poor_contrasts(svg: str, theme: str) -> list[str]:
    """The text and marks that, as painted, have less than 4.5 to what lies below them."""
    from PIL import Image

    svg = themed(svg, theme)
    opening = split(svg).opening()
    inks = {pair[theme == "dark"] for pair in (*INKS.values(), *LIT.values())}
    canvas, found = None, []
    painted: dict[str, np.ndarray] = {}  # where each ink has been used
    for element, fill, stroke in leaves(svg):
        whole = layer(opening, element)
        canvas = canvas or Image.new("RGBA", whole.size, "#ffffff")
        for part, colour in (("stroke", fill), ("fill", stroke)):
            if colour not in inks:
                continue
            alone = whole
            if "none" not in (fill, stroke):  # the one without the other
                alone = layer(opening, re.sub(rf' {part}="[^"]*"', f' {part}="none"', element))
            alpha = np.asarray(alone)[..., 3]
            before = painted.setdefault(colour, np.zeros(alpha.shape, bool))  # more of the same mark, or struck out
            below = np.asarray(canvas)[(alpha > 100) & ~before][:, :3] / 255
            before |= alpha > 0
            own = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
            if len(below) < 3:
                continue
            lights = luminance(below), luminance(own)
            ratios = (np.maximum(*lights) + 0.05) / (np.minimum(*lights) + 0.05)
            if np.quantile(ratios, 0.1) < 4.5:
                found.append(f"{np.quantile(ratios, 0.1):.2f}: {element}")
        canvas.alpha_composite(whole)
    return found


#: Pictures that are looked at in the default run, by game: its middle in light, for some its end in dark.
SOON = {
    "super_tic_tac_toe": [(2, "light")],
    "martian_tic_tac_toe": [(2, "light")],
    "tic_tac_dice": [(2, "light")],
    "tic_tac_match": [(2, "light"), (4, "dark")],
    "operation_tic_tac_toe": [(2, "light"), (4, "dark")],
}


def of_pictures() -> list[Any]:
    return [
        pytest.param(
            game,
            k,
            theme,
            marks=() if (k, theme) in SOON.get(game.id, []) else pytest.mark.slow,
            id=f"{game.id}-{k}-{theme}",
        )
        for game in GAMES
        for k in range(6)
        for theme in ("light", "dark")
    ]


@pytest.mark.parametrize(("game", "k", "theme"), of_pictures())
def test_text_and_marks_stand_out_from_what_they_stand_on(game: Game, k: int, theme: str) -> None:
    every = list(pictures(game))
    assert poor_contrasts(every[min(k, len(every) - 1)], theme) == []


def test_a_poor_contrast_is_found() -> None:
    svg = next(pictures(GAMES[0]))
    soft, paper = INKS["soft"][0], GROUNDS["paper"][0]
    assert poor_contrasts(svg.replace(f'fill="{paper}"', f'fill="{soft}"'), "light") != []


# --- text ---


class Words(NamedTuple):
    """A text, its size, and the corners of its box."""

    text: str
    size: float
    left: float
    top: float
    right: float
    low: float


def texts(svg: str) -> list[Words]:
    found = []
    for element in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        words = element.attrib.get("aria-label")
        if words is None:
            continue
        x, y, scale = map(float, re.findall(r"-?[\d.]+(?:e-?\d+)?", element.attrib["transform"]))
        size = scale * lettering.EM
        hangs = lettering.DESCENT if re.search("[gjpqy,;()]", words) else 0
        width = lettering.width_of(words, size)
        found.append(Words(words, size, x, y - lettering.CAPITAL * size, x + width, y + hangs * size))
    return found


def rectangles(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and low of those that are not turned."""
    return [
        (x, y, x + float(each.attrib["width"]), y + float(each.attrib["height"]))
        for each in ElementTree.fromstring(svg).findall(f"{SVG}rect")
        for x, y in [(float(each.attrib.get("x", 0)), float(each.attrib.get("y", 0)))]
    ]


@each_game
def test_text_fits_and_can_be_read_at_300_pixels(game: Game) -> None:
    for svg in pictures(game):
        width, _ = split(svg).size
        found, boxes = texts(svg), rectangles(svg)
        assert len(found) > 5
        for k, one in enumerate(found):
            assert one.size * 300 / width >= 8.5, f"{one.text!r} is {one.size * 300 / width:.1f} pixels high"
            x, y = (one.left + one.right) / 2, (one.top + one.low) / 2
            around = [b for b in boxes if b[0] <= x <= b[2] and b[1] <= y <= b[3]]
            left, top, right, low = min(around, key=lambda b: (b[2] - b[0]) * (b[3] - b[1]))
            inside = left <= one.left and one.right <= right and top <= one.top and one.low <= low + 2
            assert inside, f"{one.text!r} leaves its box: {one} in {left, top, right, low}"
            for other in found[:k]:
                apart = (
                    one.right <= other.left or other.right <= one.left or one.low <= other.top or other.low <= one.top
                )
                assert apart, f"{one.text!r} lies on {other.text!r}"


def test_a_text_gets_smaller_rather_than_too_wide() -> None:
    wide = texts(f'<svg xmlns="{SVG[1:-1]}">{lettering.text("wide words", 5, 20, 30, "#000000")}</svg>')[0]
    small = texts(f'<svg xmlns="{SVG[1:-1]}">{lettering.text("wide words", 5, 20, 30, "#000000", room=60)}</svg>')[0]
    assert wide.right - wide.left > 100
    assert small.right - small.left == pytest.approx(60, rel=0.01)
    # The outlines themselves are as wide as is said.
    image = rasterise(
        f'<svg xmlns="{SVG[1:-1]}" width="200" height="40">{lettering.text("HHH", 10, 30, 30, "#000000")}</svg>'
    )
    columns = np.flatnonzero((image.mean(axis=2) < 128).any(axis=0))
    assert columns[0] == pytest.approx(10, abs=4)
    assert columns[-1] == pytest.approx(10 + lettering.width_of("HHH", 30), abs=4)
    assert 'aria-label="&lt;a&gt; ж"' in lettering.text("<a> ж", 0, 0, 9, "#000000"), "without an outline"


@each_game
def test_all_words_have_letters_and_need_no_font(game: Game) -> None:
    known = lettering._glyphs()
    for svg in pictures(game):
        assert "<text" not in svg
        assert "font" not in svg
        words = "".join(each.text for each in texts(svg)) + ElementTree.fromstring(svg).findtext(f"{SVG}title", "")
        assert set(words) <= set(known)
        assert len(svg) < 90_000


# --- the frame ---


@each_game
def test_the_title_says_what_the_frame_shows(game: Game) -> None:
    for svg in pictures(game):
        root = ElementTree.fromstring(svg)
        title = root.findtext(f"{SVG}title", "")
        assert root.attrib["role"] == "img"
        headline = max(texts(svg), key=lambda each: each.size if each.top < 70 else 0).text
        assert title.split(":")[0] in game.title or title.startswith("Tic-Tac-Dice")
        assert headline in title
        last = [each.text for each in texts(svg) if each.text.startswith("last: ")]
        assert all(each in title for each in last)


@each_game
def test_a_page_may_say_what_stands_around_a_picture_in_its_own_words(game: Game) -> None:
    for svg in pictures(game):
        found, head = without_words(svg)
        said = ElementTree.fromstring(svg).findtext(f"{SVG}title", "")
        assert f": {head}" in said
        assert "last:" not in head
        left, top, width, height = map(float, ElementTree.fromstring(found).attrib["viewBox"].split())
        (_, _, _, whole) = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
        assert (left, top, width, top + height) == (0, HEAD, WIDTH, whole - FOOT)
        assert float(ElementTree.fromstring(found).attrib["height"]) == height
        here = [each for each in texts(svg) if each.top < HEAD]
        below = [each for each in texts(svg) if each.low > whole - FOOT]
        assert all(each.text.startswith("last: ") and each.top > whole - FOOT for each in below), "no word is cut"
        assert {each.text for each in here if each.size == HEADLINE} == {head.partition("; ")[0]}
        assert all(each.top < HEAD - 4 for each in here), "no word is cut"
    assert without_words("<svg/>") == ("<svg/>", "")


@each_game
def test_what_is_not_lit_is_not_lit_in_the_dark(game: Game) -> None:
    svg = next(pictures(game))
    assert unlit(svg).count(STYLE) == 1, "the rules of the dark are as they were"
    assert not {f'fill="{COLOURS[name][0]}"' for name in ("open", "card_open")} & set(
        re.findall('fill="#[0-9a-f]{6}"', unlit(svg).replace(STYLE, ""))
    )


@each_game
def test_a_theme_changes_colours_only(game: Game) -> None:
    svg = next(pictures(game))
    light, dark = themed(svg, "light"), themed(svg, "dark")
    assert STYLE in svg
    assert STYLE not in light + dark
    assert themed(svg, "auto") == svg
    assert re.sub('"#[0-9a-f]{6}"', "", light) == re.sub('"#[0-9a-f]{6}"', "", dark)
    assert rasterise(svg, 60, "dark").mean() < rasterise(svg, 60, "light").mean() - 40
    assert png(svg, 60) == png(light, 60)
    assert set(re.findall(r'(?:fill|stroke)="(#\w+)"', light)) <= {pair[0] for pair in COLOURS.values()}
    with pytest.raises(ValueError, match="theme"):
        themed(svg, "blue")
    assert themed("<svg/>", "dark") == "<svg/>"


def test_games_positions_and_environments_show_themselves() -> None:
    game = ttt_envs.load("tic_tac_match")
    assert game._repr_svg_() == game.draw(game.new_state(0)[0], None)
    batch = ttt_envs.Batch(game, 3, seed=1)
    position = batch.position(2)
    before = position._repr_svg_()
    assert before == game.draw(batch.states[2], None)
    assert repr(position) == game.format_state(batch.states[2], None)
    batch.step(batch.masks().argmax(axis=1))
    assert position._repr_svg_() == before != batch.position(2)._repr_svg_()
    with pytest.raises(IndexError, match="game 3 does not exist"):
        batch.position(3)
    for make in (ttt_envs.make_aec, ttt_envs.make_parallel, ttt_envs.make_single):
        env = make(game)
        assert env._repr_svg_() is None
        env.reset(seed=4)
        assert env._repr_svg_().startswith("<svg")
    # The learner's environment shows what the learner may know.
    player = env.reset(seed=4)[1]["player"]
    assert env._repr_svg_() == game.draw(env._games.batch.states[0], player)
