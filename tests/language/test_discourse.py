"""A dialogue over several texts: names, what is pending, corrections, mentions, and whose left is meant."""

from __future__ import annotations

import numpy as np
import pytest

import iglu_marl
from iglu_marl.agents import ReplayArchitect, ScriptedBuilder
from iglu_marl.core.grid import blocks_to_grid, cells_of
from iglu_marl.envs.live import LiveGame
from iglu_marl.language import CellEdit, Context, Discourse, Failure
from iglu_marl.language.meaning.verbs import Sequence
from iglu_marl.language.talk.discourse import Reader, ReaderReply

BLUE, GREEN, RED = 1, 3, 6
SEES = ("dialog", "pose", "grid")
EYE = (0.0, -0.25, 4.0)  # four cells south of the centre, on the ground


class Dialogue:
    """An architect's texts, each followed at once."""

    def __init__(
        self, *blocks: tuple[int, int, int, int], yaw: float = 0.0, reader: Reader | None = None
    ) -> None:
        self.discourse = Discourse(reader)
        self.discourse.stand(EYE, yaw)
        self.world = blocks_to_grid(list(blocks)) if blocks else np.zeros((9, 11, 11), np.int8)

    def says(self, text: str) -> set[tuple[int, int, int]]:
        """The cells that change."""
        heard = self.discourse.hear(text, self.world)
        if isinstance(heard.found, Failure) or not heard.found:
            return set()
        before, self.world = self.world, heard.found[0].grid
        if heard.instruction is not None:
            self.discourse.follow(heard.instruction, before, heard.found[0])
        return {(x, y, z) for x, y, z in cells_of(self.world != before).tolist()}


def test_what_was_built_is_seen_in_the_next_world() -> None:
    discourse, world = Discourse(), np.zeros((9, 11, 11), np.int8)
    cells = []
    first = "Put a red block in the middle."
    for text in (first, "One higher.", "Undo that.", "One higher.", "Undo the last two steps."):
        heard = discourse.hear(text, world)
        assert not isinstance(heard.found, Failure)
        world = heard.found[0].grid
        cells.append(cells_of(world).tolist())
    assert cells == [[[0, -1, 0]], [[0, 0, 0]], [[0, -1, 0]], [[0, 0, 0]], []]


def test_what_was_not_built_is_not_corrected() -> None:
    talk = Dialogue()
    heard = talk.discourse.hear("Put a red block in the middle.", talk.world)
    assert not isinstance(heard.found, Failure)
    assert isinstance(talk.discourse.hear("One higher.", talk.world).found, Failure)


def test_what_others_build_is_what_was_mentioned_last() -> None:
    talk = Dialogue()
    talk.discourse.hear("Put a red tree in the middle.", talk.world)
    talk.world = blocks_to_grid([(3, -1, 3, RED), (3, 0, 3, RED)])
    assert talk.says("Put a blue block on top of it.") == {(3, 1, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "now we'll do green",
        "Great! Now let's use green",
        "now we're going to take blocks off",
        "a 5x5 diamond shaped platform of green in the middle",
    ],
)
def test_what_is_announced_or_not_wholly_understood_changes_nothing(text: str) -> None:
    talk = Dialogue()
    assert talk.says("Put a red block in the middle.")
    assert talk.says("Put a blue block on top of it.")
    assert not talk.says(text)


@pytest.mark.parametrize(
    ("thing", "below"),
    [
        ("the last block you built", (0, -1, 3)),
        ("the last blue block you placed", (1, -1, 0)),
        ("the most recently added blue block", (1, -1, 0)),
        ("the red you placed before", (-3, -1, 0)),
    ],
)
def test_what_was_placed_last_by_its_colour(thing: str, below: tuple[int, int, int]) -> None:
    talk = Dialogue()
    assert talk.says("a red block three west of the centre")
    assert len(talk.says("a row of 3 blue from west to east on the floor, its middle on the centre")) == 3
    assert talk.says("a green block three south of the centre")
    x, y, z = below
    assert talk.says(f"put a yellow block on top of {thing}") == {(x, y + 1, z)}


