"""A chat model in this process (transformers), with its chat template, batches and reproducible replies."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from iglu_marl import AgentError
from iglu_marl.agents.bases import pretrained
from iglu_marl.agents.llm.budget import Budget, TokenCount
from iglu_marl.agents.llm.messages import ChatRequest, Message, Reply, RequestFailure
from iglu_marl.agents.llm.reading import is_mark, is_unfinished
from iglu_marl.agents.llm.settings import LLMSettings, explain_cut_thoughts
from iglu_marl.core.extras import extra
from iglu_marl.core.text import strip_control

GATHER_S = 0.01  # how long a batch that is not full waits for the next chat
_UNKNOWN_LENGTH = 10**9  # tokenizers report 10**30 for "no limit"


class _Pending:
    """A request that waits for its reply or an error."""

    def __init__(self, request: ChatRequest) -> None:
        self.request = request
        self.size = sum(len(part.text) for part in request.messages)
        self.ids: list[int] = []
        self.outcome: Reply | BaseException | None = None


class LocalBackend:
    """A chat model that is loaded on first use.

    Chats are generated in batches, padded on the left: those of one call, and those that other threads add
    meanwhile. With temperature 0 decoding is greedy. Otherwise each chat samples with a generator of its own seed, so
    that a reply does not depend on the rest of the batch.
    """

    sees_pictures = False

    def __init__(self, settings: LLMSettings) -> None:
        self.settings = settings
        self.budget = Budget.of(settings)
        self._tokenizer_lock = threading.RLock()  # for use of the tokenizer, and for loading
        self._serving = threading.Lock()  # held by the one thread that generates
        self._pending: deque[_Pending] = deque()
        self._loaded: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"LocalBackend({self.settings.model!r})"

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return a reply for each request; requests that wait at the same time form batches."""
        own = [_Pending(request) for request in requests]
        self._pending.extend(sorted(own, key=lambda one: one.size))  # less padding
        replies = []
        for one in own:
            while one.outcome is None:
                with self._serving:
                    if one.outcome is None:  # otherwise another thread has answered it
                        self._answer_batch(self._next_batch())
            if isinstance(one.outcome, BaseException):
                raise one.outcome
            replies.append(one.outcome)
        return replies

    def _next_batch(self) -> list[_Pending]:
        """Return the next batch; wait as long as it has room and new requests arrive."""
        there = 0
        while there < len(self._pending) < self.settings.batch_size:
            there = len(self._pending)
            time.sleep(GATHER_S)
        return [self._pending.popleft() for _ in range(min(len(self._pending), self.settings.batch_size))]

    def _answer_batch(self, batch: list[_Pending]) -> None:
        """Answer a batch; an error becomes that of each request."""
        try:
            for one in batch:
                one.ids = self._tokenize(one.request.messages)
                room = self.context_tokens - self.settings.max_reply_tokens
                if len(one.ids) > room:
                    detail = f"{len(one.ids)} tokens, expected at most {room} beside the reply"
                    one.outcome = Reply(failure=RequestFailure.TOO_LONG, detail=detail)
            self._generate_within_budget([one for one in batch if one.outcome is None])
        except BaseException as error:  # `complete` raises it in each waiting thread
            for one in batch:
                one.outcome = error

    def fits(self, request: ChatRequest) -> bool:
        """Return whether the chat and its reply fit into the context."""
        return len(self._tokenize(request.messages)) + self.settings.max_reply_tokens <= self.context_tokens

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of tokens, in the unit of the prices."""
        return self.budget.cost(TokenCount(prompt_tokens, completion_tokens))

    def close(self) -> None:
        """Release the model; the next use loads it again."""
        with self._tokenizer_lock:
            self._loaded = None

    @property
    def context_tokens(self) -> int:
        """Maximal number of tokens of a chat and its reply."""
        tokenizer, model = self._load()
        own = getattr(model.config, "max_position_embeddings", None) or _UNKNOWN_LENGTH
        known = min(int(own), int(min(tokenizer.model_max_length, _UNKNOWN_LENGTH)))
        return min(known, self.settings.context_tokens or known)

    def _load(self) -> tuple[Any, Any]:
        with self._tokenizer_lock:
            if self._loaded is None:
                self._loaded = _load(self.settings)
            return self._loaded

    def _tokenize(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of a chat by the model's template; special tokens in texts are broken up."""
        tokenizer, _ = self._load()
        chat = [
            {"role": part.speaker, "content": _break_special_tokens(part.text, tokenizer)}
            for part in messages
        ]
        with self._tokenizer_lock:
            text = _apply_template(tokenizer, chat, self.settings.thinking)
            return [int(token) for token in tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _generate_within_budget(self, batch: list[_Pending]) -> None:
        """Answer the requests of a batch for which the budget suffices."""
        granted = []
        for one in batch:
            if self.budget.reserve(TokenCount(len(one.ids), self.settings.max_reply_tokens)):
                granted.append(one)
            else:
                detail = f"{sum(self.budget.spent)} tokens are spent"
                one.outcome = Reply(failure=RequestFailure.OVER_BUDGET, detail=detail)
        if granted:
            made = self._generate([one.ids for one in granted], [one.request.seed for one in granted])
            for one, reply in zip(granted, made, strict=True):
                reserved = TokenCount(len(one.ids), self.settings.max_reply_tokens)
                self.budget.settle(reserved, TokenCount(reply.prompt_tokens, reply.completion_tokens))
                one.outcome = reply

    def _generate(self, prompts: list[list[int]], seeds: list[int]) -> list[Reply]:
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
            max_new_tokens=self.settings.max_reply_tokens, do_sample=False, num_beams=1, pad_token_id=pad,
            eos_token_id=[end for end in ends if end is not None] or None,
            stop_strings=list(self.settings.stop) or None,
        )  # fmt: skip
        drawing = [_sampler(self.settings, seeds)] if self.settings.temperature else []
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
        """Return a reply from its tokens, which may end with padding."""
        padded = next((back for back, token in enumerate(reversed(row)) if token != pad), len(row))
        length = next((place + 1 for place, token in enumerate(row) if token in ends), len(row) - padded)
        tokenizer, _ = self._load()
        with self._tokenizer_lock:
            text = strip_control(_decode(row[:length], tokenizer))
        cut = 0 < length == self.settings.max_reply_tokens and row[length - 1] not in ends
        for stop in self.settings.stop:
            if stop in text:
                text, cut = text.partition(stop)[0], False
        failure, detail = None if text.strip() else RequestFailure.EMPTY, ""
        if cut and is_unfinished(text):
            failure, detail = RequestFailure.THOUGHTS_CUT, explain_cut_thoughts(self.settings, length)
        return Reply("" if failure else text, failure, detail, prompt_tokens, length, sent=1, cut=cut)


