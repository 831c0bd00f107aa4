"""A builder that sees pictures: it reads the request, localises itself, walks to the cell and acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import Unpack

from iglu_marl import AgentError, Role
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.learned import pov_senses as senses
from iglu_marl.agents.learned.pov_model import (
    CHANGE,
    DONE,
    NOTHING,
    PLACE,
    REMOVE,
    WAYS,
    WORDS,
    PovModel,
    best_places,
)
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, require_entry
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.actions import Action
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.language.grammar.templates import words
from iglu_marl.language.grammar.vocabulary import vocabulary_words

LOST = 90  # steps after which a request that is not done yet is taken for a sign of being lost
LANDING = 8  # steps in which one has fallen a cell
CIRCLE, LOWER = 78, 6  # turns and looks down of a search for a landmark, and of these looks down
DRIFT = 0.02  # variance of a landmark's place that each picture adds, in cells²
SHOW = 'let it see that: builder_sees=("pov", "dialog", "inventory", "compass")'


@lru_cache(maxsize=1)
def words_known() -> dict[str, int]:
    """Return the templates' vocabulary by number from 2 on; 0 is no word, 1 an unknown one."""
    return {word: 2 + number for number, word in enumerate(vocabulary_words())}


def encode(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the first words of sentences as numbers, int64 [n, WORDS]."""
    table = np.zeros((len(texts), WORDS), np.int64)
    for row, text in enumerate(texts):
        numbers = [words_known().get(word, 1) for word in words(text)][:WORDS]
        table[row, : len(numbers)] = numbers
    return table


class Seen(NamedTuple):
    """Input of the policy: features float32 [n, features], glimpses uint8 [n, GLIMPSES]."""

    features: senses.Floats
    glimpses: npt.NDArray[np.uint8]


class Request(NamedTuple):
    """What to do next.

    verb: a verb. color: of the block. cell: where; if a landmark is named, from there. landmark: its colour, or 0.
    """

    verb: int
    color: int
    cell: tuple[int, int, int]
    landmark: int = 0


def names_landmark(text: str, request: Request) -> bool:
    """Whether a text has the colour of a request's landmark, besides that of a block to place.

    The network reads a landmark into texts that name a place on the map, too.
    """
    colors = [COLOR_NAMES.index(word) for word in words(text) if word in COLOR_NAMES]
    if request.verb == PLACE and request.color in colors:
        colors.remove(request.color)
    return request.landmark in colors


class Landmark:
    """Where the block of a colour is, from what the finder makes of several pictures.

    place: relative to the start, as odometry has it, east and south, and its height in the map, float32 [3]; None: not
    seen yet.
    """

    def __init__(self) -> None:
        self.place: senses.Floats | None = None
        self._variance = np.inf

    def see(self, place: senses.Floats, width: float) -> None:
        """Add an estimate of a width in cells."""
        variance = self._variance + DRIFT
        share = 1.0 if self.place is None else variance / (variance + width**2)
        self.place = place if self.place is None else self.place + share * (place - self.place)
        self._variance = width**2 if np.isinf(variance) else variance * (1 - share)


class Body:
    """State of a walker: maps pictures, compass, inventory and actions to the input of the policy.

    All arrays have a leading axis of length 1.
    """

    def __init__(self, model: PovModel) -> None:
        self.model = model
        self.odometry = senses.Odometry(1)
        self.memory = np.zeros((1, senses.GROUND), np.float32)
        self.before = np.full((1, senses.SIDE, senses.SIDE), senses.NOWHERE, np.uint8)
        self.hands = np.zeros((1, 6), np.float32)  # when the request was made
        self.steps = 0
        self.landmark = Landmark()

    def relocalise(self) -> None:
        """Restart localisation: errors of odometry add up at walls and on blocks."""
        self.memory[:] = 0.0
        self.odometry.way = np.zeros_like(self.odometry.way)
        self.landmark = Landmark()

    def begin(self, hands: senses.Floats) -> None:
        """Start a request; hands: the blocks in hand, float32 [1, 6]."""
        self.hands = hands.copy()

    @torch.no_grad()
    def see(
        self,
        pictures: senses.Pictures,
        yaw_deg: senses.Floats,
        hands: senses.Floats,
        request: Request,
    ) -> Seen | None:
        """Process a step; None while the landmark of the request has not been seen."""
        odometry, turn, pitch = self.odometry, self.steps, self.odometry.pitch
        odometry.look((pictures != self.before).reshape(len(pictures), -1).any(axis=1))
        self.before = pictures
        eye_y = odometry.eye_y
        seen = senses.seen_ground(pictures, yaw_deg, pitch, eye_y, odometry.way, turn)
        slip = senses.slipped(self.memory, seen) * (np.abs(odometry.walked).sum(1) > 0)[:, None]
        if slip.any():  # against a wall: one sees how far one really came
            odometry.way = odometry.way - slip
            seen = senses.seen_ground(pictures, yaw_deg, pitch, eye_y, odometry.way, turn)
        self.memory = senses.remembered(self.memory, seen)
        start, doubt = best_places(self.model.localiser(torch.from_numpy(self.memory)))
        place = start.numpy() + odometry.way
        self.steps += 1
        cell = self._cell(pictures, yaw_deg, place, request)
        if cell is None:
            return None
        offset = (cell - np.stack([place[:, 0], eye_y, place[:, 1]], 1)).astype(np.float32)
        near = senses.glimpses(pictures, senses.axes(yaw_deg, pitch), offset)
        gained = hands - self.hands
        asked = np.array([request[:2]])
        return Seen(senses.features(odometry, yaw_deg, offset, doubt.numpy(), asked, gained), near)

    def _cell(
        self, pictures: senses.Pictures, yaw_deg: senses.Floats, place: senses.Floats, request: Request
    ) -> senses.Floats | None:
        """Return the cell of a request, float32 [3]; None if its landmark has not been seen.

        The place may be wrong by whole cells; a landmark is then wrong by the same.
        """
        if not request.landmark:
            return np.array(request.cell, np.float32)
        odometry = self.odometry
        outlines, bearing, seen = senses.outlines(
            pictures, np.array([request.landmark]), yaw_deg, odometry.pitch, odometry.eye_y
        )
        if seen[0]:
            found, width = self.model.finder(torch.from_numpy(outlines))
            (far, aside, up), around = found[0].numpy(), np.radians(yaw_deg[0] + bearing[0])
            east = far * np.sin(around) + aside * np.cos(around) + odometry.way[0, 0]
            south = aside * np.sin(around) - far * np.cos(around) + odometry.way[0, 1]
            self.landmark.see(np.array([east, up + odometry.eye_y[0], south]), float(width.exp()))
        if self.landmark.place is None:
            return None
        east, height, south = self.landmark.place
        x, z = np.array([east, south]) + place[0] - odometry.way[0]
        return np.rint((x, height, z)).astype(np.float32) + request.cell

    def act(self, actions: npt.NDArray[np.int64], yaw_deg: senses.Floats) -> None:
        """Process the actions; yaw_deg: before them."""
        self.odometry.act(np.where(actions == DONE, Action.NOOP, actions), yaw_deg)


class PovBuilder(BuilderBase):
    """Follows requests for single blocks by what it sees: it needs `pov`, `dialog`, `inventory` and `compass`, no
    more.

    model: a model, or an agent of the zoo (whose `tensors` are taken). temperature: of the draw among actions; 0 takes
    the likeliest.

    It walks with the 18 actions, and takes it that it begins a game looking level, and no more than a cell above the
    ground: there it waits for `LANDING` steps. What takes it more than `LOST` steps makes it find out again where it
    is.
    """

    def __init__(
        self,
        model: Any,
        controls: ControlsName = "walking",
        *,
        temperature: float = 0.5,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        if controls != "walking" or self.game.select_and_place:
            raise AgentError(f"a PovBuilder walks with the 18 actions; controls is {controls!r}")
        if not isinstance(model, PovModel):
            model = model_of(model.tensors)
        self.model: PovModel = model
        self.temperature = temperature
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._rng = np.random.default_rng(seed)
        self._body = Body(self.model)
        self._requests: list[Request] = []  # the next one first
        self._begun, self._waited, self._steps, self._turned = False, 0, 0, 0

    def act(self, observation: Any) -> Any:
        """Return the next step. Raises `AgentError` if a required field is not observed."""
        for said in self._dialogue.hear(require_entry(observation, DIALOG_KEYS, "PovBuilder", SHOW)):
            if said.role is Role.ARCHITECT:
                self._hear(said.text)
        seen = {
            name: require_entry(observation, (name,), "PovBuilder", SHOW)
            for name in ("pov", "inventory", "compass")
        }
        hands = np.asarray(seen["inventory"], np.float32)[None]
        if self._waited < LANDING:
            self._waited += 1
            return self._with_words(int(Action.NOOP) if self._requests else self._rest)
        if not self._begun and self._requests:
            self._body.begin(hands)
            self._body.relocalise()
            self._begun, self._steps, self._turned = True, 0, 0
        action = self._next(seen["pov"], np.asarray(seen["compass"], np.float32).reshape(1), hands)
        return self._with_words(self._rest if action == DONE else action)

    @property
    def _rest(self) -> int:
        """Return the action between requests."""
        return int(Action.YIELD if self.game.can_yield else Action.NOOP)

    def _hear(self, text: str) -> None:
        """Replace the current request by that of an utterance."""
        numbers = torch.from_numpy(encode([text]))
        with torch.no_grad():
            made = self.model.reader(numbers)
            named = torch.stack([part[0].argmax(1) for part in self.model.references(numbers)], 1).tolist()
        by_landmark = [
            Request(verb, color if verb == PLACE else landmark, WAYS[way], landmark)
            for verb, color, landmark, way in named
            if verb != NOTHING
        ]
        if by_landmark and all(names_landmark(text, request) for request in by_landmark):
            self._requests, self._begun = by_landmark, False
            return
        verb, before, after, x, y, z = (int(part.argmax()) for part in made)
        if verb == NOTHING:
            return
        cell = x - 5, y - 1, z - 5
        removal, placement = Request(REMOVE, before, cell), Request(PLACE, after, cell)
        self._requests = {PLACE: [placement], REMOVE: [removal], CHANGE: [removal, placement]}[verb]
        self._begun = False

    def _next(self, pov: Any, yaw_deg: senses.Floats, hands: senses.Floats) -> int:
        request = self._requests[0] if self._requests else Request(NOTHING, 0, (0, 0, 0))
        pictures = senses.palette_indices(np.asarray(pov))[None]
        made = self._body.see(pictures, yaw_deg, hands, request)
        action = DONE
        self._steps += 1
        if self._steps % LOST == 0:
            self._body.relocalise()
        if made is None:
            action = self._look_around()
        elif self._requests:
            color = np.array([request.color])
            action = int(decide(self.model, made, color, self.temperature, self._rng)[0])
        if action == DONE and self._requests:
            self._requests.pop(0)
            self._begun = False
        self._body.act(np.array([action]), yaw_deg)
        return action

    def _look_around(self) -> int:
        """Return a turn, or after a full one a look further down."""
        self._turned += 1
        return int(Action.LOOK_DOWN if self._turned % CIRCLE > CIRCLE - LOWER else Action.TURN_RIGHT)


@torch.no_grad()
def decide(
    model: PovModel, seen: Seen, colors: npt.NDArray[np.int64], temperature: float, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Sample actions from the policy, int64 [n]; temperature 0: the most probable."""
    logits = model.policy(*map(torch.from_numpy, (*seen, colors))).numpy()
    if temperature:
        logits = logits / temperature + rng.gumbel(size=logits.shape)
    chosen: npt.NDArray[np.int64] = logits.argmax(1)
    return chosen


def model_of(tensors: Mapping[str, npt.NDArray[Any]]) -> PovModel:
    """Return the model with these weights in evaluation mode."""
    state = {name: torch.from_numpy(part.astype(np.float32)) for name, part in tensors.items()}
    model = PovModel(len(state["reader.words.weight"]), len(state["references.words.weight"]))
    model.load_state_dict(state)
    return model.eval()
