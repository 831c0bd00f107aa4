"""A chat model in this process, through transformers: its chat template, real batches, repeatable replies."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from iglu_marl import AgentError
from iglu_marl.agents.llm.budget import Budget, TokenCount
from iglu_marl.agents.llm.messages import ChatRequest, Message, Reply, RequestFailure
from iglu_marl.agents.llm.reading import is_mark
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.core.text import cleaned

GATHER_S = 0.01  # that a batch with room waits for the next chat
_UNKNOWN_LENGTH = 10**9  # tokenizers say 10**30 for "no limit"


class _Pending:
    """A request that waits for its reply, or for the error in its place."""

    def __init__(self, request: ChatRequest) -> None:
        self.request = request
        self.size = sum(len(part.text) for part in request.messages)
        self.ids: list[int] = []
        self.reply: Reply | None = None
        self.error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return self.reply is not None or self.error is not None


class LocalBackend:
    """A chat model that is loaded when it is first needed.

    Chats go through it in batches, padded on the left: those of one call, and those that other threads ask for in the
    meantime. With temperature 0 the likeliest token is taken; else one is drawn, each chat with a generator of its own
    seed, so that a reply does not depend on what else is in the batch.
    """

    sees_pictures = False

    def __init__(self, settings: LLMSettings) -> None:
        self.settings = settings
        self.budget = Budget.of(settings)
        self._reading = threading.RLock()  # held by who uses the tokenizer, or loads
        self._generating = threading.Lock()  # held by the one thread that serves
        self._pending: deque[_Pending] = deque()
        self._loaded: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"LocalBackend({self.settings.model!r})"

    # -- Backend

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """One reply for each request; those that wait at the same time are made together."""
        own = [_Pending(request) for request in requests]
        self._pending.extend(sorted(own, key=lambda one: one.size))  # less padding
        replies = []
        for one in own:
            while not one.is_over:
                with self._generating:
                    if not one.is_over:  # else another thread has served it
                        self._serve(self._gathered())
            if one.error is not None:
                raise one.error
            assert one.reply is not None
            replies.append(one.reply)
        return replies

    def _gathered(self) -> list[_Pending]:
        """The next batch: what waits, and what comes as long as there is room and something comes."""
        there = 0
        while there < len(self._pending) < self.settings.batch_size:
            there = len(self._pending)
            time.sleep(GATHER_S)
        return [self._pending.popleft() for _ in range(min(len(self._pending), self.settings.batch_size))]

    def _serve(self, batch: list[_Pending]) -> None:
        """Answer a batch, or say what failed."""
        try:
            for one in batch:
                one.ids = self._ids(one.request.messages)
                if len(one.ids) + self.settings.most_tokens > self.context_tokens:
                    detail = f"{len(one.ids)} tokens and {self.settings.most_tokens} of reply in {self.context_tokens}"
                    one.reply = Reply(failure=RequestFailure.TOO_LONG, detail=detail)
            self._pay([one for one in batch if one.reply is None])
        except BaseException as error:  # raised by `complete`, in each thread that waits
            for one in batch:
                one.error = error

    def fits(self, request: ChatRequest) -> bool:
        """Whether the chat and its reply are short enough for the model."""
        return len(self._ids(request.messages)) + self.settings.most_tokens <= self.context_tokens

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost, in the unit of the prices."""
        return self.budget.cost(TokenCount(prompt_tokens, completion_tokens))

    def close(self) -> None:
        """Let go of the model; it would be loaded again."""
        with self._reading:
            self._loaded = None

    # -- the model

    @property
    def context_tokens(self) -> int:
        """Tokens of a chat and its reply at most."""
        tokenizer, model = self._load()
        own = getattr(model.config, "max_position_embeddings", None) or _UNKNOWN_LENGTH
        known = min(int(own), int(min(tokenizer.model_max_length, _UNKNOWN_LENGTH)))
        return min(known, self.settings.context_tokens or known)

    def _load(self) -> tuple[Any, Any]:
        with self._reading:
            if self._loaded is None:
                self._loaded = _load(self.settings)
            return self._loaded

    def _ids(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of a chat, in the model's own form. Texts cannot hold the marks that this form uses."""
        tokenizer, _ = self._load()
        chat = [{"role": part.speaker, "content": _defused(part.text, tokenizer)} for part in messages]
        with self._reading:
            text = _templated(tokenizer, chat, self.settings.thinking)
            return [int(token) for token in tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _pay(self, batch: list[_Pending]) -> None:
        """Answer a batch, as far as the budget goes."""
        granted = []
        for one in batch:
            if self.budget.reserve(TokenCount(len(one.ids), self.settings.most_tokens)):
                granted.append(one)
            else:
                detail = f"{sum(self.budget.spent)} tokens are spent"
                one.reply = Reply(failure=RequestFailure.OVER_BUDGET, detail=detail)
        if granted:
            made = self._generate([one.ids for one in granted], [one.request.seed for one in granted])
            for one, reply in zip(granted, made, strict=True):
                reserved = TokenCount(len(one.ids), self.settings.most_tokens)
                self.budget.settle(reserved, TokenCount(reply.prompt_tokens, reply.completion_tokens))
                one.reply = reply

    def _generate(self, prompts: list[list[int]], seeds: list[int]) -> list[Reply]:
        """Go on with all of these at once."""
        import torch
        from transformers import GenerationConfig

        tokenizer, model = self._load()
        ends = model.generation_config.eos_token_id
        ends = [tokenizer.eos_token_id] if ends is None else ends if isinstance(ends, list) else [ends]
        pad = tokenizer.pad_token_id
        pad = next(end for end in (pad, *ends, 0) if end is not None)
        longest = max(len(prompt) for prompt in prompts)
        shape = {"dtype": torch.long, "device": model.device}
        ids = torch.tensor([[pad] * (longest - len(part)) + part for part in prompts], **shape)
        seen = torch.tensor([[0] * (longest - len(part)) + [1] * len(part) for part in prompts], **shape)
        config = GenerationConfig(
            max_new_tokens=self.settings.most_tokens,
            do_sample=False,
            num_beams=1,
            pad_token_id=pad,
            eos_token_id=[end for end in ends if end is not None] or None,
            stop_strings=list(self.settings.stop) or None,
        )
        drawing = [_drawing(self.settings, seeds)] if self.settings.temperature else []
        try:
            with torch.inference_mode():
                made = model.generate(
                    input_ids=ids,
                    attention_mask=seen,
                    generation_config=config,
                    logits_processor=drawing,
                    tokenizer=tokenizer if self.settings.stop else None,
                )
        except torch.cuda.OutOfMemoryError as error:
            raise AgentError(
                f"{self.settings.model!r} ran out of memory with {len(prompts)} chats of up to {longest} tokens at "
                "once; expected a smaller batch_size or context_tokens"
            ) from error
        rows = made[:, longest:].tolist()
        return [self._reply(row, ends, pad, len(prompt)) for row, prompt in zip(rows, prompts, strict=True)]

    def _reply(self, row: list[int], ends: list[Any], pad: int, prompt_tokens: int) -> Reply:
        """A reply from its tokens, which go on with padding after their end."""
        padded = next((back for back, token in enumerate(reversed(row)) if token != pad), len(row))
        length = next((place + 1 for place, token in enumerate(row) if token in ends), len(row) - padded)
        tokenizer, _ = self._load()
        with self._reading:
            text = cleaned(_text_of(row[:length], tokenizer))
        cut = 0 < length == self.settings.most_tokens and row[length - 1] not in ends
        for stop in self.settings.stop:
            if stop in text:
                text, cut = text.partition(stop)[0], False
        failure = None if text.strip() else RequestFailure.EMPTY
        return Reply(
            "" if failure else text,
            failure,
            prompt_tokens=prompt_tokens,
            completion_tokens=length,
            sent=1,
            cut=cut,
        )


def _load(settings: LLMSettings) -> tuple[Any, Any]:
    """Tokenizer and model. Raises `AgentError` that says what is missing, and where."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise AgentError(
            f"the local model {settings.model!r} needs torch and transformers ({error}): "
            'pip install "iglu_marl[llm]"; or name an endpoint'
        ) from None
    device = _device(settings, torch)
    dtype = settings.dtype
    if dtype == "auto":
        dtype = "bfloat16" if device == "cuda" else "float32"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(settings.model)
        model = transformers.AutoModelForCausalLM.from_pretrained(settings.model, dtype=getattr(torch, dtype))
    except (OSError, ValueError, KeyError) as error:
        raise AgentError(
            f"the model {settings.model!r} could not be loaded, expected a folder with a causal chat model and its "
            f"tokenizer, or a name on the Hugging Face Hub that is cached or can be fetched: {error!s:.500}"
        ) from error
    if not tokenizer.chat_template:
        raise AgentError(
            f"the tokenizer of {settings.model!r} has no chat template, expected a chat model (often named "
            "Instruct or Chat)"
        )
    if settings.adapter:
        _adapt(model, settings.adapter)
    return tokenizer, model.to(device).eval()


def _adapt(model: Any, adapter: str) -> None:
    """Put an adapter's weights beside those of a model. Raises `AgentError`."""
    try:
        model.load_adapter(adapter)
    except (ImportError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise AgentError(
            f"the adapter {adapter!r} could not be loaded, expected the folder or name of one for this model, and peft "
            f"(pip install peft): {error!s:.500}"
        ) from error


def _device(settings: LLMSettings, torch: Any) -> str:
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if settings.device == "auto":
        return next(name for name, present in there.items() if present)
    if not there[settings.device]:
        present = ", ".join(name for name, is_there in there.items() if is_there)
        raise AgentError(f"device is {settings.device!r}, but torch finds only: {present}")
    return settings.device


def _templated(tokenizer: Any, chat: list[dict[str, str]], thinking: str) -> str:
    """A chat in the form of the model's template; where that knows no system, the system speaks as the user."""
    from jinja2.exceptions import TemplateError

    how: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True}
    if thinking != "auto":
        how["enable_thinking"] = thinking == "on"
    try:
        return str(tokenizer.apply_chat_template(chat, **how))
    except TemplateError:
        first, second, *rest = chat
        merged = {"role": "user", "content": f"{first['content']}\n\n{second['content']}"}
        return str(tokenizer.apply_chat_template([merged, *rest], **how))


def _text_of(ids: list[int], tokenizer: Any) -> str:
    """The text of tokens, of special ones only the marks that tell thoughts from the rest."""
    marks = {number: mark for mark, number in tokenizer.get_added_vocab().items() if is_mark(mark)}
    runs = groupby(ids, lambda number: marks.get(number))
    return "".join(
        tokenizer.decode(list(run), skip_special_tokens=True) if mark is None else mark for mark, run in runs
    )


def _defused(text: str, tokenizer: Any) -> str:
    """A text in which the tokenizer finds none of its special tokens, so that nobody can forge a role."""
    marks = {*tokenizer.all_special_tokens, *(str(mark) for mark in tokenizer.get_added_vocab())}
    for mark in sorted(marks, key=len, reverse=True):
        if len(mark.strip()) > 1 and mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


def _drawing(settings: LLMSettings, seeds: Sequence[int]) -> Any:
    """Draws by adding Gumbel noise, of which the largest sum is a draw from the softmax; one generator a chat."""
    import torch
    from transformers import LogitsProcessor, TopPLogitsWarper

    nucleus = TopPLogitsWarper(settings.top_p) if settings.top_p < 1 else None
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    class Drawing(LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            scores = scores.float() / settings.temperature
            if nucleus is not None:
                scores = nucleus(input_ids, scores)
            size = scores.shape[1]
            noise = torch.stack(
                [torch.rand(size, generator=one, dtype=torch.float64).clamp_min(1e-300) for one in generators]
            )
            return scores + (-torch.log(-torch.log(noise))).to(scores)

    return Drawing()
