"""What one line may hold; the values in force are in `bb_sync_ack.limits` (FRM-5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LineLimits:
    #: Bytes of a line without its newline.
    line_bytes: int
    #: Objects, arrays, strings, numbers, booleans and nulls in a line.
    values: int
    #: Nesting of objects and arrays.
    depth: int
    #: Bytes of a blob; None: the Hub takes none (BLB-4).
    blob_bytes: int | None = None


BEFORE_SYNC = LineLimits(16 * 1024, 10_000, 64)
STANDARD = LineLimits(1024 * 1024, 10_000, 64)
#: What a `context` or an `infer` may be sent: whole transcripts.
WIDE = LineLimits(16 * 1024 * 1024, 1_000_000, 64)


def to_limits(fields: Mapping[str, Any]) -> LineLimits:
    blob_bytes = fields.get("blob_bytes")
    return LineLimits(
        int(fields["line_bytes"]),
        int(fields["values"]),
        int(fields["depth"]),
        None if blob_bytes is None else int(blob_bytes),
    )
