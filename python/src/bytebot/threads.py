"""Sync handlers run in threads, and come back from there."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

#: The event loop of the satellite that this thread works for.
_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("bytebot.loop", default=None)


def is_async(handler: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def in_thread(work: Callable[[], T], context: Context) -> asyncio.Future[T]:
    """Runs it in a thread of its own, which keeps no process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context.run(_LOOP.set, loop)

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            # A future cannot hold a StopIteration.
            future.set_exception(RuntimeError(repr(error)) if isinstance(error, StopIteration) else error)

    def run() -> None:
        try:
            outcome: tuple[T | None, BaseException | None] = context.run(work), None
        except BaseException as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, daemon=True, name="bytebot handler").start()
    return future


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """From a sync handler: `bb.wait(ctrl.ask("Sure?"))` runs it on the satellite's loop and waits for it."""
    loop = _LOOP.get()
    if loop is None:
        coroutine.close()
        raise RuntimeError("bb.wait(…) is for sync handlers, which run in threads: elsewhere use await")
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


class Lane:
    """The events of one sync handler in one scope: one at a time, in their order."""

    def __init__(self, over: Callable[[], None]) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._over = over
        self._running = False

    def add(self, work: Callable[[], None], context: Context) -> None:
        # Each runs in the context of its own event, not in the thread's.
        context.run(_LOOP.set, asyncio.get_running_loop())
        self._waiting.append(lambda: context.run(work))
        if not self._running:
            self._running = True
            in_thread(self._all, Context()).add_done_callback(self._ended)

    @property
    def behind(self) -> int:
        return len(self._waiting)

    def _all(self) -> None:
        while self._waiting:
            self._waiting.popleft()()

    def _ended(self, future: asyncio.Future[None]) -> None:
        # Back on the loop: what was added meanwhile is seen here, or by the thread.
        future.exception()
        if self._waiting:
            in_thread(self._all, Context()).add_done_callback(self._ended)
        else:
            self._running = False
            self._over()
