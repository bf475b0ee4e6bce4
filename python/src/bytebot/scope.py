"""Scopes: the app's enclosure as a path (SCP-1 to SCP-6), and the one this code runs in."""

from __future__ import annotations

import json
import re
from contextvars import ContextVar, Token
from types import TracebackType
from urllib.parse import quote, unquote

from .errors import BytebotError

_SEGMENT = re.compile(r"(?:[A-Za-z0-9._@:-]|%[0-9A-F]{2}){1,128}")
_MAX_BYTES = 512
_MAX_SEGMENTS = 8

#: The scope this code runs in: of `scoped`, or of the event whose handler this is. It is the wall between tenants.
CURRENT_SCOPE: ContextVar[str | None] = ContextVar("bytebot.scope", default=None)


def is_scope(value: object) -> bool:
    """1 to 8 segments joined by "/"; only a later one may begin with one "~"."""
    if not isinstance(value, str) or len(value) > _MAX_BYTES:
        return False
    segments = value.split("/")
    if len(segments) > _MAX_SEGMENTS:
        return False
    return all(_is_segment(each.removeprefix("~") if at > 0 else each) for at, each in enumerate(segments))


def _is_segment(segment: str) -> bool:
    if segment in (".", "..") or not _SEGMENT.fullmatch(segment):
        return False
    if "%" not in segment:
        return True
    # Two spellings of one name would be two scopes: an escape must be the only way to write its byte.
    try:
        return encode_segment(unquote(segment, errors="strict")) == segment
    except UnicodeDecodeError:
        return False


def encode_segment(text: str) -> str:
    """Any text (a user id, say) as one segment: what is outside the alphabet becomes %XX; no id can be a path."""
    if text in (".", ".."):
        return text.replace(".", "%2E")
    try:
        return quote(text, safe="@:").replace("~", "%7E")
    except UnicodeEncodeError:
        # Every broken character would become the same U+FFFD, and two users one tenant.
        raise BytebotError("invalid_params", "an id with half a character makes no scope") from None


def to_scope(*segments: str) -> str:
    """The scope of these segments, each encoded. Raises BytebotError `invalid_params` where they make none."""
    for segment in segments:
        if not isinstance(segment, str):
            raise BytebotError("invalid_params", f"a scope is made of texts, and this is a {type(segment).__name__}")
    scope = "/".join(map(encode_segment, segments))
    if not is_scope(scope):
        shown = json.dumps(segments)[:200]
        message = f"{shown} makes no scope: 1 to 8 parts of 1 to 128 bytes, 512 in all"
        raise BytebotError("invalid_params", message)
    return scope


def encloses(outer: str, inner: str) -> bool:
    """Segment by segment: `a` encloses `a` and `a/b`, not `ab`. "*" encloses all (SCP-5)."""
    return outer in ("*", inner) or inner.startswith(outer + "/")


def current_scope() -> str | None:
    return CURRENT_SCOPE.get()


class scoped:
    """`with scoped(user_id, …):` runs what is inside, and the tasks it starts, in the scope of these segments.

    Each is encoded: no user id can become a path. Raises BytebotError `invalid_params` where they make no scope.
    """

    def __init__(self, *segments: str) -> None:
        self.scope = to_scope(*segments)
        self._tokens: list[Token[str | None]] = []

    def __enter__(self) -> str:
        self._tokens.append(CURRENT_SCOPE.set(self.scope))
        return self.scope

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        CURRENT_SCOPE.reset(self._tokens.pop())

    async def __aenter__(self) -> str:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, at)


def resolve_scope(scope: str | None) -> str:
    """The scope meant by an argument where None stands for the current one."""
    meant = CURRENT_SCOPE.get() if scope is None else scope
    if meant is None:
        message = "there is no current scope: pass one, or call this inside `with scoped(user_id):`"
        raise BytebotError("invalid_params", message)
    if not is_scope(meant):
        message = f"{json.dumps(str(meant))[:80]} is no scope: make one of any text with scoped(id, …) or to_scope(id)"
        raise BytebotError("invalid_params", message)
    return meant
