"""Conversion of Dict actions to numbers or rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.errors import ActionError, ConfigError
from iglu_marl.envs.wrappers.adapters import AgentChange, AgentSpaces

Kind = Literal["discrete", "multidiscrete"]
KINDS: tuple[Kind, ...] = ("discrete", "multidiscrete")
CAMERA_DEG = 5.0, 5.0  # yaw and pitch of an action
CELL_CAMERA_DEG = 90.0, 45.0  # the same where the builder moves by whole cells
Array = npt.NDArray[Any]


def _digits(space: Any) -> list[int] | None:
    """Return the sizes of an action's integers; None for other spaces."""
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return [int(size) for size in space.nvec]
    return None


def _read(action: Any, sizes: list[int], single: bool, where: str) -> Array:
    """Return an action as integers [..., digits]. Raises `ActionError` for a wrong one."""
    expected = f"an integer in 0..{sizes[0] - 1}" if single else f"integers below {sizes}"
    try:
        array = np.asarray(action)
    except ValueError:
        raise ActionError(f"the action of {where} is {action!r:.80}, expected {expected}") from None
    if single:
        array = array[..., None]
    if array.dtype.kind not in "iu" or array.ndim == 0 or array.shape[-1] != len(sizes):
        raise ActionError(f"the action of {where} is {action!r:.80}, expected {expected}")
    if (array < 0).any() or (array >= sizes).any():
        raise ActionError(f"the action of {where} is {action!r:.80}, expected {expected}")
    return array


def _written(space: Any, digits: Array) -> Any:
    """Digits [..., n] as an action of a Discrete or MultiDiscrete space."""
    if not isinstance(space, spaces.Discrete):
        return digits
    return int(digits[0]) if digits.ndim == 1 else digits[..., 0]


# --- Dict actions ----------------------------------------------------------------------------------------------


def _camera_steps(space: spaces.Dict, camera_deg: float | None) -> tuple[float, float]:
    """Return the yaw and pitch change of an action in degrees."""
    if camera_deg is not None:
        return camera_deg, camera_deg
    limit = float(space["camera"].high.max()) if "camera" in space.spaces else 0.0  # type: ignore[attr-defined]
    yaw, pitch = CELL_CAMERA_DEG if "strafe" in space.spaces else CAMERA_DEG
    return min(yaw, limit), min(pitch, limit)


def _steps(key: str, space: Any, camera: tuple[float, float]) -> list[tuple[int | None, list[Any]]]:
    """Return the values of each component of an entry, nothing first: (index or None for a number, values)."""
    if isinstance(space, spaces.Discrete):
        return [(None, list(range(int(space.n))))]
    if space.shape == ():
        reach = float(space.high.max())
        return [(None, [0.0, -reach, reach])]
    reaches = camera if key == "camera" else (float(space.high.max()),) * space.shape[0]
    return [(index, [0.0, -reach, reach]) for index, reach in enumerate(reaches)]


def _nothing(space: spaces.Dict) -> dict[str, Any]:
    return {
        key: 0 if isinstance(part, spaces.Discrete) else np.zeros(part.shape or (), np.float32)
        for key, part in space.items()
    }


def action_table(space: spaces.Dict, camera_deg: float | None = None) -> list[dict[str, Any]]:
    """Return a table of actions: nothing, then each entry of a Dict space alone at each of its bounds.

    camera_deg: as of `discretize`.
    """
    table: list[dict[str, Any]] = [{}]
    camera = _camera_steps(space, camera_deg)
    for key, part in space.items():
        for index, values in _steps(key, part, camera):
            for value in values[1:]:
                entry = value
                if index is not None:
                    entry = np.zeros(part.shape or (), np.float32)
                    entry[index] = value
                table.append({key: entry})
    return table


class _Table:
    """Rows of a table as actions of a Dict space."""

    def __init__(self, space: spaces.Dict, table: Iterable[Mapping[str, Any]]) -> None:
        nothing, rows = _nothing(space), list(table)
        if not rows:
            raise ConfigError("table is empty, expected at least one action")
        whole = []
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping) or not row.keys() <= nothing.keys():
                raise ConfigError(f"table[{number}] is {row!r:.80}, expected a dict with keys of {space}")
            filled = {
                key: np.asarray(row.get(key, value), space[key].dtype) for key, value in nothing.items()
            }
            if not space.contains(filled):
                raise ConfigError(f"table[{number}] is {row!r:.80}, which lies outside {space}")
            whole.append(filled)
        self.sizes = [len(whole)]
        self._columns = {key: np.stack([row[key] for row in whole]) for key in nothing}

    def __call__(self, digits: Array) -> dict[str, Any]:
        return {key: column[digits[..., 0], ...] for key, column in self._columns.items()}


class _Cells:
    """Rows of a table as actions on cells."""

    def __init__(self, space: spaces.MultiDiscrete, table: Iterable[Any]) -> None:
        rows = [(0,) * len(space.nvec) if row is None else row for row in table]
        for number, row in enumerate(rows):
            if len(row) != len(space.nvec) or not space.contains(np.asarray(row, space.dtype)):
                raise ConfigError(f"table[{number}] is {row!r:.80}, which lies outside {space}")
        self.sizes = [len(rows)]
        self._rows = np.array(rows, space.dtype)

    def __call__(self, digits: Array) -> Array:
        return self._rows[digits[..., 0]]


