"""What older tools tell otherwise: one value says it to actions, observations, infos, tasks and batches alike."""

from __future__ import annotations

import copy

import gymnasium as gym
import numpy as np
import pytest

from iglu_marl.core.controls import Controls
from iglu_marl.core.conventions import IGLU2021, IGLU2022, OWN, SILENT_BUILDER_2021, Conventions
from iglu_marl.core.grid import from_iglu2022_ids, index_of, to_iglu2022_ids
from iglu_marl.core.task import Task
from iglu_marl.envs import GridworldEnv, SilentBuilderEnv
from iglu_marl.envs.single import SingleAgentEnv
from iglu_marl.envs.vector import BuilderVectorEnv
from iglu_marl.game import observations
from iglu_marl.game.config import GameConfig
from iglu_marl.game.profiles import PROFILES, compat_of

ALL = (OWN, IGLU2022, SILENT_BUILDER_2021, IGLU2021, Conventions(ids="iglu2022", air=2, half_turn=True))
COLORS = np.arange(7)


@pytest.mark.parametrize("conventions", ALL)
def test_one_table_of_colours_follows_from_the_ids(conventions: Conventions) -> None:
    theirs = COLORS if conventions.ids == "iglu" else to_iglu2022_ids(COLORS)
    ours = COLORS if conventions.ids == "iglu" else from_iglu2022_ids(COLORS)
    assert conventions.obs_id_of_color == tuple(theirs + conventions.air)
    assert conventions.color_of_action_id == tuple(ours)
    assert [conventions.color_of_action_id[slot] for slot in range(1, 7)] == [
        slot + 1 for slot in conventions.slots
    ]


def test_named_conventions_differ_and_are_saved() -> None:
    assert len(set(ALL)) == len(ALL)
    assert copy.deepcopy(ALL) == ALL
    assert PROFILES["iglu2022"].conventions == IGLU2022
    assert PROFILES["iglu2021"].conventions == IGLU2021
    assert [compat_of(conventions) for conventions in ALL] == [None, "iglu2022", None, "iglu2021", None]


def test_environments_have_theirs() -> None:
    made = [gym.make(name).unwrapped for name in ("IGLUGridworld-v0", "IGLUSilentBuilderVisual-v0")]
    made += [GridworldEnv(compat="iglu2022"), SilentBuilderEnv(), SilentBuilderEnv(compat="iglu2021")]
    told = [env.setup.controls.conventions for env in made]  # type: ignore[attr-defined]
    assert told == [OWN, SILENT_BUILDER_2021, IGLU2022, SILENT_BUILDER_2021, IGLU2021]


class AnyConventions(SingleAgentEnv):
    """A lone builder with conventions that no tool has."""

    def __init__(self, conventions: Conventions) -> None:
        controls = Controls("walking", select_and_place=True, conventions=conventions)
        super().__init__(
            GameConfig(builder_sees=("inventory", "compass", "dialog", "pose", "grid")),
            controls,
            lambda episode: observations.gridworld_observer(
                episode.config,
                episode.chat,
                conventions,
                target_in_obs=True,
            ),
        )


@pytest.mark.slow
@pytest.mark.parametrize("conventions", ALL)
def test_actions_observations_infos_tasks_and_batches_agree(conventions: Conventions) -> None:
    """Each colour is chosen, placed and shown by its number in the conventions, alone and in a batch."""
    one, many = (
        AnyConventions(conventions),
        BuilderVectorEnv(AnyConventions(conventions), 2, info_keys=("target_grid",)),
    )
    cell = index_of((0, -1, -1))
    for number in range(1, 7):
        task = Task("hoch hoch ", [(0, -1, -1, number), (5, 3, 5, 1)])
        begin = {"task": task, "pose": (0, -0.25, 0, 0, -45)}
        seen, _ = one.reset(options=begin)
        assert seen["target_grid"][cell] == number + conventions.air
        assert seen["compass"][0] == (-180 if conventions.half_turn else 0)
        many.reset(options=begin)
        seen, _, _, _, info = one.step(5 + number)
        shown, _, _, _, infos = many.step(np.full(2, 5 + number))
        assert seen["grid"][cell] == seen["target_grid"][cell] == number + conventions.air
        assert seen["grid"].min() == conventions.air
        assert seen["inventory"].tolist() == [19 if slot + 1 == number else 20 for slot in range(6)]
        assert (info["target_grid"] == seen["target_grid"]).all()
        assert (infos["target_grid"] == seen["target_grid"]).all()
        assert seen["agentPos"].tolist()[1:4] == [
            -0.25 + conventions.eye_offset,
            0,
            45 if conventions.minerl_camera else -45,
        ]
        for key in ("grid", "target_grid", "inventory", "compass", "agentPos", "dialog"):
            assert (shown[key] == seen[key]).all(), key
        assert shown in many.observation_space
        text = "hoch " * 2 if conventions.verbatim else "<Architect> hoch hoch"
        assert seen["dialog"] == text
    pitch = -50 if conventions.up_looks_down else -40
    assert one.step(14)[0]["agentPos"][3] == (-pitch if conventions.minerl_camera else pitch)