def test_a_correction_before_another_request_is_no_announcement() -> None:
    talk = Dialogue()
    assert talk.says("Put a red block in the middle. No, blue. Then put a green block on top of it.")
    assert talk.world[:2, 5, 5].tolist() == [BLUE, GREEN]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("get rid of all the blue blocks you just put down", {(3, 0, 3), (3, 1, 3)}),
        ("one higher", {(3, 2, 3)}),
    ],
)
def test_the_order_in_which_others_build_is_known(text: str, cells: set[tuple[int, int, int]]) -> None:
    before, (low, high) = [(-1, -1, 0, RED), (3, -1, 3, BLUE)], ((3, 0, 3), (3, 1, 3))
    talk = Dialogue(*before)
    world = blocks_to_grid([*before, (*low, BLUE), (*high, BLUE)])
    talk.discourse.notice(talk.world, world, (high, low))  # the lower one last
    talk.world = world
    assert talk.says(text) == cells


def test_what_others_placed_goes_to_the_other_end() -> None:
    row = [(x, -1, 0, BLUE) for x in range(3)]
    talk = Dialogue(*row)
    before, talk.world = talk.world, blocks_to_grid([*row, (2, 0, 0, RED)])
    talk.discourse.notice(before, talk.world)
    assert talk.says("other end please") == {(0, 0, 0), (2, 0, 0)}
    assert talk.world[1, 5, 5] == RED


def test_a_place_without_a_thing_has_the_last_colour() -> None:
    talk = Dialogue()
    talk.discourse.notice(talk.world, grid := blocks_to_grid([(3, -1, 3, RED)]))
    talk.world = grid
    (cell,) = talk.says("place one anywhere on the ground")
    assert cell[1] == -1
    assert RED == talk.world[cell[1] + 1, cell[0] + 5, cell[2] + 5]


def test_names_and_the_open_question() -> None:
    talk = Dialogue()
    talk.says("Put a row of three red blocks in the middle, from west to east.")
    talk.says("This is the deck.")
    assert set(talk.discourse.names["deck"]) == {(-1, -1, 0), (0, -1, 0), (1, -1, 0)}
    assert talk.discourse.hear("Put a block on the deck.", talk.world).question is not None
    assert talk.discourse.pending is not None
    assert talk.discourse.hear("Forget it.", talk.world).act == "cancel"
    assert talk.discourse.pending is None


@pytest.mark.parametrize("text", ["It should be green.", "Make it green."])
def test_it_is_what_a_question_was_about(text: str) -> None:
    talk = Dialogue((0, -1, 0, RED), (4, -1, 4, BLUE))
    talk.says("Put a yellow block in the northwest corner.")
    talk.discourse.mention(((4, -1, 4),))
    assert talk.says(text) == {(4, -1, 4)}
    talk.says("Put a red block in the southwest corner.")
    assert talk.says(text) == {(-5, -1, 5)}


def test_a_thing_that_was_made_taller_is_meant_as_a_whole() -> None:
    talk = Dialogue((0, -1, 0, RED))
    talk.says("Make the red block three high.")
    assert talk.says("Paint it blue.") == {(0, -1, 0), (0, 0, 0), (0, 1, 0)}


def test_the_other_one_may_have_another_colour() -> None:
    talk = Dialogue((-3, -1, 0, RED), (-3, 0, 0, RED), (3, -1, 0, BLUE), (3, 0, 0, BLUE))
    assert talk.says("Put a green block on the red tower.") == {(-3, 1, 0)}
    assert talk.says("No, the other one.") == {(-3, 1, 0), (3, 1, 0)}


def test_a_correction_does_not_reach_past_what_was_refused() -> None:
    talk = Dialogue()
    talk.says("Put a red block in the middle.")
    assert talk.says("Put a yellow block on top of the blue wall.") == set()
    assert talk.says("Sorry, I meant purple.") == set()


TOWER = ((0, -1, 0, RED), (0, 0, 0, RED))
VIEWS = [  # text, the cell when it looks north, and when it looks east
    ("to your left", (-1, -1, 4), (0, -1, 3)),
    ("two steps to your right", (2, -1, 4), (0, -1, None)),
    ("at your feet", (0, -1, 4), (0, -1, 4)),
    ("behind you", (0, -1, 5), (-1, -1, 4)),
    ("to the left of the red tower", (-1, -1, 0), (0, -1, -1)),
    ("on the side of the red tower furthest from you", (0, -1, -1), (1, -1, 0)),
    ("facing west: left of the red tower", (0, -1, 1), (0, -1, 1)),
    ("seen from the east: right of the red tower", (0, -1, -1), (0, -1, -1)),
    ("turn around: in front of you", (0, -1, 5), (-1, -1, 4)),
    ("turn left: in front of you", (-1, -1, 4), (0, -1, 3)),
]


