"""The exception tree: everything this package raises on purpose is an `IgluMarlError`.

Each message names the value, the place and what was expected. Most classes are also `ValueError`s, so that
code that catches the standard exception keeps working.
"""

from __future__ import annotations


class IgluMarlError(Exception):
    """Base class of all errors raised by iglu_marl. What they say can be shown everywhere: it is UTF-8."""

    def __str__(self) -> str:
        return super().__str__().encode("utf-8", "backslashreplace").decode()


class ConfigError(IgluMarlError, ValueError):
    """A configuration value or keyword argument is unknown, of the wrong type or out of range."""


class GridError(IgluMarlError, ValueError):
    """A voxel grid or block list has the wrong shape, ids or cells."""


class TaskError(IgluMarlError, ValueError):
    """A task is inconsistent: its grids, its dialogue or its source."""


class PoseError(IgluMarlError, ValueError):
    """A pose is not finite or lies outside of what an episode may start from."""


class ActionError(IgluMarlError, ValueError):
    """An action lies outside its space, or is not that agent's to take now."""


class DialogueError(IgluMarlError, ValueError):
    """An utterance or a dialogue has the wrong type or form, or tokens lie outside the vocabulary."""


class LanguageError(IgluMarlError, ValueError):
    """A program, a phrase, a goal or a template is ill-formed: unknown names, wrong types, values out of range."""


class StateError(IgluMarlError, RuntimeError):
    """A saved state does not fit, or a call came at the wrong time (a step before the first reset, say)."""


class AgentError(IgluMarlError, RuntimeError):
    """An agent got an observation that it cannot act on, or broke the Agent protocol."""


class ServiceError(AgentError):
    """What an agent runs on has failed, an endpoint that did not answer, say: no matter of how it plays."""


class ServiceRefusedError(ServiceError):
    """What an agent runs on will fail every time: the key is refused, the model is unknown, the address is wrong."""


class DataError(IgluMarlError, ValueError):
    """A data file is missing, damaged or not in the expected format."""


class ReplayError(IgluMarlError, RuntimeError):
    """A recording, simulated again, does not lead to what was recorded."""


class RenderError(IgluMarlError, RuntimeError):
    """A picture cannot be made: no renderer, a bad size, a lost window."""


class PlanningError(IgluMarlError, ValueError):
    """A plan was asked for that makes no sense (cells outside the zone, unknown colours)."""
