"""The agents one by one: their protocol, what they say and do, and what they refuse to do."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import Agent, AgentError, Controls, Role, Subtasks, Task, Worlds, play
from iglu_marl import agents as all_agents
from iglu_marl.agents import (
    OracleBuilder,
    RandomArchitect,
    RandomBuilder,
    ScriptedArchitect,
    ScriptedBuilder,
    agents_for,
)
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.kernels.step import sense_at
from iglu_marl.language import CellEdit, TemplateCodec, parse, render, say
from iglu_marl.tasks import DUMMY_TASK, RandomTasks

BLUE, YELLOW, GREEN, ORANGE, PURPLE, RED = range(1, 7)
SIGHTS = ("dialog", "pose", "grid")
EMPTY = np.zeros((9, 11, 11), dtype=np.int32)


@pytest.mark.parametrize("name", ["scripted", "oracle", "random", "careful", "hasty", "forgetful", "asking"])
def test_a_builder_knows_all_settings_of_its_game(name: str) -> None:
    env = iglu_marl.env(controls="flying", select_and_place=True, builder_can_ask=True, max_message_length=77)
    builder: Any = agents_for(env, builder=name)[Role.BUILDER]
    assert builder.game == Settings("flying", can_ask=True, select_and_place=True, message_length=77)
    words = iglu_marl.env(chat="tokens", max_message_length=7, builder_can_ask=True)
    codec = (game := agents_for(words, builder=name)[Role.BUILDER].game).codec  # type: ignore[attr-defined]
    assert (codec.name, game.tokens, game.max_length) == ("templates", True, 7)


def test_every_setting_but_the_controls_is_an_option() -> None:
    assert ["controls", *Options.__annotations__] == [field.name for field in fields(Settings)]


@pytest.mark.parametrize(
    ("env_id", "compat"), [("IGLUGridworldVector-v0", "iglu2022"), ("IGLUSilentBuilder-v0", "iglu2021")]
)
def test_builders_refuse_what_they_would_misread(env_id: str, compat: str) -> None:
    """Colours and camera of older tools: they would build the wrong thing, or nothing."""
    env, own = (gym.make(env_id, compat=said) for said in (compat, None))
    for name in ("scripted", "oracle", "careful"):
        with pytest.raises(
            AgentError, match=f"compat='{compat}', whose colors and camera .*Builder does not support"
        ):
            agents_for(env, builder=name)
        agents_for(own, builder=name)
    played = play(env, RandomBuilder.for_env(env), seed=1)
    assert len(played.turns) > 9


def restored(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 (our own bytes)


def grid_of(*blocks: tuple[int, int, int, int]) -> np.ndarray:
    return np.array(blocks_to_grid(list(blocks)), dtype=np.int32)


# --- all of them --------------------------------------------------------------------------------------------

MODELLED = {
    "LLMArchitect",
    "LLMBuilder",
    "LearnedBuilder",
}  # see test_llm.py and test_learned.py
MAKERS = [
    getattr(all_agents, name)
    for name in all_agents.__all__
    if name not in MODELLED | {"agents_for", "pretrained", "zoo"}
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_agents_follow_the_protocol(make: type) -> None:
    agent = make()
    assert isinstance(agent, Agent)
    assert isinstance(restored(agent), make)
    agent.close()
    agent.close()


def test_the_list_of_agents_is_whole() -> None:
    assert {*MODELLED, "ScriptedArchitect", "RandomBuilder", "agents_for"} <= set(all_agents.__all__)
    assert set(all_agents.__all__) <= set(dir(all_agents))
    with pytest.raises(AttributeError, match="Nobody"):
        all_agents.Nobody  # noqa: B018


class Saved:
    """An agent that is pickled and restored before every act."""

    privileged = False

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def reset(self, role: Role, seed: int | None) -> None:
        self.agent.reset(role, seed)

    def act(self, observation: Any) -> Any:
        self.agent = restored(self.agent)
        return self.agent.act(observation)

    def close(self) -> None:
        self.agent.close()


def test_pickling_in_mid_episode_changes_nothing() -> None:
    env = iglu_marl.raw_env(tasks=RandomTasks(6, 2, num_colors=3), builder_sees=SIGHTS, max_steps=900)
    plain = play(env, agents_for(env), seed=1)
    saved = play(env, {role: Saved(agent) for role, agent in agents_for(env).items()}, seed=1)
    assert plain.completed
    assert [turn.action for turn in saved.turns] == [turn.action for turn in plain.turns]


@pytest.mark.parametrize("view", [iglu_marl.env, iglu_marl.parallel_env])
@pytest.mark.parametrize("architect", ["random", "scripted"])
@pytest.mark.parametrize("builder", ["oracle", "random", "scripted"])
def test_agents_for_fits_any_game(view: Any, architect: str, builder: str) -> None:
    tasks = RandomTasks(max_blocks=2)
    for chat, ask, controls in (
        ("text", True, "flying"),
        ("tokens", False, "walking"),
        ("tokens", True, "human-level"),
    ):
        env = view(
            tasks=tasks, chat=chat, builder_can_ask=ask, controls=controls, builder_sees=SIGHTS, max_steps=40
        )
        pair = agents_for(env, architect, builder)

        game = play(env, pair, seed=3)
        assert game.turns
        assert play(env, pair, seed=3).grid.tobytes() == game.grid.tobytes()
        for role, agent in pair.items():
            name = f"{role.value}_0"
            for turn in game.turns:
                if turn.role is role:
                    assert env.action_space(name).contains(turn.action), (role, agent, turn.action)


def test_agents_for_says_what_it_knows() -> None:
    env = iglu_marl.env()
    with pytest.raises(AgentError, match=r"'genius'.*oracle, random, scripted"):
        agents_for(env, builder="genius")
    with pytest.raises(AgentError, match="expected an environment of iglu_marl"):
        agents_for(object())


# --- random ones --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("can_yield", [False, True])
@pytest.mark.parametrize("can_ask", [False, True])
def test_random_builder_samples_its_space(controls: Any, can_yield: bool, can_ask: bool) -> None:
    space = Controls(controls, can_yield=can_yield).space
    builder = RandomBuilder(controls, can_yield=can_yield, can_ask=can_ask, talk=0.5)
    builder.reset(Role.BUILDER, 0)
    actions = [builder.act(None) for _ in range(40)]
    acts = [action["act"] for action in actions] if can_ask else actions
    assert all(space.contains(act) for act in acts)
    assert len({str(act) for act in acts}) > 5
    if can_ask:
        assert 5 < sum(bool(action["say"]) for action in actions) < 35
    builder.reset(Role.BUILDER, 0)
    assert str([builder.act(None) for _ in range(40)]) == str(actions)
    builder.reset(Role.BUILDER, 1)
    assert str([builder.act(None) for _ in range(40)]) != str(actions)


def test_random_builder_leaves_the_environments_generator_alone() -> None:
    env = gym.make("IGLUGridworldVector-v0", tasks=DUMMY_TASK)
    env.action_space.seed(5)
    expected = [env.action_space.sample() for _ in range(5)]
    env.action_space.seed(5)
    builder = RandomBuilder.for_env(env)
    builder.reset(Role.BUILDER, 9)
    builder.act(None)
    assert [env.action_space.sample() for _ in range(5)] == expected


@pytest.mark.parametrize("chat", ["text", "tokens"])
def test_random_architect_speaks_and_keeps_silent(chat: str) -> None:
    env = iglu_marl.env(chat=chat, max_message_length=12)
    architect = RandomArchitect.for_env(env, silence=0.3)
    architect.reset(Role.ARCHITECT, 0)
    said = [architect.act(None) for _ in range(60)]
    assert all(env.action_space("architect_0").contains(one) for one in said)
    silent = sum(not np.any(one) if chat == "tokens" else one == "" for one in said)
    assert 5 < silent < 40
    architect.reset(Role.ARCHITECT, 0)
    assert str([architect.act(None) for _ in range(60)]) == str(said)


# --- the scripted architect ---------------------------------------------------------------------------------


class Hearing:
    """A scripted architect in front of a world that a test changes by hand."""

    def __init__(self, target: np.ndarray, grid: np.ndarray = EMPTY, **options: Any) -> None:
        self.agent = ScriptedArchitect(**options)
        self.agent.reset(Role.ARCHITECT, 0)
        self.target, self.grid, self.pose = target, grid.copy(), np.zeros(5, np.float32)
        self.dialog = iglu_marl.Dialogue()

    def turn(self, answer: str = "") -> str:
        self.dialog = self.dialog.say("builder", answer)
        text = self.agent.act(
            {"target_grid": self.target, "grid": self.grid, "dialog": self.dialog.text, "agentPos": self.pose}
        )
        self.dialog = self.dialog.say("architect", text)
        return text

    def obey(self, text: str) -> None:
        edit = parse(text)
        assert isinstance(edit, CellEdit), text
        x, y, z = edit.cell
        assert self.grid[y + 1, x + 5, z + 5] == (edit.old_color or 0)
        self.grid[y + 1, x + 5, z + 5] = edit.after


def test_architect_asks_for_one_block_after_the_other_from_the_ground_up() -> None:
    hearing = Hearing(grid_of((0, -1, 2, RED), (0, 0, 2, BLUE), (0, 1, 2, GREEN)))
    told = []
    while (text := hearing.turn()) and text != say("complete"):
        told.append(text)
        hearing.obey(text)
    assert [parse(text).cell for text in told] == [(0, -1, 2), (0, 0, 2), (0, 1, 2)]
    assert told[0] == "Place a red block on the ground, 2 blocks south of the centre."
    assert np.array_equal(hearing.grid, hearing.target)
    assert text == say("complete")
    assert hearing.turn() == "", "the closing line is said once"


def test_architect_is_silent_while_the_builder_works_and_then_repeats() -> None:
    hearing = Hearing(DUMMY_TASK.target_grid.astype(np.int32), patience=3)
    first = hearing.turn()
    for step in range(20):
        hearing.pose[0] = step
        assert hearing.turn() == ""
    assert [hearing.turn() for _ in range(3)] == ["", "", first]


def test_architect_repeats_itself_to_one_who_never_stops_moving() -> None:
    hearing = Hearing(DUMMY_TASK.target_grid.astype(np.int32), repeat_after=10)
    first = hearing.turn()
    said = []
    for step in range(30):
        hearing.pose[0] = step % 7
        said.append(hearing.turn())
    assert said.count(first) == 3
    assert set(said) == {"", first}


def test_architect_waits_for_scaffolds_to_go_and_then_asks_for_it() -> None:
    hearing = Hearing(grid_of((0, 0, 2, RED), (3, -1, 3, RED)), patience=2)
    while (edit := parse(text := hearing.turn())).cell != (0, 0, 2):
        hearing.obey(text)
    hearing.grid[0, 5, 7] = BLUE  # a pillar
    hearing.pose[0] = 1
    assert hearing.turn() == ""
    hearing.obey(text)
    hearing.pose[0] = 2
    assert hearing.turn() == "", "the pillar is still there, and the builder moves"
    said = [hearing.turn() for _ in range(2)]
    assert said == ["", render(CellEdit("remove", (0, -1, 2), old_color=BLUE))]
    assert edit.color == RED


def test_architect_repairs_what_is_wrong() -> None:
    hearing = Hearing(grid_of((1, -1, 0, RED)), grid_of((1, -1, 0, BLUE), (4, -1, 4, GREEN)))
    told = []
    for _ in range(2):
        told.append(parse(text := hearing.turn()))
        hearing.obey(text)
    assert CellEdit("replace", (1, -1, 0), color=RED, old_color=BLUE) in told
    assert CellEdit("remove", (4, -1, 4), old_color=GREEN) in told


def test_architect_says_it_in_other_words_when_it_is_not_understood() -> None:
    hearing = Hearing(DUMMY_TASK.target_grid.astype(np.int32))
    told = [hearing.turn(), *(hearing.turn("I don't understand.") for _ in range(8))]
    assert {parse(text) for text in told} == {parse(told[0])}
    assert len(set(told)) > 2


def test_architect_goes_on_when_refused_and_comes_back() -> None:
    hearing = Hearing(grid_of((1, -1, 0, RED), (4, -1, 4, GREEN)), patience=50)
    first = hearing.turn()
    second = hearing.turn("I can't get there.")
    assert parse(second).cell != parse(first).cell
    hearing.obey(second)
    assert hearing.turn() == first
    assert hearing.turn("I can't get there.") == first, "the last block left is asked for again"
    assert hearing.turn("I can't get there.") == say("give_up")
    assert hearing.turn() == ""


def test_architect_follows_a_target_that_changes() -> None:
    hearing = Hearing(grid_of((1, -1, 0, RED)))
    hearing.obey(hearing.turn())
    hearing.target = grid_of((1, -1, 0, RED), (2, -1, 0, BLUE))
    assert parse(hearing.turn()) == CellEdit("place", (2, -1, 0), color=BLUE)


def test_architect_needs_to_see() -> None:
    architect = ScriptedArchitect()
    with pytest.raises(AgentError, match="cannot play the builder"):
        architect.reset(Role.BUILDER, 0)
    with pytest.raises(AgentError, match=r"needs 'target_grid'.*'dialog', 'grid'.*architect_sees"):
        architect.act({"grid": EMPTY, "dialog": ""})
    with pytest.raises(AgentError, match="expected text or an array"):
        architect.act({"grid": EMPTY, "target_grid": EMPTY, "dialog": 3.5})
    with pytest.raises(AgentError, match="patience is 0"):
        ScriptedArchitect(patience=0)


def test_varied_wordings_all_mean_the_same() -> None:
    target = grid_of(*((x, -1, 3, RED) for x in range(-3, 4)))
    plain, varied = Hearing(target), Hearing(target, varied=True)
    texts = []
    for _ in range(7):
        a, b = plain.turn(), varied.turn()
        assert parse(a) == parse(b)
        texts.append(a == b)
        plain.obey(a)
        varied.obey(b)
    assert not all(texts)


# --- the scripted builder -----------------------------------------------------------------------------------


class Told:
    """A scripted builder in a world of its own, told things by a test."""

    def __init__(
        self, grid: np.ndarray = EMPTY, controls: Any = "walking", tokens: bool = False, **options: Any
    ) -> None:
        self.agent = ScriptedBuilder(controls, can_ask=True, **options)
        self.agent.reset(Role.BUILDER, 0)
        self.controls = Controls(
            controls, can_yield=True, select_and_place=options.get("select_and_place", False)
        )
        self.world = Worlds(1)
        self.world.spawn(0, Task("", EMPTY, starting_grid=grid))
        self.dialog = iglu_marl.Dialogue()
        self.tokens = tokens

    def observe(self) -> dict[str, Any]:
        dialog: Any = self.dialog.text
        if self.tokens:
            codec = TemplateCodec()
            marks = {Role.ARCHITECT: codec.size, Role.BUILDER: codec.size + 1}
            said = [token for part in self.dialog for token in (marks[part.role], *codec.encode(part.text))][
                -64:
            ]
            dialog = np.array(said + [0] * (64 - len(said)), np.int32)
        pose, grid = self.world.seen_pose[0].copy(), self.world.grid[0].astype(np.int32)
        return {"dialog": dialog, "agentPos": pose, "grid": grid}

    def step(self) -> str:
        """One step; returns what was said."""
        action = self.agent.act(self.observe())
        said = action["say"]
        if self.tokens:
            said = TemplateCodec().decode(said)
        records, index = self.controls.yielding() if said else self.controls.encode(action["act"])
        self.world.step(records[index : index + 1])
        self.dialog = self.dialog.say("builder", said)
        return said

    def tell(self, text: str, limit: int = 400) -> str:
        """Say something and wait for the answer ("" when none comes)."""
        self.dialog = self.dialog.say("architect", text)
        return next((said for _ in range(limit) if (said := self.step())), "")

    @property
    def blocks(self) -> list[tuple[int, int, int, int]]:
        return grid_to_blocks(self.world.grid[0])


@pytest.mark.parametrize("controls", ["walking", "flying", "human-level"])
@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("select_and_place", [False, True])
def test_builder_does_what_it_is_told(controls: Any, tokens: bool, select_and_place: bool) -> None:
    told = Told(controls=controls, tokens=tokens, select_and_place=select_and_place)
    done = say("done").lower().strip(".") if tokens else say("done")
    assert told.tell("Place a red block on the ground, 2 blocks north of the centre.") == done
    assert told.blocks == [(0, -1, -2, RED)]
    assert told.tell("now put one GREEN cube on level 2, two north of the center please") == done
    assert told.blocks == [(0, -1, -2, RED), (0, 0, -2, GREEN)]
    assert told.tell("Change the red block 2 blocks north of the centre, on the ground, to blue.") == done
    assert told.blocks == [(0, -1, -2, BLUE), (0, 0, -2, GREEN)]
    assert told.tell("Remove the blue block 2 blocks north of the centre, on the ground.") == done
    assert told.blocks == [(0, 0, -2, GREEN)], "the other one floats"
    assert told.tell("Place a purple block at the centre, at height 5.") == done
    assert told.blocks == [(0, 0, -2, GREEN), (0, 3, 0, PURPLE)], "no scaffold is left"


REFUSALS = {
    "abracadabra": "I don't know the word 'abracadabra'.",
    "block the red place": "I don't understand 'red place'.",
    "Place a block at the centre, on the ground.": "Which color?",
    "Place a red block in the air above the blue block.": "How high?",
    "Place a red block on the ground.": "Where?",
    "Place a red block on the ground, 9 blocks north of the centre.": "I can't do that: it is outside of the zone.",
    "Place a red block on the ground, 1 block north of the centre.": "I can't do that: there is a block already.",
    "Remove the block at the centre, on the ground.": "I can't do that: there is no block.",
    "Change the red block at the centre, on the ground, to green.": "I can't do that: there is no block.",
    "Remove the red block on the ground, 1 block north of the centre.": "I can't do that: the block there is blue.",
    "Place a blue block on the ground, 2 blocks south of the centre.": "I can't do that: no blue blocks left.",
}


@pytest.mark.parametrize(("text", "answer"), REFUSALS.items(), ids=list(REFUSALS))
def test_builder_says_why_not(text: str, answer: str) -> None:
    start = grid_of((0, -1, -1, BLUE), *((x, -1, z, BLUE) for x in (4, 5) for z in range(-5, 5)))[:, :, :]
    start[0, 10, 9] = 0  # 20 blue blocks in all: none is left
    told = Told(start)
    assert told.tell(text) == answer
    assert np.array_equal(told.world.grid[0], start)
    assert told.step() == "", "it is said once"


def test_what_is_done_already_is_done() -> None:
    told = Told(grid_of((0, -1, -1, BLUE)))
    assert told.tell("Place a blue block on the ground, 1 block north of the centre.") == "Done."
    assert told.world.steps[0] == 1


def test_builder_without_a_voice_yields() -> None:
    for controls, expected in (("walking", 18), ("flying", 1)):
        builder = ScriptedBuilder(controls)
        builder.reset(Role.BUILDER, 0)
        observation = {
            "dialog": "<Architect> abracadabra",
            "agentPos": np.zeros(5, np.float32),
            "grid": EMPTY,
        }
        action = builder.act(observation)
        assert (action if controls == "walking" else action["yield"]) == expected
        assert Controls(controls, can_yield=True).space.contains(action)


def test_a_new_instruction_interrupts_and_nothing_is_left_behind() -> None:
    told = Told()
    told.dialog = told.dialog.say("architect", "Place a red block at the centre, at height 6.")
    while told.world.blocks[0] < 2:  # it has begun to build a pillar
        assert told.step() == ""
    assert told.tell("Place a green block on the ground, 3 blocks east of the centre.", 1000) == "Done."
    assert told.blocks == [(3, -1, 0, GREEN)]


def test_the_same_instruction_again_does_not_disturb() -> None:
    text = "Place a red block at the centre, at height 4."
    once, twice = Told(), Told()
    assert once.tell(text) == "Done."
    twice.dialog = twice.dialog.say("architect", text)
    for _ in range(10):
        twice.step()
    assert twice.tell(text) == "Done."
    assert once.world.steps[0] == twice.world.steps[0]
    assert twice.blocks == [(0, 2, 0, RED)]


def test_giving_up_and_trying_again() -> None:
    told = Told()
    text = "Place a red block at the centre, at height 4."
    told.dialog = told.dialog.say("architect", text)
    for _ in range(25):
        told.step()
    assert told.tell("Never mind, leave it.", 200) == ""
    assert told.blocks == []
    assert told.tell(text) == "Done."
    told.world.grid[0, 3, 5, 5] = 0  # someone takes it away
    assert told.tell("Please try again.") == "Done."
    assert told.blocks == [(0, 2, 0, RED)]


def test_builder_notices_what_others_do() -> None:
    told = Told()
    told.dialog = told.dialog.say(
        "architect", "Place a red block on the ground, 2 blocks north of the centre."
    )
    told.step()
    told.world.grid[0, 0, 9, 9] = YELLOW
    told.world.pose[0] = 3.2, -0.25, 3.1, 77.0, -11.0
    sense_at(told.world.state, 0)
    assert next(said for _ in range(200) if (said := told.step())) == "Done."
    assert told.blocks == [(0, -1, -2, RED), (4, -1, 4, YELLOW)]


def test_builder_carried_into_the_air_lands_first() -> None:
    told = Told()
    told.dialog = told.dialog.say(
        "architect", "Place a red block on the ground, 2 blocks north of the centre."
    )
    told.step()
    told.world.pose[0] = 3.0, 7.3, 3.0, 0.0, 0.0
    told.world.speed[0] = -3.0
    sense_at(told.world.state, 0)
    assert next(said for _ in range(300) if (said := told.step())) == "Done."
    assert told.blocks == [(0, -1, -2, RED)]


def test_builder_needs_to_see() -> None:
    builder = ScriptedBuilder()
    with pytest.raises(AgentError, match="cannot play the architect"):
        builder.reset(Role.ARCHITECT, 0)
    with pytest.raises(AgentError, match=r"needs 'grid'.*\['dialog'\].*builder_sees"):
        builder.act({"dialog": ""})
    with pytest.raises(AgentError, match="needs 'agentPos'"):
        builder.act({"dialog": "", "grid": EMPTY})
    with pytest.raises(AgentError, match=r"needs 'dialog'.*ndarray"):
        builder.act(EMPTY)
    env = iglu_marl.env(tasks=DUMMY_TASK)
    with pytest.raises(AgentError, match="builder_sees"):
        play(env, agents_for(env))


@pytest.mark.parametrize("select_and_place", [False, True])
@pytest.mark.parametrize("builder", [ScriptedBuilder, OracleBuilder])
@pytest.mark.parametrize("controls", ["discrete", "continuous"])
def test_the_encodings_of_2021_are_played(controls: Any, builder: Any, select_and_place: bool) -> None:
    env = iglu_marl.env(
        tasks=RandomTasks(max_blocks=5),
        controls=controls,
        select_and_place=select_and_place,
        builder_sees=SIGHTS,
    )
    for seed in range(2):
        architect = ScriptedArchitect.for_env(env)
        game = play(env, {"architect": architect, "builder": builder.for_env(env)}, seed=seed)
        assert np.array_equal(game.grid, game.task.target_grid)


def test_tokens_of_another_codec_are_noticed() -> None:
    builder = ScriptedBuilder()
    builder.reset(Role.BUILDER, 0)
    dialog = np.array([9_000, 5, 0], np.int32)
    with pytest.raises(AgentError, match="another codec"):
        builder.act({"dialog": dialog, "agentPos": np.zeros(5, np.float32), "grid": EMPTY})


@pytest.mark.parametrize("controls", ["walking", "flying", "human-level"])
@pytest.mark.parametrize("select_and_place", [False, True])
def test_the_private_world_is_the_real_one_to_the_last_bit(controls: Any, select_and_place: bool) -> None:
    env = iglu_marl.raw_env(
        tasks=RandomTasks(max_blocks=5, height_levels=3, num_colors=6),
        controls=controls,
        select_and_place=select_and_place,
        builder_sees=SIGHTS,
        builder_can_ask=True,
        max_steps=2000,
    )
    pair = agents_for(env)
    compared = []

    def compare(env: Any) -> None:
        private, real = pair[Role.BUILDER]._executor.state.world, env.unwrapped.episode.worlds
        if real.steps[0]:
            for name in ("pose", "speed", "grid", "inventory"):
                assert np.array_equal(getattr(private, name), getattr(real, name)), name
            compared.append(int(real.steps[0]))

    for seed in range(3):
        assert play(env, pair, seed=seed, on_step=compare).completed
    assert len(compared) > 20


# --- the oracle ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("controls", ["walking", "flying", "human-level"])
def test_oracle_builds_in_every_view(controls: Any) -> None:
    task = Task("", grid_of((0, -1, -2, RED), (0, 0, -2, BLUE), (2, -1, 1, GREEN)))
    options: dict[str, Any] = {"tasks": task, "max_steps": 500}
    for env in (
        iglu_marl.env(controls=controls, **options),
        iglu_marl.parallel_env(
            controls=controls, max_turns=None, chat="tokens", builder_can_ask=True, **options
        ),
        gym.make("IGLUGridworld-v0", action_space=controls, **options),
        gym.make("IGLUSilentBuilder-v0", action_space=controls, **options),
    ):
        pair = agents_for(env, builder="oracle")
        game = play(env, pair, seed=0)
        assert game.completed
        assert pair[Role.BUILDER].verdict == "built"
        assert pair[Role.BUILDER].reason == ""
        assert np.array_equal(game.grid, task.target_grid)


def test_oracle_knows_what_is_impossible() -> None:
    task = Task("", grid_of(*((x, -1, z, RED) for x in range(-5, 5) for z in (0, 2, 4))), invariant=False)
    env = gym.make("IGLUGridworldVector-v0", tasks=task, max_steps=20)
    oracle = OracleBuilder(can_yield=False)
    assert oracle.verdict == ""
    assert not play(env, oracle).completed
    assert oracle.verdict == "impossible"
    assert "red" in oracle.reason


def test_oracle_starts_where_the_episode_does() -> None:
    task = Task("", grid_of((0, -1, -2, RED), (0, 0, -2, BLUE)))
    pose = (3.5, -0.25, 4.0, 90.0, -20.0)
    silent = gym.make("IGLUGridworld-v0", tasks=task, max_steps=300)
    assert play(silent, OracleBuilder(can_yield=False, pose=pose), options={"pose": pose}).completed
    vector = gym.make("IGLUGridworldVector-v0", tasks=task, max_steps=300)
    assert play(vector, OracleBuilder(can_yield=False), options={"pose": pose}).completed


@pytest.mark.slow
def test_oracle_goes_on_with_a_progressive_session() -> None:
    session = Subtasks(
        ["<Architect> one", "<Architect> two", "<Architect> three"],
        [
            [(0, -1, 0, GREEN)],
            [(0, -1, 0, GREEN), (0, 0, 0, RED)],
            [(0, 0, 0, RED)],
        ],
        progressive=True,
    )
    env = gym.make("IGLUGridworld-v0", tasks=session.create_task(0), max_steps=500)
    game = play(env, agents_for(env, builder="oracle"))
    assert game.completed
    assert grid_to_blocks(game.grid) == [(0, 0, 0, RED)]


def test_oracle_needs_the_task() -> None:
    oracle = OracleBuilder()
    with pytest.raises(AgentError, match="needs the task"):
        oracle.reset(Role.BUILDER, 0)
    with pytest.raises(AgentError, match="architect"):
        oracle.reset(Role.ARCHITECT, 0, task=DUMMY_TASK)
    with pytest.raises(AgentError, match="has no task"):
        oracle.act({})
