"""Studies: the contents of a study's TOML file, and their checks."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.parsing import read_file
from iglu_marl.web.options import PERSON, READING

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = ("likert", "text", "choice", "note")
TEXT_LIMIT = 2000  # characters of an answer
FILE_LIMIT = 1 << 20  # bytes
CODE = re.compile(r"[\w.:@-]{1,64}")  # of a participant, as crowd platforms send it

OVER = ("done", "refused", "screened", "failed", "expired", "left", "dismissed")  # last stages
LEFT_OUT = tuple(stage for stage in OVER if stage != "done")  # last stages that do not count in the balance
ASKING = {"before": "before", "between": "between", "questions": "after"}  # stage -> `when` of its questions


@dataclass(frozen=True)
class SurveyQuestion:
    """A question: likert (1..steps between two words), text, or choice (one of the options). A note has no answer.

    text: of a note in Markdown.
    expected: the right answer of an attention check; "" for other questions. The data show whether a check was passed.
    when: "before" the games, "between" two of them, or "after" them.
    """

    name: str
    text: str
    kind: Literal["likert", "text", "choice", "note"] = "text"
    steps: int = 7
    low: str = ""
    high: str = ""
    options: tuple[str, ...] = ()
    required: bool = True
    expected: str = ""
    when: Literal["before", "between", "after"] = "after"

    def __post_init__(self) -> None:
        if self.when not in ASKING.values():
            raise ConfigError(
                f"when of {self.name!r} is {self.when!r:.40}, expected one of {', '.join(ASKING.values())}"
            )
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
        if (not text and not self.required) or self.kind == "note":
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
    """A group of participants, who play games with an agent or with each other (partner "person").

    role: of the participant, or of the one who came first. tasks: one game each.
    """

    name: str
    tasks: tuple[str, ...]
    role: Role = Role.BUILDER
    partner: str = "scripted"

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ConfigError(f"the condition {self.name!r} has no tasks, expected a list of names")

    @property
    def other(self) -> Role:
        """The role of the partner."""
        return Role.ARCHITECT if self.role == Role.BUILDER else Role.BUILDER

    @property
    def seats(self) -> tuple[Role, ...]:
        """What the people of a game play, beginning with the one who came first."""
        return (self.role, self.other) if self.partner == PERSON else (self.role,)


class Round(NamedTuple):
    """A game of a participant. role: in practice of people who will play together; None = the participant's."""

    task: str
    practice: bool
    role: Role | None = None
    tutorial: bool = False


