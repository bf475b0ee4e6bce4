"""How events find their handlers, and the Hub's requests their answers."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, copy_context
from typing import Any

from .answers import Answers, Work
from .codec import Event
from .connection import MAX_HELD, Connection
from .errors import BytebotError, report
from .histories import Histories, announces_incremental
from .scope import CURRENT_SCOPE
from .serve import handler_work, infer_work, missing_work, refused_work, render_work, request_key
from .threads import Lane, is_async
from .tools import ToolSet


class _Registered:
    """One registration: the same function may be registered twice, and each ends by itself."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler
        self.is_async = is_async(handler)


class Delivery:
    """Handlers start in the order of the events, in the scope of their event, and are not waited for."""

    def __init__(self, connection: Connection, capabilities: Mapping[str, Any]) -> None:
        self.tools = ToolSet(connection)
        self.render: Callable[..., Any] | None = None
        self.infer: Callable[..., Any] | None = None
        #: The place in the log of the newest event that was handed to handlers.
        self.cursor: str | None = None
        self._connection = connection
        self._answers = Answers(connection.send)
        # Where it announced that it takes only what is new.
        self._histories = Histories() if announces_incremental(capabilities) else None
        self._handlers: dict[str, list[_Registered]] = {}
        self._lanes: dict[tuple[_Registered, str | None], Lane] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        # Events arrive in the context of whoever reads; handlers run in the one that called `sync`.
        self._context = copy_context()
        connection.ended.add_done_callback(self._closed)

    def on(self, event_type: str, handler: Callable[[Any], object]) -> Callable[[], None]:
        registered = _Registered(handler)
        self._handlers[event_type] = [*self._handlers.get(event_type, []), registered]

        def remove() -> None:
            self._handlers[event_type] = [each for each in self._handlers[event_type] if each is not registered]

        return remove

    def deliver(self, event: Event) -> None:
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
                return self._rendering(event, self.render) if self.render else None
            case "bb_infer_request":
                return infer_work(event, self.infer, self._connection) if self.infer else None
        tool = self.tools.get(event.get("name"))
        return tool.work(self._connection, event, key) if tool else None

    def _rendering(self, request: Event, render: Callable[..., Any]) -> Work:
        """The handler sees the whole history, whatever of it came (HIS-2)."""
        if not self._histories:
            return render_work(request, render)
        history = self._histories.whole(request)
        if history is None:
            return refused_work(
                request, "cursor_expired", "the history before this is not here any more: send the whole"
            )
        return render_work(Event({**request, "history": history, "history_whole": True}), render)

    def _hear(self, heard: list[_Registered], event: Event, place: str | None) -> None:
        for each in heard:
            if each.is_async:
                self.keep(asyncio.get_running_loop().create_task(self._told(each, event), context=self._in(place)))
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

    def keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if len(self._tasks) > MAX_HELD:
            self._connection.end(f"overloaded: {MAX_HELD} handlers have not ended")

    def _in(self, place: str | None) -> Context:
        context = self._context.copy()
        context.run(CURRENT_SCOPE.set, place)
        return context

    def _closed(self, ended: asyncio.Future[str]) -> None:
        reason = "" if ended.cancelled() else ended.result()
        self._answers.close(self._connection.error or BytebotError("unavailable", f"the connection closed: {reason}"))


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def _failed(event: Event, error: Exception) -> None:
    # Our own errors say what and where by themselves.
    own = isinstance(error, BytebotError)
    trace = str(error) if own else "".join(traceback.format_exception(error))
    report(f"a handler of {event['event_type']} failed: {trace}")
