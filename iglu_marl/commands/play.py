"""What `iglu-marl play` does: a person at the window plays the builder, the architect, or both; it is recorded."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.commands.demo import DemoOptions, choose, choose_session
from iglu_marl.core.controls import CONTROLS
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.task import Task
from iglu_marl.envs.aec import raw_env
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER, ROLES
from iglu_marl.game.agent import begin
from iglu_marl.recording import Recorder
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.ui.composed import game_views
from iglu_marl.rendering.ui.layers import Layer
from iglu_marl.rendering.ui.screens import OrbitAngles, Overlay, onlooker_screen
from iglu_marl.rendering.ui.window import ENGINES, Closed, Key, Window, WindowClosed

ROLE_NAMES = ("builder", "architect", "both")
SWITCHED = ("human-level", "flying")  # what TAB changes between
TURN_STEPS = 20  # with a live architect the floor comes around once a second
PATIENCE, REPEAT_AFTER = (
    30,
    120,
)  # such turns, before a scripted architect says something else, or the same again
# Of partners who play with people: patient, and the game goes on while a model thinks.
_MANNERS: dict[str, dict[str, Any]] = {
    ARCHITECT: {
        "scripted": {"patience": PATIENCE, "repeat_after": REPEAT_AFTER},
        "llm": {"patience": PATIENCE, "settle_after": 3, "background": True},
    },
    BUILDER: {"llm": {"background": True}},
}
BUILDER_TURN_STEPS = 200  # of a builder whom a person instructs
FOLDER = Path("iglu-marl-play")


@dataclass(frozen=True)
class PlayOptions:
    """The options of the command, validated. Raises `ConfigError`.

    record: the file to write, or to go on with; None = a new one in the folder iglu-marl-play; keep=False: none.
    """

    role: str = "builder"
    partner: str = "scripted"
    tasks: Path | None = None
    data: Path | None = None
    task: str | None = None
    controls: str | None = None
    seed: int = 0
    engine: str = "auto"
    record: Path | None = None
    keep: bool = True
    json: bool = False

    def __post_init__(self) -> None:
        for name, known in (("role", ROLE_NAMES), ("partner", self.partners), ("engine", ENGINES)):
            if getattr(self, name) not in known:
                raise ConfigError(f"--{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        if self.controls not in (None, *CONTROLS):
            raise ConfigError(f"--controls is {self.controls!r}, expected one of {', '.join(CONTROLS)}")
        if self.seed < 0:
            raise ConfigError(f"--seed is {self.seed}, expected an integer of 0 or more")

    @property
    def partners(self) -> tuple[str, ...]:
        """Who can play the other role."""
        from iglu_marl.agents.pairing import ARCHITECTS, BUILDERS

        if self.role == "architect":
            return (*sorted(BUILDERS), "none")
        return (*sorted({*ARCHITECTS, "replay"}), "none")

    @property
    def encoding(self) -> Any:
        """The builder's action encoding."""
        return self.controls or ("walking" if self.role == "architect" else "human-level")


def choose_task(options: PlayOptions) -> Task:
    """The structure to build, by name or by the seed; for replay the first turn of a recorded session."""
    replay = options.partner == "replay" and options.role == "builder"
    chosen = DemoOptions(
        tasks=options.tasks,
        data=options.data,
        task=options.task,
        seed=options.seed,
        replay=replay,
        json=options.json,
    )
    return choose_session(chosen)[0] if replay else choose(chosen)


class Nobody:
    """A partner who is not there: silent, or yielding at once. action: what it does at each turn."""

    def __init__(self, action: Any) -> None:
        self._action = action

    def reset(self, role: Role, seed: int | None) -> None:
        """Nothing to prepare."""

    def act(self, observation: Any) -> Any:
        """The same as ever."""
        return self._action

    def close(self) -> None:
        """Nothing is held."""


