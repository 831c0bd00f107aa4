"""The levels of teams: taken by libraries as they are, built by a team that plans, and by nobody alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requirements import require

from iglu_marl import ConfigError, parallel_env
from iglu_marl.benchmark import Level, find, levels, make, run, verify
from iglu_marl.benchmark.splits import some_of
from iglu_marl.core.dialogue import Role
from iglu_marl.envs.wrappers import discretize, flatten

LEVELS = [level for level in levels("team") if level.vectors]


class Planned:
    """An agent that reads its vector by the layout, and plays by a plan that its team agreed on."""

    def __init__(self, level: str, env: Any, agent: str) -> None:
        change = env.changes[agent]
        self.level, self.agent, self.layout = level, agent, change.seen.layout
        self.table = find(level).table
        self.steps = 0

    def reset(self, role: Role, seed: int | None) -> None:
        self.steps = 0

    def close(self) -> None:
        pass

    def blocks(self, vector: Any, key: str) -> dict[tuple[int, ...], int]:
        """Colours by place of an entry with a number for each colour."""
        first, last = next(ends for path, *ends in self.layout if path == (key,))
        side = 5 if self.level == "team-assist-v2" else 3
        shape = (4, side, 6) if key == "target_sides" else (side, side, 6)
        return {
            tuple(at[:2]): int(at[2]) + 1 for at in np.argwhere(vector[first:last].reshape(shape)).tolist()
        }

    def heard(self, vector: Any) -> list[int]:
        """The symbols of the dialogue, from 1 on."""
        first, last = next(ends for path, *ends in self.layout if path == ("dialog",))
        length = find(self.level).game["dialog_length"]
        said = vector[first:last].reshape(length, -1)
        tokens = [int(row.argmax()) + 1 for row in said if row.any()]
        return [token for token in tokens if token <= find(self.level).game["vocabulary"]]

    def row(self, x: int, z: int, color: int) -> int:
        """The number of the action that puts a colour there; x and z from the corner of what is observed."""
        corner = 3 if self.level == "team-assist-v2" else 4
        return self.table.index((0, x + corner, z + corner, color))

    def act(self, vector: Any) -> int:
        self.steps += 1
        return next(getattr(self, self.level.split("-")[1])(vector), 0)

    def divide(self, vector: Any) -> Iterator[int]:
        own = (1, 2) if self.agent == "builder_0" else (3, 4)
        target = [
            (x, z, color) for (x, z), color in self.blocks(vector, "target_grid").items() if color in own
        ]
        yield self.row(*target[self.steps - 1])

    def assist(self, vector: Any) -> Iterator[int]:
        stands = self.blocks(vector, "grid")
        if self.agent == "builder_0":
            target = self.blocks(vector, "target_grid")
            yield from (
                self.row(x, z, color) for (x, z), color in target.items() if (x, z) not in stands and x < 2
            )
        yield from (
            self.row(4 - x, z, color + 3) for (x, z), color in stands.items() if (4 - x, z) not in stands
        )

    def relay(self, vector: Any) -> Iterator[int]:
        if self.agent == "architect_0":
            stands = self.blocks(vector, "grid")
            yield from (1 + 3 * x + z for x, z in self.blocks(vector, "target_grid") if (x, z) not in stands)
        yield from self.heard(vector)

    def sides(self, vector: Any) -> Iterator[int]:
        if self.agent == "builder_0":
            places = [divmod(symbol - 1, 2) for symbol in self.heard(vector)]
            yield from (self.row(x, places[1][0], (1, 6)[color]) for x, color in places[:1] if places[1:])
            return
        stands, side = self.blocks(vector, "grid"), 0 if self.agent == "architect_0" else 3
        for (at, column), color in self.blocks(vector, "target_sides").items():
            place = 2 - column if side == 0 else column  # from the north, east is to the left
            if at == side and place not in [cell[side == 3] for cell in stands]:
                yield 1 + 2 * place + (color == 6)


def planned(level: str) -> Any:
    class Seat:
        @staticmethod
        def for_seat(env: Any, agent: str) -> Planned:
            return Planned(level, env, agent)

        def __init__(self, env: Any) -> None: ...

    return Seat


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_a_team_builds_what_nobody_builds_alone(level: Level, tmp_path: Path) -> None:
    path, seat = tmp_path / "planned.json", planned(level.name)
    found = run(level, [(seat, seat)], episodes=12, output=path, record=True)
    assert found.scores() == [1.0]
    assert max(found.runs[0].controls.values()) <= 0.25
    assert set(found.runs[0].controls) == set(level.agent_controls)
    assert verify(path) == 12 * (1 + len(level.agent_controls))


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_many_games_show_the_same_as_one(level: Level) -> None:
    tasks = some_of(level.tasks("train"), 3)
    one, many = make(level), make(level, num_envs=3)
    seen, _ = many.reset(seed=0, options={"task": tasks})
    for number, task in enumerate(tasks):
        alone, _ = one.reset(seed=0, options={"task": task})
        for agent, vector in alone.items():
            assert one.observation_space(agent).contains(vector)
            np.testing.assert_array_equal(seen[agent][number], vector)


@pytest.mark.parametrize("crop", [(0, 1), (1, 6), (1,), 3])
def test_a_crop_lies_in_the_zone(crop: Any) -> None:
    with pytest.raises(ConfigError, match="crop"):
        flatten(parallel_env(chat="tokens"), crop=crop)


def test_a_table_of_cells_lies_in_the_zone() -> None:
    with pytest.raises(ConfigError, match=r"table\[1\] is \(0, 11, 0, 1\), which lies outside"):
        discretize(parallel_env(controls="cells"), table=[None, (0, 11, 0, 1)])


@pytest.mark.filterwarnings(
    "ignore:PettingZoo in TorchRL", "ignore::DeprecationWarning", "ignore::FutureWarning"
)
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_torchrl_takes_a_level_as_it_is(level: Level) -> None:
    require("rl", importlib.util.find_spec("torchrl") is not None, "the extra 'rl' is not installed")
    from torchrl.envs import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    env = PettingZooWrapper(make(level))
    check_env_specs(env)
    data = env.rollout(9)
    assert len(data) <= level.max_steps
    for group, agents in env.group_map.items():
        assert data[group, "observation"].shape[:2] == (len(data), len(agents))
