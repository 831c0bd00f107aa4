"""Show a running or recorded game in a window. All shown states are kept, so that one can step back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iglu_marl.commands.human_game import carried_over
from iglu_marl.commands.task_selection import choose_task
from iglu_marl.core.dialogue import Role
from iglu_marl.core.kernels.records import STEP_S
from iglu_marl.envs.aec import raw_env
from iglu_marl.recording import replay
from iglu_marl.recording.rollout import played
from iglu_marl.rendering.moment import moment_of
from iglu_marl.rendering.ui.composed import game_views
from iglu_marl.rendering.ui.screens import OrbitAngles, architect_screen, onlooker_screen
from iglu_marl.rendering.ui.window import Key, MouseMoved, Wheel, Window, WindowClosed

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CAMERAS = ("follow", "orbit")
GAME: dict[str, Any] = {
    "controls": "walking",
    "builder_sees": ("inventory", "compass", "dialog", "pose", "grid"),
    "builder_can_ask": True,
    "max_steps": 10_000,
    "max_turns": None,
    "turn_steps": 200,
}
"""Options of a game unless a trained agent needs others."""
TEAM = {name: GAME[name] for name in ("builder_sees", "builder_can_ask")}
"""Options of a game of a team, beside its own."""
_HELP = (
    ("Space", "pause, resume"),
    ("Right, Left", "a step on, a step back"),
    ("Home, End", "to the beginning, to the newest"),
    ("Up, Down", "faster, slower"),
    ("C", "the builder's eyes, or a camera around the build"),
    ("drag the mouse, wheel", "turn that camera"),
    ("Esc", "menu: leave it there"),
    ("F1, H, ?", "these keys"),
)


def live_game(
    tasks: str | None = None,
    task: str | None = None,
    seed: int = 0,
    controls: str | None = None,
    architect: str = "scripted",
    builder: str = "scripted",
    team: str | None = None,
) -> tuple[Any, Iterator[Any]]:
    """Return an environment to show states in, and the states of a new game of two agents, or of a team by name."""
    from iglu_marl.agents.registry import agents_for, game_options

    playing = {Role.ARCHITECT: [architect], Role.BUILDER: [builder]}
    options = game_options(playing, GAME if team is None else TEAM, {"controls": controls})
    if team is None or tasks is not None or task is not None:
        options["tasks"] = choose_task(tasks, task=task, seed=seed)
    env: Any = raw_env(team, **options)
    env.reset(seed=seed)

    def states() -> Iterator[Any]:
        for _ in played(env, agents_for(env, architect, builder), seed=seed):
            yield env.episode.get_state()

    return carried_over(env, env.config.controls), states()


def recorded_game(path: Path, episode: int = 0) -> tuple[Any, Iterator[Any]]:
    """Return an environment to show states in, and the states of a recorded game.

    Raises:
        DataError: If the file is not a recording.
        ConfigError: If it has no such game.

    """
    states: list[Any] = []
    kept: list[Any] = []

    def keep(env: Any) -> None:
        game = env.unwrapped
        states.append(game.episode.get_state())
        kept[:] = [game]

    replay(path, episode=episode, verify=False, on_step=keep)
    return kept[0], iter(states)


class Show:
    """A window that shows a game.

    Args:
        env: Environment to show states in.
        states: States of the game in order. Each is taken when it is due, so a game runs at the speed of the window.
        window: The window.
        speed: Speed, relative to a game of people.
        camera: One of `CAMERAS`.

    """

    def __init__(
        self, env: Any, states: Iterator[Any], window: Any, speed: float = 1.0, camera: str = "follow"
    ) -> None:
        from iglu_marl.agents.human.player import PlayerWindow

        self.env, self.states = env, states
        self.cockpit = PlayerWindow(window)
        self.cockpit.help = _HELP
        self.seen: list[Any] = []
        self.place = -1
        self.playing, self.ended = True, False
        self.speed, self.camera = speed, camera
        self.angles = OrbitAngles()
        self._due = time.monotonic()

    def move(self, steps: int) -> None:
        """Move by some states. Beyond the newest one the game continues."""
        place = self.place + steps
        while place >= len(self.seen) and not self.ended:
            state = next(self.states, None)
            if state is None:
                self.ended = True
                self.cockpit.show_note("The game is over.")
            else:
                self.seen.append(state)
        self.place = max(0, min(place, len(self.seen) - 1))
        self.env.episode.set_state(self.seen[self.place])

    def run(self) -> None:
        """Show the game until the window is closed."""
        self.move(1)
        try:
            while True:
                for event in self.cockpit.events():
                    self._handle(event)
                if self.playing and not self.cockpit.waits and time.monotonic() >= self._due:
                    self.move(1)
                    self._due = max(self._due + STEP_S / self.speed, time.monotonic())
                    self.playing = not (self.ended and self.place == len(self.seen) - 1)
                self.draw()
                self.cockpit.rest(self._due if self.playing else time.monotonic() + 1)
        except WindowClosed:
            pass

    def draw(self) -> None:
        """Draw the current state."""
        window = self.cockpit.window
        window.open()
        moment = moment_of(self.env.episode)
        moment["status"] |= {"speed": f"{self.speed:g}"} | ({} if self.playing else {"": "paused"})
        views, overlay = game_views(**moment), self.cockpit.overlay((("F1", "help"),))
        if self.camera == "follow":
            window.draw(onlooker_screen(*views, window.size, overlay, self.angles))
        else:
            window.draw(architect_screen(views.architect, window.size, overlay, self.angles))

    def _handle(self, event: Any) -> None:
        from iglu_marl.agents.human.player import DRAG_DEG

        if isinstance(event, Key) and event.down:
            self._key(event)
        elif isinstance(event, MouseMoved) and event.held:
            self.angles.turn(-event.dx * DRAG_DEG, event.dy * DRAG_DEG)
        elif isinstance(event, Wheel):
            self.angles.turn(0.0, 5.0 * event.up)

    def _key(self, event: Any) -> None:
        from iglu_marl.agents.human.player import HELP_KEYS

        moves = {"right": 1, "left": -1, "home": -len(self.seen), "end": len(self.seen) - 1 - self.place}
        if event.name == "space":
            self.playing = not self.playing
            self._due = time.monotonic()
        elif event.name in moves:
            self.playing = False
            self.move(moves[event.name])
        elif event.name in ("up", "down"):
            others = [speed for speed in SPEEDS if (speed > self.speed) == (event.name == "up")]
            others = [speed for speed in others if speed != self.speed] or [self.speed]
            self.speed = others[0] if event.name == "up" else others[-1]
            self.cockpit.show_note(f"speed {self.speed:g}")
        elif event.name == "c":
            self.camera = CAMERAS[1 - CAMERAS.index(self.camera)]
        elif event.name in HELP_KEYS or event.text == "?":
            self.cockpit.open_help()


def watch_game(
    env: Any,
    states: Iterator[Any],
    *,
    speed: float = 1.0,
    camera: str = "follow",
    engine: str = "auto",
    window: Window | None = None,
) -> None:
    """Open a window and show a game of `live_game` or `recorded_game`. window: a window for tests."""
    show = Show(env, states, window or Window("iglu_marl: watch", engine=engine), speed, camera)
    show.cockpit.window.open()
    try:
        show.run()
    finally:
        show.cockpit.window.close()
