"""Content that is too large for its event: what is over the limit is kept as blobs (TOL-10)."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from .codec import well_formed
from .errors import BytebotError

Block = Mapping[str, Any]
#: Keeps bytes as a blob: `keep(data, mime_type)` returns its block.
Keep = Callable[[bytes | bytearray, str], Awaitable[dict[str, Any]]]

#: An image, audio or file of more travels by reference; a result of more is cut; both in bytes.
INLINE_BYTES, RESULT_BYTES = 256 * 1024, 128 * 1024
#: For the text that says what was cut, and its reference.
_NOTE_BYTES = 512
#: Beyond it references too are only counted.
_MAX_REFERENCES = 256
_MAX_NAME, _MAX_REASON = 256, 300
_MIME = re.compile(r"[\x20-\x7e]{1,128}")


def to_line(block: Block) -> dict[str, Any]:
    """Bytes as base64."""
    data = block.get("data")
    return {**block, "data": base64.b64encode(data).decode()} if isinstance(data, bytes | bytearray) else dict(block)


def is_too_large(content: Sequence[Block], line_bytes: int) -> bool:
    """Does it need a shorter form to fit a line of so many bytes, or has it media that travel apart?"""
    if any(each.get("type") != "text" and bytes_of(each.get("data")) > INLINE_BYTES for each in content):
        return True
    size = _size_of(content)
    # A character may take six bytes on the wire, as an escape: few results need the exact count.
    if size * 6 <= line_bytes or size > line_bytes:
        return size > line_bytes
    return (
        len(json.dumps([to_line(each) for each in content], ensure_ascii=False).encode(errors="replace")) > line_bytes
    )


async def shorten(content: Sequence[Block], limit: int, keep: Keep) -> list[dict[str, Any]]:
    """Content of at most `limit` bytes: media become references; text is cut at a character.

    A note and a reference to all of the text follow. What cannot be kept is named, with the reason.
    """
    if _size_of(content) <= limit:
        return [to_line(each) for each in content]
    texts = [each for each in content if each.get("type") == "text"]
    others = [each for each in content if each.get("type") != "text"]
    kept = {id(each): await _reference_or_note(each, keep) for each in others[:_MAX_REFERENCES]}
    room = limit - _size_of(list(kept.values()))
    cut = await _cut(texts, max(0, room - _NOTE_BYTES), limit, keep) if _size_of(texts) > room else None
    short: list[dict[str, Any]] = []
    for block in content:
        if block.get("type") == "text":
            short += [dict(block)] if cut is None else cut.get(id(block), [])
        elif id(block) in kept:
            short.append(kept[id(block)])
    more = len(others) - _MAX_REFERENCES
    return [*short, _note(f"[{more} more parts left out: over the limit of {_MAX_REFERENCES}]")] if more > 0 else short


def bytes_of(data: object) -> int:
    """Bytes of a block's data, which may be base64."""
    if isinstance(data, bytes | bytearray):
        return len(data)
    return len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else 0


async def _reference_or_note(block: Block, keep: Keep) -> dict[str, Any]:
    given = str(block.get("mime_type"))
    mime_type = given if _MIME.fullmatch(given) else "application/octet-stream"
    name = block.get("name")
    named = {"name": well_formed(name[:_MAX_NAME])} if isinstance(name, str) else {}
    if block.get("type") == "blob":
        return {"type": "blob", "ref": block["ref"], "mime_type": mime_type, "size": block.get("size", 0), **named}
    data = block["data"]
    try:
        return {**await keep(data if isinstance(data, bytes | bytearray) else _decoded(data), mime_type), **named}
    except BytebotError as error:
        what = f"{block.get('type')} ({mime_type}) of {bytes_of(data)} bytes"
        return _note(f"[{what} left out: {error.message[:_MAX_REASON]}]")


async def _cut(texts: Sequence[Block], room: int, limit: int, keep: Keep) -> dict[int, list[dict[str, Any]]]:
    """The texts that fit, the one that does not cut, the rest only in the blob."""
    whole = "\n".join(well_formed(each["text"]) for each in texts).encode()
    said = f"cut: {len(whole)} bytes in all, limit {limit}"
    try:
        after = [_note(f"[{said}; the whole is kept as the blob that follows]"), await keep(whole, "text/plain")]
    except BytebotError as error:
        after = [_note(f"[{said}; the whole is not kept: {error.message[:_MAX_REASON]}]")]
    shown: dict[int, list[dict[str, Any]]] = {}
    for block in texts:
        size = _size_of([block])
        if size > room:
            beginning = well_formed(block["text"]).encode()[:room].decode(errors="ignore")
            shown[id(block)] = [*([_note(beginning)] if beginning else []), *after]
            break
        shown[id(block)] = [dict(block)]
        room -= size
    return shown


def _size_of(content: Sequence[Block]) -> int:
    """Bytes on the wire, without the escapes of their text."""
    size = 0
    for block in content:
        text, data = block.get("text"), block.get("data")
        rest = {key: value for key, value in block.items() if key not in ("text", "data")}
        size += len(json.dumps(rest)) + 12
        size += len(text.encode(errors="replace")) if isinstance(text, str) else 0
        size += -(-len(data) // 3) * 4 if isinstance(data, bytes | bytearray) else len(data or "")
    return size


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise BytebotError("invalid_params", "its data is no base64") from None


def _note(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
