"""JSON schemas of replies, for structured output, tools and training.

All properties are required and no others are allowed, as strict modes of servers demand. Unused ones are null or "".
"""

from __future__ import annotations

from typing import Any

from iglu_marl import Role
from iglu_marl.core.grid import COLOR_NAMES


def _whole(low: int, high: int, about: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high, "description": about}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


EDIT_SCHEMA: dict[str, Any] = _object(
    action={"type": "string", "enum": ["place", "remove"]},
    color={"type": ["string", "null"], "enum": [*COLOR_NAMES[1:], None], "description": "null to remove"},
    east=_whole(-5, 5, "blocks east of the centre column; west is negative"),
    north=_whole(-5, 5, "blocks north of the centre column; south is negative"),
    height=_whole(1, 9, "1 is on the ground"),
)
ORDER_SCHEMA: dict[str, Any] = _object(
    edits={"type": "array", "items": EDIT_SCHEMA},
    say={"type": "string", "description": 'a short message to the architect; "" for none'},
)
"""A builder's reply."""
MESSAGE_SCHEMA: dict[str, Any] = _object(
    say={"type": "string", "description": 'the next message to the builder; "" to wait'}
)
"""An architect's reply."""


def _tool(name: str, about: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


SCHEMAS: dict[Role, dict[str, Any]] = {Role.ARCHITECT: MESSAGE_SCHEMA, Role.BUILDER: ORDER_SCHEMA}
TOOLS: dict[Role, list[dict[str, Any]]] = {
    Role.ARCHITECT: [_tool("speak", "Say something to the builder.", MESSAGE_SCHEMA)],
    Role.BUILDER: [
        _tool("build", "Place and remove blocks, and say something to the architect.", ORDER_SCHEMA)
    ],
}
"""The tools of each role, in the format of chat completions."""
