"""One reply of an infer, as `infer_chunk`s (CHK-1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .codec import check, well_formed
from .errors import BytebotError
from .limits import WIDE

_MALFORMED_SHOWN = 2000
Send = Callable[[dict[str, Any]], None]


class InferReply:
    """Blocks are opened and closed for you, indexes assigned. After a cancel nothing is sent."""

    def __init__(self, request_id: str, send: Send) -> None:
        self._id = request_id
        self._out = send
        self._next = 0
        self._current: _OpenBlock | None = None
        self._calls: list[ToolUseReply] = []
        self._stopped = False

    def text(self, delta: str) -> None:
        """Opens a text block where none is open."""
        if delta:
            self._opened("text").add(delta)

    def thinking(self, delta: str) -> None:
        """Opens a thinking block where none is open."""
        if delta:
            self._opened("thinking").add(delta)

    def signature(self, value: str) -> None:
        """Of the open thinking block, byte for byte, and its end: a thought after it is a block of its own."""
        self._opened("thinking").signature = value
        self._close_current()

    def tool_use(self, name: str, input: Mapping[str, Any] | None = None, *, id: str | None = None) -> ToolUseReply:
        """Arguments at once, or as JSON text in pieces by `delta` and `end`; several calls may be open at once."""
        self._close_current()
        call = ToolUseReply(self._start("tool_use", name), name, id)
        self._calls.append(call)
        if input is not None:
            call.delta(json.dumps(input, ensure_ascii=False))
            call.end()
        return call

    def block(self, block: Mapping[str, Any]) -> None:
        """A whole block at once."""
        self._close_current()
        content = _streamed(block)
        if content is None:
            self._next += 1
            self._send(kind="block_stop", index=self._next - 1, block=dict(block))
            return
        kind, text, name = content
        opened = self._start(kind, name)
        opened.add(text)
        opened.finish()
        opened.stop(dict(block))

    def finish(self) -> None:
        """The reply is complete: closes what is open."""
        self._close_current()
        for call in self._calls:
            call.end()

    def stop(self) -> None:
        """Nothing is sent from here on."""
        self._stopped = True

    def _opened(self, kind: str) -> _OpenBlock:
        if not self._current or self._current.kind != kind:
            self._close_current()
            self._current = self._start(kind)
        return self._current

    def _close_current(self) -> None:
        block, self._current = self._current, None
        if not block:
            return
        text = block.finish()
        if block.kind == "text":
            block.stop({"type": "text", "text": text})
        else:
            signed = {} if block.signature is None else {"signature": block.signature}
            block.stop({"type": "thinking", "thinking": text, **signed})

    def _start(self, kind: str, name: str | None = None) -> _OpenBlock:
        index = self._next
        self._next += 1
        self._send(kind="block_start", index=index, block_type=kind, **({} if name is None else {"name": name}))
        return _OpenBlock(kind, lambda **fields: self._send(index=index, **fields))

    def _send(self, **fields: Any) -> None:
        if not self._stopped:
            self._out({"event_type": "infer_chunk", "in_reply_to": self._id, **fields})


class _OpenBlock:
    """One block while it streams."""

    def __init__(self, kind: str, send: Callable[..., None]) -> None:
        self.kind = kind
        self.signature: str | None = None
        self._out = send
        self._text: list[str] = []
        self._half = ""

    def add(self, delta: str) -> None:
        """Half a surrogate pair waits for its other half: each event is well-formed by itself."""
        text = self._half + delta
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._push(text.removesuffix(self._half) if self._half else text)

    def finish(self) -> str:
        """The whole text; no delta follows."""
        self._push(self._half)
        self._half = ""
        return "".join(self._text)

    def stop(self, block: dict[str, Any]) -> None:
        self._out(kind="block_stop", block=block)

    def _push(self, text: str) -> None:
        if text:
            text = well_formed(text)
            self._text.append(text)
            self._out(kind="block_delta", block_type=self.kind, delta=text)


class ToolUseReply:
    """A call while its arguments stream. What is no JSON object is never run: it goes on as `malformed`."""

    def __init__(self, block: _OpenBlock, name: str, id: str | None) -> None:
        self._block = block
        self._name = name
        self._id = id
        self._open = True

    def delta(self, json_text: str) -> None:
        if not self._open:
            raise BytebotError("invalid_params", f"arguments of {self._name} came after its end()")
        if json_text:
            self._block.add(json_text)

    def end(self, more: Mapping[str, Any] | None = None) -> None:
        """`more`: further fields of the block, which come back with it: what a provider wants to see again."""
        if not self._open:
            return
        self._open = False
        named = {} if self._id is None else {"id": self._id}
        block = {**(more or {}), "type": "tool_use", **named, "name": self._name, **_arguments(self._block.finish())}
        self._block.stop(block)


def _streamed(block: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    """What of a whole block goes out as its delta; None where it has no text to stream."""
    match block.get("type"):
        case "text":
            return "text", str(block["text"]), None
        case "thinking":
            return "thinking", str(block["thinking"]), None
        case "tool_use":
            return "tool_use", json.dumps(block.get("input") or {}, ensure_ascii=False), str(block["name"])
    return None


def _arguments(text: str) -> dict[str, Any]:
    """Arguments a model wrote. Nothing else than an object is ever guessed from them."""
    if not text.strip():
        return {"input": {}}
    try:
        value = json.loads(text)
        if value is None:
            return {"input": {}}
        # As deep as it will stand in its event: what the wire would refuse must not take the whole block with it.
        check({"event_type": "infer_chunk", "block": {"input": value}}, WIDE)
        if isinstance(value, dict):
            return {"input": value}
    except (ValueError, RecursionError, BytebotError):
        pass  # said below, with the text
    return {"input": None, "malformed": text[:_MALFORMED_SHOWN]}
