"""Ten games with a stranger: ideal curves, who needs memory, controls, files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from iglu_marl import Role
from iglu_marl.benchmark import make, read_result, report, run, strangers, verify
from iglu_marl.benchmark.catalog import levels
from iglu_marl.benchmark.splits import SPLITS
from iglu_marl.benchmark.strangers import CHANCE, GAMES, Kind, Sittings, ideal_curve, language
from iglu_marl.core.errors import ActionError, AgentError, ConfigError, DataError

KINDS: tuple[Kind, ...] = ("code", "words", "listen")
NAMES = [level.name for level in levels("strangers")]
SITTINGS = 400

Seen = dict[str, Any]


class Listener:
    """A builder that keeps what each symbol has meant, and of words the ways of counting that fit it."""

    def __init__(self, kind: Kind) -> None:
        self.language = language(kind)

    @classmethod
    def for_env(cls, env: Any) -> Listener:
        return cls(env.unwrapped.sittings.kind)

    def begin(self, count: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        tables = self.language.places, self.language.colors
        self.fitting = [[table] * count for table in tables]

    def act(self, seen: Seen) -> Any:
        symbols, last = self.language.symbols(seen["message"]), self.language.symbols(seen["last_message"])
        return np.array(
            [
                [self.choose(part, game, symbols, last, seen["last_block"]) for part in (0, 1)]
                for game in range(len(symbols))
            ]
        )

    def choose(self, part: int, game: int, symbols: Any, last: Any, blocks: Any) -> int:
        table, meant = self.fitting[part][game], blocks[game, part] - 1
        if meant >= 0 and (fits := table[:, meant] == last[game, part]).any():
            table = self.fitting[part][game] = table[fits]
        counts = (table == symbols[game, part]).sum(axis=0)
        return int(self.rng.choice(np.flatnonzero(counts == counts.max())))


class Speaker:
    """An architect that says what it knows, and else tries a symbol that it does not know."""

    def __init__(self) -> None:
        self.begin(0, 0)

    def begin(self, count: int, seed: int) -> None:
        self.known: list[tuple[dict[int, int], dict[int, int]]] = [({}, {}) for _ in range(count)]

    def act(self, seen: Seen) -> Any:
        symbols = language("listen").symbols(seen["last_message"])
        chosen = np.zeros_like(seen["wanted"])
        for game, both in enumerate(self.known):
            for part, known in enumerate(both):
                if seen["last_block"][game, part]:
                    known[seen["last_block"][game, part] - 1] = symbols[game, part]
                unknown = [symbol for symbol in range((4, 6)[part]) if symbol not in known.values()]
                chosen[game, part] = known.get(seen["wanted"][game, part], [*unknown, 0][0])
        return chosen


def rewards_of(kind: Kind, act: Callable[[Seen], Any], control: str = "") -> Any:
    """Rewards of sittings side by side, [games, sittings]."""
    env = Sittings(kind, "test", SITTINGS, control)
    seen, _ = env.reset(seed=0)
    rewards = []
    for _ in range(GAMES):
        seen, reward, *_ = env.step(act(seen))
        rewards.append(reward)
    return np.array(rewards)


def rates(kind: Kind, player: Any, control: str = "") -> Any:
    player.begin(SITTINGS, 0)
    return rewards_of(kind, player.act, control).mean(axis=1)


def is_near(rate: Any, expected: Any, count: int = SITTINGS) -> bool:
    """Whether shares of `count` games are within four standard errors."""
    expected = np.asarray(expected)
    return bool(np.all(np.abs(rate - expected) <= 4 * np.sqrt(expected * (1 - expected) / count) + 1e-9))


# ---------------------------------------------------------------------------------------------------- ideal curves


def test_the_ideal_listener_has_the_curve_of_counting() -> None:
    """By hand: after k of n meanings were met, a symbol is understood with chance (k + 1) / n."""
    for game, found in enumerate(ideal_curve("code", 12)):
        shares = []
        for meanings in (4, 6):
            chances = np.eye(meanings + 1)[0]
            for _ in range(game):
                more = chances * (meanings - np.arange(meanings + 1)) / meanings
                chances = chances - more + np.append(0, more[:-1])
            shares.append(chances @ np.minimum(1, (np.arange(meanings + 1) + 1) / meanings))
        assert found == pytest.approx(shares[0] * shares[1])
    trial = [0.04, 0.17, 0.32, 0.49, 0.63, 0.73, 0.81, 0.87, 0.91, 0.94, 0.96, 0.97]
    assert np.round(ideal_curve("code", 12), 2).tolist() == pytest.approx(trial, abs=0.0101)


def test_the_ideal_listener_of_words_by_enumeration() -> None:
    """The third game, over all ways of counting and all pairs of sides or colors that were met before."""
    shares = []
    for table in language("words")[:2]:
        right = []
        for own in table:
            for first, second, now in product(range(len(own)), repeat=3):
                fitting = [way for way in table if way[first] == own[first] and way[second] == own[second]]
                counts = [sum(way[meaning] == own[now] for way in fitting) for meaning in range(len(own))]
                right.append((counts[now] == max(counts)) / counts.count(max(counts)))
        shares.append(np.mean(right))
    assert ideal_curve("words")[2] == pytest.approx(shares[0] * shares[1])


@pytest.mark.parametrize("kind", ["code", "words"])
def test_a_listener_that_remembers_has_the_ideal_curve(kind: Kind) -> None:
    assert is_near(rates(kind, Listener(kind)), ideal_curve(kind))


def test_the_ideal_speaker_by_hand() -> None:
    """The second game: each part is known with 1 in n, else one of n - 1 symbols is tried."""
    assert ideal_curve("listen", 1) == pytest.approx([CHANCE])
    known = 1 / 4 + 3 / 4 / 3, 1 / 6 + 5 / 6 / 5
    assert ideal_curve("listen", 2) == pytest.approx([CHANCE, known[0] * known[1]])
    played = rates("listen", Speaker())
    assert played.sum() <= sum(ideal_curve("listen")) + 4 * np.sqrt(GAMES / 4 / SITTINGS)
    assert played.sum() > 0.9 * sum(ideal_curve("listen"))


# ------------------------------------------------------------------------------------------------ who has no memory


def fixed(kind: Kind) -> Callable[[Seen], Any]:
    """A code agreed beforehand: the first one."""
    own, first = language(kind), np.zeros((SITTINGS, 5), np.int64)
    if kind == "listen":
        return lambda seen: own.symbols(own.say(first, seen["wanted"]))
    return lambda seen: np.maximum(own.read(first, seen["message"]), 0)


def memoriser(kind: Kind) -> Callable[[Seen], Any]:
    """What each message meant most often in training; in `listen`, what was understood most often."""
    counts: dict[bytes, Any] = {}
    asked = "wanted" if kind == "listen" else "message"
    env = Sittings(kind, "train", 500)
    rng = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    for _ in range(3 * (GAMES + 1)):
        actions = rng.integers([4, 6], size=(500, 2))
        later, rewards, *_ = env.step(actions)
        for key, action in zip(seen[asked][rewards > 0], actions[rewards > 0], strict=True):
            counts.setdefault(key.tobytes(), np.zeros((4, 6)))[tuple(action)] += 1
        seen = later
    best = {key: np.unravel_index(count.argmax(), count.shape) for key, count in counts.items()}
    return lambda seen: np.array([best.get(key.tobytes(), (0, 0)) for key in seen[asked]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "make_player",
    [fixed, memoriser, lambda kind: lambda seen: np.full((SITTINGS, 2), 2)],
    ids=["fixed code", "memoriser", "constant"],
)
def test_players_without_memory_are_at_chance(kind: Kind, make_player: Any) -> None:
    assert is_near(rewards_of(kind, make_player(kind)).mean(), CHANCE, SITTINGS * GAMES)


@pytest.mark.parametrize("control", strangers.CONTROLS)
@pytest.mark.parametrize("kind", KINDS)
def test_controls_take_the_sense_away(kind: Kind, control: str) -> None:
    """Also from players that remember all."""
    rate = rates(kind, Speaker() if kind == "listen" else Listener(kind), control)
    chance = 0 if (kind, control) == ("listen", "muted") else CHANCE
    assert is_near(rate.mean(), chance, SITTINGS * GAMES)


# ----------------------------------------------------------------------------------------------------- environments


@pytest.mark.parametrize("kind", KINDS)
def test_splits_share_no_code(kind: Kind) -> None:
    codes = {}
    for split in SPLITS:
        env = Sittings(kind, split, 300)
        env.reset(seed=0)
        codes[split] = set(map(tuple, env.codes[:, :2].tolist()))
    assert all(len(own) > 20 for own in codes.values())
    assert not codes["train"] & codes["test"]
    assert not codes["validation"] & (codes["train"] | codes["test"])


@pytest.mark.parametrize(("kind", "digest"), [("code", "23d5bb"), ("words", "9ae9b1"), ("listen", "356e61")])
def test_levels_keep_their_sittings(kind: Kind, digest: str) -> None:
    """Digests of codes and observations: others are another level, with another version in its name."""
    total = hashlib.sha256()
    for split in SPLITS:
        env = Sittings(kind, split, 4)
        seen, _ = env.reset(seed=0)
        for _ in range(GAMES + 2):
            for key in sorted(seen):
                total.update(np.ascontiguousarray(seen[key]).tobytes())
            total.update(env.codes.tobytes())
            seen, *_ = env.step(np.zeros((4, 2), np.int64))
    assert total.hexdigest()[:6] == digest


@pytest.mark.parametrize("name", NAMES)
def test_one_sitting_is_as_one_of_many(name: str) -> None:
    many, one = make(name, "train", num_envs=3), make(name, "train")
    check_env(make(name, "train"), skip_render_check=True)
    seen, alone = many.reset(seed=4)[0], one.reset(seed=6)[0]
    rng = np.random.default_rng(0)
    for _ in range(2 * GAMES + 1):
        assert all(np.array_equal(value[2], alone[key]) for key, value in seen.items())
        actions = rng.integers([4, 6], size=(3, 2))
        seen, rewards, over, *_ = many.step(actions)
        alone, reward, is_over, *_ = one.step(actions[2])
        assert (rewards[2], over[2]) == (reward, is_over)


def test_what_is_shown_is_what_happened() -> None:
    env = Sittings("listen", "train", 50)
    seen, _ = env.reset(seed=0)
    own = env.language
    right = np.stack(
        [own.places[env.codes[:, 0], env.wanted[:, 0]], own.colors[env.codes[:, 1], env.wanted[:, 1]]], 1
    )
    seen, rewards, *_ = env.step(right)
    assert rewards.all()
    assert np.array_equal(seen["last_block"], own.read(env.codes, seen["last_message"]) + 1)
    with pytest.raises(ActionError, match="expected int"):
        env.step(np.full((50, 2), 4))


def test_what_cannot_be_made() -> None:
    for wrong in (("speak", "train", 1), ("code", "exam", 1), ("code", "train", 1, "deaf")):
        with pytest.raises(ConfigError):
            Sittings(*wrong)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ files


class Single:
    """A builder of single sittings that keeps its memory over ten games, and is reset before others."""

    resets: list[int] = []  # noqa: RUF012 (of all)

    def reset(self, role: Role, seed: int | None) -> None:
        assert role is Role.BUILDER
        self.own, self.games = Listener("code"), 0
        self.own.begin(1, 1000 + (seed or 0))  # else its choices are those of the game

    def act(self, observation: Seen) -> Any:
        assert observation["game"] == self.games
        self.games += 1
        return self.own.act({key: np.asarray(value)[None] for key, value in observation.items()})[0]

    def close(self) -> None:
        pass


def test_a_result_has_its_controls_and_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "listener.json"
    result = run(
        "strangers-code-v2",
        [Single, Single],
        episodes=200,
        supervision=["agreed"],
        output=path,
        record=True,
    )
    assert read_result(path) == result
    assert result.faults() == []
    assert result.contents == 20
    assert verify(path) == 2 * 200 * 4
    assert [len({row.partner for row in result.rows}), result.rows[23].partner] == [20, "stranger 2"]
    curve = [interval.value for interval in report.by_game(result)]
    assert is_near(np.array(curve), ideal_curve("code"), 20)
    assert result.interval().low > 0.4 > max(max(run.controls.values()) for run in result.runs)
    table = report.sitting_table([result])
    assert [row[1] for row in table.rows] == ["agent", "ideal", "ideal, without memory"]

    games = path.with_suffix(".games.jsonl")
    lines = games.read_text().splitlines()
    lines[0] = json.dumps({"builder": [[7, 0]]})
    content = json.loads(path.read_text())
    games.write_text("\n".join(lines) + "\n")
    assert content["recordings"]["games"] == len(lines)
    with pytest.raises(DataError, match="SHA-256"):
        verify(path)


def test_what_cannot_be_measured() -> None:
    with pytest.raises(ConfigError, match="episodes is 25, expected a multiple of 10"):
        run("strangers-code-v2", [Single], episodes=25)
    with pytest.raises(AgentError, match="strangers-code-v2 is played by an agent that learns codes"):
        run("strangers-code-v2", ["scripted"], episodes=10)
