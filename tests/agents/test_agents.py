"""The agents one by one: their protocol, what they say and do, and what they refuse to do."""

from __future__ import annotations

import ast
import pickle
import re
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from talkers import Instructor, Person

import iglu_marl
from iglu_marl import Agent, AgentError, Controls, Role, Subtasks, Task, play
from iglu_marl import agents as all_agents
from iglu_marl.agents import (
    OracleBuilder,
    RandomArchitect,
    RandomBuilder,
    ScriptedArchitect,
    ScriptedBuilder,
    agents_for,
)
from iglu_marl.agents.scripted.partners import HastyBuilder, VagueArchitect
from iglu_marl.agents.settings import Settings
from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.language import CellEdit, parse, render, say
from iglu_marl.tasks import DUMMY_TASK, RandomTasks

BLUE, YELLOW, GREEN, ORANGE, PURPLE, RED = range(1, 7)
SIGHTS = ("dialog", "pose", "grid")
EMPTY = np.zeros((9, 11, 11), dtype=np.int32)


@pytest.mark.parametrize("name", ["scripted", "oracle", "random", "hasty"])
def test_a_builder_knows_all_settings_of_its_game(name: str) -> None:
    env = iglu_marl.env(controls="flying", select_and_place=True, builder_can_ask=True, max_message_length=77)
    builder: Any = agents_for(env, builder=name)[Role.BUILDER]
    assert builder.game == Settings("flying", can_ask=True, select_and_place=True, message_length=77)
    words = iglu_marl.env(chat="tokens", max_message_length=7, builder_can_ask=True)
    codec = (game := agents_for(words, builder=name)[Role.BUILDER].game).codec  # type: ignore[attr-defined]
    assert (codec.name, game.tokens, game.max_length) == ("templates", True, 7)


@pytest.mark.parametrize(
    ("env_id", "compat"), [("IGLUGridworldVector-v0", "iglu2022"), ("IGLUSilentBuilder-v0", "iglu2021")]
)
def test_builders_refuse_what_they_would_misread(env_id: str, compat: str) -> None:
    env, own = (gym.make(env_id, compat=said) for said in (compat, None))
    for name in ("scripted", "oracle", "hasty"):
        with pytest.raises(
            AgentError, match=f"compat='{compat}', whose colors and camera .*Builder does not"
        ):
            agents_for(env, builder=name)
        agents_for(own, builder=name)
    played = play(env, RandomBuilder.for_env(env), seed=1)
    assert len(played.turns) > 9


def grid_of(*blocks: tuple[int, int, int, int]) -> np.ndarray:
    return np.array(blocks_to_grid(list(blocks)), dtype=np.int32)


still_person = partial(Person, moves=0.0)


