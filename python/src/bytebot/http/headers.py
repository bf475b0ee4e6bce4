"""Names, deadlines and statuses of the wire over HTTP (HTP-3 to HTP-9)."""

from __future__ import annotations

import json
import re

from ..codec import decode
from ..errors import BytebotError
from ..limits import WIDE

CONNECTION, RECEIVED, BATCH = "Bytebot-Connection", "Bytebot-Received", "Bytebot-Batch"
NDJSON, SSE = "application/x-ndjson", "text/event-stream"
#: Seconds: a sign of life, none for so long, and how long a connection outlives its sockets.
HEARTBEAT_S, SILENT_S, RETURN_S = 15.0, 35.0, 10.0
#: Bytes that may wait for a peer that is away or slow, and of the stream that are kept for its return.
MAX_UNSENT, KEPT = 64 * 1024 * 1024, 512 * 1024
MAX_LINES, MAX_POSTS = 10_000, 4

ID = re.compile(r"[\x21-\x7e]{1,128}")
_LINES = re.compile(r"application/(?:x-ndjson|json|jsonl|x-jsonlines) *(?:;|$)", re.IGNORECASE)
_STATUSES = {
    "parse_error": 400,
    "invalid_event": 400,
    "invalid_params": 400,
    "not_synced": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "cursor_expired": 410,
    "too_large": 413,
    "overloaded": 429,
    "unavailable": 503,
    "timeout": 504,
}


def is_lines(content_type: str) -> bool:
    return _LINES.match(content_type) is not None


def status_of(code: str) -> int:
    return _STATUSES.get(code, 500)


def error_line(error: BytebotError) -> bytes:
    return json.dumps({"event_type": "bb_error", **error.to_wire()}).encode() + b"\n"


def refusal(url: str, status: int, body: bytes) -> BytebotError:
    """A refused request as an error; what the other side is only too busy for may be tried again."""
    retryable = status == 429 or status >= 500
    try:
        event = decode(body.strip(), WIDE)
        if event["event_type"] == "bb_error":
            error = BytebotError.from_wire(event)
            error.retryable = error.retryable or retryable
            error.message = f"{url}: {error.message}"
            error.args = (error.message,)
            return error
    except BytebotError:
        pass  # Not ours: a proxy, or another server. Its status says what is known.
    code = {401: "unauthorized", 403: "forbidden", 404: "not_found"}.get(status, "unavailable")
    return BytebotError(code, f"{url} answered with HTTP status {status}", retryable=retryable)
