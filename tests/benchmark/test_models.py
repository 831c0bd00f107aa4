"""The benchmark of language models: its levels and texts, how games are judged, and its players without a model."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from requirements import ROOT, shared_folder

from iglu_marl.agents.llm.messages import Message
from iglu_marl.benchmark.model_players import MUST_NOT_WIN, PLAYERS
from iglu_marl.benchmark.model_tasks import without_color
from iglu_marl.benchmark.model_texts import Symmetry, written_dialogues, written_requests
from iglu_marl.benchmark.models import LEVELS, GameRow, ModelLevel, estimate, find_level, outcome
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import in_zone
from iglu_marl.evaluation.metrics import share_interval
from iglu_marl.rendering.camera import Camera
from iglu_marl.rendering.renderer import EYE_LENS
from iglu_marl.text.game import edits_of, order_text
from iglu_marl.text.rounds import Rounds

GENERATED = [level for level in LEVELS if level.make is not None]
BUILDERS = [level for level in GENERATED if level.role == "builder"]


REPLIES = json.loads((ROOT / "tests/benchmark/replies_of_a_large_model.json").read_text(encoding="utf-8"))


def asks_first(game: Any, chat: Any) -> str:
    """A builder that knows the target, and asks in each round."""
    asked = game.counts["questions"] > len(game.partner.played)
    return order_text(edits_of(game.grid, game.target)) if asked else order_text([], "Which?")


def never_asks(game: Any, chat: Any) -> str:
    """A builder that knows the target where the context shows it."""
    now = game.partner.rounds[len(game.partner.played)]
    return order_text(edits_of(game.grid, game.target) if now.guess else [])


def played(level: str, player: Any, games: int) -> list[GameRow]:
    chosen, rows = find_level(level), []
    for number in range(games):
        game, chat = chosen.start(number)
        while chat:
            chat = game.step((PLAYERS.get(player) or player)(game, chat))[0]
        rows.append(outcome(chosen, number, 0, game))
    return rows


# ----------------------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("symmetry", "text", "said"),
    [
        (Symmetry(turns=1), "the North-West corner, going south", "the North-east corner, going west"),
        (Symmetry(turns=1), "from west to east, the northern one", "from north to south, the eastern one"),
        (Symmetry(turns=2), "northeast of the southernmost", "southwest of the northernmost"),
        (Symmetry(mirrored=True), "north east, then WEST; at least", "north west, then EAST; at least"),
        (Symmetry(colors=(0, 4, 1, 2, 3, 5, 6)), "A blue one, an orange, yellows", "An orange one, a green, blues"),
        (Symmetry(colors=(0, 6, 5, 4, 3, 2, 1)), "Another BLUE one", "Another RED one"),
    ],
)  # fmt: skip
def test_texts_are_turned_and_recoloured(symmetry: Symmetry, text: str, said: str) -> None:
    assert symmetry.text(text) == said


def test_cells_are_mirrored_and_then_turned_clockwise() -> None:
    """North is -z: the block in the north goes to the east."""
    assert Symmetry(turns=1).cell((0, 2, -3)) == (3, 2, 0)
    assert Symmetry(mirrored=True).cell((4, 0, 1)) == (-4, 0, 1)
    assert Symmetry(mirrored=True, turns=1).cell((4, 0, 0)) == (0, 0, -4)
    for turns in range(4):
        for mirrored in (False, True):
            one = Symmetry(mirrored, turns)
            east, _, south = one.cell((1, 0, 0))
            assert {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}[one.way("east")] == (
                east,
                south,
            )


def test_written_requests_can_be_turned() -> None:
    assert len(written_requests()) > 500
    for request in written_requests():
        assert request.start != request.target
        assert all(in_zone(*cell) for cell in request.cells)
        assert not re.search(r"\b(left|right|clockwise)\b", request.text, re.I)
        assert set(request.target.values()) <= request.colors
    assert len(written_dialogues()) > 30


def test_a_colour_is_left_out_only_where_nothing_else_says_it() -> None:
    assert without_color("Put an orange block here.", "orange") == "Put a coloured block here."
    assert without_color("Two red towers and a red block", "red") is None
    assert without_color("Make it red", "red") is None


# ---------------------------------------------------------------------------------------------------------- levels

DIGESTS = {
    "requests": "f477100571ef",
    "dialogue": "af3dbd1fc9fa",
    "viewpoint": "900a667e4e52",
    "clarification": "a64625e5753a",
    "speakers": "59e8bfb2b790",
    "architect": "0a7039324328",
    "pair": "c8780ea10633",
    "team": "8bb42ee0cb16",
    "pictures": "fa81a506e593",
}


@pytest.mark.parametrize("level", GENERATED, ids=lambda level: level.name)
def test_levels_keep_their_games(level: ModelLevel) -> None:
    """Results of other games are those of another version."""
    assert level.digest(0, 5) == DIGESTS[level.name]
    assert level.digest(1, 2) != level.digest(0, 2)


@pytest.mark.parametrize("level", BUILDERS, ids=lambda level: level.name)
def test_each_round_asks_for_something(level: ModelLevel) -> None:
    for number in range(level.count // 4):
        for one in level.game(number).rounds:
            assert (one.start != one.target).any()
            assert bool(one.answer) >= (one.ask == "needed")


def test_half_of_the_instructions_lack_something() -> None:
    asked = Counter(one.ask for n in range(30) for one in find_level("clarification").game(n).rounds)
    assert asked["needed"] == asked["needless"] == 60


def test_points_of_view_are_balanced_and_matter() -> None:
    marks = ("My compass", "in a mirror", "I sit at", "my plan", "turn all")
    texts = [find_level("viewpoint").game(number).rounds[0].text for number in range(100)]
    counts = [sum(mark in text for text in texts) for mark in marks]
    assert sum(counts) == 100
    assert min(counts) >= 10


def test_a_turned_compass_means_what_it_says() -> None:
    """Read here by unit vectors: the blocks of the request as it is said, after the turn."""
    ways = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
    symmetries = [Symmetry(mirrored, turns) for mirrored in (False, True) for turns in range(4)]
    requests = [request for request in written_requests() if not request.is_relative]
    seen = 0
    for number in range(40):
        (one,) = find_level("viewpoint").game(number).rounds
        match = re.match(
            r"My compass .* north is (\w+) on your map, .* east is (\w+), and so on\. (.*)", one.text
        )
        if match is None:
            continue
        (nx, nz), (ex, ez) = ways[match[1]], ways[match[2]]
        said = [
            symmetry.request(request)
            for symmetry in symmetries
            for request in requests
            if _shape(symmetry.text(request.text)) == _shape(match[3])
        ]
        meant = [{(x * ex - z * nx, y, x * ez - z * nz) for x, y, z in request.target} for request in said]
        built = {(x - 5, y - 1, z - 5) for y, x, z in np.argwhere(one.target).tolist()}
        assert not meant or built in meant, one.text
        seen += bool(meant)
    assert seen >= 3


def _shape(text: str) -> str:
    """A text without colours, articles and its full stop."""
    return re.sub(r"\b(an?|blue|yellow|green|orange|purple|red)\b", "", text.rstrip("."), flags=re.I).lower()


def test_pictures_are_all_that_is_shown_of_the_blocks() -> None:
    level = find_level("pictures")
    for number in range(20):
        (one,) = level.game(number).rounds
        assert one.pose is not None
        cells = np.array([(x - 5, y - 1, z - 5) for y, x, z in np.argwhere(one.start).tolist()], float)
        points = Camera(one.pose, EYE_LENS, (256, 256)).project(cells)
        assert ((points > 0) & (points < 256)).all(), "all blocks are in view"
    game, chat = level.start(0)
    message = Message.of_chat(chat[1])
    assert len(message.pictures) == 1
    assert (
        "BUILD NOW\nPicture 1 shows what you see now, through your own eyes.\n\nBLOCKS LEFT" in message.text
    )
    assert game.view == "own"


@pytest.mark.parametrize("level", GENERATED, ids=lambda level: level.name)
def test_the_player_is_told_what_is_judged_and_no_solution(level: ModelLevel) -> None:
    game, chat = level.start(0)
    rules = chat[0]["content"].split("\n\nThis game\n")[1]
    text = Message.of_chat(chat[1]).text
    assert "STILL TO DO" not in text
    if level.role == "builder":
        assert "ask" in rules or "answers questions" in rules
        assert "TARGET" not in text
    else:
        assert f"At most {game.max_replies} " in rules
        assert f"{level.game(0).words} words" in rules or level.team
        assert "wrong" in rules


# -------------------------------------------------------------------------------------------------------- judgement


@pytest.mark.parametrize(
    "level", [level.name for level in GENERATED if level.name not in ("speakers", "team")]
)
def test_policies_do_not_win(level: str) -> None:
    for player in MUST_NOT_WIN:
        assert sum(row.score for row in played(level, player, 5)) <= 1, player
    assert all(row.success and row.score == 1 for row in played(level, "oracle", 5))


def test_points_reward_whoever_learns_which_speaker_to_ask() -> None:
    rows = {player: played("speakers", player, 2) for player in ("oracle", asks_first, never_asks)}
    assert [[row.score for row in of_one] for of_one in rows.values()] == [[1, 1], [0, 0], [0, 0]]
    assert [row.questions for row in rows["oracle"]] == [8, 8]
    assert [row.needless for row in rows[asks_first]] == [16, 16]
    assert [(row.missing, row.right) for row in rows[never_asks]] == [(8, 19), (8, 19)]


def test_too_many_words_lose_a_game() -> None:
    level = find_level("pair")
    game, chat = level.start(0)
    game.step("Well, " * 30)
    while chat:
        chat = game.step(PLAYERS["oracle"](game, chat))[0]
    assert (outcome(level, 0, 0, game).score, game.completed) == (1, True)
    game, chat = level.start(0)
    for _ in range(level.game(0).words // 30 + 1):
        game.step("Well, " * 30)
        game.step('{"edits": []}')
    while chat:
        chat = game.step(PLAYERS["oracle"](game, chat))[0]
    assert (outcome(level, 0, 0, game).score, game.completed) == (0, True)


def test_a_correction_does_not_help_the_build_that_it_corrects() -> None:
    game, _ = find_level("clarification").start(0)
    partner = game.partner
    assert isinstance(partner, Rounds)
    wrong = '{"edits": [{"action": "place", "color": "red", "east": 5, "north": 5, "height": 9}]}'
    chat, _, over, _ = game.step(wrong)
    assert not over
    assert (game.grid == partner.rounds[1].start).all(), "the next round has its own world"
    assert not partner.played[0].right
    assert "That was not what I meant" in chat[-1]["content"]


def test_a_message_of_several_lines_arrives_whole() -> None:
    game, _ = find_level("architect").start(0)
    *_, info = game.step("1. Build a purple tower of 2 at the centre.\n2. Place a red block 2 east 4 north.")
    assert info["said"] == "Build a purple tower of 2 at the centre. Place a red block 2 east 4 north."


def test_a_team_is_shown_what_it_sees_and_no_more() -> None:
    assert [played("team", name, 1)[0].score for name in ("oracle", "grammar")] == [1, 0]


@pytest.mark.parametrize("name", REPLIES)
def test_the_scores_of_a_large_model_follow_from_its_replies(name: str) -> None:
    level, scores = find_level(name), []
    for number, replies in enumerate(REPLIES[name].values()):
        game, chat = level.start(number)
        for reply in replies:
            assert chat
            chat = game.step(reply)[0]
        assert not chat
        scores.append(outcome(level, number, 0, game).score)
    cell = share_interval(float(np.mean(scores)), len(scores)).text(lambda share: f"{100 * share:.0f}")
    page = (ROOT / "docs/llm_benchmark.md").read_text(encoding="utf-8").splitlines()
    head, row = (
        next(line.split(" | ") for line in page if line.startswith(start))
        for start in ("| player |", "| *large model*")
    )
    assert dict(zip([cell.strip("| ") for cell in head], row, strict=True))[name].strip("| ") == cell


def test_what_it_costs_is_known_before() -> None:
    row = estimate(find_level("viewpoint"), 10, 1.0, 4.0)
    assert (row["games"], row["requests"], row["at most"]) == (10, 10, 30)
    assert row["cost"] == pytest.approx((row["prompt tokens"] + 4 * 10 * 80) / 1e6, rel=0.02)
    assert row["cost at most"] > 30 * 4 * 8192 / 1e6


def test_a_level_needs_a_known_name() -> None:
    with pytest.raises(ConfigError, match="absolute"):
        find_level("absolute")


@pytest.mark.slow
def test_what_people_asked_for_is_played_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared_folder() / "data"))
    rows = played("people", "oracle", 20)
    assert all(row.success for row in rows)
    assert len({row.unit for row in rows}) > 1