def restored(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 (our own bytes)


# --- all of them --------------------------------------------------------------------------------------------

MODELLED = {"LLMArchitect", "LLMBuilder", "LearnedBuilder"}  # see test_llm.py and test_learned.py
MAKERS = {
    getattr(all_agents, name)
    for name in all_agents.__all__
    if name not in MODELLED | {"agents_for", "pretrained", "zoo"}
} | {HastyBuilder, VagueArchitect}


@pytest.mark.parametrize("make", sorted(MAKERS, key=lambda make: make.__name__))
def test_agents_follow_the_protocol(make: type) -> None:
    agent = make()
    assert isinstance(agent, Agent)
    assert isinstance(restored(agent), make)
    agent.close()
    agent.close()
    if make in (RandomArchitect, RandomBuilder):
        return
    own, other = list(Role) if "Architect" in make.__name__ else list(Role)[::-1]
    with pytest.raises(AgentError, match=other.value):
        agent.reset(other, 0)
    if not getattr(agent, "privileged", False):
        agent.reset(own, 0)
        with pytest.raises(AgentError, match=r"[Nn]eeds '|expected"):
            agent.act({})


@pytest.mark.parametrize(
    ("agent", "observation", "message"),
    [
        (
            ScriptedArchitect(),
            {"grid": EMPTY, "dialog": ""},
            r"needs 'target_grid'.*'dialog', 'grid'.*architect_sees",
        ),
        (ScriptedBuilder(), {"dialog": ""}, r"needs 'grid'.*\['dialog'\].*builder_sees"),
        (ScriptedBuilder(), EMPTY, r"needs 'dialog'.*ndarray"),
        (
            ScriptedBuilder(),
            {"dialog": np.array([9_000, 5, 0], np.int32), "agentPos": np.zeros(5, np.float32), "grid": EMPTY},
            "another codec",
        ),
    ],
)
def test_observations_that_lack_something_are_refused(agent: Any, observation: Any, message: str) -> None:
    agent.reset(Role.ARCHITECT if isinstance(agent, ScriptedArchitect) else Role.BUILDER, 0)
    with pytest.raises(AgentError, match=message):
        agent.act(observation)


@pytest.mark.parametrize("option", [{"patience": 0}, {"level": "words"}, {"references": "some"}])
def test_wrong_options_of_the_architect_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(AgentError, match=r"(patience|level|references) (is )?'?(0|words|some)"):
        ScriptedArchitect(**option)


@pytest.mark.parametrize("view", [iglu_marl.env, iglu_marl.parallel_env])
@pytest.mark.parametrize("architect", ["random", "scripted"])
@pytest.mark.parametrize("builder", ["oracle", "random", "scripted"])
def test_agents_for_fits_any_game(view: Any, architect: str, builder: str) -> None:
    tasks = RandomTasks(max_blocks=2)
    for chat, ask, controls in (("text", True, "flying"), ("tokens", False, "human-level")):
        options = {"chat": chat, "builder_can_ask": ask, "controls": controls, "max_steps": 40}
        env = view(tasks=tasks, builder_sees=SIGHTS, **options)
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


@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("can_ask", [False, True])
def test_nothing_happens_by_nothing(controls: Any, can_ask: bool) -> None:
    env = iglu_marl.env(controls=controls, builder_can_ask=can_ask, turn_steps=20, max_steps=50)
    played = play(env, agents_for(env, builder="nothing"), seed=0)
    assert played.grid is not None
    assert not played.grid.any()
    assert played.architect_turns == 50, "it ends each turn"
    single = gym.make("IGLUGridworldVector-v0", action_space=controls, tasks=DUMMY_TASK, max_steps=30)
    played = play(single, agents_for(single, builder="nothing"), seed=0)
    assert (played.builder_steps, played.completed) == (30, False)


@pytest.mark.parametrize("name", ["scripted", "hasty", "learned"])
def test_what_the_error_advises_lets_a_builder_play(name: str) -> None:
    if name == "learned":
        pytest.importorskip("torch")
    env = gym.make("IGLUGridworld-v0")
    with pytest.raises(AgentError, match="needs 'grid'") as caught:
        play(env, agents_for(env, builder=name), seed=0)
    advised = re.search(r"builder_sees=(\(.*?\)), or the id (\S+)", str(caught.value))
    assert advised is not None
    for env in (
        gym.make("IGLUGridworld-v0", builder_sees=ast.literal_eval(advised[1]), max_steps=5),
        gym.make(advised[2], max_steps=5),
    ):
        assert play(env, agents_for(env, builder=name), seed=0).builder_steps == 5


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


def test_architect_asks_for_one_block_after_the_other_from_the_ground_up() -> None:
    person = still_person(grid_of((0, -1, 2, RED), (0, 0, 2, BLUE), (0, 1, 2, GREEN)))
    requests = []
    while (text := person.says()) and text != say("complete"):
        requests.append(text)
        person.obeys(text)
    assert [parse(text).cell for text in requests] == [(0, -1, 2), (0, 0, 2), (0, 1, 2)]
    assert requests[0] == "Place a red block on the ground, 2 blocks south of the centre."
    assert np.array_equal(person.grid, person.target)
    assert text == say("complete")
    assert person.says() == "", "the closing line is said once"


def test_architect_is_silent_while_the_builder_works_and_then_repeats() -> None:
    person = still_person(DUMMY_TASK.target_grid.astype(np.int32), patience=3)
    first = person.says()
    for step in range(20):
        person.pose[0] = step
        assert person.says() == ""
    assert [person.says() for _ in range(3)] == ["", "", first]


def test_architect_repeats_itself_to_one_who_never_stops_moving() -> None:
    person = still_person(DUMMY_TASK.target_grid.astype(np.int32), repeat_after=10)
    first = person.says()
    said = []
    for step in range(30):
        person.pose[0] = step % 7
        said.append(person.says())
    assert said.count(first) == 3
    assert set(said) == {"", first}


def test_architect_waits_for_scaffolds_to_go_and_then_asks_for_it() -> None:
    person = still_person(grid_of((0, 0, 2, RED), (3, -1, 3, RED)), patience=2)
    while (edit := parse(text := person.says())).cell != (0, 0, 2):
        person.obeys(text)
    person.grid[0, 5, 7] = BLUE  # a pillar
    person.pose[0] = 1
    assert person.says() == ""
    person.obeys(text)
    person.pose[0] = 2
    assert person.says() == "", "the pillar is still there, and the builder moves"
    said = [person.says() for _ in range(2)]
    assert said == ["", render(CellEdit("remove", (0, -1, 2), old_color=BLUE))]
    assert edit.color == RED


def test_architect_repairs_what_is_wrong() -> None:
    person = still_person(grid_of((1, -1, 0, RED)), grid_of((1, -1, 0, BLUE), (4, -1, 4, GREEN)))
    edits = []
    for _ in range(2):
        edits.append(parse(text := person.says()))
        person.obeys(text)
    assert CellEdit("replace", (1, -1, 0), color=RED, old_color=BLUE) in edits
    assert CellEdit("remove", (4, -1, 4), old_color=GREEN) in edits


def test_architect_leaves_a_refused_part_and_returns_to_it() -> None:
    person = still_person(grid_of((1, -1, 0, RED), (4, -1, 4, GREEN)), patience=50)
    first = person.says()
    second = person.says("I can't get there.")
    assert parse(second).cell != parse(first).cell
    person.obeys(second)
    assert person.says() == first
    assert person.says("I can't get there.") == first, "the last block left is asked for again"
    assert person.says("I can't get there.") == say("give_up")
    assert person.says() == ""


def test_architect_follows_a_target_that_changes() -> None:
    person = still_person(grid_of((1, -1, 0, RED)))
    person.obeys(person.says())
    person.target = grid_of((1, -1, 0, RED), (2, -1, 0, BLUE))
    assert parse(person.says()) == CellEdit("place", (2, -1, 0), color=BLUE)


# --- the scripted builder -----------------------------------------------------------------------------------


@pytest.mark.parametrize("controls", ["walking", "flying", "human-level"])
@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("select_and_place", [False, True])
def test_builder_follows_instructions(controls: Any, tokens: bool, select_and_place: bool) -> None:
    instructor = Instructor(controls=controls, tokens=tokens, select_and_place=select_and_place)
    done = say("done").lower().strip(".") if tokens else say("done")
    assert instructor.tell("Place a red block on the ground, 2 blocks north of the centre.") == done
    assert instructor.blocks == [(0, -1, -2, RED)]
    assert instructor.tell("now put one GREEN cube on level 2, two north of the center please") == done
    assert instructor.blocks == [(0, -1, -2, RED), (0, 0, -2, GREEN)]
    change = "Change the red block 2 blocks north of the centre, on the ground, to blue."
    assert instructor.tell(change) == done
    assert instructor.blocks == [(0, -1, -2, BLUE), (0, 0, -2, GREEN)]
    assert instructor.tell("Remove the blue block 2 blocks north of the centre, on the ground.") == done
    assert instructor.blocks == [(0, 0, -2, GREEN)], "the other one floats"
    assert instructor.tell("Place a purple block at the centre, at height 5.") == done
    assert instructor.blocks == [(0, 0, -2, GREEN), (0, 3, 0, PURPLE)], "no scaffold is left"


REFUSALS = {
    "abracadabra": "I don't know the word 'abracadabra'.",
    "block the red place": "I don't understand 'the red place'.",
    "Place a block at the centre, on the ground.": "Which color?",
    "Place a red block in the air above the blue block.": "I don't understand 'air above the blue block'.",
    "Place a red block on the ground, 9 blocks north of the centre.": "I can't do that: it is outside of the zone.",
    "Place a red block on the ground, 1 block north of the centre.": "I can't do that: there is a block already.",
    "Remove the block at the centre, on the ground.": "I can't do that: there is no block.",
    "Change the red block at the centre, on the ground, to green.": "I can't do that: there is no block.",
    "Remove the red block on the ground, 1 block north of the centre.": "I can't do that: the block there is blue.",
}


@pytest.mark.parametrize(("text", "answer"), REFUSALS.items(), ids=list(REFUSALS))
def test_builder_says_why_not(text: str, answer: str) -> None:
    cells = [(0, -1, -1), *((x, -1, z) for x in (4, 5) for z in range(-5, 5))][:20]
    start = [(*cell, BLUE) for cell in cells]  # 20 blue blocks in all: none is left
    instructor = Instructor(*start, controls="walking")
    assert instructor.tell(text) == answer
    assert instructor.blocks == sorted(start)
    assert instructor.step() == "", "it is said once"


def test_what_is_done_already_is_done() -> None:
    instructor = Instructor((0, -1, -1, BLUE), controls="walking")
    assert instructor.tell("Place a blue block on the ground, 1 block north of the centre.") == "Done."
    assert instructor.world.steps[0] == 1


@pytest.mark.parametrize("text", ["abracadabra", "Remove the blue block."])
@pytest.mark.parametrize(("controls", "expected"), [("walking", 18), ("flying", 1)])
def test_builder_without_a_voice_yields_at_what_is_not_clear(controls: Any, expected: int, text: str) -> None:
    builder = ScriptedBuilder(controls)
    builder.reset(Role.BUILDER, 0)
    grid = grid_of((0, -1, 0, BLUE), (1, -1, 0, BLUE))
    pose = np.array([0, -0.25, 3, 0, 0], np.float32)
    action = builder.act({"dialog": f"<Architect> {text}", "agentPos": pose, "grid": grid})
    assert (action if controls == "walking" else action["yield"]) == expected
    assert Controls(controls, can_yield=True).space.contains(action)


def test_a_new_instruction_interrupts_and_nothing_is_left_behind() -> None:
    instructor = Instructor(controls="walking")
    text = "Place a red block at the centre, at height 6."
    instructor.dialogue = instructor.dialogue.say("architect", text)
    while instructor.world.blocks[0] < 2:  # it has begun to build a pillar
        assert instructor.step() == ""
    assert instructor.tell("Place a green block on the ground, 3 blocks east of the centre.", 1000) == "Done."
    assert instructor.blocks == [(3, -1, 0, GREEN)]


def test_the_same_instruction_again_does_not_disturb() -> None:
    text = "Place a red block at the centre, at height 4."
    once, twice = Instructor(controls="walking"), Instructor(controls="walking")
    assert once.tell(text) == "Done."
    twice.dialogue = twice.dialogue.say("architect", text)
    for _ in range(10):
        twice.step()
    assert twice.tell(text) == "Done."
    assert once.world.steps[0] == twice.world.steps[0]
    assert twice.blocks == [(0, 2, 0, RED)]


def test_giving_up_and_trying_again() -> None:
    instructor = Instructor(controls="walking")
    text = "Place a red block at the centre, at height 4."
    instructor.dialogue = instructor.dialogue.say("architect", text)
    for _ in range(25):
        instructor.step()
    assert instructor.tell("Never mind, leave it.", 200) == ""
    assert instructor.blocks == []
    assert instructor.tell(text) == "Done."
    instructor.world.grid[0, 3, 5, 5] = 0  # someone takes it away
    assert instructor.tell("Please try again.") == "Done."
    assert instructor.blocks == [(0, 2, 0, RED)]


# --- the oracle ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("controls", ["walking", "flying", "human-level"])
def test_oracle_builds_in_every_view(controls: Any) -> None:
    task = Task("", grid_of((0, -1, -2, RED), (0, 0, -2, BLUE), (2, -1, 1, GREEN)))
    options: dict[str, Any] = {"tasks": task, "max_steps": 500}
    for env in (
        iglu_marl.env(controls=controls, **options),
        iglu_marl.parallel_env(controls=controls, max_turns=None, chat="tokens", **options),
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
def test_oracle_completes_a_progressive_session() -> None:
    lines = ["<Architect> one", "<Architect> two", "<Architect> three"]
    green, red = (0, -1, 0, GREEN), (0, 0, 0, RED)
    session = Subtasks(lines, [[green], [green, red], [red]], progressive=True)
    env = gym.make("IGLUGridworld-v0", tasks=session.create_task(0), max_steps=500)
    game = play(env, agents_for(env, builder="oracle"))
    assert game.completed
    assert grid_to_blocks(game.grid) == [(0, 0, 0, RED)]


def test_oracle_needs_the_task() -> None:
    oracle = OracleBuilder()
    with pytest.raises(AgentError, match="needs the task"):
        oracle.reset(Role.BUILDER, 0)
    with pytest.raises(AgentError, match="has no task"):
        oracle.act({})
