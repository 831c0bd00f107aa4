"""A person as the architect, who types at a window."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, DialogueError, Pose, Role, Task, Utterance
from iglu_marl.agents.human.player import DRAG_DEG, TEXT_LIMIT, PlayerWindow, seen_sides, spelled
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, DialogueTracker, require_entry
from iglu_marl.agents.settings import Settings, check_pair
from iglu_marl.const import STEP_S
from iglu_marl.core.dialogue import PAIR, Codec, Speaker, speakers_of
from iglu_marl.core.scoring import Alignment, Shifts, Target, align
from iglu_marl.game.seats import unwrap_game
from iglu_marl.rendering.ui.screens import ArchitectView, OrbitAngles, architect_screen
from iglu_marl.rendering.ui.widgets import Pairs


class HumanArchitect:
    """A person who sees the target and explains it in words, through a window.

    `act` waits for a line and Enter; an empty line says nothing, and the builder continues. To follow the builder at
    work, pass `watch` to `iglu_marl.play` as `on_step`: the window then shows each step (`step_s` seconds a step; 0 =
    at once), and lines entered meanwhile are sent at the next turn.

    It receives the task (`privileged`), and its window shows the progress, unless it sees only a part of the target.
    shifts: of the game's score. agent, speakers: its name and all who may speak, in a team. When the person leaves,
    `act` raises `iglu_marl.rendering.WindowClosed`.
    """

    privileged = True

    def __init__(
        self,
        *,
        codec: Codec | None = None,
        message_length: int = TEXT_LIMIT,
        shifts: Shifts = "all",
        cockpit: PlayerWindow | None = None,
        step_s: float = STEP_S,
        agent: str = "architect_0",
        speakers: tuple[Speaker, ...] = PAIR,
    ) -> None:
        self.agent = agent
        self.shifts, self.step_s = shifts, step_s
        self.cockpit = cockpit or PlayerWindow(title="iglu_marl: architect")
        self.orbit = OrbitAngles()
        self.ghost = True
        self._dialogue = DialogueTracker(codec, message_length, speakers=speakers)
        self._limit = message_length if codec is None else TEXT_LIMIT
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> HumanArchitect:
        """Return one that fits an environment's chat and score. Raises `AgentError` for a game of a team."""
        check_pair(env, cls)
        return cls._in_game(env, **options)

    @classmethod
    def _in_game(cls, env: Any, **options: Any) -> HumanArchitect:
        fitting = Settings.of(env).only("codec", "message_length")
        return cls(**{**fitting, "shifts": env.unwrapped.config.shifts, **options})

    @classmethod
    def for_seat(cls, env: Any, agent: str, **options: Any) -> HumanArchitect:
        """Return one for a seat ("architect_1") of an environment."""
        config = unwrap_game(env).config
        speakers = speakers_of(config.architects, config.builders)
        return cls._in_game(env, agent=agent, speakers=speakers, **options)

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        needs: dict[str, Any] = {"role": Role.ARCHITECT, "name": self.agent}
        if self._dialogue.tokens:
            return {**needs, "chat": "tokens", **self._dialogue.made_for}
        return {**needs, "chat": "text", "max_characters": self._limit}

    def _forget(self, task: Task | None) -> None:
        self._dialogue.forget()
        self._task = task
        self._heard: list[Utterance] = []
        self._ahead: deque[str] = deque()
        self._observation: Any = None
        self._target: tuple[bytes, Target] | None = None
        self._turns = self._steps = 0
        self._due = time.monotonic()

    # -- Agent

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Start an episode. Raises `AgentError` for another role than the architect's."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a HumanArchitect cannot play the {role}")
        self._forget(task)

    def act(self, observation: Any) -> Any:
        """Show target and build, and return the person's message; an empty line is "".

        Raises `AgentError` if target or build are not observed, `WindowClosed` if the person leaves.
        """
        self._see(observation)
        self._turns += 1
        while not self._ahead:
            self._attend("Write an instruction, then press Enter", "your turn")
            self.cockpit.rest(time.monotonic() + 1)
        self._due = time.monotonic()
        if not self._ahead[0]:
            self.cockpit.show_note("You said nothing; the builder continues.")
        self.cockpit.talking = False  # an unfinished line stays
        return self._dialogue.utter(self._ahead.popleft())

    def watch(self, env: Any) -> None:
        """Show the state of an environment; pass it to `iglu_marl.play` as `on_step`."""
        self._see(env.unwrapped.observe(self.agent))
        self._steps = int(env.unwrapped.episode.worlds.steps[0])
        while True:
            self._attend(
                "The builder is at work; what you enter now is sent at your next turn", "the builder's turn"
            )
            if time.monotonic() >= self._due and not self.cockpit.has_card:
                break
            self.cockpit.rest(time.monotonic() + 1 if self.cockpit.has_card else self._due)
        self._due = max(self._due + self.step_s, time.monotonic())

    def close(self) -> None:
        """Close the window."""
        self.cockpit.window.close()

    # -- the window

    def _attend(self, prompt: str, turn: str) -> None:
        """Handle input and draw, once."""
        cockpit = self.cockpit
        cockpit.help = _ARCHITECT_HELP
        cockpit.line.limit = self._limit
        cockpit.talking = True
        for event in cockpit.events():
            self._answer(event)
        hints = (("F1", "help"), ("Esc", "menu"))
        cockpit.window.capture(False)
        overlay = cockpit.overlay(hints, prompt)
        cockpit.window.draw(architect_screen(self.view(turn), cockpit.window.size, overlay, self.orbit))

    def _answer(self, event: Any) -> None:
        from iglu_marl.rendering.ui.window import Key, MouseMoved, Wheel

        if isinstance(event, str):
            self._enter(event)
        elif isinstance(event, MouseMoved) and event.held:
            self.orbit.turn(-event.dx * DRAG_DEG, event.dy * DRAG_DEG)
        elif isinstance(event, Wheel):
            self.orbit.turn(0.0, 5.0 * event.up)
        elif isinstance(event, Key) and event.down:
            self._key(event.name)

    def _key(self, name: str) -> None:
        if name == "f1":
            self.cockpit.open_help()
        elif name == "f2":
            self.ghost = not self.ghost
        elif name == "f3":
            self.orbit = OrbitAngles()
        elif name in ("page up", "page down"):
            self.orbit.turn(15.0 if name == "page down" else -15.0, 0.0)
        elif name == "escape" and self.cockpit.line.text:
            self.cockpit.line.clear()
        elif name == "escape":
            self.cockpit.open_menu()

    def _enter(self, text: str) -> None:
        try:
            self._dialogue.utter(text)
        except (AgentError, DialogueError) as error:
            self.cockpit.show_note(str(error))
            self.cockpit.line.insert(text)
            return
        self._ahead.append(text)

    # -- observing

    def _see(self, observation: Any) -> None:
        hint = 'add them to architect_sees=("target_grid", "grid", "dialog", "pose")'
        for key in ("target_grid", "grid"):
            require_entry(observation, (key,), "HumanArchitect", hint)
        self._observation = observation
        if any(key in observation for key in DIALOG_KEYS):
            self._heard += self._dialogue.hear(
                require_entry(observation, DIALOG_KEYS, "HumanArchitect", hint)
            )

    def _measured(self, grid: Any, goal: npt.NDArray[np.int8]) -> tuple[int, Target, npt.NDArray[np.int8]]:
        """Return the number of right blocks, the prepared target, and the target as it lies over the build."""
        key = goal.tobytes()
        if self._target is None or self._target[0] != key:
            task = None if self._task is None else self._task.in_ids("iglu")
            options = (True, None) if task is None else (task.is_invariant, task.full_grid)
            self._target = key, Target(goal, self.shifts, *options)
        prepared = self._target[1]
        matches = prepared.match_counts(grid)
        best = int(matches.max())
        here = Alignment(0, 0, 0) if matches[0, 10, 10] == best else prepared.alignment(grid)[1]
        return best, prepared, align(goal, here)

    def view(self, turn: str) -> ArchitectView:
        """Return the contents of the screen."""
        seen = self._observation
        grid, goal = (np.asarray(seen[key], dtype=np.int8) for key in ("grid", "target_grid"))
        known = np.asarray(seen.get("target_mask", 1))
        poses = np.reshape(seen["agentPos"], (-1, 5)) if "agentPos" in seen else ()
        eyes = tuple(Pose.from_observation({"agentPos": pose}) for pose in poses)
        facts = [("turn", str(self._turns))]
        facts += [("step", str(self._steps))] if self._steps else []
        facts.append(("", f"{turn}, {len(self._ahead)} to be sent" if self._ahead else turn))
        view = ArchitectView(
            target=goal if known.any() else None,
            grid=grid,
            aligned_target=goal if self.ghost and known.any() else None,
            pose=eyes[0] if eyes else None,
            others=eyes[1:],
            dialogue=spelled(self._heard),
            facts=tuple(facts),
            sides=seen_sides(seen),
        )
        if not known.all():
            return view
        best, prepared, aligned = self._measured(grid, goal)
        return replace(
            view,
            aligned_target=aligned if self.ghost else None,
            intersection=best,
            target_blocks=prepared.size,
            complete=best == prepared.size == int(np.count_nonzero(grid)),
        )


_ARCHITECT_HELP: Pairs = (
    ("type, Enter", "send a message to the builder"),
    ("Enter alone", "say nothing: the builder continues"),
    ("Up, Down", "earlier messages"),
    ("drag the mouse", "turn build and target"),
    ("wheel", "look more or less from above"),
    ("PgUp PgDn", "turn by a step"),
    ("F2", "the target's ghost over the build, on or off"),
    ("F3", "reset the view"),
    ("Esc", "menu: pause or leave the game"),
    ("F1", "this help"),
)
