"""Studies: the contents of a study's TOML file, and their checks."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.parsing import read_file
from iglu_marl.web.options import PERSON, expect

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT_LIMIT = 2000  # characters of an answer
FILE_LIMIT = 1 << 20  # bytes
_NUMBERS_AND_TEXTS: dict[Any, Any] = {str: str, float: (int, float), int: int, bool: bool}
CODE = re.compile(r"[\w.:@-]{1,64}")  # of a participant, as crowd platforms send it

OVER = ("done", "refused", "screened", "failed", "expired", "left", "dismissed")  # last stages
LEFT_OUT = tuple(stage for stage in OVER if stage != "done")  # last stages that do not count in the balance
ASKING = {"before": "before", "between": "between", "questions": "after"}  # stage -> `when` of its questions


def _check_fields(one: Any) -> None:
    """Raise `ConfigError` if a field of a record is not of its type."""
    for name, kind in get_type_hints(type(one)).items():
        value, where = getattr(one, name), f"{name} of {one.name!r:.40}"
        if get_origin(kind) is Literal:
            expect(where, value, value in get_args(kind), " or ".join(map(repr, get_args(kind))))
        elif kind in _NUMBERS_AND_TEXTS:
            of_kind = isinstance(value, _NUMBERS_AND_TEXTS[kind]) and isinstance(value, bool) == (
                kind is bool
            )
            expect(where, value, of_kind, f"a {kind.__name__}")


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
        _check_fields(self)
        chosen = self.kind != "choice" or self.options
        expect(f"options of {self.name!r}", self.options, chosen, "a list of texts")
        expect(f"steps of {self.name!r}", self.steps, 2 <= self.steps <= 11, "2..11")
        if self.expected:
            object.__setattr__(self, "required", True)
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
        expect(f"the answer to {self.name!r}", answer, known[self.kind], "one that fits the question")
        return text


@dataclass(frozen=True)
class Condition:
    """A group of participants, who play games with an agent or with each other (partner "person").

    role: of the participant, or of the one who came first. tasks: one game each.
    """

    name: str
    tasks: tuple[str, ...] = ()
    role: Role = Role.BUILDER
    partner: str = "scripted"

    def __post_init__(self) -> None:
        _check_fields(self)
        expect(f"tasks of {self.name!r}", self.tasks, self.tasks, "a list of names")
        expect(f"role of {self.name!r}", self.role, self.role in tuple(Role), " or ".join(Role))
        object.__setattr__(self, "role", Role(self.role))

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
        _check_fields(self)
        named = re.fullmatch(r"[\w-]{1,60}", self.name)
        expect("the name of the study", self.name, named, "letters, digits, - and _")
        for name in ("game_minutes", "idle_s", "wait_s", "drop_minutes", "quiz_tries"):
            expect(name, getattr(self, name), getattr(self, name) > 0, "more than 0")
        expect("tutorial", self.tutorial, self.tutorial == "off" or self.practice, "'off' without practice")
        until = re.fullmatch(r"|complete|(blocks|minutes):[1-9]\d{0,2}", self.practice_until)
        expect("practice_until", self.practice_until, until, "'complete', 'blocks:3' or 'minutes:2'")
        fixed = self.pairing == "fixed" or (self.roles, self.order) == ("fixed", "listed")
        expect("pairing", self.pairing, fixed, "'fixed' with other roles or order of pairs")
        devices = self.devices and set(self.devices) <= {"mouse", "touch"}
        expect("devices", self.devices, devices, "mouse, touch or both")
        alike = not self.partner_name or self.examples != "agents"
        expect("examples", self.examples, alike, "'always' or 'never' with partner_name: it shows agents")
        for one in self.quiz:
            expect(f"'expected' of {one.name!r} in the quiz", one.expected, one.expected, "the right answer")
        checks = sum(bool(one.expected) for one in self.questions)
        known = f"0..{checks}, the number of questions with 'expected'"
        expect("failed_checks", self.failed_checks, 0 <= self.failed_checks <= checks, known)
        expect("conditions", self.conditions, self.conditions, "one or more")
        questions = [one.name for one in (*self.quiz, *self.questions)]
        for what, names in (("conditions", [one.name for one in self.conditions]), ("questions", questions)):
            expect(f"names of the {what}", names, len({*names}) == len(names), "each once")

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
            expect(
                f"the fallback of the {role}", agent, agent in agents.get(role, ()), "an agent of the server"
            )
        for one in self.conditions:
            for each in self.rounds(one.name):
                expect(f"a task of {one.name!r}", each.task, each.task in tasks, "a task of the server")
            known = (*agents.get(one.other, ()), PERSON)
            expect(f"the partner of {one.name!r}", one.partner, one.partner in known, ", ".join(known))


_LISTS = {"conditions": Condition, "quiz": SurveyQuestion, "questions": SurveyQuestion}


def read_study(path: str | os.PathLike[str]) -> Study:
    """Return the study of a TOML file. Raises `ConfigError` that names the file and the problem."""
    file = Path(path)
    try:
        source = read_file(file, FILE_LIMIT).decode("utf-8")
        return replace(_study(tomllib.loads(source)), source=source)
    except DataError as error:  # it names the file
        raise ConfigError(str(error)) from None
    except (ConfigError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: {error}") from None


def _study(content: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = dict(content)
    for key, kind in _LISTS.items():
        rows = values.get(key, [])
        tables = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        expect(key, rows, tables, f"tables [[{key}]]")
        values[key] = tuple(_made(kind, row, f"a table [[{key}]]") for row in rows)
    if "fallback" in values:
        named = {Role(role): str(name) for role, name in dict(values["fallback"]).items()}
        values["fallback"] = {**dict.fromkeys(Role, "scripted"), **named}
    return _made(Study, values, "the file")


def _made(kind: Any, row: Mapping[str, Any], where: str) -> Any:
    known = kind.__dataclass_fields__
    expect(f"the name of {where}", None, "name" in row, "a text")
    for name in row:
        expect(f"a key of {where}", name, name in known, f"some of {', '.join(known)}")
    values = dict(row)
    for name in (name for name in row if known[name].type == "tuple[str, ...]"):
        expect(f"{name} of {row['name']!r:.40}", row[name], isinstance(row[name], list), "a list of texts")
        values[name] = tuple(map(str, row[name]))
    return kind(**values)
