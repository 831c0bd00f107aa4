"""Deprecated: use `iglu_marl.recording.action_logs`."""

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import deprecated_names

if TYPE_CHECKING:
    from iglu_marl.recording.action_logs import LogSkip as TapeSkip
    from iglu_marl.recording.action_logs import write_action_logs as write_tapes

__getattr__ = deprecated_names(__name__)
