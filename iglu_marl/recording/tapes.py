"""Deprecated: use `iglu_marl.recording.action_logs`."""

from iglu_marl.core.lazy import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "write_tapes": "iglu_marl.recording.action_logs:write_action_logs",
        "TapeSkip": "iglu_marl.recording.action_logs:LogSkip",
    },
)