def make_env(options: PlayOptions, task: Task) -> Any:
    """The game: no limits but turns, whose length depends on who plays what."""
    turn_steps: int | None = None
    if options.role == "architect":
        turn_steps = BUILDER_TURN_STEPS
    elif options.role == "builder" and options.partner not in ("replay", "none"):
        turn_steps = TURN_STEPS
    return raw_env(
        tasks=task,
        controls=options.encoding,
        turn_steps=turn_steps,
        max_steps=None,
        max_turns=None,
        builder_can_ask=True,
        builder_sees=("inventory", "compass", "dialog", "pose", "grid"),
    )


def make_agents(
    options: PlayOptions, env: Any, window: Any = None, step_s: float | None = None
) -> dict[str, Any]:
    """Who plays, by PettingZoo name. People share one window."""
    from iglu_marl.agents import HumanArchitect, HumanBuilder, ReplayArchitect
    from iglu_marl.agents.cockpit import Cockpit
    from iglu_marl.agents.hands import Hands
    from iglu_marl.agents.pairing import ARCHITECTS, BUILDERS

    if window is None:
        window = Window(
            "iglu_marl: " + {"both": "architect and builder"}.get(options.role, options.role),
            engine=options.engine,
        )
    cockpit = Cockpit(window)
    pace = {} if step_s is None else {"step_s": step_s}
    if options.role in ("builder", "both"):
        switches = options.encoding in SWITCHED
        builder: Any = HumanBuilder.for_env(env, cockpit=cockpit, can_switch=switches, **pace)
    elif options.partner == "none":
        hands = Hands(options.encoding, can_yield=True)
        hands.yield_turn()
        builder = Nobody({"act": hands.action(0.0), "say": ""})
    else:
        builder = BUILDERS[options.partner].for_env(env, **_MANNERS[BUILDER].get(options.partner, {}))
    if options.role in ("architect", "both"):
        architect: Any = HumanArchitect.for_env(env, cockpit=cockpit, **pace)
    elif options.partner == "none":
        architect = Nobody("")
    elif options.partner == "replay":
        architect = ReplayArchitect.for_env(env, patience=1)  # the floor comes back when the person says so
    else:
        architect = ARCHITECTS[options.partner].for_env(env, **_MANNERS[ARCHITECT].get(options.partner, {}))
    return {ARCHITECT: architect, BUILDER: builder}


def carried_over(env: Any, controls: Any) -> Any:
    """The same game, as it stands now, in an environment whose builder acts in another encoding."""
    game = env.unwrapped
    other = raw_env(dataclasses.replace(game.config, controls=controls))
    other.reset(options={"task": game.task})
    other.set_state(game.get_state())
    return other


def play_game(
    env: Any,
    agents: dict[str, Any],
    recorder: Recorder | None = None,
    on_step: Callable[[Any], None] | None = None,
    seed: int | None = None,
) -> tuple[Any, str]:
    """Play an environment that was just reset to its end.

    Returns the environment in which it ended (TAB carries a game over to another one) and how: "complete",
    "truncated" or "left".
    """
    for number, (name, agent) in enumerate(agents.items()):
        own = None if seed is None else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        begin(agent, ROLES[name], own, env.unwrapped.task)
    if recorder is not None:
        recorder.begin(env, seed)
    try:
        while True:
            name = env.agent_selection
            if env.terminations[name] or env.truncations[name]:
                return env, "complete" if env.terminations[name] else "truncated"
            action = agents[name].act(env.observe(name))
            env.step(action)
            if recorder is not None:
                recorder.note(env, {ROLES[name]: action})
            asked = getattr(agents[name], "asked_controls", None)
            if asked is not None:
                env = carried_over(env, asked)
                agents[name].use(asked)
                if recorder is not None:
                    recorder.switch(env)
            if on_step is not None:
                on_step(env)
    except WindowClosed:
        return env, "left"
    finally:
        if recorder is not None:
            recorder.end(env)


