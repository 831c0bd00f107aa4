"""An architect that lets a language model do the talking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from iglu_marl import AgentError, Role, Utterance
from iglu_marl.agents.llm.decision import Decider, Deciding, ModelClient, check_sayable
from iglu_marl.agents.llm.messages import Backend, Message
from iglu_marl.agents.llm.reading import read_message
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import as_png, pictured, told, told_changes, told_pose
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_ARCHITECT, DialogueTracker, need
from iglu_marl.agents.settings import Settings
from iglu_marl.core.dialogue import Codec
from iglu_marl.language import (
    At,
    Beside,
    Blocks,
    Build,
    CellEdit,
    Direction,
    Instruction,
    Kind,
    Place,
    Shape,
    render,
)

PATIENCE = 3  # turns in which nothing visible happens before something new is said
BLIND_PATIENCE = 20  # the same where the builder's pose is not seen
SETTLE_AFTER = 60  # turns since the build has changed, even though the builder moves about
MAX_SILENCE = 64  # turns


@lru_cache(maxsize=1)
def examples() -> str:
    """Instructions as the grammar says them, a line each: every builder of this package reads them."""
    said: tuple[Instruction, ...] = (
        CellEdit.between((2, -1, -3), 0, 6),
        CellEdit.between((0, 0, 0), 0, 1),
        Build(Shape(Kind.ROW, (3,), (Direction.EAST,)), (6,), At((-1, -1, 0))),
        Build(Shape(Kind.TOWER, (4,)), (3,), At((0, -1, 2))),
        Place(2, Beside(((Direction.UP, 1),), Blocks((3,), Kind.TOWER))),
        CellEdit.between((-1, 1, 0), 3, 0),
        CellEdit.between((4, -1, 4), 1, 5),
    )
    return "\n".join(f"  {render(instruction)}" for instruction in said)


class LLMArchitect(Decider):
    """Tells a builder what to build, in the words of a language model.

    At its turn the model is shown target and build (as layers, lists or pictures: `settings.view`), what is still to be
    done, where the builder stands, and the dialogue; it writes one message. It is not asked while the builder is seen
    to be at work, nor when the build is the target; the longer it has nothing to say, the more seldom it is asked.
    It knows nothing but the observation.

    settings: see `LLMSettings`; None = from the environment. backend: one of your own instead. codec: the vocabulary of
    token chat. message_length: of an utterance, in characters or tokens. patience: turns in which nothing visible
    happens before it is asked again; settle_after: turns after a change of the build, however the builder moves.
    show_changes: whether it is told what is still to be done, besides what there is; None: as the settings say
    (`changes`). background: be silent until the
    reply is there.
    """

    role = Role.ARCHITECT

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        backend: Backend | None = None,
        codec: Codec | None = None,
        message_length: int | None = None,
        patience: int = PATIENCE,
        settle_after: int = SETTLE_AFTER,
        show_changes: bool | None = None,
        background: bool = False,
    ) -> None:
        if patience < 1 or settle_after < 1:
            raise AgentError(f"patience is {patience} and settle_after {settle_after}, expected 1 or more")
        self.client = ModelClient(Role.ARCHITECT, settings, backend)
        self.patience, self.settle_after = patience, settle_after
        changes = self.client.settings.changes
        shown = changes == "shown" or (changes == "auto" and self.client.settings.view != "picture")
        self.show_changes, self.background = shown if show_changes is None else show_changes, background
        self.message_length = Settings(codec=codec, message_length=message_length).most
        self._dialogue = DialogueTracker(codec, self.message_length)
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> LLMArchitect:
        """One that fits an environment's chat; its settings come from the environment variables."""
        return cls(**{**Settings.of(env).only("codec", "message_length"), **options})

    def _forget(self, seed: int | None) -> None:
        self.forget_call()
        self.client.begin(seed)
        self._dialogue.forget()
        self._asked = False
        self._seen = self._built = b""
        self._still = self._silences = 0  # turns in which nothing happened; requests that came to silence
        self._settled: int | None = (
            None  # turns since the build has changed, if it has since the last request
        )

    # -- Agent

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the architect's."""
        if role != Role.ARCHITECT:
            raise AgentError(f"an LLMArchitect cannot play the {role}")
        self._forget(seed)

    def waiting(self) -> Any:
        """Silence."""
        return self._dialogue.utter("")

    def deciding(self, observation: Any) -> Deciding:
        """The next utterance, or silence. Raises `AgentError` when no target or goal is observed."""
        self._check(observation)
        if not self._is_due(observation):
            return self._dialogue.utter("")
        self._asked, self._still, self._settled = True, 0, None
        said = yield from self.client.ask(lambda said: self._chat(observation, said), self._read)
        self._silences = 0 if said else self._silences + 1
        return self._dialogue.utter(said or "")

    # -- when

    def _check(self, observation: Any) -> None:
        known = {"target_grid", "target_view", "goal"}
        if not known & set(observation if hasattr(observation, "keys") else ()):
            need(observation, ("target_grid",), "LLMArchitect", SHOW_ARCHITECT)
        if self.client.settings.view != "picture" and not {"target_grid", "goal"} & set(observation):
            raise AgentError(
                "the LLMArchitect sees a picture of the target alone, expected target_grid, or view='picture'"
            )

    def _is_due(self, observation: Any) -> bool:
        """Whether to ask the model now: at first, when spoken to, and when the builder seems to be done."""
        dialog = next((observation[key] for key in DIALOG_KEYS if key in observation), None)
        fresh = () if dialog is None else self._dialogue.hear(dialog)
        self.client.dialogue.extend(fresh)
        spoken = any(said.role == Role.BUILDER for said in fresh)
        self._watch(observation)
        if {"target_grid", "grid"} <= set(observation) and np.array_equal(
            observation["target_grid"], observation["grid"]
        ):
            return False
        patience = self.patience if "agentPos" in observation else max(self.patience, BLIND_PATIENCE)
        still = self._still >= min(patience * 2**self._silences, MAX_SILENCE)
        settled = self._settled is not None and self._settled >= self.settle_after
        return spoken or not self._asked or still or settled

    def _watch(self, observation: Any) -> None:
        """Count the turns in which nothing happened, to the build and at all."""

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
            self._silences = 0
        self._seen, self._built = seen, built

    # -- what

    def _read(self, text: str) -> str:
        said = read_message(text)
        if self._dialogue.tokens and said:
            check_sayable(self._dialogue.codec, said, self.message_length)
            return said
        return self.client.clipped(said, self.message_length)

    def _chat(self, observation: Any, said: Sequence[Utterance]) -> tuple[Message, ...]:
        tokens = self._dialogue.tokens
        return architect_chat(
            self.client,
            said,
            observation,
            limit=f"{self.message_length} {'words' if tokens else 'characters'}",
            show_changes=self.show_changes,
            codec=self._dialogue.codec,
            tokens=tokens,
        )


