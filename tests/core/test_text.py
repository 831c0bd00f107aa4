"""Texts without control characters."""

from __future__ import annotations

from iglu_marl.core.text import strip_control


def test_control_characters_are_removed() -> None:
    assert strip_control("a\x1b[31mb\x00\u202ec\u061c\r\nd\ud800") == "a[31mbc\nd\ufffd"
    assert strip_control("Żółty 🙂\tok") == "Żółty 🙂 ok"
