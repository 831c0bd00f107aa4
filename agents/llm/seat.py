"""The team of a language model, as its prompt describes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iglu_marl import AgentError, GameConfig, Pose, Role, Utterance
from iglu_marl.agents.llm.prompting import Prompts
from iglu_marl.agents.llm.world_text import describe_build, describe_pose, describe_sides
from iglu_marl.agents.settings import Settings
from iglu_marl.core.dialogue import PAIR, Speaker, speakers_of

NOT_YET = "not yet"


def check_text(game: Settings, who: str) -> Settings:
    """Return the settings of a game. Raises `AgentError` for one with token chat."""
    if game.tokens:
        raise AgentError(f"{who}: the game has chat='tokens', expected chat='text'")
    return game


@dataclass(frozen=True)
class TeamSeat:
    """A place in a game: the speaker, and for a team the agents and what its rules say."""

    me: Speaker
    agent: str = ""  # "builder_1"; "" in a game of two
    agents: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)  # for the rules
    architects: int = 1
    sees_target: bool = False  # as a builder

    @classmethod
    def of(cls, config: GameConfig, agent: str) -> TeamSeat:
        """Return the seat of an agent ("builder_1") of a game."""
        me = speakers_of(config.architects, config.builders)[config.agents.index(agent)]
        if not config.is_team:
            return cls(me)
        parts = config.parts_of(agent)
        about = {
            "name": _named(agent),
            "names": ", ".join(map(_named, config.agents)),
            "hearers": ", ".join(map(_named, config.hearers_of(agent))) or "nobody",
            "parts": ", ".join(part.replace(":", " ") for part in parts),
        }
        sees_target = me[0] is Role.BUILDER and set(parts) != {"none"}
        return cls(me, agent, config.agents, about, config.architects, sees_target)

    @property
    def made_for(self) -> dict[str, Any]:
        """The place, in the form of an agent's `made_for`."""
        return {"name": self.agent, "agents": self.agents} if self.agent else {"pair": True}

    @property
    def leads(self) -> bool:
        """Whether a builder knows the target and has no architect: it begins by itself."""
        return self.sees_target and not self.architects

    def is_addressed(self, said: Utterance) -> bool:
        """Return whether an utterance may ask for something: builders of an architect's team listen to architects."""
        if self.me[0] is Role.BUILDER and self.architects:
            return said.role is Role.ARCHITECT
        return (said.role, said.number) != self.me

    def rules(self, prompts: Prompts) -> str:
        """Return the paragraph on the team, "" in a game of two."""
        if not self.agent:
            return ""
        task = "" if self.architects else prompts.fill("leads" if self.sees_target else "helps")
        return f"\n{prompts.fill('team', **self.about)}{task}"


class DoneNotes:
    """What was built for each message that may ask a seat for something, by its number in the dialogue."""

    def __init__(self, seat: TeamSeat) -> None:
        self._seat, self._notes = seat, dict[int, str]()

    def _asked(self, dialogue: Iterable[Utterance]) -> list[int]:
        return [number for number, said in enumerate(dialogue) if self._seat.is_addressed(said)]

    def note(self, dialogue: Iterable[Utterance], done: str) -> None:
        """Record what was done for the newest message of a dialogue."""
        if asked := self._asked(dialogue):
            for number in asked:
                self._notes.setdefault(number, "see the next messages")
            self._notes[asked[-1]] = done

    def of(self, dialogue: Iterable[Utterance]) -> dict[int, str]:
        """Return what was done for each message."""
        return {number: self._notes.get(number, NOT_YET) for number in self._asked(dialogue)}


ARCHITECT_SEAT, BUILDER_SEAT = (TeamSeat(me) for me in PAIR)


def _named(agent: str) -> str:
    role, _, number = agent.partition("_")
    return f"{role} {number}"


def known_grid(observation: Mapping[str, Any]) -> Any:
    """Return the build where the target is seen: elsewhere nothing differs."""
    grid = np.asarray(observation["grid"])
    return grid * observation["target_mask"] if "target_mask" in observation else grid


def sees_nothing(observation: Mapping[str, Any]) -> bool:
    """Return whether an observation has no cell and no side of the target."""
    seen = [observation[key] for key in ("target_mask", "target_sides") if key in observation]
    return len(seen) == 2 and not np.any(seen[0]) and bool(np.all(seen[1] < 0))


def target_text(observation: Mapping[str, Any], view: str) -> str:
    """Describe what is seen of the target: its blocks, then the views of sides."""
    sides, mask = observation.get("target_sides"), observation.get("target_mask")
    if sides is None or np.all(mask):
        return describe_build(np.asarray(observation["target_grid"]), view)
    views = describe_sides(np.asarray(sides))
    if views and not np.any(mask):
        return views
    return "\n".join(filter(None, (describe_build(np.asarray(observation["target_grid"]), view), views)))


def poses_text(poses: Any, numbers: list[int]) -> str:
    """Describe where several builders stand, a line for each."""
    seen = [describe_pose(Pose.from_observation({"agentPos": pose})) for pose in np.asarray(poses)]
    lines = zip(numbers, seen, strict=True)
    return "\n".join(f"Builder {number} stands {place} and looks {gaze}." for number, (place, gaze) in lines)
