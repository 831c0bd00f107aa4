"""People at the window: a builder with keys and mouse, an architect who types. Both are agents like any other."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, DialogueError, Role, Task, Utterance
from iglu_marl.agents.human.controls import BACK, DOWN, FAST, FORWARD, LEFT, RIGHT, UP, Hands
from iglu_marl.agents.human.player import HELP_KEYS, Cockpit, spelled
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, Ears, need
from iglu_marl.agents.settings import Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.core.scoring import Alignment, Shifts, Target, align
from iglu_marl.rendering.ui.screens import (
    ArchitectView,
    BuilderView,
    OrbitAngles,
    architect_screen,
    builder_screen,
)
from iglu_marl.rendering.ui.widgets import Pairs

STEP_S = 0.05  # a builder's step, in the world's own time
MOUSE_DEG = 0.14  # the gaze turns by this much a pixel
KEY_DEG = 5.0  # and by this much a step with the arrow keys
_DRAG_DEG = 0.4  # the orbit camera, a pixel
_NEAR_S = 0.045  # the shown position comes nearer to the true one with this time constant
_TEXT_LIMIT = 200

_MOVES = {
    "w": FORWARD, "s": BACK, "a": LEFT, "d": RIGHT, "space": UP,
    "left shift": DOWN, "right shift": DOWN, "left ctrl": FAST, "right ctrl": FAST,
}  # fmt: skip
_LOOKS = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}


class HumanBuilder:
    """A person who builds, through a window: mouse to look, keys to walk, clicks to place and break.

    It shows what the observation tells and nothing else: with `agentPos` and `grid` the world is drawn in the window's
    own size, with no more than `pov` that picture is enlarged. `act` waits until the step is due (`step_s` seconds
    after the last; 0 = at once), and as long as a menu is open or something is typed. Where the game lets the builder
    speak (can_ask), T opens a line. `for_env` makes one that fits an environment.

    cockpit: the window's surroundings, to be shared with a `HumanArchitect`. can_switch: TAB asks for flying or
    walking, by `asked_controls`; whoever drives the game has to see to it. Leaving raises
    `iglu_marl.rendering.WindowClosed` from `act`.
    """

    def __init__(
        self,
        controls: ControlsName = "human-level",
        *,
        can_yield: bool = True,
        can_ask: bool = False,
        select_and_place: bool = False,
        codec: Codec | None = None,
        message_length: int = _TEXT_LIMIT,
        cockpit: Cockpit | None = None,
        step_s: float = STEP_S,
        can_switch: bool = False,
    ) -> None:
        self.hands = Hands(controls, select_and_place=select_and_place, can_yield=can_yield)
        self.can_ask, self.can_switch, self.step_s = can_ask, can_switch, step_s
        self.cockpit = cockpit or Cockpit(title="iglu_marl: builder")
        self.asked_controls: ControlsName | None = None
        self._ears = Ears(codec, message_length)
        self._limit = message_length if codec is None else _TEXT_LIMIT
        self._forget()

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> HumanBuilder:
        """One that fits an environment's action space and chat."""
        return cls(**{**Settings.of(env).of_builder(), **options})

    def _forget(self) -> None:
        self.hands.begin()
        self._ears.forget()
        self._heard: list[Utterance] = []
        self._seen: dict[str, Any] = {}
        self._near: npt.NDArray[np.float64] | None = None
        self._began = self._due = self._last = time.monotonic()
        self._steps = 0
        self._keys: set[str] = set()
        self._tapped: set[str] = set()  # pressed since the last step
        self._gave_way = False
        self._words: deque[str] = deque()

    def use(self, controls: ControlsName) -> None:
        """Go on in another encoding: of the same game, elsewhere."""
        active = self.hands.active
        self.hands = Hands(
            controls, select_and_place=self.hands.select_and_place, can_yield=self.hands.can_yield
        )
        self.hands.active = active
        self.asked_controls = None
        self.cockpit.tell("You fly." if self.hands.is_flying else "You walk.")

    # -- Agent

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the builder's."""
        if role != Role.BUILDER:
            raise AgentError(f"a HumanBuilder cannot play the {role}")
        self._forget()

    def act(self, observation: Any) -> Any:
        """Show what is seen, and return what the person does in this step.

        Raises `AgentError` for an observation without anything to see, `WindowClosed` when the person leaves.
        """
        self._see(observation)
        self.cockpit.line.limit = self._limit
        self.cockpit.help = self._help()
        while True:
            for event in self.cockpit.events():
                self._answer(event)
            self._draw()
            if not self.cockpit.waits and (self._words or time.monotonic() >= self._due):
                break
            self.cockpit.rest(time.monotonic() + 1 if self.cockpit.waits else self._due)
        self._due = max(self._due + self.step_s, time.monotonic())
        return self._action()

    def close(self) -> None:
        """Close the window."""
        self.cockpit.window.close()

    # -- acting

    def _action(self) -> Any:
        self._steps += 1
        for name in (self._keys | self._tapped) & _LOOKS.keys():
            right, up = _LOOKS[name]
            self.hands.turn(KEY_DEG * right, KEY_DEG * up)
        self._tapped.clear()
        if self._words:
            return {"act": self.hands.still(), "say": self._ears.utter(self._words.popleft())}
        act = self.hands.action(self._yaw_deg())
        return {"act": act, "say": self._ears.utter("")} if self.can_ask else act

    def _say(self, text: str) -> None:
        """Keep what was typed for the next step; say so at once when the chat cannot carry it."""
        try:
            self._ears.utter(text)
        except (AgentError, DialogueError) as error:
            self.cockpit.tell(str(error))
            return
        self.cockpit.talk(False)
        if text:
            self._words.append(text)

    def _answer(self, event: Any) -> None:
        """Do what a key or a button asks for."""
        from iglu_marl.rendering.ui.window import Button, Key, MouseMoved, Unfocused, Wheel

        if isinstance(event, str):
            self._say(event)
        elif isinstance(event, Key):
            self._key(event)
        elif isinstance(event, Unfocused):
            self.hands.release()
            self._keys.clear()
        elif self.cockpit.waits:
            return
        elif isinstance(event, MouseMoved):
            self.hands.turn(event.dx * MOUSE_DEG, -event.dy * MOUSE_DEG)
            if self._seen.get("pose") is not None:
                self.hands.face(float(self._seen["pose"][4]))
        elif isinstance(event, Button) and event.down:
            if event.number == 1:
                self.hands.remove()
            elif event.number == 3:
                self._place()
        elif isinstance(event, Wheel) and event.up:
            self._choose((self.hands.active - 1 - (1 if event.up > 0 else -1)) % 6 + 1)

    def _key(self, event: Any) -> None:
        name = event.name
        (self._keys.add if event.down else self._keys.discard)(name)
        if event.down:
            self._tapped.add(name)
        if name in _MOVES:
            self.hands.hold(_MOVES[name], event.down)
        elif not event.down:
            return
        elif name in ("1", "2", "3", "4", "5", "6"):
            self._choose(int(name))
        elif name == "e":
            self._place()
        elif name == "q":
            self.hands.remove()
        elif name in HELP_KEYS or event.text == "?":
            self.cockpit.open_help()
        elif name in ("t", "return"):
            self._open_line()
        elif name == "y":
            self._yield_turn()
        elif name == "tab":
            self._switch()
        elif name == "escape":
            self.cockpit.talk(False)

    def _choose(self, color: int) -> None:
        if self.hands.select_and_place and self._none_left(color):
            return
        self.hands.choose(color)

    def _place(self) -> None:
        if not self._none_left(self.hands.active):
            self.hands.place()

    def _none_left(self, color: int) -> bool:
        counts = self._seen.get("inventory")
        if counts is None or counts[color - 1] > 0:
            return False
        self.cockpit.tell(f"No {COLOR_NAMES[color]} blocks are left.")
        return True

    def _open_line(self) -> None:
        if self.can_ask:
            self.cockpit.talk(True)
            self.hands.release()
            self._keys.clear()
        else:
            self.cockpit.tell("In this game the builder cannot speak.")

    def _yield_turn(self) -> None:
        if self.hands.can_yield:
            self.hands.yield_turn()
            self._gave_way = True
        else:
            self.cockpit.tell("In this game there are no turns to end.")

    def _switch(self) -> None:
        if not self.can_switch:
            self.cockpit.tell("In this game you stay with the way you move.")
            return
        low = self._seen.get("pose") is not None and self._seen["pose"][1] < -1.25
        if self.hands.is_flying and low:
            self.cockpit.tell("Fly up first: from below the ground one would fall.")
            return
        self.asked_controls = "human-level" if self.hands.is_flying else "flying"

    # -- seeing

    def _see(self, observation: Any) -> None:
        """Take what is needed out of an observation."""
        if not isinstance(observation, Mapping) or not (
            "pov" in observation or {"agentPos", "grid"} <= observation.keys()
        ):
            got = (
                sorted(map(str, observation)) if isinstance(observation, Mapping) else f"{observation!r:.60}"
            )
            raise AgentError(
                f"the HumanBuilder needs something to see and got {got}; let it see that: "
                'builder_sees=("pov", …), or ("pose", "grid", …) for a sharp picture'
            )
        seen: dict[str, Any] = {"pov": observation.get("pov"), "pose": None, "grid": None, "inventory": None}
        if "grid" in observation and "agentPos" in observation:
            grid = np.asarray(observation["grid"])
            seen["grid"] = (grid - min(0, int(grid.min()))).astype(np.int8)  # air is -1 in IGLU 2021
            x, y, z, pitch, yaw = np.asarray(observation["agentPos"], dtype=np.float64).tolist()
            seen["pose"] = (x, y, z, yaw, pitch)
        if "inventory" in observation:
            seen["inventory"] = tuple(
                int(count) for count in np.asarray(observation["inventory"]).ravel()[:6]
            )
        compass = observation.get("compass")
        if isinstance(compass, Mapping):
            compass = compass.get("angle")
        seen["yaw"] = None if compass is None else float(np.asarray(compass).ravel()[0])
        if any(key in observation for key in DIALOG_KEYS):
            fresh = self._ears.hear(need(observation, DIALOG_KEYS, "HumanBuilder", ""))
            self._heard += fresh
            if self._gave_way and not fresh:
                self.cockpit.tell("The architect says nothing new.")
        self._gave_way = False
        self._seen = seen

    def _yaw_deg(self) -> float:
        pose = self._seen.get("pose")
        return float(pose[3]) if pose is not None else self._seen.get("yaw") or 0.0

    def _drawn_pose(self) -> tuple[Any, Any]:
        """The pose to draw, which glides after the true one, and the true one with the turn that was asked for."""
        x, y, z, yaw, pitch = self._seen["pose"]
        right, up = self.hands.look_deg
        yaw, pitch = (yaw + right) % 360.0, max(-90.0, min(90.0, pitch + up))
        now, place = time.monotonic(), np.array([x, y, z])
        if self._near is None or not self.step_s or np.abs(self._near - place).max() > 3.0:
            self._near = place
        self._near = place + (self._near - place) * np.exp(-(now - self._last) / _NEAR_S)
        self._last = now
        return (*self._near.tolist(), yaw, pitch), (x, y, z, yaw, pitch)

    def view(self) -> BuilderView:
        """What the screen shows now."""
        seen = self._seen
        pose, aim = self._drawn_pose() if seen["pose"] is not None else (None, None)
        seconds = int(self._steps * STEP_S)
        facts = [("time", f"{seconds // 60}:{seconds % 60:02}")]
        if seen["grid"] is not None:
            facts.append(("blocks", str(int(np.count_nonzero(seen["grid"])))))
        if self.hands.is_flying:
            facts.append(("", "flying"))
        return BuilderView(
            grid=seen["grid"],
            pose=pose,
            aim=aim,
            picture=seen["pov"],
            inventory=seen["inventory"],
            active=self.hands.active,
            yaw_deg=seen["yaw"],
            dialogue=spelled(self._heard),
            facts=tuple(facts),
        )

    def _draw(self) -> None:
        cockpit = self.cockpit
        hints = [("F1", "help")]
        hints += [("T", "talk")] if self.can_ask else []
        hints += [("Y", "end turn")] if self.hands.can_yield else []
        overlay = cockpit.overlay(tuple(hints), "Say something to the architect, then press Enter")
        cockpit.window.draw(builder_screen(self.view(), cockpit.window.size, overlay))
        cockpit.window.capture(overlay.card is None)

    def _help(self) -> Pairs:
        rows = [
            ("mouse, arrows", "look around"),
            ("W A S D", "fly (Ctrl: fast)" if self.hands.is_flying else "walk"),
            ("Space", "rise (Shift: sink)" if self.hands.is_flying else "jump"),
            ("left click, Q", "break the block you look at"),
            ("right click, E", "place a block there"),
            ("1 to 6, wheel", "choose a colour"),
        ]
        rows += [("T", "talk to the architect: Enter sends, Esc cancels")] if self.can_ask else []
        rows += [("Y", "end your turn: what shall I do next?")] if self.hands.can_yield else []
        rows += [("Tab", "walk" if self.hands.is_flying else "fly")] if self.can_switch else []
        return (*rows, ("Esc", "menu: the game waits; leave it there"), ("F1, H, ?", "these keys"))


