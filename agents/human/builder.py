"""A person as the builder, with keys and mouse at a window of pygame."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import AgentError, DialogueError, Pose, Utterance
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.human.controls import BACK, DOWN, FAST, FORWARD, LEFT, RIGHT, UP, InputMapper
from iglu_marl.agents.human.player import HELP_KEYS, TEXT_LIMIT, PlayerWindow
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, require_entry
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.const import STEP_S
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import COLOR_NAMES
from iglu_marl.core.observed import observed_grid
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.ui.composed import frame_layers
from iglu_marl.rendering.ui.screens import BuilderView, builder_screen
from iglu_marl.rendering.ui.widgets import Pairs

MOUSE_DEG = 0.14  # turn per pixel
KEY_DEG = 5.0  # turn per step with the arrow keys
_NEAR_S = 0.045  # time constant with which the shown position approaches the true one

_MOVES = {
    "w": FORWARD, "s": BACK, "a": LEFT, "d": RIGHT, "space": UP,
    "left shift": DOWN, "right shift": DOWN, "left ctrl": FAST, "right ctrl": FAST,
}  # fmt: skip
_LOOKS = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}


class WindowBuilder(BuilderBase):
    """A person who builds, through a window: mouse to look, keys to walk, clicks to place and break.

    The window shows only the observation: with `agentPos` and `grid` it draws the world in its own size, with `pov`
    alone it enlarges that picture. `act` waits until the step is due (`step_s` seconds after the last; 0 = at once),
    and while a menu or the text line is open. If the builder may speak (can_ask), T opens the text line.

    controls and the options: as of `Settings`. cockpit: the window and what lies over it; default: a new one. When the
    person leaves, `act` raises `iglu_marl.rendering.WindowClosed`.
    """

    reads = "anything"

    def __init__(
        self,
        controls: ControlsName = "human-level",
        *,
        cockpit: PlayerWindow | None = None,
        step_s: float = STEP_S,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self.inputs = InputMapper(controls, **self.game.only("select_and_place", "can_yield"))
        self.step_s = step_s
        self.cockpit = cockpit or PlayerWindow(title="iglu_marl: builder")
        self._limit = TEXT_LIMIT if self.game.tokens else self.game.message_length or TEXT_LIMIT
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self.inputs.begin()
        self._heard: list[Utterance] = []
        self._seen: dict[str, Any] = {}
        self._near: npt.NDArray[np.float64] | None = None
        self._began = self._due = self._last = time.monotonic()
        self._steps = 0
        self._keys: set[str] = set()
        self._tapped: set[str] = set()  # pressed since the last step
        self._gave_way = False
        self._words: deque[str] = deque()

    # -- Agent

    def act(self, observation: Any) -> Any:
        """Show the observation, and return the person's action in this step.

        Raises `AgentError` if the observation has neither picture nor world, `WindowClosed` if the person leaves.
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

    def show_end(self, env: Any) -> None:
        """Show the end of a game with its target, until the person presses Enter or closes the window."""
        episode = env.unwrapped.episode
        title = "Complete!" if episode.ended[0] else "Out of steps."
        moment = moment_of(episode)
        moment["status"]["title"] = f"{title}  Enter leaves."
        self.cockpit.show_end(lambda size: frame_layers(moment, size))

    def close(self) -> None:
        """Close the window."""
        self.cockpit.window.close()

    # -- acting

    def _action(self) -> Any:
        self._steps += 1
        for name in (self._keys | self._tapped) & _LOOKS.keys():
            right, up = _LOOKS[name]
            self.inputs.turn(KEY_DEG * right, KEY_DEG * up)
        self._tapped.clear()
        if self._words:
            return self._with_words(self.inputs.still(), self._words.popleft())
        return self._with_words(self.inputs.action(self._yaw_deg()))

    def _say(self, text: str) -> None:
        """Queue a line for the next step, or show why the chat cannot send it."""
        try:
            self._dialogue.utter(text)
        except (AgentError, DialogueError) as error:
            self.cockpit.show_note(str(error))
            return
        self.cockpit.talk(False)
        if text:
            self._words.append(text)

    def _answer(self, event: Any) -> None:
        """Handle a key or a button."""
        from iglu_marl.rendering.ui.window import Button, Key, MouseMoved, Unfocused, Wheel

        if isinstance(event, str):
            self._say(event)
        elif isinstance(event, Key):
            self._key(event)
        elif isinstance(event, Unfocused):
            self.inputs.release()
            self._keys.clear()
        elif self.cockpit.waits:
            return
        elif isinstance(event, MouseMoved):
            self.inputs.turn(event.dx * MOUSE_DEG, -event.dy * MOUSE_DEG)
            if self._seen.get("pose") is not None:
                self.inputs.face(float(self._seen["pose"][4]))
        elif isinstance(event, Button) and event.down:
            if event.number == 1:
                self.inputs.remove()
            elif event.number == 3:
                self._place()
        elif isinstance(event, Wheel) and event.up:
            self._choose((self.inputs.active - 1 - (1 if event.up > 0 else -1)) % 6 + 1)

    def _key(self, event: Any) -> None:
        name = event.name
        (self._keys.add if event.down else self._keys.discard)(name)
        if event.down:
            self._tapped.add(name)
        if name in _MOVES:
            self.inputs.hold(_MOVES[name], event.down)
        elif not event.down:
            return
        elif name in ("1", "2", "3", "4", "5", "6"):
            self._choose(int(name))
        elif name == "e":
            self._place()
        elif name == "q":
            self.inputs.remove()
        elif name in HELP_KEYS or event.text == "?":
            self.cockpit.open_help()
        elif name in ("t", "return"):
            self._open_line()
        elif name == "y":
            self._yield_turn()
        elif name == "escape":
            self.cockpit.talk(False)

    def _choose(self, color: int) -> None:
        if self.inputs.select_and_place and self._none_left(color):
            return
        self.inputs.choose(color)

    def _place(self) -> None:
        if not self._none_left(self.inputs.active):
            self.inputs.place()

    def _none_left(self, color: int) -> bool:
        counts = self._seen.get("inventory")
        if counts is None or counts[color - 1] > 0:
            return False
        self.cockpit.show_note(f"No {COLOR_NAMES[color]} blocks are left.")
        return True

    def _open_line(self) -> None:
        if self.can_ask:
            self.cockpit.talk(True)
            self.inputs.release()
            self._keys.clear()
        else:
            self.cockpit.show_note("In this game the builder cannot speak.")

    def _yield_turn(self) -> None:
        if self.inputs.can_yield:
            self.inputs.yield_turn()
            self._gave_way = True
        else:
            self.cockpit.show_note("In this game there are no turns to end.")

    # -- observing

    def _see(self, observation: Any) -> None:
        """Store the needed parts of an observation."""
        if not isinstance(observation, Mapping) or not (
            "pov" in observation or {"agentPos", "grid"} <= observation.keys()
        ):
            got = (
                sorted(map(str, observation)) if isinstance(observation, Mapping) else f"{observation!r:.60}"
            )
            raise AgentError(
                f"the WindowBuilder got {got}, expected a picture or the world: set "
                'builder_sees=("pov", …), or ("pose", "grid", …) for a sharp picture'
            )
        seen: dict[str, Any] = {"pov": observation.get("pov"), "pose": None, "grid": None, "inventory": None}
        if "grid" in observation and "agentPos" in observation:
            seen["grid"], seen["pose"] = observed_grid(observation), Pose.from_observation(observation)
        if "inventory" in observation:
            seen["inventory"] = tuple(
                int(count) for count in np.asarray(observation["inventory"]).ravel()[:6]
            )
        compass = observation.get("compass")
        if isinstance(compass, Mapping):
            compass = compass.get("angle")
        seen["yaw"] = None if compass is None else float(np.asarray(compass).ravel()[0])
        if any(key in observation for key in DIALOG_KEYS):
            fresh = self._dialogue.hear(require_entry(observation, DIALOG_KEYS, "WindowBuilder", ""))
            self._heard += fresh
            if self._gave_way and not fresh:
                self.cockpit.show_note("Nobody says anything new.")
        self._gave_way = False
        self._seen = seen

    def _yaw_deg(self) -> float:
        pose = self._seen.get("pose")
        return float(pose[3]) if pose is not None else self._seen.get("yaw") or 0.0

    def _drawn_pose(self) -> tuple[Any, Any]:
        """Return the smoothed pose to draw, and the true position with the turn that was asked for."""
        x, y, z, yaw, pitch = self._seen["pose"]
        right, up = self.inputs.look_deg
        yaw, pitch = (yaw + right) % 360.0, max(-90.0, min(90.0, pitch + up))
        now, place = time.monotonic(), np.array([x, y, z])
        if self._near is None or not self.step_s or np.abs(self._near - place).max() > 3.0:
            self._near = place
        self._near = place + (self._near - place) * np.exp(-(now - self._last) / _NEAR_S)
        self._last = now
        return (*self._near.tolist(), yaw, pitch), (x, y, z, yaw, pitch)

    def view(self) -> BuilderView:
        """Return the contents of the screen."""
        seen = self._seen
        pose, aim = self._drawn_pose() if seen["pose"] is not None else (None, None)
        seconds = int(self._steps * STEP_S)
        facts = [("time", f"{seconds // 60}:{seconds % 60:02}")]
        if seen["grid"] is not None:
            facts.append(("blocks", str(int(np.count_nonzero(seen["grid"])))))
        if self.inputs.is_flying:
            facts.append(("", "flying"))
        return BuilderView(
            grid=seen["grid"],
            pose=pose,
            aim=aim,
            picture=seen["pov"],
            inventory=seen["inventory"],
            active=self.inputs.active,
            yaw_deg=seen["yaw"],
            dialogue=[(utterance.speaker, utterance.text) for utterance in self._heard],
            facts=tuple(facts),
        )

    def _draw(self) -> None:
        cockpit = self.cockpit
        hints = [("F1", "help")]
        hints += [("T", "talk")] if self.can_ask else []
        hints += [("Y", "end turn")] if self.inputs.can_yield else []
        overlay = cockpit.overlay(tuple(hints), "Say something to the architect, then press Enter")
        cockpit.window.draw(builder_screen(self.view(), cockpit.window.size, overlay))
        cockpit.window.capture(overlay.card is None)

    def _help(self) -> Pairs:
        rows = [
            ("mouse, arrows", "look around"),
            ("W A S D", "fly (Ctrl: fast)" if self.inputs.is_flying else "walk"),
            ("Space", "rise (Shift: sink)" if self.inputs.is_flying else "jump"),
            ("left click, Q", "break the block in sight"),
            ("right click, E", "place a block there"),
            ("1 to 6, wheel", "choose a color"),
        ]
        rows += [("T", "talk to the architect: Enter sends, Esc cancels")] if self.can_ask else []
        rows += [("Y", "end your turn: ask what comes next")] if self.inputs.can_yield else []
        return (*rows, ("Esc", "menu: pause or leave the game"), ("F1, H, ?", "this help"))
