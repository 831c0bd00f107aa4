"""The exception tree: all errors of this package are `IgluMarlError`s.

Each message names the value, the place and what was expected. Most classes are also `ValueError`s, so that
code that catches the standard exception keeps working.
"""

from __future__ import annotations

from iglu_marl.core.text import strip_control


class IgluMarlError(Exception):
    """Base class of all errors raised by iglu_marl. Messages have no control characters."""

    def __str__(self) -> str:
        return strip_control(super().__str__().encode("utf-8", "backslashreplace").decode())


class ConfigError(IgluMarlError, ValueError):
    """A configuration value or keyword argument is unknown, of the wrong type or out of range."""


class GridError(IgluMarlError, ValueError):
    """A voxel grid or block list has the wrong shape, ids or cells."""


class TaskError(IgluMarlError, ValueError):
    """A task is inconsistent: its grids, its dialogue or its source."""


class PoseError(IgluMarlError, ValueError):
    """A pose is not finite, or an episode cannot start from it."""


class ActionError(IgluMarlError, ValueError):
    """An action is outside its space, or it is not that agent's turn."""


class DialogueError(IgluMarlError, ValueError):
    """An utterance or a dialogue has the wrong type or form, or tokens lie outside the vocabulary."""


class LanguageError(IgluMarlError, ValueError):
    """A program, a phrase, a goal or a template is ill-formed: unknown names, wrong types, values out of range."""


class StateError(IgluMarlError, RuntimeError):
    """A saved state does not fit, or a call is out of order, such as `step` before `reset`."""


class AgentError(IgluMarlError, RuntimeError):
    """An agent got an observation that it cannot act on, or broke the Agent protocol."""


class ServiceError(AgentError):
    """A service that an agent needs has failed, such as an endpoint that does not answer."""


class ServiceRefusedError(ServiceError):
    """A service will fail every time: the key is refused, the model unknown, or the address wrong."""


class MissingExtraError(IgluMarlError, ImportError):
    """A library is not installed; the message names the extra that brings it."""


class DataError(IgluMarlError, ValueError):
    """A data file is missing, damaged or not in the expected format."""


class ReplayError(IgluMarlError, RuntimeError):
    """The replay of a recording differs from what was recorded."""


class RenderError(IgluMarlError, RuntimeError):
    """A picture cannot be drawn: no renderer, a wrong size, a lost window."""


class PlanningError(IgluMarlError, ValueError):
    """A plan is impossible: cells outside the zone, or unknown colours."""
