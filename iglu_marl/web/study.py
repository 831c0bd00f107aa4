"""Studies: the contents of a study's TOML file, and their checks."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.parsing import read_file
from iglu_marl.web.rooms import PERSON

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = ("likert", "text", "choice")
TEXT_LIMIT = 2000  # characters of an answer
FILE_LIMIT = 1 << 20  # bytes
CODE = re.compile(r"[\w.:@-]{1,64}")  # of a participant, as crowd platforms send it

OVER = ("done", "refused", "failed", "expired", "left", "dismissed")  # last stages
LEFT_OUT = tuple(stage for stage in OVER if stage != "done")  # last stages that do not count in the balance


@dataclass(frozen=True)
class SurveyQuestion:
    """A question: likert (1..steps between two words), text, or choice (one of the options).

    expected: the right answer of an attention check; "" for other questions. The data show whether a check was passed.
    """

    name: str
    text: str
    kind: Literal["likert", "text", "choice"] = "text"
    steps: int = 7
    low: str = ""
    high: str = ""
    options: tuple[str, ...] = ()
    required: bool = True
    expected: str = ""

    def __post_init__(self) -> None:
        if self.expected:
            object.__setattr__(self, "required", True)
        if self.kind not in KINDS:
            raise ConfigError(
                f"the question {self.name!r} is a {self.kind!r}, expected one of {', '.join(KINDS)}"
            )
        if self.kind == "choice" and not self.options:
            raise ConfigError(f"the question {self.name!r} has no options, expected a list of texts")
        if self.kind == "likert" and not 2 <= self.steps <= 11:
            raise ConfigError(f"the question {self.name!r} has {self.steps!r} steps, expected 2..11")
        if self.expected:
            self.check(self.expected)

    def passed(self, answer: str) -> bool | None:
        """Return whether an attention check was passed; None for other questions."""
        return answer.casefold() == self.expected.strip().casefold() if self.expected else None

    def check(self, answer: Any) -> str:
        """Return the answer as it is stored. Raises `ConfigError` if it is invalid."""
        text = str(answer).strip() if isinstance(answer, (str, int)) and not isinstance(answer, bool) else ""
        if not text and not self.required:
            return ""
        known = {
            "text": 0 < len(text) <= TEXT_LIMIT,
            "choice": text in self.options,
            "likert": text in map(str, range(1, self.steps + 1)),
        }
        if not known[self.kind]:
            raise ConfigError(
                f"the answer to {self.name!r} is {answer!r:.40}, which does not fit the question"
            )
        return text


@dataclass(frozen=True)
class Condition:
    """A group of participants, who play games in a role with an agent or with each other (partner "person").

    role: in pairs, that of the participant who came first. tasks: one game each.
    """

    name: str
    tasks: tuple[str, ...]
    role: Role = Role.BUILDER
    partner: str = "scripted"

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ConfigError(f"the condition {self.name!r} has no tasks, expected a list of names")


@dataclass(frozen=True)
class Study:
    """The contents of a study's file; texts are shown paragraph by paragraph.

    participant: the address parameter with the participant's code. practice: tasks of first games, with an agent.
    pairing: "fixed" (two people stay together in all games) or "rotate" (paired again before each game).
    roles: in fixed pairs, "fixed" or "swap" (after each game).
    order: of a condition's tasks, "listed" or "latin" (each participant or pair has the next row of a Latin square).
    no_partner: what follows when no partner is there for `wait_s`: an "agent" (`fallback`, by role) plays instead, the
        participant has to "wait", or is dismissed with `dismissed_code` ("dismiss").
    drop_minutes: without a sign of life, after which a participant's place in the balance of conditions is free.
    most: number of participants. codes: of those who may take part, () = any.
    minutes: of a participant, from arrival to answers, 0 = no limit; game_minutes: of a game. idle_s: without input,
        after which a game ends; after half of it the page asks for a sign of life.
    examples: in which games pages offer example sentences and quick replies: those with "agents", "always", or "never".
    least_s: seconds that a participant has to play before leaving a game or doing nothing any more. Otherwise the last
        stage is "left", with `left_code`.
    failed_checks: number of failed attention checks after which a participant is not counted, 0 = never. They get
    `failed_code` ("" = none) instead of the completion code, as do those whose time is over.
    """

    name: str
    conditions: tuple[Condition, ...]
    title: str = "A study"
    consent: str = ""
    instructions: str = ""
    questions: tuple[SurveyQuestion, ...] = ()
    completion_code: str = ""
    participant: str = "participant"
    practice: tuple[str, ...] = ()
    pairing: Literal["fixed", "rotate"] = "fixed"
    roles: Literal["fixed", "swap"] = "fixed"
    order: Literal["listed", "latin"] = "listed"
    no_partner: Literal["agent", "wait", "dismiss"] = "agent"
    examples: Literal["agents", "always", "never"] = "agents"
    wait_s: float = 120.0
    fallback: Mapping[Role, str] = field(
        default_factory=lambda: {Role.ARCHITECT: "scripted", Role.BUILDER: "scripted"}
    )
    drop_minutes: float = 60.0
    most: int = 1000
    minutes: float = 0.0
    game_minutes: float = 30.0
    idle_s: float = 300.0
    failed_checks: int = 0
    failed_code: str = ""
    least_s: float = 30.0
    left_code: str = ""
    dismissed_code: str = ""
    codes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if re.fullmatch(r"[\w-]{1,60}", self.name) is None:
            raise ConfigError(
                f"the name of the study is {self.name!r:.80}, expected letters, digits, - and _"
            )
        for name in ("game_minutes", "idle_s", "wait_s", "drop_minutes"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected more than 0")
        for name in ("pairing", "roles", "order", "no_partner", "examples"):
            known = get_args(get_type_hints(Study)[name])
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name} is {getattr(self, name)!r:.40}, expected {' or '.join(map(repr, known))}"
                )
        if self.pairing == "rotate" and (self.roles, self.order) != ("fixed", "listed"):
            raise ConfigError("pairing is 'rotate' with roles or order of pairs, expected 'fixed'")
        if unfit := [code for code in self.codes if CODE.fullmatch(code) is None]:
            raise ConfigError(f"codes has {unfit[0]!r:.80}, expected letters, digits and . : @ - _")
        checks = sum(bool(one.expected) for one in self.questions)
        if not 0 <= self.failed_checks <= checks:
            raise ConfigError(
                f"failed_checks is {self.failed_checks!r}, expected 0..{checks}, the number of questions with "
                "'expected'"
            )
        if not self.conditions:
            raise ConfigError(f"the study {self.name!r} has no conditions, expected one or more")
        for what, names in (
            ("condition", [one.name for one in self.conditions]),
            ("question", [one.name for one in self.questions]),
        ):
            if len(set(names)) < len(names):
                raise ConfigError(f"a {what} of the study is there twice: {', '.join(names)}")

    def failed(self, answers: Mapping[str, str]) -> bool:
        """Return whether the answers fail too many attention checks."""
        wrong = sum(one.passed(answers.get(one.name, "")) is False for one in self.questions)
        return 0 < self.failed_checks <= wrong

    @property
    def version(self) -> str:
        """A hash of the contents, 16 hexadecimal digits."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def paired(self) -> tuple[str, ...]:
        """Names of the conditions in which people play with people."""
        return tuple(one.name for one in self.conditions if one.partner == PERSON)

    def condition(self, name: str) -> Condition:
        """Return the condition of that name."""
        return next(one for one in self.conditions if one.name == name)

    def games(self, condition: str, place: int = 0) -> tuple[str, ...]:
        """Return the tasks of a participant's games, practice first. place: row of the Latin square."""
        tasks = self.condition(condition).tasks
        first = place % len(tasks) if self.order == "latin" else 0
        return (*self.practice, *tasks[first:], *tasks[:first])

    def check_against(self, tasks: Mapping[str, Any], agents: Mapping[Role, tuple[str, ...]]) -> None:
        """Raise `ConfigError` unless the server knows all tasks and agents."""
        for role, agent in self.fallback.items():
            if agent not in agents.get(role, ()):
                raise ConfigError(f"the fallback of the {role} is {agent!r}, expected an agent of the server")
        for one in self.conditions:
            if unknown := [name for name in self.games(one.name) if name not in tasks]:
                raise ConfigError(f"the condition {one.name!r} has the task {unknown[0]!r}, which is unknown")
            other = other_role(one.role)
            if one.partner != PERSON and one.partner not in agents.get(other, ()):
                known = ", ".join((*agents.get(other, ()), PERSON))
                raise ConfigError(f"the partner of {one.name!r} is {one.partner!r}, expected one of {known}")


