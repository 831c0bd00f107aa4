"""An architect whose messages a language model writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from iglu_marl import AgentError, Pose, Role, Utterance
from iglu_marl.agents.llm.decision import ModelAgent, ModelClient
from iglu_marl.agents.llm.messages import Backend, Message
from iglu_marl.agents.llm.reading import read_message
from iglu_marl.agents.llm.seat import (
    ARCHITECT_SEAT,
    TeamSeat,
    check_text,
    known_grid,
    poses_text,
    sees_nothing,
    target_text,
)
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import (
    describe_build,
    describe_changes,
    describe_pose,
    encode_png,
)
from iglu_marl.agents.scripted.dialogue_tracker import (
    DIALOG_KEYS,
    SHOW_ARCHITECT,
    DialogueTracker,
    require_entry,
)
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, Settings, check_pair
from iglu_marl.game.seats import unwrap_game

PATIENCE = 3  # turns without a visible change before the model is asked again
BLIND_PATIENCE = 20  # the same where the builder's pose is not observed
SETTLE_AFTER = 60  # turns since the last change of the build, even if the builder moves
MAX_PATIENCE = 64  # turns; patience doubles with each request after which nothing changed


class LLMArchitect(ModelAgent):
    """Explain the target to the builder in messages that a language model writes.

    The prompt shows target and build (`settings.view`), the builder's pose and the dialogue.
    The model is not asked while the builder works or when the build equals the target. While nothing changes, it is
    asked less and less often.

    Args:
        settings: None = from the environment variables.
        backend: a backend of your own instead of that of the settings.
        message_length: length limit of an utterance in characters.
        patience: turns without a visible change before the model is asked again.
        settle_after: turns after a change of the build, even if the builder moves.
        seat: place in a team.

    """

    role = Role.ARCHITECT

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        backend: Backend | None = None,
        message_length: int | None = None,
        patience: int = PATIENCE,
        settle_after: int = SETTLE_AFTER,
        seat: TeamSeat = ARCHITECT_SEAT,
    ) -> None:
        if patience < 1 or settle_after < 1:
            raise AgentError(f"patience is {patience} and settle_after {settle_after}, expected 1 or more")
        self.client = ModelClient(Role.ARCHITECT, settings, backend)
        self.patience, self.settle_after = patience, settle_after
        self.show_changes = self.client.settings.changes == "shown"
        self.message_length = message_length or MESSAGE_CHARACTERS
        self.seat = seat
        self._dialogue = DialogueTracker(None, None)
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> LLMArchitect:
        """Return an architect for the chat of an environment; settings come from the environment variables.

        Raises `AgentError` for a game of a team, in which an agent needs a seat.
        """
        check_pair(env, cls)
        return cls._in_game(env, **options)

    @classmethod
    def _in_game(cls, env: Any, **options: Any) -> LLMArchitect:
        game = check_text(Settings.of(env), "LLMArchitect")
        return cls(**{"message_length": game.message_length, **options})

    @classmethod
    def for_seat(cls, env: Any, agent: str, **options: Any) -> LLMArchitect:
        """Return an architect for a seat ("architect_1") of an environment."""
        return cls._in_game(env, seat=TeamSeat.of(unwrap_game(env).config, agent), **options)

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        return {
            "role": Role.ARCHITECT, **self.seat.made_for, "chat": "text", "max_characters": self.message_length
        }  # fmt: skip

    def _forget(self, seed: int | None) -> None:
        self.client.begin(seed)
        self._dialogue.forget()
        self._asked = False
        self._seen = self._built = b""
        self._still = self._repeats = 0  # turns and requests since anything changed
        # Turns since a change of the build; None: no change since the last request.
        self._settled: int | None = None

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the architect."""
        if role != Role.ARCHITECT:
            raise AgentError(f"an LLMArchitect cannot play the {role}")
        self._forget(seed)

    def act(self, observation: Any) -> str:
        """Return the next utterance.

        Raises:
            AgentError: if neither target nor goal is observed.
            ServiceRefusedError: if every request would fail.

        """
        self._check(observation)
        if not self._is_due(observation):
            return ""
        self._asked, self._still, self._settled = True, 0, None
        said = self.client.ask(lambda said: self._chat(observation, said), self._read)
        self._repeats += 1
        return said or ""

    def _check(self, observation: Any) -> None:
        known = {"target_grid", "target_view", "goal"}
        if not known & set(observation if hasattr(observation, "keys") else ()):
            require_entry(observation, ("target_grid",), "LLMArchitect", SHOW_ARCHITECT)
        if not self.client.settings.pictures and not {"target_grid", "goal"} & set(observation):
            raise AgentError(
                "the LLMArchitect observes only a picture of the target, expected target_grid, or pictures=True"
            )

    def _is_due(self, observation: Any) -> bool:
        """Return whether to ask the model now: at the start, after a question, and when the builder seems done."""
        dialog = next((observation[key] for key in DIALOG_KEYS if key in observation), None)
        fresh = () if dialog is None else self._dialogue.hear(dialog)
        self.client.dialogue.extend(fresh)
        spoken = any(self.seat.is_addressed(said) for said in fresh)
        self._watch(observation)
        known = np.any(observation.get("target_mask", 1))
        if known and {"target_grid", "grid"} <= set(observation):
            if np.array_equal(observation["target_grid"], known_grid(observation)):
                return False
        patience = self.patience if "agentPos" in observation else max(self.patience, BLIND_PATIENCE)
        still = self._still >= min(patience * 2 ** max(0, self._repeats - 1), max(patience, MAX_PATIENCE))
        settled = self._settled is not None and self._settled >= self.settle_after
        return spoken or not self._asked or still or settled

    def _watch(self, observation: Any) -> None:
        """Count the turns without a change of the build, and without any change."""

        def bytes_of(*keys: str) -> bytes:
            return b"".join(np.asarray(observation[key]).tobytes() for key in keys if key in observation)

        built = bytes_of("target_grid", "target_view", "goal", "grid", "grid_view")
        seen = built + bytes_of("agentPos")
        self._still = self._still + 1 if seen == self._seen else 0
        if built != self._built:
            self._settled = 0
        elif self._settled is not None:
            self._settled += 1
        if seen != self._seen:
            self._repeats = 0
        self._seen, self._built = seen, built

    def _read(self, text: str) -> str:
        return self.client.clip_message(read_message(text), self.message_length)

    def _chat(self, observation: Any, said: Sequence[Utterance]) -> tuple[Message, ...]:
        shown: dict[str, Any] = {
            "limit": self.message_length,
            "show_changes": self.show_changes,
            "seat": self.seat,
        }
        return architect_chat(self.client, said, observation, **shown)


