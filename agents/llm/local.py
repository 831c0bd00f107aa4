"""A chat model in this process (transformers), with its chat template and reproducible replies."""

from __future__ import annotations

import threading
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

_UNKNOWN_LENGTH = 10**9  # tokenizers report 10**30 for "no limit"


class LocalBackend:
    """A chat model that is loaded on first use, and that answers one request at a time.

    With temperature 0 decoding is greedy, else sampled by the seed of the request.
    """

    sees_pictures = False

    def __init__(self, settings: LLMSettings) -> None:
        self.settings = settings
        self.budget = Budget(settings)
        self._lock = threading.RLock()  # for use of the tokenizer, and for loading
        self._generating = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"LocalBackend({self.settings.model!r})"

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return a reply for each request."""
        return [self._complete_one(request) for request in requests]

    def _complete_one(self, request: ChatRequest) -> Reply:
        ids = self._tokenize(request.messages)
        room = self.context_tokens - self.settings.max_reply_tokens
        if len(ids) > room:
            detail = f"{len(ids)} tokens, expected at most {room} beside the reply"
            return Reply(failure=RequestFailure.TOO_LONG, detail=detail)
        most = TokenCount(len(ids), self.settings.max_reply_tokens)
        if not self.budget.reserve(most):
            detail = f"{sum(self.budget.spent)} tokens are spent"
            return Reply(failure=RequestFailure.OVER_BUDGET, detail=detail)
        with self._generating:
            reply = self._generate(ids, request.seed)
        self.budget.settle(most, TokenCount(reply.prompt_tokens, reply.completion_tokens))
        return reply

    def fits(self, request: ChatRequest) -> bool:
        """Return whether the chat and its reply fit into the context."""
        return len(self._tokenize(request.messages)) + self.settings.max_reply_tokens <= self.context_tokens

    def close(self) -> None:
        """Release the model; the next use loads it again."""
        with self._lock:
            self._loaded = None

    @property
    def context_tokens(self) -> int:
        """Maximal number of tokens of a chat and its reply."""
        tokenizer, model = self._load()
        own = getattr(model.config, "max_position_embeddings", None) or _UNKNOWN_LENGTH
        known = min(int(own), int(min(tokenizer.model_max_length, _UNKNOWN_LENGTH)))
        return min(known, self.settings.context_tokens or known)

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
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
        with self._lock:
            text = _apply_template(tokenizer, chat, self.settings.thinking)
            return [int(token) for token in tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _generate(self, ids: list[int], seed: int) -> Reply:
        import torch
        from transformers import GenerationConfig

        tokenizer, model = self._load()
        ends = model.generation_config.eos_token_id
        ends = [tokenizer.eos_token_id] if ends is None else ends if isinstance(ends, list) else [ends]
        ends = [end for end in ends if end is not None]
        temperature, limit = self.settings.temperature, self.settings.max_reply_tokens
        sampling = {"temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}
        config = GenerationConfig(
            max_new_tokens=limit, do_sample=bool(temperature), num_beams=1, eos_token_id=ends or None,
            pad_token_id=next(iter(ends), 0), **sampling,
        )  # fmt: skip
        prompt = torch.tensor([ids], device=model.device)
        try:
            with torch.inference_mode(), torch.random.fork_rng():
                torch.manual_seed(seed)
                output = model.generate(
                    input_ids=prompt, attention_mask=torch.ones_like(prompt), generation_config=config
                )
        except torch.cuda.OutOfMemoryError as error:
            raise AgentError(
                f"{self.settings.model!r} ran out of memory with a chat of {len(ids)} tokens; expected a smaller "
                "context_tokens"
            ) from error
        tokens = output[0, len(ids) :].tolist()
        with self._lock:
            text = strip_control(_decode(tokens, tokenizer))
        cut = len(tokens) == limit and tokens[-1] not in ends
        failure, detail = None if text.strip() else RequestFailure.EMPTY, ""
        if cut and is_unfinished(text):
            failure, detail = RequestFailure.THOUGHTS_CUT, explain_cut_thoughts(self.settings, len(tokens))
        return Reply("" if failure else text, failure, detail, len(ids), len(tokens), sent=1, cut=cut)


def _load(settings: LLMSettings) -> tuple[Any, Any]:
    source = pretrained(settings.model)
    with extra("llm" if source == settings.model else "pretrained"):
        import torch
        import transformers
    usual = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device, dtype = settings.device or usual, settings.dtype
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
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
    try:
        return tokenizer, model.to(device).eval()
    except (RuntimeError, AssertionError) as error:  # torch has no one class for it
        raise AgentError(f"device is {device!r}, which torch cannot use: {error!s:.200}") from error


def _load_adapter(model: Any, adapter: str) -> None:
    try:
        model.load_adapter(adapter)
    except (ImportError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise AgentError(
            f"the adapter {adapter!r} could not be loaded, expected the folder or name of one for this model, and peft "
            f"(pip install peft): {error!s:.500}"
        ) from error


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