@dataclass(frozen=True)
class Study:
    """The contents of a study's file. Texts are Markdown; a line `---` begins another page of instructions.

    participant: the address parameter with the participant's code. parameters: others whose values are kept.
    links: "open", or "signed" by `iglu-marl study links`. devices: "mouse", "touch" or both.
    quiz: questions with `expected` after the instructions. Who fails reads the instructions again; after `quiz_tries`
        failures the last stage is "screened", with `quiz_code`.
    practice: tasks of first games, with an agent, in the role that follows; for pairs, each in both roles.
    practice_until: "" (it may be left at any time), "complete", "blocks:3" (right ones) or "minutes:2". Who leaves
        before plays it again.
    tutorial: "off", or "before practice", in games of its own with the first task of practice.
    partner_name: how partners are called, agents and people alike; "" = "an agent" or "a person".
    pairing: "fixed" (people stay together in all games) or "rotate" (paired again before each game).
    roles: of those who stay together, "fixed" or "swap" (after each game).
    order: of a condition's tasks, "listed" or "latin" (each participant or pair has the next row of a Latin square).
    no_partner: what follows when no partner is there for `wait_s`: an "agent" (`fallback`, by role) plays instead, the
        participant has to "wait", or is dismissed with `dismissed_code` ("dismiss").
    drop_minutes: without a sign of life, after which a participant's place in the balance of conditions is free.
    most: number of participants, of whom each counts from the first game after practice on.
    minutes: of a participant, from arrival to answers, 0 = no limit; game_minutes: of a game. idle_s: without input,
        after which a game ends; after half of it the page asks for a sign of life.
    examples: in which games pages offer example sentences and quick replies: those with "agents", "always", or "never".
    reader: what reads for the builder "scripted" of people who are architects, and of practice and `fallback`: the
        "grammar", or a language "model" (the builder is "scripted-llm" then).
    least_s: seconds that a participant has to play before leaving a game or doing nothing any more. Otherwise the last
        stage is "left", with `left_code`.
    failed_checks: number of failed attention checks after which a participant is not counted, 0 = never. They get
    `failed_code` ("" = none) instead of the completion code, as do those whose time is over.
    return_url: of the platform, for those who get a code; {code} is replaced by it.
    source: the file.
    """

    name: str
    conditions: tuple[Condition, ...]
    title: str = "A study"
    consent: str = ""
    instructions: str = ""
    quiz: tuple[SurveyQuestion, ...] = ()
    quiz_tries: int = 2
    quiz_code: str = ""
    questions: tuple[SurveyQuestion, ...] = ()
    completion_code: str = ""
    return_url: str = ""
    participant: str = "participant"
    parameters: tuple[str, ...] = ()
    links: Literal["open", "signed"] = "open"
    devices: tuple[str, ...] = ("mouse", "touch")
    practice: tuple[str, ...] = ()
    practice_until: str = ""
    tutorial: Literal["before practice", "off"] = "off"
    partner_name: str = ""
    pairing: Literal["fixed", "rotate"] = "fixed"
    roles: Literal["fixed", "swap"] = "fixed"
    order: Literal["listed", "latin"] = "listed"
    no_partner: Literal["agent", "wait", "dismiss"] = "agent"
    examples: Literal["agents", "always", "never"] = "agents"
    reader: Literal["grammar", "model"] = "grammar"
    wait_s: float = 120.0
    fallback: Mapping[Role, str] = field(default_factory=lambda: dict.fromkeys(Role, "scripted"))
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
    source: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if re.fullmatch(r"[\w-]{1,60}", self.name) is None:
            raise ConfigError(
                f"the name of the study is {self.name!r:.80}, expected letters, digits, - and _"
            )
        for name in ("game_minutes", "idle_s", "wait_s", "drop_minutes"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected more than 0")
        for name in ("pairing", "roles", "order", "no_partner", "examples", "reader", "links", "tutorial"):
            known = get_args(get_type_hints(Study)[name])
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name} is {getattr(self, name)!r:.40}, expected {' or '.join(map(repr, known))}"
                )
        if self.tutorial != "off" and not self.practice:
            raise ConfigError(f"tutorial is {self.tutorial!r} without practice, expected 'off'")
        if re.fullmatch(r"|complete|(blocks|minutes):[1-9]\d{0,2}", self.practice_until) is None:
            raise ConfigError(
                f"practice_until is {self.practice_until!r:.40}, expected 'complete', 'blocks:3' or 'minutes:2'"
            )
        if self.pairing == "rotate" and (self.roles, self.order) != ("fixed", "listed"):
            raise ConfigError("pairing is 'rotate' with roles or order of pairs, expected 'fixed'")
        if not self.devices or not set(self.devices) <= {"mouse", "touch"}:
            raise ConfigError(f"devices is {self.devices!r:.80}, expected mouse, touch or both")
        if self.partner_name and self.examples == "agents":
            raise ConfigError(
                "examples is 'agents', which shows who is an agent, expected 'always' or 'never' with partner_name"
            )
        if open_answers := [one.name for one in self.quiz if not one.expected]:
            raise ConfigError(f"the question {open_answers[0]!r} of the quiz has no 'expected'")
        if self.quiz_tries < 1:
            raise ConfigError(f"quiz_tries is {self.quiz_tries!r}, expected 1 or more")
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
            ("question", [one.name for one in (*self.quiz, *self.questions)]),
        ):
            if len(set(names)) < len(names):
                raise ConfigError(f"a {what} of the study is there twice: {', '.join(names)}")
        if self.reader == "model":
            heard = Role.ARCHITECT, "scripted"
            conditions = (
                replace(one, partner=READING) if (one.role, one.partner) == heard else one
                for one in self.conditions
            )
            object.__setattr__(self, "conditions", tuple(conditions))
            if self.fallback.get(Role.BUILDER) == "scripted":
                object.__setattr__(self, "fallback", {**self.fallback, Role.BUILDER: READING})

    @property
    def version(self) -> str:
        """A hash of the file, 16 hexadecimal digits."""
        return hashlib.sha256((self.source or repr(self)).encode()).hexdigest()[:16]

    @property
    def paired(self) -> tuple[str, ...]:
        """Names of the conditions in which people play with people."""
        return tuple(one.name for one in self.conditions if one.partner == PERSON)

    def condition(self, name: str) -> Condition:
        """Return the condition of that name."""
        return next(one for one in self.conditions if one.name == name)

    def rounds(self, condition: str, place: int = 0) -> tuple[Round, ...]:
        """Return a participant's games, practice first. place: row of the Latin square."""
        group = self.condition(condition)
        first = place % len(group.tasks) if self.order == "latin" else 0
        practice_roles = (Role.BUILDER, Role.ARCHITECT) if group.partner == PERSON else (group.role,)
        practice = [Round(task, True, role) for task in self.practice for role in practice_roles]
        if self.tutorial != "off":
            practice = [Round(self.practice[0], True, role, True) for role in practice_roles] + practice
        return (*practice, *(Round(task, False) for task in (*group.tasks[first:], *group.tasks[:first])))

    def asked(self, stage: str) -> tuple[SurveyQuestion, ...]:
        """Return the questions of a stage."""
        if stage == "quiz":
            return self.quiz
        return tuple(one for one in self.questions if one.when == ASKING.get(stage))

    def code_of(self, outcome: str) -> str:
        """Return the code of a last stage; "" = none."""
        codes = {
            "done": self.completion_code,
            "screened": self.quiz_code,
            "left": self.left_code,
            "dismissed": self.dismissed_code,
            "refused": "",
        }
        return codes.get(outcome, self.failed_code)

    @property
    def first_stages(self) -> list[str]:
        """The stages before the games."""
        there = {"consent": self.consent, "quiz": self.quiz, "before": self.asked("before")}
        return [one for one in ("consent", "instructions", "quiz", "before") if there.get(one, True)]

    def next_stage(self, stage: str) -> str:
        """Return the first stage after one that comes before the games; of "", the first of all."""
        stages = ["", *self.first_stages, "game"]
        return stages[stages.index(stage) + 1]

    def check_against(self, tasks: Mapping[str, Any], agents: Mapping[Role, tuple[str, ...]]) -> None:
        """Raise `ConfigError` unless the server knows all tasks and agents."""
        for role, agent in self.fallback.items():
            if agent not in agents.get(role, ()):
                raise ConfigError(f"the fallback of the {role} is {agent!r}, expected an agent of the server")
        for one in self.conditions:
            if unknown := [each.task for each in self.rounds(one.name) if each.task not in tasks]:
                raise ConfigError(f"the condition {one.name!r} has the task {unknown[0]!r}, which is unknown")
            known = (*agents.get(one.other, ()), PERSON)
            if one.partner not in known:
                raise ConfigError(
                    f"the partner of {one.name!r} is {one.partner!r}, expected one of {', '.join(known)}"
                )


