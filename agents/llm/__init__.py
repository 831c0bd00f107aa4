"""Agents controlled by a language model: a local chat model, or any OpenAI-compatible endpoint.

>>> from iglu_marl.agents.llm import LLMSettings
>>> LLMSettings(model="some-model", endpoint="https://host/v1").temperature
0.0
"""

from iglu_marl.agents.llm.architect import LLMArchitect  # as the next three, a former export
from iglu_marl.agents.llm.backends import make_backend
from iglu_marl.agents.llm.builder import LLMBuilder
from iglu_marl.agents.llm.decision import act_together
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Message, Reply, RequestFailure
from iglu_marl.agents.llm.schemas import EDIT_SCHEMA, MESSAGE_SCHEMA, ORDER_SCHEMA, TOOLS
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.stats import Stats

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