def architect_chat(
    client: ModelClient,
    said: Sequence[Utterance],
    observation: Mapping[str, Any],
    *,
    limit: int,
    show_changes: bool,
    seat: TeamSeat = ARCHITECT_SEAT,
) -> tuple[Message, ...]:
    """Return the chat for an architect's next message: the rules, and what it observes.

    Args:
        client: prompts and settings.
        said: the newest part of the dialogue.
        observation: the architect's observation.
        limit: length limit of an utterance in characters.
        show_changes: whether to list the remaining changes.
        seat: place in a team.

    """
    pictures: list[bytes] = []
    parts = {
        "target": _scene(client, observation, "target", pictures),
        "build": _scene(client, observation, "build", pictures),
        "difference": difference_section(client, observation) if show_changes else "",
        "pose": "",
        "goal": client.part("goal", text=observation["goal"]) if observation.get("goal") else "",
        "dialogue": client.dialogue_section(said),
        "note": client.note_section(),
    }
    if "agentPos" in observation:
        if np.ndim(observation["agentPos"]) == 2:
            poses = poses_text(observation["agentPos"], list(range(len(observation["agentPos"]))))
        else:
            place, gaze = describe_pose(Pose.from_observation(observation))
            poses = f"It stands {place} and looks {gaze}."
        parts["pose"] = client.part("pose", poses=poses)
    user = Message("user", client.part("turn", **parts).strip(), tuple(pictures))
    text = "tools" if client.answers == "tools" else "structured" if client.settings.structured else "plain"
    system = client.part("system", limit=f"{limit} characters", form=client.part(text).strip())
    return Message("system", (system + seat.rules(client.prompts)).strip()), user


def _scene(client: ModelClient, observation: Mapping[str, Any], what: str, pictures: list[bytes]) -> str:
    """Return the section on target or build, "" if it is not observed; pictures are appended to `pictures`."""
    grid_key, view_key = {"target": ("target_grid", "target_view"), "build": ("grid", "grid_view")}[what]
    if grid_key in observation:
        if what == "target" and sees_nothing(observation):
            return ""
        view, grid = client.settings.view, np.asarray(observation[grid_key])
        scene = target_text(observation, view) if what == "target" else describe_build(grid, view)
        return client.part(what, scene=scene)
    if view_key not in observation or not client.settings.pictures:
        return ""
    pictures.append(encode_png(observation[view_key]))
    return client.part(what, scene=client.part("given_picture", which=len(pictures)).strip())


def difference_section(client: ModelClient, observation: Mapping[str, Any]) -> str:
    """Return the section on the remaining changes, "" unless cells of the target and the build are observed."""
    mask = observation.get("target_mask", 1)
    if not {"target_grid", "grid"} <= set(observation) or not np.any(mask):
        return ""
    known, target = known_grid(observation), np.asarray(observation["target_grid"])
    part_is_done = not np.all(mask) and np.array_equal(known, target)
    changes = "(nothing in your part)" if part_is_done else describe_changes(known, target)
    return client.part("difference", changes=changes)