class _Product:
    """One digit for each component of a Dict space."""

    def __init__(self, space: spaces.Dict, camera_deg: float | None) -> None:
        self._steps: list[tuple[str, int | None, Array]] = []
        self._space, camera = space, _camera_steps(space, camera_deg)
        for key, part in space.items():
            for index, values in _steps(key, part, camera):
                self._steps.append((key, index, np.array(values, part.dtype)))
        self.sizes = [len(values) for _, _, values in self._steps]

    def __call__(self, digits: Array) -> dict[str, Any]:
        action: dict[str, Any] = {}
        for number, (key, index, values) in enumerate(self._steps):
            value = values[digits[..., number], ...]
            if index is None:
                action[key] = value
            else:
                action.setdefault(key, np.zeros((*value.shape, *self._space[key].shape), np.float32))  # type: ignore[misc]
                action[key][..., index] = value
        return action


class Digits(AgentChange):
    """Dict actions of one agent as `Discrete` or `MultiDiscrete`; other actions are unchanged.

    table: the actions by number, or None.
    """

    def __init__(
        self,
        given: AgentSpaces,
        kind: Kind,
        camera_deg: float | None,
        table: Iterable[Any] | None,
    ) -> None:
        super().__init__(given)
        self.table: list[Any] | None = None
        self._act: spaces.Space[Any] | None = None
        self._where, self._say = given.agent, None
        self._encode: _Table | _Cells | _Product | None = None
        space = given.action_space
        is_builder = given.agent.startswith("builder")
        if is_builder and table is not None and isinstance(space, spaces.MultiDiscrete):
            self.table, self._act = list(table), space
            self._encode = _Cells(space, self.table)
            self._acts, self._sizes, self._single = 1, self._encode.sizes, True
            self.action_space = spaces.Discrete(len(self.table))
            return
        if not isinstance(space, spaces.Dict):
            return
        asks = set(space.spaces) == {"act", "say"}
        act = space["act"] if asks else space
        self._act = act
        if isinstance(act, spaces.Dict):
            camera = act.spaces.get("camera")
            limit = 0.0 if camera is None else float(camera.high.max())  # type: ignore[attr-defined]
            if camera_deg is not None and camera is not None and not 0 < camera_deg <= limit:
                raise ConfigError(f"camera_deg is {camera_deg!r}, expected more than 0 and at most {limit:g}")
            if kind == "discrete":
                self.table = list(action_table(act, camera_deg) if table is None else table)
                self._encode = _Table(act, self.table)
            else:
                self._encode = _Product(act, camera_deg)
        sizes = self._encode.sizes if self._encode else _digits(act)
        assert sizes is not None
        self._acts = len(sizes)
        if asks:
            self._say = space["say"]
            said = _digits(self._say)
            if said is None:
                raise ConfigError(
                    "the builder asks in text, expected tokens: make the environment with chat='tokens'"
                )
            sizes = sizes + said
        self._sizes, self._single = sizes, kind == "discrete" and not asks
        self.action_space = spaces.Discrete(sizes[0]) if self._single else spaces.MultiDiscrete(sizes)

    def act(self, action: Any) -> Any:
        """Return the action in the environment's form."""
        if self._act is None:
            return action
        digits = _read(action, self._sizes, self._single, self._where)
        own = digits[..., : self._acts]
        act = self._encode(own) if self._encode else _written(self._act, own)
        return (
            act if self._say is None else {"act": act, "say": _written(self._say, digits[..., self._acts :])}
        )


# --- all agents alike -----------------------------------------------------------------------------------------


def _parts(given: AgentSpaces) -> tuple[list[int], list[int]]:
    """Return the sizes of an agent's message and of its other digits. Raises `ConfigError` if it has neither."""
    space = given.action_space
    words: list[int] | None = []
    acts: list[int] | None = []
    if given.agent.startswith("architect"):
        words = _digits(space)
    elif isinstance(space, spaces.Dict) and set(space.spaces) == {"act", "say"}:
        words, acts = _digits(space["say"]), _digits(space["act"])
    else:
        acts = _digits(space)
    if words is None or acts is None:
        raise ConfigError(
            f"actions of {given.agent} are {space}, expected numbers; use chat='tokens' and discretize() first"
        )
    return words, acts


class Shared(AgentChange):
    """The same action space for all agents.

    "multidiscrete": the digits of messages, then of the builder's acts; each agent uses its own. "discrete": for agents
    with one number each; an action that an agent lacks counts as 0.
    """

    def __init__(self, given: AgentSpaces, alike: Mapping[str, AgentSpaces], kind: Kind) -> None:
        super().__init__(given)
        self._where, self._kind = given.agent, kind
        parts = {agent: _parts(other) for agent, other in alike.items()}
        self._words = next((words for words, _ in parts.values() if words), [])
        acts = next(acts for _, acts in parts.values() if acts)
        self._inner = given.action_space
        if kind == "multidiscrete":
            self._sizes = self._words + acts
            self.action_space = spaces.MultiDiscrete(self._sizes)
            return
        sizes = [words + own for words, own in parts.values()]
        if any(len(own) != 1 for own in sizes):
            raise ConfigError(
                f"actions have {[len(own) for own in sizes]} numbers, expected one of each agent for 'discrete': "
                "max_message_length=1, and a builder with one number that does not ask"
            )
        (self._own,) = sizes[list(alike).index(given.agent)]
        self._sizes = [max(own[0] for own in sizes)]
        self.action_space = spaces.Discrete(self._sizes[0])

    def act(self, action: Any) -> Any:
        """Return the agent's own part of the action."""
        digits = _read(action, self._sizes, self._kind == "discrete", self._where)
        if self._kind == "discrete":
            return _written(self._inner, np.where(digits < self._own, digits, 0))
        words, acts = digits[..., : len(self._words)], digits[..., len(self._words) :]
        if self._where.startswith("architect"):
            return _written(self._inner, words)
        if isinstance(self._inner, spaces.Dict):
            return {"act": _written(self._inner["act"], acts), "say": _written(self._inner["say"], words)}
        return _written(self._inner, acts)
