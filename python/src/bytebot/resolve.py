"""Messages with the bytes of their blobs in place: what a provider is sent."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from .errors import BytebotError

MAX_BYTES = 32 * 1024 * 1024
MEDIA = r"^(?:image|audio)/"


async def resolve_blobs(
    messages: Sequence[Mapping[str, Any]], read: Callable[[str], Awaitable[bytes]], types: str, max_bytes: int
) -> list[dict[str, Any]]:
    """The newest first while there is room; what is not wanted, too much or not there stays a reference."""
    found: dict[str, str] = {}
    left = max_bytes
    wanted = re.compile(types)
    for block in reversed([blob for message in messages for blob in _blobs(message["content"])]):
        if not wanted.search(block["mime_type"]) or block["ref"] in found or block["size"] > left:
            continue
        try:
            data = await read(block["ref"])
        except BytebotError as error:
            if error.code != "not_found":
                raise
            continue
        left -= len(data)
        found[block["ref"]] = base64.b64encode(data).decode()
    return [{**message, "content": [_in_place(each, found) for each in message["content"]]} for message in messages]


def _blobs(content: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for block in content:
        if block["type"] == "blob":
            yield block
        elif block["type"] == "tool_result":
            yield from (each for each in block["content"] if each["type"] == "blob")


def _in_place(block: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    if block["type"] == "tool_result":
        return {**block, "content": [_in_place(each, found) for each in block["content"]]}
    data = found.get(block["ref"]) if block["type"] == "blob" else None
    if data is None:
        return dict(block)
    mime_type = str(block["mime_type"])
    family = mime_type.partition("/")[0]
    return {"type": family if family in ("image", "audio") else "file", "mime_type": mime_type, "data": data}