class HumanArchitect:
    """A person who sees the target and explains it in words, through a window.

    `act` waits for a line and Enter; an empty line is silence, which lets the builder go on. To follow the builder at
    work, pass `watch` to `iglu_marl.play` as `on_step`: the window then shows each step, at the pace of the world
    (`step_s` seconds a step; 0 = at once), and what is entered meanwhile is said at the next turn.

    It is given the task (`privileged`): an architect knows what it wants, and its window shows how far it is. shifts:
    of the game's score. Leaving raises `iglu_marl.rendering.WindowClosed`.
    """

    privileged = True

    def __init__(
        self,
        *,
        codec: Codec | None = None,
        message_length: int = _TEXT_LIMIT,
        shifts: Shifts = "all",
        cockpit: Cockpit | None = None,
        step_s: float = STEP_S,
    ) -> None:
        self.shifts, self.step_s = shifts, step_s
        self.cockpit = cockpit or Cockpit(title="iglu_marl: architect")
        self.orbit = OrbitAngles()
        self.ghost = True
        self._ears = Ears(codec, message_length)
        self._limit = message_length if codec is None else _TEXT_LIMIT
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> HumanArchitect:
        """One that fits an environment's chat and score."""
        settings = Settings.of(env)
        fitting: dict[str, Any] = {
            "message_length": settings.message_length,
            "shifts": env.unwrapped.config.shifts,
        }
        if settings.tokens:
            fitting["codec"] = settings.codec
        return cls(**{**fitting, **options})

    def _forget(self, task: Task | None) -> None:
        self._ears.forget()
        self._task = task
        self._heard: list[Utterance] = []
        self._ahead: deque[str] = deque()
        self._observation: Any = None
        self._target: tuple[bytes, Target] | None = None
        self._turns = self._steps = 0
        self._due = time.monotonic()

    # -- Agent

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Begin an episode; raises `AgentError` for another role than the architect's."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a HumanArchitect cannot play the {role}")
        self._forget(task)

    def act(self, observation: Any) -> Any:
        """Show target and build, and return what the person says; an empty line is silence.

        Raises `AgentError` when target or build are not observed, `WindowClosed` when the person leaves.
        """
        self._see(observation)
        self._turns += 1
        while not self._ahead:
            self._attend("Tell the builder what to do, then press Enter", "your turn")
            self.cockpit.rest(time.monotonic() + 1)
        self._due = time.monotonic()
        if not self._ahead[0]:
            self.cockpit.tell("You said nothing; the builder goes on.")
        self.cockpit.talking = False  # what is half written stays
        return self._ears.utter(self._ahead.popleft())

    def watch(self, env: Any) -> None:
        """Show the state of a two-agent environment; give it to `iglu_marl.play` as `on_step`."""
        self._see(env.unwrapped.observe(f"{Role.ARCHITECT.value}_0"))
        self._steps = int(env.unwrapped.episode.worlds.steps[0])
        while True:
            self._attend(
                "The builder is at work; what you enter now is said at your next turn", "the builder's turn"
            )
            if time.monotonic() >= self._due and not self.cockpit.has_card:
                break
            self.cockpit.rest(time.monotonic() + 1 if self.cockpit.has_card else self._due)
        self._due = max(self._due + self.step_s, time.monotonic())

    def close(self) -> None:
        """Close the window."""
        self.cockpit.window.close()

    # -- the window

    def _attend(self, prompt: str, floor: str) -> None:
        """Answer input and draw, once."""
        cockpit = self.cockpit
        cockpit.help = _ARCHITECT_HELP
        cockpit.line.limit = self._limit
        cockpit.talking = True
        for event in cockpit.events():
            self._answer(event)
        hints = (("F1", "help"), ("Esc", "menu"))
        cockpit.window.capture(False)
        overlay = cockpit.overlay(hints, prompt)
        cockpit.window.draw(architect_screen(self.view(floor), cockpit.window.size, overlay, self.orbit))

    def _answer(self, event: Any) -> None:
        from iglu_marl.rendering.ui.window import Key, MouseMoved, Wheel

        if isinstance(event, str):
            self._enter(event)
        elif isinstance(event, MouseMoved) and event.held:
            self.orbit.turn(-event.dx * _DRAG_DEG, event.dy * _DRAG_DEG)
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
            self._ears.utter(text)
        except (AgentError, DialogueError) as error:
            self.cockpit.tell(str(error))
            self.cockpit.line.insert(text)
            return
        self._ahead.append(text)

    # -- seeing

    def _see(self, observation: Any) -> None:
        hint = 'let it see that: architect_sees=("target_grid", "grid", "dialog", "pose")'
        for key in ("target_grid", "grid"):
            need(observation, (key,), "HumanArchitect", hint)
        self._observation = observation
        if any(key in observation for key in DIALOG_KEYS):
            self._heard += self._ears.hear(need(observation, DIALOG_KEYS, "HumanArchitect", hint))

    def _measured(self, grid: Any, goal: npt.NDArray[np.int8]) -> tuple[int, Target, npt.NDArray[np.int8]]:
        """How much of the target stands, the prepared target, and the target as it lies over the build."""
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

    def view(self, floor: str) -> ArchitectView:
        """What the screen shows now."""
        grid, goal = (np.asarray(self._observation[key], dtype=np.int8) for key in ("grid", "target_grid"))
        best, prepared, aligned = self._measured(grid, goal)
        pose = None
        if "agentPos" in self._observation:
            x, y, z, pitch, yaw = np.asarray(self._observation["agentPos"], dtype=np.float64).tolist()
            pose = (x, y, z, yaw, pitch)
        facts = [("turn", str(self._turns))]
        facts += [("step", str(self._steps))] if self._steps else []
        facts.append(("", f"{floor}, {len(self._ahead)} to be said" if self._ahead else floor))
        return ArchitectView(
            target=goal,
            grid=grid,
            aligned_target=aligned if self.ghost else None,
            pose=pose,
            dialogue=spelled(self._heard),
            intersection=best,
            target_blocks=prepared.size,
            complete=best == prepared.size == int(np.count_nonzero(grid)),
            facts=tuple(facts),
        )


_ARCHITECT_HELP: Pairs = (
    ("type, Enter", "tell the builder something"),
    ("Enter alone", "say nothing: the builder goes on"),
    ("Up, Down", "what you said before"),
    ("drag the mouse", "walk around build and target"),
    ("wheel", "look more or less from above"),
    ("PgUp PgDn", "a step around"),
    ("F2", "the target's ghost over the build, on or off"),
    ("F3", "the first view again"),
    ("Esc", "menu: the game waits; leave it there"),
    ("F1", "these keys"),
)