def show_result(window: Any, env: Any, how: str) -> None:
    """The whole game in one picture, target and all, until a key is pressed or the window is closed."""
    title = {"complete": "Complete!", "truncated": "Out of steps."}[how] + "  Enter leaves."
    window.capture(False)
    window.typing(False)
    moment = moment_of(env.unwrapped.episode)
    views = game_views(**{**moment, "status": {**moment["status"], "title": title}})
    size = (0, 0)
    layers: list[Layer] = []
    while not window.closed:
        if window.size != size:
            size = window.size
            layers = onlooker_screen(*views, size, Overlay(), OrbitAngles())
        window.draw(layers)
        for event in window.poll():
            if isinstance(event, Closed) or (
                isinstance(event, Key) and event.down and event.name in ("return", "escape", "q")
            ):
                window.close()
                break
        time.sleep(0.02)


def _recorder(path: Path, agents: dict[str, Any]) -> Recorder:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    return Recorder(path, agents={ROLES[name].value: type(agent).__name__ for name, agent in agents.items()})


def record_path(options: PlayOptions, task: Task) -> Path | None:
    """Where the moves go."""
    if not options.keep:
        return None
    if options.record is not None:
        return options.record
    name = re.sub(r"[^\w.-]+", "-", str(task.task_id or "structure"))
    return FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{options.role}.jsonl"


def facts_of(options: PlayOptions, env: Any, how: str, path: Path | None) -> dict[str, Any]:
    """The figures of the game, JSON-ready."""
    worlds, task = env.unwrapped.episode.worlds, env.unwrapped.task
    return {
        "task": task.task_id,
        "role": options.role,
        "partner": options.partner if options.role != "both" else None,
        "seed": options.seed,
        "end": how,
        "completed": how == "complete",
        "intersection": int(worlds.best[0]),
        "target_blocks": int(worlds.target_blocks[0]),
        "builder_steps": int(worlds.steps[0]),
        "architect_turns": int(worlds.turns[0]),
        "recording": None if path is None else str(path),
    }


def run(options: PlayOptions, window: Any = None, step_s: float | None = None) -> bool:
    """Play, show how it went, keep the moves. Returns whether the structure was completed.

    window, step_s: for tests; a window of one's own, and the seconds that a step takes.
    """
    task = choose_task(options)
    env = make_env(options, task)
    env.reset(seed=options.seed)
    agents = make_agents(options, env, window, step_s)
    people = [agent for agent in agents.values() if hasattr(agent, "cockpit")]
    window = people[0].cockpit.window
    window.open()  # before anything is written: without a display there is no game
    watch = getattr(agents[ARCHITECT], "watch", None) if options.role == "architect" else None
    path = record_path(options, task)
    try:
        with ExitStack() as stack:
            recorder = None if path is None else stack.enter_context(_recorder(path, agents))
            env, how = play_game(env, agents, recorder, watch, options.seed)
        if how != "left":
            show_result(window, env, how)
    finally:
        for agent in agents.values():
            agent.close()
        window.close()
    facts = facts_of(options, env, how, path)
    if models := [
        agent.stats.as_dict()
        for agent in agents.values()
        if hasattr(getattr(agent, "stats", None), "as_dict")
    ]:
        facts["model"] = models[0]
    if options.json:
        print(json.dumps(facts))
    else:
        _summary(facts)
    return bool(facts["completed"])


def _summary(facts: dict[str, Any]) -> None:
    how = {"complete": "complete", "truncated": "out of steps", "left": "left before the end"}[facts["end"]]
    print(f"{facts['task']}: {how}, {facts['intersection']} of {facts['target_blocks']} blocks right.")
    print(f"{facts['builder_steps']} builder steps, {facts['architect_turns']} architect turns.")
    if "model" in facts:
        counts = facts["model"]
        failures = ", ".join(f"{count} {kind}" for kind, count in counts["failures"].items()) or "none"
        print(f"The model had {counts['requests']} requests; failures: {failures}.")
    if facts["recording"] is not None:
        print(f"The recording is {facts['recording']}.")
