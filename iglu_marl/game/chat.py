"""Text chat and token chat: spaces, and conversion between actions and utterances.

Both are views of the same `Dialogue`. The vocabulary of token chat is a `Codec`.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from gymnasium import spaces

from iglu_marl.core.dialogue import PAIR, Codec, Dialogue, Speaker, decode_dialogue, speakers_of
from iglu_marl.core.errors import ActionError, ConfigError, DialogueError
from iglu_marl.core.text import strip_control
from iglu_marl.game.config import GameConfig

_SAMPLE_CHARACTERS = string.ascii_lowercase + " "
_SAMPLE_LENGTH = 40


class ChatText(spaces.Text):
    """A `Text` space of any Unicode string up to a length; membership is checked in constant time.

    Samples are short random lower-case strings.
    """

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def contains(self, x: Any) -> bool:
        """Return whether x is a string of at most `max_length` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a random text of at most 40 characters."""
        if mask is not None or probability is not None:
            return str(super().sample(mask, probability))
        length = int(self.np_random.integers(min(self.max_length, _SAMPLE_LENGTH) + 1))
        letters = self.np_random.integers(len(_SAMPLE_CHARACTERS), size=length)
        return "".join(_SAMPLE_CHARACTERS[letter] for letter in letters)

    def __repr__(self) -> str:
        return f"ChatText({self.max_length})"


class TextChat:
    """Utterances are strings. The observed dialogue is its text form, cut to the latest lines.

    verbatim: whether a dialogue that was read from a text is shown as that text.
    """

    silence = ""

    def __init__(
        self, message_length: int, dialog_length: int, strict: bool = True, verbatim: bool = False
    ) -> None:
        self.message_length, self.dialog_length, self.strict = message_length, dialog_length, strict
        self.verbatim = verbatim

    def action_space(self) -> spaces.Space[Any]:
        """Return the space of one utterance."""
        return ChatText(self.message_length)

    def observation_space(self) -> spaces.Space[Any]:
        """Return the space of the observed dialogue."""
        return ChatText(self.dialog_length)

    def read(self, action: Any, where: str) -> tuple[str, bool]:
        """Return the text of an utterance without control or invisible marks, and whether it was cut."""
        if not isinstance(action, str):
            raise ActionError(
                f"{where} is {action!r:.80} ({type(action).__name__}), expected a string; silence is ''"
            )
        if len(action) <= self.message_length:
            return strip_control(action), False
        if self.strict:
            raise ActionError(f"{where} has {len(action)} characters, expected at most {self.message_length}")
        return strip_control(action[: self.message_length]), True

    def show(self, dialogue: Dialogue, written: str | None = None) -> str:
        """Return the observed dialogue."""
        text = written if self.verbatim and written is not None else dialogue.text
        if len(text) <= self.dialog_length:
            return text
        tail = text[-self.dialog_length :]
        start = tail.find("\n<")
        return tail[start + 1 :] if start >= 0 else tail

    def show_text(self, text: str) -> str:
        """Return a text that is no utterance in the form of the dialogue."""
        return text[: self.dialog_length]

    def words(self, text: str) -> int:
        """Return the number of words that an utterance costs."""
        return len(text.split())


class TokenChat:
    """Utterances are arrays of token ids, 0 = padding; the dialogue is one array with a mark before each utterance.

    Actions: MultiDiscrete([codec.size] * message_length). Observations: int32[dialog_length] in
    0..codec.size + 1, where codec.size marks the architect and codec.size + 1 the builder as the speaker of what
    follows; padded with 0 at the end, the latest kept on overflow. With more `speakers`, each has a mark, in order.
    """

    def __init__(
        self,
        codec: Codec,
        message_length: int,
        dialog_length: int,
        strict: bool = True,
        speakers: tuple[Speaker, ...] = PAIR,
    ) -> None:
        self.verbatim = False
        self.speakers = speakers
        self.codec, self.message_length, self.dialog_length, self.strict = (
            codec,
            message_length,
            dialog_length,
            strict,
        )
        self._expected = f"expected integer token ids in 0..{codec.size - 1}, {message_length} at most"
        self._marks = {speaker: codec.size + k for k, speaker in enumerate(speakers)}
        self.highest = codec.size + len(speakers) - 1  # the largest number in an observation
        self._shown: tuple[Dialogue, np.ndarray[Any, Any]] | None = None

    @property
    def silence(self) -> np.ndarray[Any, Any]:
        """The silent action: padding only."""
        return np.zeros(self.message_length, dtype=np.int64)

    def action_space(self) -> spaces.Space[Any]:
        """Return the space of one utterance."""
        return spaces.MultiDiscrete(np.full(self.message_length, self.codec.size))

    def observation_space(self) -> spaces.Space[Any]:
        """Return the space of the observed dialogue."""
        return spaces.Box(0, self.highest, (self.dialog_length,), np.int32)

    def read(self, action: Any, where: str) -> tuple[str, bool]:
        """Return the text of an utterance, and whether it was cut."""
        try:
            tokens = np.asarray(action)
        except ValueError:
            raise ActionError(f"{where} is {action!r:.80}, {self._expected}") from None
        if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
            raise ActionError(f"{where} is {action!r:.80}, {self._expected}")
        cut = len(tokens) > self.message_length
        if cut and self.strict:
            raise ActionError(f"{where} has {len(tokens)} tokens, {self._expected}")
        try:
            text = self.codec.decode(tokens)
        except DialogueError:
            raise ActionError(f"{where} is {tokens.tolist()!s:.80}, {self._expected}") from None
        return (self.codec.decode(tokens[: self.message_length]) if cut else text), cut

    def show(self, dialogue: Dialogue, written: str | None = None) -> np.ndarray[Any, Any]:
        """Return the observed dialogue."""
        if self._shown is None or self._shown[0] is not dialogue:
            self._shown = dialogue, self._tokens(dialogue)
        return self._shown[1].copy()

    def show_text(self, text: str) -> np.ndarray[Any, Any]:
        """Return a text that is no utterance in the form of the dialogue."""
        tokens = self.codec.encode(text)[: self.dialog_length]
        shown = np.zeros(self.dialog_length, dtype=np.int32)
        shown[: len(tokens)] = tokens
        return shown

    def _tokens(self, dialogue: Dialogue) -> np.ndarray[Any, Any]:
        latest: list[int] = []
        for utterance in reversed(dialogue.utterances):
            latest[:0] = [self._marks[utterance.role, utterance.number], *self.codec.encode(utterance.text)]
            if len(latest) >= self.dialog_length:
                latest = latest[-self.dialog_length :]
                break
        shown = np.zeros(self.dialog_length, dtype=np.int32)
        shown[: len(latest)] = latest
        return shown

    def check_lossless(self) -> None:
        """Raise `ConfigError` unless decoding and encoding returns the same tokens."""
        for token in range(1, self.codec.size):
            if self.codec.encode(self.codec.decode([token, token])) != [token, token]:
                raise ConfigError(
                    f"token {token} of the vocabulary {self.codec.name!r} does not come back from its text "
                    f"{self.codec.decode([token])!r}, expected a codec in which each token is a word"
                )

    def dialogue_of(self, shown: np.ndarray[Any, Any]) -> Dialogue:
        """Return the dialogue of an observation, without a part that was cut off."""
        return Dialogue(decode_dialogue(shown, self.codec, self.speakers))

    def words(self, text: str) -> int:
        """Return the number of tokens that an utterance costs."""
        return len(self.codec.encode(text))


Chat = TextChat | TokenChat


def make_chat(config: GameConfig, codec: Codec | None, verbatim: bool = False) -> Chat:
    """Return the chat of a configuration. Token chat needs a codec."""
    assert config.max_message_length is not None  # filled in by the config, as is the next
    assert config.dialog_length is not None
    if config.chat == "text":
        return TextChat(config.max_message_length, config.dialog_length, config.strict, verbatim)
    if codec is None:
        raise ConfigError('chat is "tokens", expected a codec for its vocabulary')
    speakers = speakers_of(config.architects, config.builders)
    return TokenChat(codec, config.max_message_length, config.dialog_length, config.strict, speakers)
