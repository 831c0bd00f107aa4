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
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, require_entry
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, Options, Settings
from iglu_marl.const import STEP_S
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.observed import observed_grid
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.ui.composed import frame_layers
from iglu_marl.rendering.ui.line_edit import LineEdit
from iglu_marl.rendering.ui.screens import BuilderView, Overlay, builder_screen

MOUSE_DEG = 0.14  # turn per pixel
KEY_DEG = 5.0  # turn per step with the arrow keys
FRAME_S = 1 / 60
_NEAR_S = 0.045  # time constant with which the shown position approaches the true one

_MOVES = {
    "w": FORWARD, "s": BACK, "a": LEFT, "d": RIGHT, "space": UP,
    "left shift": DOWN, "right shift": DOWN, "left ctrl": FAST, "right ctrl": FAST,
}  # fmt: skip
_LOOKS = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}


class WindowBuilder(BuilderBase):
    """A person who builds, through a window: mouse to look, keys to walk, clicks to place and break.

    The window shows only the observation: with `agentPos` and `grid` it draws the world in its own size, with `pov`
    alone it enlarges that picture. `act` waits until the step is due, and while a line is being typed: T opens one, if
    the builder may speak (can_ask), Enter sends it. Escape frees the mouse, until the next click. When the person
    closes the window, `act` raises `iglu_marl.rendering.WindowClosed`.

    Args:
        controls: any that move a builder.
        window: an `iglu_marl.rendering.Window`; default: a new one.
        step_s: seconds between steps; 0 = as fast as it can be drawn.
        options: fields of `iglu_marl.agents.settings.Settings`.

    """

    reads = "anything"

    def __init__(
        self,
        controls: ControlsName = "human-level",
        *,
        window: Any = None,
        step_s: float = STEP_S,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        if window is None:
            from iglu_marl.rendering import Window

            window = Window("iglu_marl: builder")
        self.window = window
        self.inputs = InputMapper(controls, **self.game.only("select_and_place", "can_yield"))
        self.step_s = step_s
        self.line = LineEdit(MESSAGE_CHARACTERS if self.game.tokens else self.game.max_length)
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self.inputs.begin()
        self.line.clear()
        self._typing, self._captures, self._refusal = False, True, ""
        self._heard: list[Utterance] = []
        self._seen: dict[str, Any] = {}
        self._near: npt.NDArray[np.float64] | None = None
        self._due = self._last = time.monotonic()
        self._steps = 0
        self._keys: set[str] = set()
        self._tapped: set[str] = set()  # pressed since the last step
        self._words: deque[str] = deque()

    # -- Agent

    def act(self, observation: Any) -> Any:
        """Show the observation, and return the person's action in this step.

        Raises `AgentError` if the observation has neither picture nor world, `WindowClosed` if the person leaves.
        """
        from iglu_marl.rendering.ui.window import WindowClosed

        self._see(observation)
        while True:
            self.window.typing(self._typing)
            for event in self.window.poll():
                self._answer(event)
            if self.window.closed:
                raise WindowClosed("the window was closed")
            self._draw()
            left_s = FRAME_S if self._typing else self._due - time.monotonic()
            if not self._typing and (self._words or left_s <= 0):
                break
            time.sleep(min(FRAME_S, left_s))
        self._due = max(self._due + self.step_s, time.monotonic())
        return self._action()

    def show_end(self, env: Any) -> None:
        """Show the end of a game with its target, until the person presses Enter or closes the window."""
        from iglu_marl.rendering.ui.window import Closed, Key

        episode = env.unwrapped.episode
        title = "Complete!" if episode.ended[0] else "Out of steps."
        moment = moment_of(episode)
        moment["status"]["title"] = f"{title}  Enter leaves."
        self.window.capture(False)
        self.window.typing(False)
        size: tuple[int, int] | None = None
        while not self.window.closed:
            if self.window.size != size:
                size = self.window.size
                layers = frame_layers(moment, size)
            self.window.draw(layers)
            for event in self.window.poll():
                if isinstance(event, Closed) or (isinstance(event, Key) and event.name == "return"):
                    self.window.close()
                    break
            time.sleep(FRAME_S)

    def close(self) -> None:
        """Close the window."""
        self.window.close()

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

    def _answer(self, event: Any) -> None:
        """Handle an input."""
        from iglu_marl.rendering.ui import window

        if isinstance(event, window.Closed):
            self.window.close()
        elif isinstance(event, window.Key):
            self._key(event)
        elif isinstance(event, window.Unfocused):
            self._let_go()
        elif self._typing:
            if isinstance(event, window.Typed):
                self.line.insert(event.text)
        elif isinstance(event, window.MouseMoved):
            self.inputs.turn(event.dx * MOUSE_DEG, -event.dy * MOUSE_DEG)
            if self._seen.get("pose") is not None:
                self.inputs.face(float(self._seen["pose"][4]))
        elif isinstance(event, window.Button) and event.down:
            self._captures = True
            if event.number == 1:
                self.inputs.remove()
            elif event.number == 3:
                self.inputs.place()
        elif isinstance(event, window.Wheel) and event.up:
            self.inputs.choose((self.inputs.active - 1 - (1 if event.up > 0 else -1)) % 6 + 1)

    def _key(self, event: Any) -> None:
        name = event.name
        if self._typing:
            if event.down:
                self._edit(name)
            return
        (self._keys.add if event.down else self._keys.discard)(name)
        if event.down:
            self._tapped.add(name)
        if name in _MOVES:
            self.inputs.hold(_MOVES[name], event.down)
        elif not event.down:
            return
        elif name in ("1", "2", "3", "4", "5", "6"):
            self.inputs.choose(int(name))
        elif name == "e":
            self.inputs.place()
        elif name == "q":
            self.inputs.remove()
        elif name in ("t", "return") and self.can_ask:
            self._typing = True
            self._let_go()
        elif name == "y":
            self.inputs.yield_turn()
        elif name == "escape":
            self._captures = False

    def _edit(self, name: str) -> None:
        """Handle a key while a line is typed. A line that the chat cannot send stays, with the reason above it."""
        if name == "escape":
            self.line.clear()
            self._typing, self._refusal = False, ""
        elif name == "return":
            text = self.line.enter()
            try:
                self._dialogue.utter(text)
            except (AgentError, DialogueError) as error:
                self._refusal = str(error)
                self.line.insert(text)
                return
            self._typing, self._refusal = False, ""
            self._words += [text] if text else []
        else:
            self.line.key(name)

    def _let_go(self) -> None:
        self.inputs.release()
        self._keys.clear()

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
            self._heard += self._dialogue.hear(require_entry(observation, DIALOG_KEYS, "WindowBuilder", ""))
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
        hints = [("T", "talk")] if self.can_ask else []
        hints += [("Y", "end turn")] if self.inputs.can_yield else []
        overlay = Overlay(hints=(*hints, ("Esc", "free the mouse")), note=self._refusal)
        if self._typing:
            overlay.typed = self.line.text, self.line.cursor
        self.window.draw(builder_screen(self.view(), self.window.size, overlay))
        self.window.capture(self._captures and not self._typing)
