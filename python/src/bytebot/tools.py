"""The tools of a toolsource, and one call of one of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

from .answers import Stop, Work
from .arguments import Reader, readers_of
from .connection import Connection
from .errors import BytebotError, report
from .schema import Schema, misfit, schema_of
from .serve import call, failed_answer
from .shorten import RESULT_BYTES, is_too_large, shorten, to_line
from .threads import is_async

_MAX_PROGRESS = 16 * 1024
#: What a result holds beside its content, in bytes.
_ENVELOPE = 2048

CURRENT_CALL: ContextVar[Call | None] = ContextVar("bytebot.call", default=None)


@dataclass
class Call:
    """The call that this code works on."""

    call_id: str
    scope: str
    stop: Stop

    @property
    def cancelled(self) -> bool:
        """For sync tools, which nothing else can stop."""
        return self.stop.reason is not None


def current_call() -> Call:
    """Raises BytebotError `invalid_params` where no tool runs."""
    found = CURRENT_CALL.get()
    if not found:
        raise BytebotError("invalid_params", "there is no current call: do this within a tool")
    return found


@dataclass
class Tool:
    name: str
    run: Callable[..., Any]
    schema: Schema
    #: From type hints: checked here too, whoever asks.
    checked: bool
    #: From type hints too: the parameters that are no plain JSON.
    readers: Mapping[str, Reader]
    definition: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(
        run: Callable[..., Any],
        name: str | None,
        description: str | None,
        input_schema: Schema | None,
        annotations: Mapping[str, bool],
        timeout_ms: int | None,
    ) -> Tool:
        named = name or str(getattr(run, "__name__", "tool"))
        readers: Mapping[str, Reader] = {}
        if input_schema is None:
            text, schema = schema_of(run, f'tool "{named}"')
            readers = readers_of(run)
        else:
            text, schema = (run.__doc__ or "").strip(), input_schema
        if schema.get("type") != "object":
            message = f'tool "{named}": its input has to be an object, such as {{"type": "object"}}'
            raise BytebotError("invalid_params", message)
        said = description or text
        definition: dict[str, Any] = {"name": named, "input_schema": schema}
        more = {"description": said or None, "annotations": dict(annotations) or None, "timeout_ms": timeout_ms}
        definition |= {key: value for key, value in more.items() if value is not None}
        return Tool(named, run, schema, input_schema is None, readers, definition)

    def work(self, connection: Connection, request: Mapping[str, Any], key: str) -> Work:
        async def run(stop: Stop) -> dict[str, Any]:
            given = request.get("input")
            wrong = misfit(given, self.schema) if self.checked else None
            if wrong or not isinstance(given, dict):
                raise BytebotError("invalid_params", f"the arguments are not valid: {wrong or 'input is no object'}")
            read = {name: reader(given[name]) for name, reader in self.readers.items() if name in given}
            CURRENT_CALL.set(Call(key, str(request.get("scope")), stop))
            output = await call(self.run, copy_context(), **{**given, **read})
            content = await _fit(to_blocks(output), connection, str(request.get("scope")), stop)
            return {
                "event_type": "bb_tool_call_result",
                "call_id": key,
                "success": True,
                "status": "ok",
                "content": content,
            }

        return Work(key, run, lambda error: failed_answer(request, error), threaded=not is_async(self.run))


class ToolSet:
    """On the wire always the whole set."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tools: dict[str, Tool] = {}
        self._added: list[str] = []
        self._started = False

    def add(self, tool: Tool) -> None:
        if tool.name in self._tools:
            message = f'there is a tool "{tool.name}" already: give this one another name'
            raise BytebotError("conflict", message)
        self._tools[tool.name] = tool
        if self._started:
            self._added.append(tool.name)

    def get(self, name: object) -> Tool | None:
        return self._tools.get(name) if isinstance(name, str) else None

    async def start(self) -> None:
        """Raises the Hub's error where it refuses the set."""
        self._started = True
        if self._tools:
            await self._register()

    async def register_added(self) -> None:
        """What was added since goes out as one registration."""
        added, self._added = self._added, []
        if not added:
            return
        try:
            await self._register()
        except BytebotError as error:
            # The Hub kept the old set, and so does this side: the next registration is not refused for the same tool.
            for name in added:
                self._tools.pop(name, None)
            if not self._connection.error:
                report(f"not registered: {', '.join(added)}: {error.message}")

    async def _register(self) -> None:
        tools = [tool.definition for tool in self._tools.values()]
        result = await self._connection.request({"event_type": "bb_tool_register", "tools": tools})
        if result.get("success") is not True:
            raise BytebotError.from_wire(result.get("error"))


def progress_event(text: str, fraction: float | None) -> dict[str, Any] | None:
    current = current_call()
    if current.cancelled:
        return None
    part = {} if fraction is None or math.isnan(fraction) else {"fraction": min(1.0, max(0.0, fraction))}
    return {"event_type": "bb_tool_progress", "call_id": current.call_id, "text": text[:_MAX_PROGRESS], **part}


def to_blocks(output: object) -> list[dict[str, Any]]:
    """A text is text, bytes are a file, blocks are themselves (their `data` may be bytes), None is no content; anything
    else becomes JSON.
    """
    if output is None or output == "":
        return []
    if isinstance(output, str):
        return [{"type": "text", "text": output}]
    if isinstance(output, bytes | bytearray):
        return [{"type": "file", "mime_type": "application/octet-stream", "data": output}]
    if isinstance(output, Mapping) and _is_block(output):
        return [dict(output)]
    if isinstance(output, list) and output and all(isinstance(each, Mapping) and _is_block(each) for each in output):
        return [dict(each) for each in output]
    try:
        return [{"type": "text", "text": json.dumps(output, ensure_ascii=False)}]
    except (TypeError, ValueError) as error:
        raise BytebotError("internal", f"what the tool returned cannot be JSON: {error}") from None


def _is_block(block: Mapping[str, Any]) -> bool:
    match block.get("type"):
        case "text":
            return isinstance(block.get("text"), str)
        case "image" | "audio" | "file":
            return isinstance(block.get("mime_type"), str) and isinstance(block.get("data"), str | bytes | bytearray)
        case "blob":
            return isinstance(block.get("ref"), str)
    return False


async def _fit(blocks: list[dict[str, Any]], connection: Connection, scope: str, stop: Stop) -> list[dict[str, Any]]:
    """What of a result would not fit its line, or travels apart, goes ahead as blobs (TOL-10)."""

    async def keep(data: bytes | bytearray, mime_type: str) -> dict[str, Any]:
        kept = await connection.blobs.put(scope, data, mime_type=mime_type)
        if stop.reason:
            raise stop.reason
        return kept

    if not is_too_large(blocks, connection.limits.line_bytes - _ENVELOPE):
        return [to_line(each) for each in blocks]
    return await shorten(blocks, RESULT_BYTES, keep)
