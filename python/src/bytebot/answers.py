"""The Hub's requests in flight: each runs once and gets exactly one answer."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

from .errors import BytebotError, report

#: How long a cancelled piece of work may take to say what it did.
GRACE_S = 0.5


@dataclass
class Stop:
    """How a piece of work learns that it has to stop; a task is also cancelled."""

    reason: BytebotError | None = None
    heard: list[Callable[[], None]] = field(default_factory=list)

    def set(self, reason: BytebotError) -> None:
        self.reason = self.reason or reason
        for each in self.heard:
            each()


@dataclass
class Work:
    """A request of the Hub's and how this side serves it."""

    #: What `bb_cancel` targets: the request's id, or the call's.
    key: str
    #: Returns the answer, or None where it was sent otherwise.
    run: Callable[[Stop], Coroutine[Any, Any, dict[str, Any] | None]]
    #: The answer where `run` failed.
    failed: Callable[[BytebotError], dict[str, Any]]
    #: A thread cannot be cancelled: it is told, and waited for.
    threaded: bool = False


class _Open:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.stop = Stop()
        self.task: asyncio.Task[dict[str, Any] | None] | None = None
        self.timer: asyncio.TimerHandle | None = None


class Answers:
    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._open: dict[str, _Open] = {}

    def serve(self, work: Work, context: Context) -> None:
        if work.key in self._open:
            return
        opened = _Open(work)
        self._open[work.key] = opened
        loop = asyncio.get_running_loop()
        opened.task = loop.create_task(work.run(opened.stop), context=context)
        opened.task.add_done_callback(lambda task: self._done(opened, task))

    def cancel(self, target: object, reason: object) -> None:
        """A target that is not in flight here was answered already."""
        opened = self._open.get(target) if isinstance(target, str) else None
        if not opened or not opened.task or opened.stop.reason:
            return
        why = reason if isinstance(reason, str) else "the Hub asked to stop"
        error = BytebotError("cancelled", f"cancelled: {why}")
        late = (
            f"{error.message}; it did not end within {round(GRACE_S * 1000)} ms, so whether it took effect is unknown"
        )
        unsettled = opened.work.failed(BytebotError("cancelled", late))
        opened.timer = asyncio.get_running_loop().call_later(GRACE_S, self._settle, opened, unsettled)
        self._halt(opened, error)

    def close(self, reason: BytebotError) -> None:
        """The connection is gone: everything is told to stop, and nothing can be answered."""
        opened, self._open = self._open, {}
        for each in opened.values():
            if each.timer:
                each.timer.cancel()
            self._halt(each, reason)

    @staticmethod
    def _halt(opened: _Open, reason: BytebotError) -> None:
        opened.stop.set(reason)
        if opened.task and not opened.work.threaded:
            opened.task.cancel()

    def _done(self, opened: _Open, task: asyncio.Task[dict[str, Any] | None]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            self._settle(opened, task.result())
        else:
            self._settle(opened, opened.work.failed(_failure(error, opened)))

    def _settle(self, opened: _Open, answer: dict[str, Any] | None) -> None:
        if self._open.get(opened.work.key) is not opened:
            return
        del self._open[opened.work.key]
        if opened.timer:
            opened.timer.cancel()
        if answer is None:
            return
        try:
            self._send(answer)
        except BytebotError as error:
            # What was returned cannot cross the wire; saying so can.
            self._send(opened.work.failed(error))


def _failure(error: BaseException, opened: _Open) -> BytebotError:
    """What crosses the wire for a failed piece of work: after a cancel `cancelled`, in the words of whoever stopped."""
    own = error if isinstance(error, BytebotError) else None
    stopped = opened.stop.reason
    if stopped:
        return BytebotError("cancelled", own.message if own else stopped.message)
    if own:
        return own
    if isinstance(error, asyncio.CancelledError):
        return BytebotError("cancelled", "it was cancelled here")
    trace = "".join(traceback.format_exception(error))
    report(f"{opened.work.key} failed: {trace}")
    return BytebotError("internal", str(error) or type(error).__name__)