_LISTS = {"conditions": Condition, "quiz": SurveyQuestion, "questions": SurveyQuestion}


def read_study(path: str | os.PathLike[str]) -> Study:
    """Return the study of a TOML file. Raises `ConfigError` that names the file and the problem."""
    file = Path(path)
    try:
        source = read_file(file, FILE_LIMIT).decode("utf-8")
        content = tomllib.loads(source)

        def beside(name: str) -> str:
            nonlocal source
            text = read_file(file.parent / name, FILE_LIMIT).decode("utf-8")
            source += "\n".join(["", f"# {name}", *(f"# {line}" for line in text.splitlines()), ""])
            return text

        for row in (content, *(row for row in content.get("questions", ()) if isinstance(row, dict))):
            for key in ("consent", "instructions", "text"):
                if re.fullmatch(r"[^\n]+\.md", str(row.get(key, ""))):  # a file beside the study's
                    row[key] = beside(row[key])
        return replace(_study(content), source=source)
    except DataError as error:  # it names the file, which may be another one
        raise ConfigError(str(error)) from None
    except (ConfigError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: {error}") from None


def _study(content: Mapping[str, Any]) -> Study:
    values: dict[str, Any] = dict(content)
    for key, kind in _LISTS.items():
        rows = values.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ConfigError(f"{key} is {rows!r:.60}, expected tables [[{key}]]")
        values[key] = tuple(_made(kind, row, f"a table [[{key}]]") for row in rows)
    if "fallback" in values:
        named = {Role(role): str(name) for role, name in dict(values["fallback"]).items()}
        values["fallback"] = {**dict.fromkeys(Role, "scripted"), **named}
    study: Study = _made(Study, values, "the file")
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
    if kind is Condition and (role := row.get("role", Role.BUILDER)) not in tuple(Role):
        raise ConfigError(f"a role of {row['name']!r} is {role!r:.40}, expected {' or '.join(Role)}")
    if "role" in fields:
        fields["role"] = Role(fields["role"])
    return kind(**fields)
