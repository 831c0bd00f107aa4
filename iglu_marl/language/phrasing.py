"""Saying instructions: every wording of the templates, the preferred one, a random one, the shortest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, color_name
from iglu_marl.language.blocks import CellEdit, edit_wordings, place_fillings
from iglu_marl.language.references import (
    At,
    Beside,
    Blocks,
    It,
    LastBlock,
    NextTo,
    Offset,
    Reference,
    You,
    is_several,
)
from iglu_marl.language.shapes import Direction, Kind, Shape
from iglu_marl.language.templates import templates, verb_templates, words
from iglu_marl.language.verbs import (
    Build,
    Copy,
    Extend,
    Facing,
    Instruction,
    Mirror,
    Move,
    Pick,
    Place,
    Remove,
    Replace,
    Then,
)

Option = TypeVar("Option")
Chooser = Callable[[Sequence[Any]], Any]
"""Chooses one of several templates."""


def first(options: Sequence[Option]) -> Option:
    """The preferred template."""
    return options[0]


def tersest(options: Sequence[Any]) -> Any:
    """The template with the fewest words; the first of several."""
    if options[0] is _listed:
        return options[-1]
    return min(options, key=lambda option: len(words(option)) if isinstance(option, str) else 0)


def at_random(rng: np.random.Generator) -> Chooser:
    """Chooses by a generator."""
    return lambda options: options[int(rng.integers(len(options)))]


def every(say: Callable[[Chooser], str]) -> Iterator[str]:
    """What is said under every combination of choices; the one with all first choices comes first."""
    path: list[list[int]] = []  # index and number of options of each choice, in the order of choosing

    def spoken() -> str:
        at = -1

        def choose(options: Sequence[Any]) -> Any:
            nonlocal at
            at += 1
            if at == len(path):
                path.append([0, len(options)])
            return options[path[at][0]]

        return say(choose)

    while True:
        yield spoken()
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        path[-1][0] += 1


def say_with(instruction: Instruction, choose: Chooser) -> str:
    """A wording of any instruction, with the choices made by `choose`."""
    return _sentence(instruction, choose)


def _unsayable(value: Any) -> DialogueError:
    return DialogueError(f"there are no words for {value!r:.200}: it can be read, not said")


# ----------------------------------------------------------------------------------------------------- sentences


def _sentence(instruction: Instruction, choose: Chooser) -> str:
    if isinstance(instruction, CellEdit):
        return str(choose(_edit_texts(instruction)))
    fillings = _FILLINGS.get(type(instruction))
    if fillings is None:
        raise _unsayable(instruction)
    name, filled = fillings(instruction, choose)
    return str(choose(verb_templates()["sentences"][name])).format(**filled)


@lru_cache(maxsize=512)
def _edit_texts(edit: CellEdit) -> tuple[str, ...]:
    return tuple(edit_wordings(edit))


def _place(part: Place, choose: Chooser) -> tuple[str, dict[str, str]]:
    if part.count is None:
        return "place", {**_color(part.color), "where": _where(part.where, choose)}
    where = _where(part.where, choose, each=False)
    return "place_several", {"n": _number(part.count, choose), **_color(part.color), "where": where}


def _build(part: Build, choose: Chooser) -> tuple[str, dict[str, str]]:
    shape = part.shape
    simple = shape.kind is Kind.TOWER and len(part.colors) == 1
    above = isinstance(part.where, Beside) and part.where.offset == ((Direction.UP, 1),)
    if simple and above and not is_several(part.where) and choose((False, True)):
        filled = {"n": _number(shape.sizes[0], choose), **_color(part.colors[0])}
        return "stack", {**filled, "where": _where(part.where, choose)}
    return "build", {"shape": _shape(part, choose), "start": _start(part, choose)}


def _remove(part: Remove, choose: Chooser) -> tuple[str, dict[str, str]]:
    return "remove", {"blocks": _reference(part.blocks, choose)}


def _replace(part: Replace, choose: Chooser) -> tuple[str, dict[str, str]]:
    if part.count is not None:
        raise _unsayable(part)
    return "replace", {"blocks": _reference(part.blocks, choose), "color": color_name(part.color)}


def _move(part: Move, choose: Chooser) -> tuple[str, dict[str, str]]:
    blocks = _reference(part.blocks, choose, clear=True)
    if part.to is None:
        return "move_by", {"blocks": blocks, "steps": _steps(part.by, choose)}
    return "move_to", {"blocks": blocks, "where": _where(part.to, choose, clear=True)}


def _copy(part: Copy, choose: Chooser) -> tuple[str, dict[str, str]]:
    if part.to is not None:
        raise _unsayable(part)
    return "copy", {
        "blocks": _reference(part.blocks, choose, clear=True),
        "steps": _steps(part.by, choose),
    }


def _mirror(part: Mirror, choose: Chooser) -> tuple[str, dict[str, str]]:
    to = verb_templates()["ways"][part.direction][-1]
    name = "mirror_centre" if part.about_centre else "mirror"
    return name, {"blocks": _reference(part.blocks, choose, clear=True), "to": to}


def _extend(part: Extend, choose: Chooser) -> tuple[str, dict[str, str]]:
    if part.color is not None:
        raise _unsayable(part)
    ways = verb_templates()["ways"][part.direction]
    return "extend", {
        "blocks": _reference(part.blocks, choose, clear=True),
        "n": _number(part.count, choose),
        "blocks_word": "block" if part.count == 1 else "blocks",
        "to": ways[-1],
        "way": ways[0],
    }


def _pick(part: Pick, choose: Chooser) -> tuple[str, dict[str, str]]:
    return "pick", {"where": _where(part.where, choose)}


def _facing(part: Facing, choose: Chooser) -> tuple[str, dict[str, str]]:
    then = _sentence(part.then, choose)
    return "facing", {"view": part.view.value, "then": _lower(then)}


def _then(part: Then, choose: Chooser) -> tuple[str, dict[str, str]]:
    text = _sentence(part.parts[0], choose)
    for following in part.parts[1:-1]:
        text = f"{text} {_sentence(following, choose)}"
    last = _sentence(part.parts[-1], choose)
    return "then", {"first": text, "second": last, "continued": _lower(last)}


_FILLINGS: dict[type, Callable[[Any, Chooser], tuple[str, dict[str, str]]]] = {
    Place: _place,
    Build: _build,
    Remove: _remove,
    Replace: _replace,
    Move: _move,
    Copy: _copy,
    Mirror: _mirror,
    Extend: _extend,
    Pick: _pick,
    Facing: _facing,
    Then: _then,
}


# ------------------------------------------------------------------------------------------------- small phrases


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _number(value: int, choose: Chooser) -> str:
    spelled = templates()["numbers"]
    return str(choose((str(value), spelled[value]))) if value < len(spelled) else str(value)


def _color(color: int) -> dict[str, str]:
    name = color_name(color)
    return {"a": "an" if name[0] in "aeiou" else "a", "color": name}


def _listed(parts: list[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def _way(direction: Direction, choose: Chooser) -> str:
    return str(choose(verb_templates()["ways"][direction]))


def _steps(offset: Offset, choose: Chooser) -> str:
    """`2 blocks north and 1 east`."""
    return " and ".join(_step(way, count, choose) for way, count in offset)


def _step(way: Direction, count: int, choose: Chooser) -> str:
    template = choose(("{n} {blocks} {way}", "{n} {way}"))
    blocks = "block" if count == 1 else "blocks"
    word = verb_templates()["ways"][way][0]
    return str(template.format(n=_number(count, choose), blocks=blocks, way=word))


def _spot(cell: Cell, choose: Chooser) -> str:
    """A cell without a preposition: `the centre, on the ground`, `3 blocks east of the centre, level 2`."""
    x, y, z = cell
    spelled = bool(choose((False, True)))
    kind, fillings = place_fillings(x, z, False, spelled)
    level = y + 2
    heights = verb_templates()["spot_ground" if level == 1 else "spot_height"]
    place = choose(verb_templates()["spot_place"][kind]).format(**fillings)
    height = choose(heights).format(
        n=templates()["numbers"][level] if spelled else level, nth=templates()["ordinals"][level - 1]
    )
    return f"{place}, {height}"


def _where(where: Any, choose: Chooser, clear: bool = False, each: bool = True) -> str:
    texts = verb_templates()
    if isinstance(where, At):
        spot = _spot(where.cell, choose)
        return f"at {spot}" if spot.startswith("the ") else spot
    if not isinstance(where, (Beside, NextTo)):
        raise _unsayable(where)
    if not isinstance(where, (NextTo, Beside)):
        raise DialogueError(f"there are no words for the place {where!r}")
    of = _reference(where.of, choose, clear, each)
    if isinstance(where, NextTo):
        return str(choose(texts["next_to"])).format(of=of)
    if not where.offset:
        return str(choose(texts["in_place"])).format(of=of)
    *before, (way, count) = where.offset
    relations = texts["relations"][way]
    if len(where.offset) == 1 and count == 1:
        return f"{choose(relations)} {of}"
    relation = choose(texts["far_relations"].get(way.value, relations))
    blocks = choose((" block" if count == 1 else " blocks", ""))
    last = f"{_number(count, choose)}{blocks} {relation} {of}"
    return " and ".join([*(_step(one, n, choose) for one, n in before), last])


# ---------------------------------------------------------------------------------------------------- references


def _reference(reference: Reference, choose: Chooser, clear: bool = False, each: bool = True) -> str:
    """A reference; clear: what follows could be taken for a part of it; each: things may be told one by one."""
    texts = verb_templates()["references"]
    if isinstance(reference, It):
        return str(choose(texts["it"]))
    if isinstance(reference, LastBlock):
        return str(choose(texts["last_block"]))
    if isinstance(reference, You):
        return str(choose(texts["you"]))
    if not isinstance(reference, Blocks) or reference.unless is not None or reference.by_size is not None:
        raise _unsayable(reference)
    name = "one" if reference.count == 1 else "several"
    if reference.count is None:
        name = choose(("all", "every") if each else ("all",))
    single = name in ("one", "every")
    text = str(choose(texts[name])).format(
        n="" if reference.count is None else _number(reference.count, choose),
        rest=_described(reference, single, choose),
    )
    if reference.where is None:
        return text
    options = texts["that_one" if single else "that_ones"]
    told = options[-1] if clear else choose(options)
    return text + str(told).format(where=_where(reference.where, choose, clear))


def _described(reference: Blocks, single: bool, choose: Chooser) -> str:
    """`highest red block`, `blue rows of 3`."""
    texts = verb_templates()
    nouns = texts["nouns"][reference.kind]
    plain = not (reference.colors or reference.middle or reference.extreme)
    if plain and reference.kind is Kind.BLOCK:
        nouns = nouns[:-1]  # "each one" is each of those that were spoken of
    noun = choose(nouns)[0 if single else 1]
    extreme = "middle" if reference.middle else ""
    if reference.rank > 1:
        extreme = templates()["ordinals"][reference.rank - 1]
    elif reference.extreme is not None:
        extreme = choose(texts["extremes"][reference.extreme])
    colors = [color_name(color) for color in reference.colors]
    size = "" if reference.size is None else f"of {_number(reference.size, choose)}"
    named = _listed(colors, "or" if reference.count == 1 else "and") if colors else ""
    side = ""
    if reference.rank > 1 and reference.extreme is not None:
        side = f"from the {texts['ends'][reference.extreme]}"
    return " ".join(part for part in (extreme, named, noun, size, side) if part)


# -------------------------------------------------------------------------------------------------------- shapes


def _shape(part: Build, choose: Chooser) -> str:
    shape = part.shape
    noun = choose(verb_templates()["nouns"][shape.kind])[0]
    ways = " and ".join(_way(way, choose) for way in shape.directions)
    if len(part.colors) > 1:
        options = verb_templates()["shapes"]["listed"]
        text = choose(options).format(noun=noun, paint=_paint(part, choose), ways=ways)
        return str(text).rstrip()
    counted = shape.kind in (Kind.ROW, Kind.COLUMN, Kind.TOWER, Kind.DIAGONAL)
    template = choose(verb_templates()["shapes"]["counted" if counted else "plain"])
    filled = {"noun": noun, "ways": ways, **_color(part.colors[0])}
    if "{n}" in template:
        return str(template.format(n=_number(shape.sizes[0], choose), **filled)).rstrip()
    return str(template.format(dims=_dims(shape, choose), **filled)).rstrip()


def _dims(shape: Shape, choose: Chooser) -> str:
    """`5 to the east`, `3 east and 2 south`, `3 east and up`."""
    n = _number(shape.sizes[0], choose)
    ways = [_way(way, choose) for way in shape.directions]
    if shape.kind is Kind.WALL:
        ways.append(_way(Direction.UP, choose))
    if len(shape.sizes) == 2:
        return f"{n} {ways[0]}{choose((' and ', ', '))}{_number(shape.sizes[1], choose)} {ways[1]}"
    return " ".join([n, " and ".join(ways)]).rstrip()


def _paint(part: Build, choose: Chooser) -> str:
    """The colours of a line: `red, 2 blue and green`, `5 alternating red and blue`."""
    size = part.shape.sizes[0]
    if len(part.colors) < size:
        one, other = (color_name(color) for color in part.colors)
        text = choose(verb_templates()["alternating"])
        return str(text.format(n=_number(size, choose), one=one, other=other))
    runs = [(color, len(list(run))) for color, run in groupby(part.colors)]
    parts = [
        f"{_number(count, choose)} {color_name(color)}" if count > 1 else color_name(color)
        for color, count in runs
    ]
    return choose((_listed, ", ".join))(parts)


def _start(part: Build, choose: Chooser) -> str:
    texts = verb_templates()
    if not isinstance(part.where, At):
        return str(choose(texts["start_beside"])).format(where=_where(part.where, choose))
    kind = {Kind.TOWER: "start_tower", Kind.PLUS: "start_plus"}.get(part.shape.kind, "start")
    return str(choose(texts[kind])).format(spot=_spot(part.where.cell, choose))
