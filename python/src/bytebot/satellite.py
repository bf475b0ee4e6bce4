"""The satellite over one synced connection."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any, TypeVar, overload

from .answers import Answers, Stop, Work
from .codec import Event
from .connection import MAX_HELD, REQUEST_S, Connection, new_id
from .errors import BytebotError, report
from .schema import Schema
from .scope import CURRENT_SCOPE, resolve_scope
from .serve import handler_work, infer_work, missing_work, render_work, request_key
from .threads import Lane, is_async
from .tools import CURRENT_CALL, Tool, ToolSet, progress_event

Handler = TypeVar("Handler", bound=Callable[..., Any])


class _Registered:
    """One registration: the same function may be registered twice, and each ends by itself."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler
        self.is_async = is_async(handler)


class Satellite:
    """What `bb.sync` returns.

    Handlers start in the order of the events, in the scope of their event, and are not waited for; a sync one runs in a
    thread, where it gets the events of one scope one after the other. What waits for the Hub raises BytebotError: its
    `bb_error`, `timeout`, or `unavailable` when the connection closes. A scope of None means the current one.
    """

    def __init__(self, connection: Connection, granted: Event) -> None:
        self.granted = granted
        self.component_id: str = granted["component_id"]
        #: The place in the log of the newest event that was handed to handlers: what `sync(resume=…)` takes.
        self.cursor: str | None = None
        self._connection = connection
        self._answers = Answers(connection.send)
        self._tools = ToolSet(connection)
        self._handlers: dict[str, list[_Registered]] = {}
        self._lanes: dict[tuple[_Registered, str | None], Lane] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._render: Callable[..., Any] | None = None
        self._infer: Callable[..., Any] | None = None
        self._started = False
        # Events arrive in the context of whoever reads; handlers run in the one that called `sync`.
        self._context = copy_context()
        connection.ended.add_done_callback(self._closed)

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
        registered = _Registered(handler)
        self._handlers[event_type] = [*self._handlers.get(event_type, []), registered]

        def remove() -> None:
            self._handlers[event_type] = [each for each in self._handlers[event_type] if each is not registered]

        return remove

    def on_infer_chunk(self, handler: Handler) -> Handler:
        """`kind` of a chunk: block_start, block_delta, block_stop or loop_done."""
        self.on("infer_chunk", handler)
        return handler

    def on_render(self, handler: Handler) -> Handler:
        """Serves renders (kind "context"): `handler(request)` returns `{"system": …, "messages": …}`, each optional.

        Raise BytebotError to fail the turn with its code.
        """
        self._serves("context", "on_render", self._render)
        self._render = handler
        return handler

    def on_infer(self, handler: Handler) -> Handler:
        """Serves inference (kind "infer"): `handler(request, reply)` streams, and returns `{"stop_reason": …}`.

        Raise BytebotError to fail the round with its code.
        """
        self._serves("infer", "on_infer", self._infer)
        self._infer = handler
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
            self._tools.add(Tool.of(function, name, description, input_schema, annotations, timeout_ms))
            if self._started:
                self._keep(asyncio.get_running_loop().create_task(self._tools.register_added()))
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
        self._connection.start(self._deliver)
        await self._tools.start()
        return await asyncio.shield(self._connection.ended)

    async def close(self, reason: str = "closed by the satellite") -> None:
        await self._connection.close(reason)

    async def __aenter__(self) -> Satellite:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # How events find their handlers.

    def _deliver(self, event: Event) -> None:
        cursor, scope = event.get("cursor"), event.get("scope")
        if isinstance(cursor, str):
            self.cursor = cursor
        place = scope if isinstance(scope, str) else None
        heard = self._handlers.get(event["event_type"], [])
        # An observer's copy is not addressed to this side.
        addressed = event.get("observed") is not True
        key = request_key(event) if addressed else None
        if key is None:
            self._hear(heard, event, place)
        else:
            self._serve(event, key, heard, place)
        if addressed and event["event_type"] == "bb_cancel":
            self._answers.cancel(event.get("target"), event.get("reason"))
        every = self._handlers.get("*", [])
        self._hear(every, event, place)
        if event["event_type"] == "bb_error" and not heard and not every:
            report(f"the Hub answered {event.get('code')}: {event.get('message')}")

    def _serve(self, event: Event, key: str, heard: list[_Registered], place: str | None) -> None:
        """By what was registered for it; else by handlers of its type, which send the answer; else it is refused."""
        if self._connection.error:
            return
        work = self._work(event, key)
        if work:
            self._hear(heard, event, place)
        elif heard:
            work = handler_work(event, key, [each.handler for each in heard])
        else:
            work = missing_work(event, key)
        self._answers.serve(work, self._in(place))

    def _work(self, event: Event, key: str) -> Work | None:
        match event["event_type"]:
            case "bb_context_render_request":
                return render_work(event, self._render) if self._render else None
            case "bb_infer_request":
                return infer_work(event, self._infer, self._connection) if self._infer else None
        tool = self._tools.get(event.get("name"))
        return tool.work(self._connection, event, key) if tool else None

    def _hear(self, heard: list[_Registered], event: Event, place: str | None) -> None:
        for each in heard:
            if each.is_async:
                self._keep(asyncio.get_running_loop().create_task(self._told(each, event), context=self._in(place)))
            else:
                self._tell(each, event, place)

    def _tell(self, each: _Registered, event: Event, place: str | None) -> None:
        lane = self._lanes.get((each, place))
        if lane is None:
            lane = self._lanes[each, place] = Lane(lambda: self._forget(each, place))
        loop = asyncio.get_running_loop()

        def work() -> None:
            try:
                result = each.handler(event)
                if inspect.isawaitable(result):
                    asyncio.run_coroutine_threadsafe(_awaited(result), loop).result()
            except Exception as error:
                _failed(event, error)

        lane.add(work, self._in(place))
        if lane.behind > MAX_HELD:
            self._connection.end(f"overloaded: a handler is {MAX_HELD} events behind")

    def _forget(self, each: _Registered, place: str | None) -> None:
        del self._lanes[each, place]

    async def _told(self, each: _Registered, event: Event) -> None:
        try:
            await each.handler(event)
        except Exception as error:
            _failed(event, error)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if len(self._tasks) > MAX_HELD:
            self._connection.end(f"overloaded: {MAX_HELD} handlers have not ended")

    def _in(self, place: str | None) -> Context:
        context = self._context.copy()
        context.run(CURRENT_SCOPE.set, place)
        return context

    def _serves(self, kind: str, method: str, taken: object) -> None:
        """Only the kind that gets the requests may say that it serves them, and one handler does."""
        if self.granted["kind"] != kind:
            message = f'{method}() is for kind "{kind}", and this satellite synced as "{self.granted["kind"]}"'
            raise BytebotError("invalid_params", f"{message}: change one of them")
        if taken:
            message = f"{method}() already has its handler: one answers, so join both in one function"
            raise BytebotError("conflict", message)

    def _closed(self, ended: asyncio.Future[str]) -> None:
        reason = "" if ended.cancelled() else ended.result()
        self._answers.close(self._connection.error or BytebotError("unavailable", f"the connection closed: {reason}"))


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def _by(principal: str | None) -> dict[str, str]:
    return {} if principal is None else {"principal": principal}


def _failed(event: Event, error: Exception) -> None:
    # Our own errors say what and where by themselves.
    own = isinstance(error, BytebotError)
    trace = str(error) if own else "".join(traceback.format_exception(error))
    report(f"a handler of {event['event_type']} failed: {trace}")


__all__ = ["Satellite", "Stop"]