def other_role(role: Role) -> Role:
    """Return the partner's role."""
    return Role.BUILDER if role == Role.ARCHITECT else Role.ARCHITECT


_LISTS = {"conditions": Condition, "questions": SurveyQuestion}


def read_study(path: str | os.PathLike[str]) -> Study:
    """Return the study of a TOML file. Raises `ConfigError` that names the file and the problem."""
    file = Path(path)
    try:
        return _study(tomllib.loads(read_file(file, FILE_LIMIT).decode("utf-8")))
    except (ConfigError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: {error}") from None


def _study(content: Mapping[str, Any]) -> Study:
    fields: dict[str, Any] = dict(content)
    for key, kind in _LISTS.items():
        rows = fields.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ConfigError(f"{key} is {rows!r:.60}, expected tables [[{key}]]")
        fields[key] = tuple(_made(kind, row, f"a table [[{key}]]") for row in rows)
    if "fallback" in fields:
        fields["fallback"] = {Role(role): str(name) for role, name in dict(fields["fallback"]).items()}
    study: Study = _made(Study, fields, "the file")
    return study


def _made(kind: Any, row: Mapping[str, Any], where: str) -> Any:
    known = kind.__dataclass_fields__
    for name, value in row.items():
        if name not in known:
            raise ConfigError(f"{where} has {name!r}, expected some of {', '.join(known)}")
        wanted = str(known[name].type)
        kinds: dict[str, Any] = {"str": str, "float": (int, float), "int": int, "bool": bool}
        expected = kinds.get(wanted)
        if expected is not None and (
            not isinstance(value, expected) or isinstance(value, bool) != (wanted == "bool")
        ):
            raise ConfigError(f"{name} in {where} is {value!r:.60}, expected a {wanted}")
    if missing := [name for name in ("name",) if name not in row]:
        raise ConfigError(f"{where} has no {missing[0]}")
    fields = {
        name: tuple(map(str, value)) if isinstance(value, list) else value for name, value in row.items()
    }
    for name, value in row.items():
        if known[name].type.startswith("tuple[") and name not in _LISTS and not isinstance(value, list):
            raise ConfigError(f"{name} in {where} is {value!r:.60}, expected a list of texts")
    if kind is Study:
        fields |= {name: row[name] for name in _LISTS}
    if kind is Condition and "tasks" not in row:
        raise ConfigError(f"the condition {row['name']!r} has no tasks, expected a list of names")
    if kind is Condition and "role" in row:
        if row["role"] not in tuple(Role):
            raise ConfigError(
                f"the role of {row['name']!r} is {row['role']!r}, expected architect or builder"
            )
        fields["role"] = Role(row["role"])
    return kind(**fields)
