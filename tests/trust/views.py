"""State machines over the views of the game: AEC, parallel and single agent.

Hypothesis draws the options of a view and a sequence of moves, invalid actions, saves, restores and resets. Two
environments get the same sequence and must agree bit by bit; invalid actions change nothing. The amount is a number of
moves.
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, ClassVar

import gymnasium as gym
import hypothesis
from fuzz_targets import Values
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from probing import VIEWS, Player, frozen, story_options
from trust.driver import Figures, expect, main, show_progress

from iglu_marl import IgluMarlError
from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.state_bounds import check_state
from iglu_marl.tasks import RandomTasks

QUICK, FULL = 3_000, 100_000
TASKS = RandomTasks(max_blocks=4, max_cache=0)


class Views(RuleBasedStateMachine):
    """Two environments of one kind that get the same actions."""

    figures: ClassVar[Figures] = {}

    @initialize(
        kind=st.sampled_from(list(VIEWS)),
        seed=st.integers(0, 2**31),
        controls=st.sampled_from(CONTROLS),
        data=st.data(),
    )
    def begin(self, kind: str, seed: int, controls: str, data: st.DataObject) -> None:
        """Choose a view and its options."""
        options = {"tasks": TASKS, **self.options(kind, controls, data)}
        self.kind = kind
        self.both = [Game(kind, seed, options) for _ in range(2)]
        self.saved: Any = None
        self.reset(seed)

    def options(self, kind: str, controls: str, data: st.DataObject) -> dict[str, Any]:
        """Return options under which much happens in a few moves."""
        drawn = data.draw(
            st.fixed_dictionaries({"max_steps": st.integers(1, 40), "step_cost": st.sampled_from((0.0, 0.5))})
        )
        options = {**story_options(kind), "max_steps": drawn["max_steps"]}
        if kind.startswith("IGLU"):
            return options if "Silent" in kind else {**options, "action_space": controls}
        chat = data.draw(st.sampled_from(({}, {"chat": "tokens", "vocabulary": 7})))
        turns = {"max_turns": data.draw(st.integers(1, 6))}
        if "parallel" not in kind:
            turns["turn_steps"] = data.draw(st.integers(1, 5))
        return {**options, **drawn, **turns, **chat, "controls": controls}

    @rule(count=st.integers(1, 25))
    def moves(self, count: int) -> None:
        """Make some moves; both environments must agree."""
        one, other = (game.moves(count) for game in self.both)
        expect(one == other, f"two environments of {self.kind} led alike show different things")
        self.figures["moves"] += count * len(self.both)
        show_progress(self.figures)

    @rule(count=st.integers(1, 12))
    def back_and_forth(self, count: int) -> None:
        """Save, move, restore, move: the result is the same. The twin moves on without that."""
        game, twin = self.both
        saved, generators = copy.deepcopy(game.env.unwrapped.get_state()), copy.deepcopy(game.player)
        first = game.moves(count)
        game.env.unwrapped.set_state(saved)
        game.player = generators
        expect(
            frozen(first) == frozen(game.moves(count)), f"{self.kind} goes on otherwise from a saved state"
        )
        expect(frozen(first) == frozen(twin.moves(count)), f"{self.kind} was changed by being saved")
        self.figures["moves"] += 3 * count
        self.figures["restored"] += 1

    @rule(octets=st.binary(min_size=4, max_size=40))
    def refused(self, octets: bytes) -> None:
        """An invalid action changes nothing and raises an error of ours."""
        for game in self.both:
            before = game.record()
            try:
                game.odd(Values(octets))
                self.figures["taken"] += 1
            except IgluMarlError:
                expect(game.record() == before, f"what {self.kind} refused has changed something: {octets!r}")
                self.figures["refused"] += 1
            if game.over:
                game.reset(None)

    @rule(seed=st.none() | st.integers(0, 2**31))
    def reset(self, seed: int | None) -> None:
        """Reset both."""
        one, other = (frozen(game.reset(seed)) for game in self.both)
        expect(one == other, f"two resets of {self.kind} show different things")
        self.figures["resets"] += 2

    @precondition(lambda self: hasattr(self, "both"))
    @invariant()
    def worlds_are_whole(self) -> None:
        """All fields are in range, observations are in their space, and both environments have the same state."""
        one, other = self.both
        state = one.worlds.get_state()
        check_state(state, len(state))
        expect(
            state.tobytes() == other.worlds.get_state().tobytes(),
            f"two {self.kind} led alike are in different states",
        )
        one.check_shown()

    def teardown(self) -> None:
        """Close both."""
        for game in getattr(self, "both", ()):
            if hasattr(game.env, "close"):
                game.env.close()


class Game:
    """One game in any view, with the random player of the tests."""

    def __init__(self, kind: str, seed: int, options: dict[str, Any]) -> None:
        self.env, self._seed = VIEWS[kind](**options), seed
        self.player = Player(self.env, seed)

    @property
    def worlds(self) -> Any:
        return self.env.unwrapped.episode.worlds

    @property
    def over(self) -> bool:
        worlds = self.worlds
        return bool(worlds.terminated[0] or worlds.truncated[0])

    def record(self) -> bytes:
        return bytes(self.worlds.state.tobytes())

    def moves(self, count: int) -> Any:
        return self.player.moves(self.env, count)

    def reset(self, seed: int | None) -> Any:
        return self.env.reset(seed=seed)

    def odd(self, values: Values) -> None:
        env = self.env
        spaces = {name: space.sample() for name, space in self.player.spaces.items()}
        if isinstance(env, gym.Env):
            env.step(values.like(spaces[""]))
        elif hasattr(env, "agent_iter"):
            agent = env.agent_selection
            if not (env.terminations[agent] or env.truncations[agent]):
                env.step(values.like(spaces[agent]))
        else:
            env.step(values.like({agent: spaces[agent] for agent in env.agents}))

    def check_shown(self) -> None:
        env = self.env
        if hasattr(env, "observation_spaces") and hasattr(env.unwrapped, "observe"):
            for agent in env.possible_agents:
                shown = env.unwrapped.observe(agent)
                expect(
                    env.observation_space(agent).contains(shown), f"what {agent} sees lies outside its space"
                )


def drive(amount: int, seed: int) -> Figures:
    """Run state machines until `amount` moves are made. Hypothesis shrinks and prints what it finds."""
    figures = Views.figures = {
        "moves": 0,
        "restored": 0,
        "refused": 0,
        "taken": 0,
        "resets": 0,
        "machines": 0,
    }
    settings = hypothesis.settings(
        max_examples=20,
        stateful_step_count=30,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    for _ in range(math.ceil(amount / 20)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run_state_machine_as_test(Views, settings=settings)  # type: ignore[no-untyped-call]
        figures["machines"] += settings.max_examples
        if figures["moves"] >= amount:
            break
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
