"""Tasks of the benchmark of language models: what is asked for in each round of a game, and what it means.

Each maker samples a game from a generator. Texts come from `model_texts`; what is right is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from iglu_marl.agents.scripted.decomposition import decompose
from iglu_marl.benchmark.contents import draw
from iglu_marl.benchmark.model_texts import (
    COLORS,
    ORDER,
    WAYS,
    Blocks,
    Rng,
    Symmetry,
    WrittenRequest,
    shift,
    written_dialogues,
    written_requests,
)
from iglu_marl.core.dialogue import Utterance
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLOR_NAMES, BlockGrid, Cell, blocks_to_grid, in_zone
from iglu_marl.language import render
from iglu_marl.rendering.camera import Camera
from iglu_marl.rendering.renderer import EYE_LENS
from iglu_marl.tasks.cube_tasks import CubeTasks
from iglu_marl.text.rounds import InstructedRound

Ask = Literal["needed", "needless", "never"]
MAX_EDITS = 64


class RoundsGame(NamedTuple):
    """Rounds of a game.

    unit: what it has in common with other games (a request, a session), for intervals. words: limit of all messages;
    0: none.
    """

    rounds: tuple[InstructedRound, ...]
    unit: str = ""
    words: int = 0


Maker = Callable[[Rng], RoundsGame]


def _grid(blocks: Blocks) -> BlockGrid:
    return blocks_to_grid([(*cell, color) for cell, color in blocks.items()]).astype(np.int8)


def _round(
    request: WrittenRequest, answer: str = "", ask: Ask = "never", guess: bool = True
) -> InstructedRound:
    start, target = _grid(request.start), _grid(request.target)
    return InstructedRound(request.text, start, target, answer, ask, guess)


@lru_cache(maxsize=2)
def _requests(with_blocks: bool) -> tuple[WrittenRequest, ...]:
    """Return the requests about blocks that are there, or those for something new."""
    return tuple(request for request in written_requests() if bool(request.start) == with_blocks)


def _are_near(cells: Iterable[Cell], others: Iterable[Cell]) -> bool:
    """Whether columns of both are the same or adjacent."""
    return any(max(abs(a - x), abs(b - z)) < 2 for a, _, b in cells for x, _, z in others)


def _is_playable(start: Blocks, target: Blocks) -> bool:
    """Whether a builder with 20 blocks of each colour can do it by one reply."""
    counts = [np.bincount(list(blocks.values()), minlength=7)[1:] for blocks in (start, target)]
    changes = sum(start.get(cell) != target.get(cell) for cell in {*start, *target})
    return 0 < changes <= MAX_EDITS and max(counts[1] - counts[0]) <= BLOCKS_PER_COLOR


# ---------------------------------------------------------------------------------------------------------- requests

_JOINS = (
    "{} And a second thing, which has nothing to do with that: {}",
    "Two wishes today. The first: {} The second: {}",
    "{} When you are done with this, forget it, and start something new: {}",
    "My friend here would like this: {} And I would like this, please: {}",
)


def requests(rng: Rng) -> RoundsGame:
    """Sample one message with two requests: one about blocks that are there, and one for something new."""
    while True:
        first, second = draw(_requests(True), rng), draw(_requests(False), rng)
        mine, theirs = first.colors, second.colors
        if len(mine) + len(theirs) > len(COLORS):
            continue
        symmetry = Symmetry.sample(rng)
        first = shift(rng, symmetry.request(first))
        free = [int(color) for color in rng.permutation([c for c in COLORS if c not in first.colors])]
        second = Symmetry.sample(rng, dict(zip(sorted(theirs), free, strict=False))).request(second)
        start, target = first.start, first.target | second.target
        if not _are_near(first.cells, second.cells) and _is_playable(start, target):
            text = draw(_JOINS, rng).format(_sentence(first.text), _sentence(second.text))
            return RoundsGame((_round(WrittenRequest("", text, start, target)),), first.name)


def _sentence(text: str) -> str:
    return text if text[-1] in ".!?)" else f"{text}."


DIALOGUE_TURNS = 3


def dialogue(rng: Rng) -> RoundsGame:
    """Sample three turns of a dialogue. What was said before them is known, and the world is as it was then."""
    name = draw(list(written_dialogues()), rng)
    can_turn, turns = written_dialogues()[name]
    symmetry = Symmetry.sample(rng)
    if not can_turn:
        symmetry = symmetry._replace(mirrored=False, turns=0)
    first = int(rng.integers(len(turns) - DIALOGUE_TURNS + 1))
    rounds: list[InstructedRound] = []
    said: list[Utterance] = []
    for number, turn in enumerate(turns[: first + DIALOGUE_TURNS]):
        said += [Utterance(role, symmetry.text(text)) for role, text in turn.said]
        if number < first:
            continue
        start, target = _grid(symmetry.blocks(turn.start)), _grid(symmetry.blocks(turn.target))
        answer = symmetry.text(turn.answer)
        ask: Ask = "needed" if answer else "needless"
        rounds.append(InstructedRound("", start, target, answer, ask, not answer, tuple(said)))
        said = []
    return RoundsGame(tuple(rounds), name)


# ---------------------------------------------------------------------------------------------------------- viewpoint


def viewpoint(rng: Rng) -> RoundsGame:
    """Sample a request whose directions are those of somebody who sees the board in another way."""
    kind, turns, way = int(rng.integers(5)), int(rng.integers(1, 4)), ORDER[int(rng.choice([0, 1, 3]))]
    seen = Symmetry(turns=turns)
    known = [request for request in written_requests() if request.has_compass or kind == 4]
    if kind == 0:
        text = (
            f"My compass is turned: what I call north is {seen.way('north')} on your map, what I call east is "
            f"{seen.way('east')}, and so on. {{}}"
        )
    elif kind == 1:
        seen = Symmetry(mirrored=True)
        text = "I see the board in a mirror on its north side: my east is your west, and my west is your east. {}"
    elif kind == 2:
        seen = Symmetry(turns=(ORDER.index(way) + 2) % 4)
        text = (
            f"I sit at the {way} edge of the board and look at its centre. North is for me where I look, east is where "
            "my right hand is. {}"
        )
    elif kind == 3:
        text = (
            f"I have laid my plan of the board on the table, but by mistake with its north side to your "
            f"{seen.way('north')}. I read from it: {{}}"
        )
    else:
        text = "{} But turn all that stands there in the end by a quarter clockwise, seen from above, about the centre."
        seen = Symmetry(turns=1)
    while True:
        request = shift(rng, Symmetry.sample(rng).request(draw(known, rng)))
        meant = seen.request(request)
        start = request.start if kind == 4 else meant.start
        plain = seen.blocks(request.target)
        if plain != request.target and _is_playable(start, meant.target):
            said = text.format(_sentence(request.text))
            return RoundsGame((_round(WrittenRequest("", said, start, meant.target)),), request.name)


# -------------------------------------------------------------------------------------------------- clarification


GAP = "coloured"
_THINGS = "blocks?|ones?|row|line|tower|stack|square|cube|wall|ring|pillar|column|roof|carpet|layer|posts?|floor|frame"


def _vague(rng: Rng) -> tuple[WrittenRequest, WrittenRequest, int]:
    """Return a request, the same without its only new colour, and that colour."""
    while True:
        request = draw(written_requests(), rng)
        new = set(request.target.values()) - set(request.start.values())
        if len(new) != 1:
            continue
        (color,) = new
        left_out = without_color(request.text, COLOR_NAMES[color])
        if left_out is None:
            continue
        symmetry = Symmetry.sample(rng)
        request = shift(rng, symmetry.request(request._replace(text=left_out)))
        color = symmetry.colors[color]
        if not _is_playable(request.start, request.target):
            continue
        whole = request._replace(text=request.text.replace(GAP, COLOR_NAMES[color]))
        whole = Symmetry().request(whole)  # a and an
        return whole, request, color


def without_color(text: str, color: str) -> str | None:
    """Return a text with "coloured" instead of a colour that stands in it once, before the name of a thing."""
    pattern = rf"\b(an? )?{color}(?= (?:{_THINGS})\b)"
    made, count = re.subn(pattern, lambda match: f"{'a ' if match[1] else ''}{GAP}", text, flags=re.I)
    return made if count == 1 and color not in made.lower() else None


def _twin(rng: Rng) -> tuple[WrittenRequest, str]:
    """Return a request that can mean two equal things, and the sentence that says which."""
    relative = [request for request in _requests(True) if request.is_relative and len(request.cells) <= 16]
    while True:
        request = shift(rng, Symmetry.sample(rng).request(draw(relative, rng)))
        way = draw(ORDER, rng)
        steps = -int(rng.integers(3, 8))
        other = request.shifted(steps * WAYS[way][0], steps * WAYS[way][1])
        if _are_near(request.cells, other.cells) or not all(in_zone(*cell) for cell in other.cells):
            continue
        start, target = request.start | other.start, request.target | other.start
        if _is_playable(start, target):
            which = f"I mean what stands further {way}."
            return request._replace(start=start, target=target), which


def clarification(rng: Rng) -> RoundsGame:
    """Sample four instructions: of two that name a colour and a place, and of two that leave one of them out."""
    rounds = []
    for kind in rng.permutation(4).tolist():
        if kind < 2:
            whole, vague, color = _vague(rng)
            request, answer = (vague, f"{COLOR_NAMES[color].title()}.") if kind else (whole, "")
        else:
            request, which = _twin(rng)
            answer = which if kind == 3 else ""
            if not answer:
                request = request._replace(text=f"{_sentence(request.text)} {which}")
        rounds.append(_round(request, answer, "needed" if answer else "needless", not answer))
    return RoundsGame(tuple(rounds))


# -------------------------------------------------------------------------------------------------------- speakers

_NAMES = [
    "Ada",
    "Amir",
    "Bela",
    "Chiara",
    "Elif",
    "Fatou",
    "Goran",
    "Hana",
    "Ivo",
    "Kenji",
    "Mira",
    "Omar",
    "Rosa",
]
WHOLE, AS_USUAL, OTHERWISE = "whole", "as usual", "otherwise"


def speakers(rng: Rng) -> RoundsGame:
    """Sample 24 trials of two speakers: 4 whole ones and 8 without a colour of each, after *Build What I Mean*.

    The colour that one of them leaves out is always the same. Of the other, it is so in 3 of 8 trials.
    """
    reliable, unreliable = (_NAMES[int(at)] for at in rng.permutation(len(_NAMES))[:2])
    favourite = int(rng.integers(1, 7))
    kinds = {reliable: [AS_USUAL] * 8, unreliable: [AS_USUAL] * 3 + [OTHERWISE] * 5}
    rounds = []
    for name in sorted(kinds):
        for kind in [WHOLE, WHOLE, *rng.permutation([*kinds[name], WHOLE, WHOLE]).tolist()]:
            whole, vague, color = _vague(rng)
            while kind != WHOLE and (color == favourite) != (kind == AS_USUAL):
                whole, vague, color = _vague(rng)
            request = whole if kind == WHOLE else vague
            request = request._replace(text=f"{name}: {request.text}")
            answer = "" if kind == WHOLE else f"{name}: {COLOR_NAMES[color].title()}."
            needed = bool(answer) and name == unreliable
            rounds.append(_round(request, answer, "needed" if needed else "needless", kind != OTHERWISE))
    return RoundsGame(tuple(rounds))


# -------------------------------------------------------------------------------------------------------- pictures

VIEW = (256, 256)


def pictures(rng: Rng) -> RoundsGame:
    """Sample a request about blocks that are seen from an edge of the zone, and only there."""
    while True:
        request = shift(rng, Symmetry.sample(rng).request(draw(_requests(True), rng)))
        way = draw(ORDER, rng)
        x, z = (-5 * step for step in WAYS[way])
        pose = (float(x), 2.0, float(z), 90.0 * ORDER.index(way), -25.0)
        if _is_playable(request.start, request.target) and _is_seen(request, pose):
            return RoundsGame((_round(request)._replace(pose=pose),), request.name)


def _is_seen(request: WrittenRequest, pose: tuple[float, float, float, float, float]) -> bool:
    """Whether all blocks are in the picture."""
    camera = Camera(pose, EYE_LENS, VIEW)
    cells = np.array(list(request.start), float)
    if ((cells - pose[:3]) @ camera.axes[2]).min() < 1:
        return False  # behind the eye
    points = camera.project(cells)
    return bool(((points > 4) & (points < VIEW[0] - 4)).all())


# ------------------------------------------------------------------------------------------------------ structures


WORDS_PER_BLOCK = 4.5


def structure(rng: Rng) -> RoundsGame:
    """Sample a structure of 14 to 40 blocks to be described: what two requests for something new lead to.

    The limit of words is too low for a description block by block, and enough for the scripted architect, who says
    whole shapes.
    """
    while True:
        first, second = ((draw(_requests(False), rng), Symmetry.sample(rng)) for _ in range(2))
        parts = [symmetry.request(request) for request, symmetry in (first, second)]
        target = parts[0].target | parts[1].target
        near = _are_near(parts[0].target, parts[1].target)
        if near or not 14 <= len(target) <= 40 or not _is_playable({}, target):
            continue
        whole = InstructedRound("", _grid({}), _grid(target))
        limit = int(WORDS_PER_BLOCK * len(target))
        if sum(len(text.split()) for text in plain_description(whole.start, whole.target)) <= limit:
            return RoundsGame((whole,), parts[0].name, words=limit)


def plain_description(grid: BlockGrid, target: BlockGrid) -> list[str]:
    """Return the instructions by which the scripted architect describes a structure, shape by shape."""
    return [render(step.instruction) for step in decompose(grid, target, "flying")]


def cube(rng: Rng) -> RoundsGame:
    """Sample a cube of large and small blocks, as for CRAFT."""
    task = CubeTasks().sample(rng)
    return RoundsGame((InstructedRound("", task.start_grid, task.target_grid),))
