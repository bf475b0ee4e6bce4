"""The satellite over one synced connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from .codec import Event
from .connection import REQUEST_S, Connection
from .delivery import Delivery
from .errors import BytebotError
from .names import new_id
from .resolve import MAX_BYTES, MEDIA, resolve_blobs
from .schema import Schema
from .scope import resolve_scope
from .tools import CURRENT_CALL, Tool, progress_event
from .transfers import Blob, BlobReading, BlobSource

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Satellite:
    """What `bb.sync` returns.

    Handlers start in the order of the events, in the scope of their event, and are not waited for; a sync one runs in a
    thread, where it gets the events of one scope one after the other. What waits for the Hub raises BytebotError: its
    `bb_error`, `timeout`, or `unavailable` when the connection closes. A scope of None means the current one.
    """

    def __init__(self, connection: Connection, granted: Event, capabilities: Mapping[str, Any] | None = None) -> None:
        self.granted = granted
        self.component_id: str = granted["component_id"]
        self._connection = connection
        self._delivery = Delivery(connection, capabilities or {})
        self._started = False

    @property
    def cursor(self) -> str | None:
        """The place in the log of the newest event that was handed to handlers: what `sync(resume=…)` takes."""
        return self._delivery.cursor

    # What it hears and serves.

    @overload
    def on(self, event_type: str, handler: Callable[[Any], object]) -> Callable[[], None]: ...
    @overload
    def on(self, event_type: str) -> Callable[[Handler], Handler]: ...
    def on(self, event_type: str, handler: Callable[[Any], object] | None = None) -> Any:
        """Events of this type, or of all with "*", from `start` on; returns how to stop. Also a decorator."""
        if handler is None:

            def decorate(decorated: Handler) -> Handler:
                self.on(event_type, decorated)
                return decorated

            return decorate
        return self._delivery.on(event_type, handler)

    def on_infer_chunk(self, handler: Handler) -> Handler:
        """`kind` of a chunk: block_start, block_delta, block_stop or loop_done."""
        self.on("infer_chunk", handler)
        return handler

    def on_render(self, handler: Handler) -> Handler:
        """Serves renders (kind "context"): `handler(request)` returns `{"system": …, "messages": …}`, each optional.

        Raise BytebotError to fail the turn with its code.
        """
        self._serves("context", "on_render", self._delivery.render)
        self._delivery.render = handler
        return handler

    def on_infer(self, handler: Handler) -> Handler:
        """Serves inference (kind "infer"): `handler(request, reply)` streams, and returns `{"stop_reason": …}`.

        Raise BytebotError to fail the round with its code.
        """
        self._serves("infer", "on_infer", self._delivery.infer)
        self._delivery.infer = handler
        return handler

    @overload
    def tool(self, function: Handler, /) -> Handler: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        input_schema: Schema | None = None,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        timeout_ms: int | None = None,
    ) -> Callable[[Handler], Handler]: ...
    def tool(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        input_schema: Schema | None = None,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        timeout_ms: int | None = None,
    ) -> Any:
        """Adds a tool (kind "toolsource"): its description is the docstring, its schema follows from the type hints.

        `start` registers all of them, later ones register the whole set again. Raise BytebotError to fail a call in
        words for the model.
        """
        said = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent}
        annotations = {key: value for key, value in said.items() if value}

        def add(function: Handler) -> Handler:
            self._serves("toolsource", "tool", None)
            self._delivery.tools.add(Tool.of(function, name, description, input_schema, annotations, timeout_ms))
            if self._started:
                self._delivery.keep(asyncio.get_running_loop().create_task(self._delivery.tools.register_added()))
            return function

        return add if function is None else add(function)

    # What it says.

    async def send_user_event(
        self,
        scope: str | None,
        content: str | Sequence[Mapping[str, Any]],
        *,
        id: str | None = None,
        mode: str | None = None,
        principal: str | None = None,
    ) -> Event:
        """Returns when the input is durable; `fate` says what became of it. `id` is the idempotency key.

        `principal`: who says it, where this satellite serves several people and the app lets it vouch for them.
        """
        said: dict[str, Any] = {"text": content} if isinstance(content, str) else {"content": list(content)}
        event = {"event_type": "user_event", "type": "message", "id": id or new_id("u"), "scope": resolve_scope(scope)}
        more = {"mode": mode} if mode else {}
        return await self._connection.request({**event, **said, **more, **_by(principal)})

    async def interrupt(
        self, scope: str | None = None, reason: str | None = None, *, principal: str | None = None
    ) -> Event:
        """Stops what runs in the scope and below."""
        why = {} if reason is None else {"reason": reason}
        event = {"event_type": "interrupt", "id": new_id("i"), "scope": resolve_scope(scope)}
        return await self._connection.request({**event, **why, **_by(principal)})

    async def answer(
        self,
        question: Mapping[str, Any],
        outcome: str,
        value: Any = None,
        *,
        principal: str | None = None,
        expires_at: float | None = None,
    ) -> Event:
        """Answers an `input_strict`; `outcome` is "accepted" or "declined".

        `expires_at`: until when an approval binds at most, in milliseconds since 1970.
        """
        event: dict[str, Any] = {"event_type": "input_reply", "id": new_id("a"), "in_reply_to": question["id"]}
        event |= {"scope": question["scope"], "outcome": outcome, **_by(principal)}
        event |= {} if expires_at is None else {"expires_at": expires_at}
        return await self._connection.request(event if value is None else {**event, "value": value})

    async def ask(
        self,
        prompt: str,
        *,
        options: Sequence[str] | None = None,
        schema: Schema | None = None,
        scope: str | None = None,
    ) -> Event:
        """Asks the person, within a tool about its call, elsewhere (a context) in the scope: `outcome` and `value`.

        How long a person may take is the Hub's to say.
        """
        current = CURRENT_CALL.get()
        about = {"call_id": current.call_id, "scope": current.scope} if current else {"scope": resolve_scope(scope)}
        more = {"options": list(options) if options is not None else None, "schema": schema}
        given = {key: value for key, value in more.items() if value is not None}
        event = {"event_type": "bb_input_request", "id": new_id("q"), **about, "prompt": prompt, **given}
        return await self._connection.request(event, timeout=None)

    async def put_blob(
        self,
        scope: str | None,
        source: BlobSource,
        *,
        mime_type: str | None = None,
        name: str | None = None,
        size: int | None = None,
    ) -> dict[str, Any]:
        """Keeps bytes as a blob of the scope; the block it returns may stand in an input, a result, an answer there.

        `size`: of a source that comes in pieces, in bytes, where it is known. Raises BytebotError `too_large` or
        `overloaded` where they are too many.
        """
        return await self._connection.blobs.put(resolve_scope(scope), source, mime_type=mime_type, name=name, size=size)

    async def get_blob(self, scope: str | None, ref: str) -> Blob:
        """All bytes of a blob of the scope. Raises BytebotError `not_found`."""
        return await (await self.read_blob(scope, ref)).read()

    async def read_blob(self, scope: str | None, ref: str) -> BlobReading:
        """The same as it comes."""
        return await self._connection.blobs.read(resolve_scope(scope), ref)

    async def resolve_blobs(
        self,
        scope: str | None,
        messages: Sequence[Mapping[str, Any]],
        *,
        types: str = MEDIA,
        max_bytes: int = MAX_BYTES,
    ) -> list[dict[str, Any]]:
        """The messages with the bytes of their blobs in place, for whoever has to send them on: an infer.

        `types`: a pattern of the media types that are wanted; others stay references, and so do those over `max_bytes`.
        """
        meant = resolve_scope(scope)

        async def read(ref: str) -> bytes:
            return (await self.get_blob(meant, ref)).data

        return await resolve_blobs(messages, read, types, max_bytes)

    def progress(self, text: str, fraction: float | None = None) -> None:
        """Within a tool: shown to people; `fraction` from 0 to 1. From any thread."""
        event = progress_event(text, fraction)
        if event:
            self._connection.send(event)

    def send(self, event: Mapping[str, Any]) -> None:
        """Any event, as it is on the wire. From any thread. Raises BytebotError where it cannot cross."""
        self._connection.send(event)

    async def request(self, event: Mapping[str, Any], timeout: float | None = REQUEST_S) -> Event:
        """Any event, under a fresh `id` where it has none; returns what answers it, also where that is no success."""
        return await self._connection.request(event, timeout)

    async def drained(self) -> None:
        """Returns when what was sent has mostly left: wait for it in a loop that sends much."""
        await self._connection.drained()

    async def start(self) -> str:
        """Delivers events, the held ones first, until the connection closes; returns the reason."""
        if self._started:
            message = "start() was already called: it delivers events until the connection closes"
            raise BytebotError("conflict", message)
        self._started = True
        self._connection.start(self._delivery.deliver)
        await self._delivery.tools.start()
        return await asyncio.shield(self._connection.ended)

    async def close(self, reason: str = "closed by the satellite") -> None:
        await self._connection.close(reason)

    async def __aenter__(self) -> Satellite:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _serves(self, kind: str, method: str, taken: object) -> None:
        """Only the kind that gets the requests may say that it serves them, and one handler does."""
        if self.granted["kind"] != kind:
            message = f'{method}() is for kind "{kind}", and this satellite synced as "{self.granted["kind"]}"'
            raise BytebotError("invalid_params", f"{message}: change one of them")
        if taken:
            message = f"{method}() already has its handler: one answers, so join both in one function"
            raise BytebotError("conflict", message)


def _by(principal: str | None) -> dict[str, str]:
    return {} if principal is None else {"principal": principal}