def _load(settings: LLMSettings) -> tuple[Any, Any]:
    source = pretrained(settings.model)
    with extra("llm" if source == settings.model else "pretrained"):
        import torch
        import transformers
    device = _device(settings, torch)
    dtype = settings.dtype
    if dtype == "auto":
        dtype = "bfloat16" if device == "cuda" else "float32"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source)
        model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, dtype))
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
        _load_adapter(model, settings.adapter)
    return tokenizer, model.to(device).eval()


def _load_adapter(model: Any, adapter: str) -> None:
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


def _apply_template(tokenizer: Any, chat: list[dict[str, str]], thinking: str) -> str:
    """Apply the model's chat template; if it has no system role, the system message joins the user's."""
    with extra("llm"):
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


def _decode(ids: list[int], tokenizer: Any) -> str:
    """Decode tokens; of the special tokens only the marks around thoughts are kept."""
    marks = {number: mark for mark, number in tokenizer.get_added_vocab().items() if is_mark(mark)}
    runs = groupby(ids, lambda number: marks.get(number))
    return "".join(
        tokenizer.decode(list(run), skip_special_tokens=True) if mark is None else mark for mark, run in runs
    )


def _break_special_tokens(text: str, tokenizer: Any) -> str:
    """Break up special tokens in a text, so that no player can forge a role."""
    marks = {*tokenizer.all_special_tokens, *(str(mark) for mark in tokenizer.get_added_vocab())}
    for mark in sorted(marks, key=len, reverse=True):
        if len(mark.strip()) > 1 and mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


def _sampler(settings: LLMSettings, seeds: Sequence[int]) -> Any:
    """Return a logits processor that samples by the Gumbel-max trick, with one generator per chat."""
    import torch
    from transformers import LogitsProcessor, TopPLogitsWarper

    nucleus = TopPLogitsWarper(settings.top_p) if settings.top_p < 1 else None
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    class GumbelSampler(LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            scores = scores.float() / settings.temperature
            if nucleus is not None:
                scores = nucleus(input_ids, scores)
            size = scores.shape[1]
            noise = torch.stack(
                [torch.rand(size, generator=one, dtype=torch.float64).clamp_min(1e-300) for one in generators]
            )
            return scores + (-torch.log(-torch.log(noise))).to(scores)

    return GumbelSampler()