@pytest.mark.parametrize(("place", "north", "east"), VIEWS)
def test_whose_left_is_meant(
    place: str, north: tuple[int, int, int], east: tuple[int, int, int | None]
) -> None:
    view, _, where = place.rpartition(": ")
    text = f"{view}, place a green block {where}" if view else f"Place a green block {where}."
    assert Dialogue(*TOWER, yaw=0.0).says(text) == {north}
    seen = Dialogue(*TOWER, yaw=90.0).says(text)
    assert seen == ({east} if None not in east else set())


def test_a_row_from_left_to_right_lies_across_the_view() -> None:
    talk = Dialogue(*TOWER)
    found = talk.says("Build a row of three green blocks from left to right in front of the red tower.")
    assert found == {(-1, -1, 1), (0, -1, 1), (1, -1, 1)}


def test_things_that_stand_there_get_names() -> None:
    talk = Dialogue((-3, -1, 0, RED), (-3, 0, 0, RED), (0, -1, 4, BLUE), (3, -1, 4, BLUE))
    talk.says("The red tower is the mast.")
    assert talk.says("Put a yellow block on top of the mast.") == {(-3, 1, 0)}
    talk.says("The two blue blocks are the feet.")
    assert talk.says("Put a green block on each foot.") == {(0, 0, 4), (3, 0, 4)}


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("Put a green block to the left... I mean to the right of the red block.", {(1, -1, 0)}),
    ],
)
def test_what_is_corrected_at_once_does_not_count(text: str, cells: set[tuple[int, int, int]]) -> None:
    talk = Dialogue((0, -1, 0, RED))
    assert talk.says(text) == cells
    assert {talk.world[y + 1, x + 5, z + 5] for x, y, z in cells} == {GREEN}


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("Extend the red tower up by one, in green.", {(0, 1, 0)}),
        ("Copy the red tower 2 to the north, but using green blocks.", {(0, -1, -2), (0, 0, -2)}),
        ("Put a red block on the red tower, using green.", set()),
    ],
)
def test_a_colour_may_stand_behind_any_request(text: str, cells: set[tuple[int, int, int]]) -> None:
    talk = Dialogue((0, -1, 0, RED), (0, 0, 0, RED))
    assert talk.says(text) == cells
    assert all(talk.world[y + 1, x + 5, z + 5] == GREEN for x, y, z in cells)


def test_the_same_for_the_other_side() -> None:
    talk = Dialogue((0, -1, 0, RED), (1, -1, 0, RED), (2, -1, 0, RED))
    assert talk.says("put a blue block on top of the west end of the row") == {(0, 0, 0)}
    assert talk.says("do the same for the other side") == {(2, 0, 0)}


def test_a_direction_alone_places_nothing() -> None:
    talk = Dialogue()
    assert talk.says("a red block in the middle")
    assert talk.says("a red block to the east of it")
    assert not talk.says("that way")


@pytest.mark.parametrize(
    ("answer", "cells"),
    [
        ("the east one", {(2, 0, 0)}),
        ("the west end", {(0, 0, 0)}),
        ("both actually", {(0, 0, 0), (2, 0, 0)}),
    ],
)
def test_which_end_is_meant_is_asked(answer: str, cells: set[tuple[int, int, int]]) -> None:
    talk = Dialogue((0, -1, 0, RED), (1, -1, 0, RED), (2, -1, 0, RED))
    for text in (
        "a blue block on top of the end block of the row",
        "a blue block on top of the end of the row",
    ):
        assert not talk.says(text)
        assert talk.discourse.pending is not None
    assert talk.says(answer) == cells


def test_which_corner_is_meant_is_asked() -> None:
    talk = Dialogue(*((x, -1, z, RED) for x in (0, 1) for z in (0, 1)))
    assert not talk.says("a blue block on top of the corner of the square")
    assert talk.says("the north west one") == {(0, 0, 0)}


@pytest.mark.parametrize(
    "text",
    [
        "towards the edge",
        "ok so into a square",
        "please paint the roof",
        "now please frobnicate the row",
    ],
)
def test_what_may_carry_meaning_is_not_taken_for_a_remark(text: str) -> None:
    talk = Dialogue((0, -1, 0, RED))
    heard = talk.discourse.hear(text, talk.world)
    assert heard.act == "request"
    assert isinstance(heard.found, Failure)


