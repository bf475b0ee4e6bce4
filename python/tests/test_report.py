"""What is told on stderr, whoever wrote a part of it."""

from __future__ import annotations

import pytest

from bytebot.errors import to_report


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\x1b[2J\x7f\u202eexe", "\\u001b[2J\\u007f\\u202eexe"),
        ("a\u200b\u00ad\ufeff\u2028\u2060b", "a\\u200b\\u00ad\\ufeff\\u2028\\u2060b"),
        ("\U000e0041\ud800", "\\udb40\\udc41\\ud800"),
        ("\r\b", "\\u000d\\u0008"),
        ("one\r\ntwo", "one\n    two"),
        ("👩\u200d👧 ❤\ufe0f می\u200cخواهم \u06dd日本語\t", "👩\u200d👧 ❤\ufe0f می\u200cخواهم \u06dd日本語\t"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_written_out_and_text_is_not(text: str, told: str) -> None:
    assert to_report(text) == told
    assert to_report(told) == told
