"""Agents controlled by a language model: a local chat model, or any OpenAI-compatible endpoint.

>>> from iglu_marl.agents.llm import LLMSettings
>>> LLMSettings(model="some-model", endpoint="https://host/v1").temperature
0.0
"""

from iglu_marl.agents.llm.messages import Backend, ChatRequest, Reply, RequestFailure
from iglu_marl.agents.llm.schemas import EDIT_SCHEMA, MESSAGE_SCHEMA, ORDER_SCHEMA, TOOLS
from iglu_marl.agents.llm.settings import LLMSettings

__all__ = [
    "EDIT_SCHEMA",
    "MESSAGE_SCHEMA",
    "ORDER_SCHEMA",
    "TOOLS",
    "Backend",
    "ChatRequest",
    "LLMSettings",
    "Reply",
    "RequestFailure",
]