@pytest.mark.parametrize(
    "text", ["i love the tower", "you can do it", "ok so lets go step by step", "well done"]
)
def test_a_remark_asks_for_nothing(text: str) -> None:
    talk = Dialogue((0, -1, 0, RED))
    assert talk.discourse.hear(text, talk.world).act == "remark"


class Answering:
    """A reader with a reply to each text; None for others."""

    def __init__(self, **replies: ReaderReply) -> None:
        self.replies = {text.replace("_", " "): reply for text, reply in replies.items()}
        self.asked: list[str] = []
        self.context = Context()

    def __call__(self, text: str, grid: object, context: Context) -> ReaderReply | None:
        self.asked.append(text)
        self.context = context
        return self.replies.get(text)


ROW = Sequence(tuple(CellEdit.between((x, -1, 0), 0, RED) for x in range(3)))


def test_a_reader_is_asked_first_and_its_words_count() -> None:
    reader = Answering(
        frobnicate_the_row=ReaderReply(ROW, "A row of three."),
        remove_the_red_block=ReaderReply(),
        put_a_blue_block_in_the_middle=ReaderReply(words="On top of the red one?"),
    )
    talk = Dialogue(reader=reader)
    assert talk.says("frobnicate the row") == {(0, -1, 0), (1, -1, 0), (2, -1, 0)}
    for text, words in (
        ("remove the red block", ""),
        ("put a blue block in the middle", "On top of the red one?"),
    ):
        heard = talk.discourse.hear(text, talk.world)
        assert (heard.act, heard.instruction, heard.words) == ("remark", None, words)
    assert talk.says("put a green block three west of the centre") == {(-3, -1, 0)}, "the grammar reads"
    assert len(reader.asked) == 4
    assert reader.context.done == ((0, ROW.parts), (1, ()), (2, ()))


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("no, yellow", {(0, -1, 0), (1, -1, 0), (2, -1, 0)}),
        ("one higher", {(x, y, 0) for x in range(3) for y in (-1, 0)}),
        ("no, two", set()),
    ],
)
def test_edits_of_a_reader_are_corrected_as_one(text: str, cells: set[tuple[int, int, int]]) -> None:
    talk = Dialogue(reader=Answering(frobnicate_the_row=ReaderReply(ROW)))
    assert len(talk.says("frobnicate the row")) == 3
    assert talk.says(text) == cells


def test_a_builder_does_and_says_what_its_reader_replies() -> None:
    for reply, built, said in (
        (ReaderReply(CellEdit.between((0, -1, 0), 0, RED), "Zapped!"), True, "Zapped!"),
        (ReaderReply(words="Which colour?"), False, "Which colour?"),
        (ReaderReply(), False, ""),
        (None, True, "Done."),
    ):
        task = iglu_marl.Task(
            "<Architect> Put a red block in the middle.", [(0, -1, 0, RED), (3, 0, 3, RED)], invariant=False
        )
        env = iglu_marl.env(tasks=task, builder_sees=SEES, builder_can_ask=True, max_turns=4)
        builder = ScriptedBuilder.for_env(env, reader=lambda *_, reply=reply: reply)
        agents = {"architect": ReplayArchitect.for_env(env), "builder": builder}
        game = iglu_marl.play(env, agents, seed=0)
        words = [part.text for part in game.dialogue.utterances if part.role is iglu_marl.Role.BUILDER]
        assert said in words or (not said and not words), words
        assert bool(game.grid.any()) is built
    with pytest.raises(iglu_marl.AgentError, match="reader is 'translator-v9', expected a function"):
        ScriptedBuilder(reader="translator-v9")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words", "then", "cell", "color"),
    [
        ("that's wrong", "What do I change?", "one up", (0, 1, 0), GREEN),
        ("no", "What do I change?", "no, one more to the left", (-1, 0, 0), GREEN),
        ("wrong side", "What do I change?", "no, one further left please", (-1, 0, 0), GREEN),
        ("wrong colour", "What do I change?", "blue", (0, 0, 0), BLUE),
        ("thanks", "", "no, one to the north", (0, 0, -1), GREEN),
    ],
)
def test_a_complaint_is_asked_about_and_a_correction_is_done(
    text: str, words: str, then: str, cell: tuple[int, int, int], color: int
) -> None:
    talk = Dialogue((0, -1, 0, RED))
    assert talk.says("put a green block on the red block") == {(0, 0, 0)}
    heard = talk.discourse.hear(text, talk.world)
    assert (heard.act, heard.words) == ("remark", words)
    talk.says(then)
    assert (
        cells_of(talk.world).tolist() == cells_of(blocks_to_grid([(0, -1, 0, RED), (*cell, color)])).tolist()
    )


