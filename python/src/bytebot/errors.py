"""The one error of the project: what is raised here is what crosses the wire, and the other way round."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Mapping
from typing import Any

#: Every `code` of a `bb_error` and of the `error` in a `"success": false` (ERR-1).
ERROR_CODES = (
    "parse_error",
    "invalid_event",
    "unknown_type",
    "invalid_params",
    "not_synced",
    "unsupported_version",
    "unauthorized",
    "forbidden",
    "not_found",
    "not_authority",
    "conflict",
    "cursor_expired",
    "too_large",
    "overloaded",
    "timeout",
    "unavailable",
    "cancelled",
    "loop_limit",
    "budget_exceeded",
    "internal",
)


class BytebotError(Exception):
    """`code` is one of ERROR_CODES; `retry_after_ms` is in milliseconds."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after_ms: float | None = None,
        data: Any = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.data = data

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"code": self.code, "message": self.message, "retryable": self.retryable}
        if self.retry_after_ms is not None:
            wire["retry_after_ms"] = self.retry_after_ms
        if self.data is not None:
            wire["data"] = self.data
        return wire

    @staticmethod
    def from_wire(error: object) -> BytebotError:
        """An unknown code from a newer peer is `internal`: it never means anything milder (ENV-9)."""
        fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
        code, after = fields.get("code"), fields.get("retry_after_ms")
        return BytebotError(
            code if isinstance(code, str) and code in ERROR_CODES else "internal",
            str(fields.get("message", "the other side did not say why")),
            retryable=fields.get("retryable") is True,
            retry_after_ms=after if isinstance(after, int | float) and not isinstance(after, bool) else None,
            data=fields.get("data"),
        )


def as_error(error: Exception) -> BytebotError:
    """What crosses the wire for anything that was raised."""
    return error if isinstance(error, BytebotError) else BytebotError("internal", str(error) or type(error).__name__)


# What joins letters and emoji, and marks of a few scripts that can be seen, though Unicode counts them otherwise.
_SEEN = frozenset(
    "\n\t\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
_MOST = 4000


def to_report(text: str) -> str:
    """A line for whoever runs the program, whoever wrote a part of it: printable, bounded, further lines indented."""
    cut = text if len(text) <= _MOST else text[: _MOST - 1] + "…"
    shown = re.sub(r"\r?\n(?! {4})", "\n    ", cut)
    return "".join(map(_printable, shown))


def _printable(character: str) -> str:
    """What a terminal or a log would obey or hide instead of show is written out, as JSON has it."""
    if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in _SEEN:
        return character
    return json.dumps(character)[1:-1] if ord(character) > 0x7F else f"\\u{ord(character):04x}"


def report(text: str) -> None:
    """Says it on stderr."""
    print(to_report(f"bytebot: {text}"), file=sys.stderr, flush=True)
