"""What an answer names (ERR-2), and what an acknowledgement does (HTP-10)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

# Pieces of something larger, and the connection's own: whoever sends them does not wait to hear that they came.
_UNACKNOWLEDGED = frozenset(
    ("infer_chunk", "bb_blob", "bb_tool_progress", "tool_progress", "bb_sync", "bb_sync_ack")
    + ("bb_ack", "bb_error", "bb_ping", "bb_pong", "bb_bye")
)


def name_of(event: Mapping[str, Any]) -> str | None:
    """The event's `id`, else what it answers itself, else its call."""
    return next((event[key] for key in ("id", "in_reply_to", "call_id") if isinstance(event.get(key), str)), None)


def ack_name_of(event: Mapping[str, Any]) -> str | None:
    """None: it gets no acknowledgement."""
    return None if event["event_type"] in _UNACKNOWLEDGED else name_of(event)


def new_id(prefix: str) -> str:
    """Random; the prefix is for people who read the wire."""
    return f"{prefix}_{uuid.uuid4().hex}"