@pytest.mark.parametrize("text", ["thanks", "hmm", "great job"])
def test_a_remark_leaves_a_question_open(text: str) -> None:
    talk = Dialogue((0, -1, 0, RED), (3, -1, 0, RED))
    assert not talk.says("remove the red block")
    assert not talk.says(text)
    assert talk.says("the east one") == {(3, -1, 0)}


def test_a_new_request_ends_a_question() -> None:
    talk = Dialogue((0, -1, 0, RED), (3, -1, 0, RED))
    assert not talk.says("remove the red block")
    assert talk.says("could you put a blue block on each red block") == {(0, 0, 0), (3, 0, 0)}
    assert talk.discourse.pending is None


def test_a_reader_knows_all_that_was_said_at_once() -> None:
    reader = Answering()
    builder = ScriptedBuilder(reader=reader)
    builder.reset(iglu_marl.Role.BUILDER, 0)
    dialog = "<Architect> We build a tower.\n<Builder> Where?\n<Architect> put a red block in the middle"
    grid, pose = np.zeros((9, 11, 11), np.int8), np.zeros(5, np.float32)
    builder.act({"dialog": dialog, "grid": grid, "agentPos": pose})
    assert reader.asked == ["put a red block in the middle"]
    assert [said.text for said in reader.context.said] == ["We build a tower.", "Where?"]


def test_a_wall_with_a_hole_stays_the_wall() -> None:
    talk = Dialogue()
    talk.says("Build a wall of orange blocks, five wide and three high, in the middle of the north edge.")
    assert talk.says("Remove the middle block of its bottom row.") == {(0, -1, -5)}
    assert len(talk.says("Put a yellow row on top of the wall.")) == 5


@pytest.mark.parametrize(
    ("second", "reds", "purples", "words"),
    [("looks great!", 0, 9, "A row."), ("a red one, too", 1, 9, "Done."), ("stop!", 0, 3, "Okay.")],
)
def test_what_is_said_while_it_builds(second: str, reds: int, purples: int, words: str) -> None:
    row = Sequence(tuple(CellEdit.between((x, -1, -3), 0, 5) for x in range(-4, 5)))
    reader = Answering(
        a_row=ReaderReply(row, "A row."),
        **{
            "looks great!": ReaderReply(),
            "a red one, too": ReaderReply(CellEdit.between((0, -1, 0), 0, RED)),
        },
    )
    task = iglu_marl.Task("", [(0, 7, 0, RED)], invariant=False)
    game = LiveGame(tasks=task, controls="flying", builder_sees=SEES, max_turns=None)
    game.reset(seed=0)
    builder = ScriptedBuilder.for_env(game, reader=reader, can_ask=True)
    builder.reset(iglu_marl.Role.BUILDER, 0)
    game.tick({"architect": "a row"}, None)
    said = []
    for _ in range(400):
        action = builder.act(game.observe(game.agent_of["builder"]))
        said.append(action["say"])
        built = int((game.view_of("builder").worlds.grid[0] == 5).sum())
        speaks = built == 3 and second not in reader.asked and "Okay." not in said
        game.tick({"architect": second} if speaks else {}, {"builder": action["act"]})
    colors = game.view_of("builder").worlds.grid[0]
    assert [int((colors == color).sum()) for color in (RED, 5)] == [reds, purples]
    assert words in said


@pytest.mark.parametrize(("before", "act"), [("How many are there?", "remark"), ("Okay.", "request")])
def test_an_answer_is_one_to_what_was_said_last(before: str, act: str) -> None:
    heard = Discourse()
    heard.hear("Put a green block on the blue block.", blocks_to_grid([(0, -1, 0, 1)]))
    heard.overhear("What is it?")
    heard.overhear(before)
    assert heard.hear("Yes, a red block.", blocks_to_grid([(0, -1, 0, 1)])).act == act