def architect_rules(client: ModelClient, *, limit: str, codec: Codec | None = None) -> Message:
    """The rules of an architect's chat. limit: of an utterance, with its unit. codec: of token chat."""
    form = client.part("structured" if client.settings.structured else "plain").strip()
    system = client.part("system", limit=limit, examples=examples(), form=form)
    return Message("system", (system + client.channel(codec)).strip())


def architect_chat(
    client: ModelClient,
    said: Sequence[Utterance],
    observation: Mapping[str, Any],
    *,
    limit: str,
    show_changes: bool,
    codec: Codec | None = None,
    tokens: bool = False,
) -> tuple[Message, ...]:
    """A chat in which an architect is to say something: the rules, and what it sees.

    said: the end of the dialogue. limit: of an utterance, with its unit. codec: the vocabulary of token chat (tokens).
    """
    pictures: list[bytes] = []
    parts = {
        "target": _scene(client, observation, "target", pictures),
        "build": _scene(client, observation, "build", pictures),
        "difference": told_difference(client, observation) if show_changes else "",
        "pose": "",
        "goal": _goal(client, observation, codec),
        "dialogue": client.told(said),
        "note": client.noted(),
    }
    if "agentPos" in observation:
        place, gaze = told_pose(np.asarray(observation["agentPos"]))
        parts["pose"] = client.part("pose", place=place, gaze=gaze)
    user = Message("user", client.part("turn", **parts).strip(), tuple(pictures))
    return architect_rules(client, limit=limit, codec=codec if tokens else None), user


def _scene(client: ModelClient, observation: Mapping[str, Any], what: str, pictures: list[bytes]) -> str:
    """Target or build, as far as they are observed; pictures are added to the list."""
    grid_key, view_key = {"target": ("target_grid", "target_view"), "build": ("grid", "grid_view")}[what]
    grid = observation.get(grid_key)
    if client.settings.view != "picture":
        if grid is None:
            return ""
        return client.part(what, scene=told(np.asarray(grid), client.settings.view))
    if grid is None and view_key not in observation:
        return ""
    pictures.append(as_png(observation[view_key]) if grid is None else pictured(np.asarray(grid)))
    section = "given_picture" if grid is None else "pictures"
    return client.part(what, scene=client.part(section, which=len(pictures)).strip())


def told_difference(client: ModelClient, observation: Mapping[str, Any]) -> str:
    """What is still to be done, where target and build are observed."""
    if not {"target_grid", "grid"} <= set(observation):
        return ""
    changes = told_changes(np.asarray(observation["grid"]), np.asarray(observation["target_grid"]))
    return client.part("difference", changes=changes)


def _goal(client: ModelClient, observation: Mapping[str, Any], codec: Codec | None) -> str:
    if "goal" not in observation:
        return ""
    goal = observation["goal"]
    if not isinstance(goal, str):
        assert codec is not None
        goal = codec.decode(goal[goal != 0].tolist())
    return client.part("goal", text=goal) if goal else ""
