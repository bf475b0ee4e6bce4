"""Stdin and stdout as a link: from here on stdout carries events only, and prints go to stderr (FRM-11)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from .ambient import Main, Run, run_main
from .errors import BytebotError, to_report
from .link import HIGH_WATER, LineReader, Link, Receiver

#: What a `main` whose connection has closed may still take before the process exits; a Hub sends TERM after one second.
_LEAVE_S = 0.9
#: What a peer that stopped reading may still be sent when the link closes.
_FLUSH_S = 1.0
_PIECE = 64 * 1024
#: Pieces that may be read ahead.
_AHEAD = 32


class Stdio:
    """The link. Threads read and write: files, pipes and sockets of any system alike, and none ever blocks the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._in, self._out = _take()
        self._receiver: Receiver | None = None
        self._reader: LineReader | None = None
        #: What was read and not taken yet; None is the end.
        self._pieces: deque[bytes | None] = deque()
        self._settling: asyncio.Task[None] | None = None
        self._over = False
        self._queue: deque[bytes] = deque()
        self._size = 0
        self._ready = threading.Condition()
        self._room = threading.Semaphore(_AHEAD)
        self._drained: list[asyncio.Future[None]] = []
        #: Done when stdin has ended.
        self.gone: asyncio.Future[None] = self._loop.create_future()
        threading.Thread(target=self._read, daemon=True, name="bytebot stdin").start()
        threading.Thread(target=self._write, daemon=True, name="bytebot stdout").start()

    def connect(self, receiver: Receiver) -> Link:
        self._receiver = receiver
        self._reader = LineReader(receiver, given_up=self._end)
        self._loop.call_soon(self._take_in)
        return self

    def send(self, line: bytes, event: Mapping[str, Any]) -> None:
        if self._over:
            return
        with self._ready:
            self._queue.append(line)
            self._size += len(line)
            self._ready.notify_all()

    async def drained(self) -> None:
        if self._size >= HIGH_WATER and not self._over:
            waiting: asyncio.Future[None] = self._loop.create_future()
            self._drained.append(waiting)
            await waiting

    async def close(self, reason: str) -> None:
        self._over = True
        if self._reader:
            self._reader.close()
        until = self._loop.time() + _FLUSH_S
        while self._size and self._loop.time() < until:
            await asyncio.sleep(0.002)
        self._release()

    def _take_in(self) -> None:
        """On the loop: what was read, as far as it need not wait for a long line."""
        reader = self._reader
        while reader and self._pieces and not reader.busy:
            piece = self._pieces.popleft()
            self._room.release()
            if piece is not None:
                reader.push(piece)
                continue
            reader.end()
            self._settle(lambda: self._end("it closed its output"))
            return
        if reader and reader.busy:
            self._settle(self._take_in)

    def _settle(self, then: Callable[[], None]) -> None:
        async def wait(reader: LineReader) -> None:
            await reader.settled()
            then()

        if self._reader:
            self._settling = self._loop.create_task(wait(self._reader))

    def _end(self, reason: str) -> None:
        self._over = True
        self._release()
        if self._reader and self._receiver:
            self._reader.close()
            self._receiver.closed(reason)
        if not self.gone.done():
            self.gone.set_result(None)

    def _read(self) -> None:
        piece: bytes | None = b"-"
        while piece:
            try:
                piece = os.read(self._in, _PIECE)
            except OSError:
                piece = b""
            # What is not taken yet waits at the sender's, but for so many pieces: a hand-over each would cost more.
            self._room.acquire()
            try:
                self._loop.call_soon_threadsafe(self._handed, piece or None)
            except RuntimeError:
                return  # the loop has closed

    def _handed(self, piece: bytes | None) -> None:
        self._pieces.append(piece)
        if not (self._reader and self._reader.busy):
            self._take_in()

    def _write(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: bool(self._queue))
                lines = b"".join(self._queue)
                self._queue.clear()
            try:
                rest = memoryview(lines)
                while rest:
                    rest = rest[os.write(self._out, rest[:_PIECE]) :]
            except OSError:
                # The Hub is gone; that stdin has ended says so.
                self._over = True
            with self._ready:
                self._size -= len(lines)
            if self._drained:
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        waiting, self._drained = self._drained, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


def _take() -> tuple[int, int]:
    """Both under other numbers: what else reads gets nothing, what else prints, a child too, goes to stderr."""
    sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    return wire_in, wire_out


def run_stdio(main: Main) -> None:
    """Runs a satellite's `main` over stdin and stdout, and ends the process's work with it.

    The options come as JSON in BYTEBOT_OPTS. Where `main` raises, a sentence on stderr says so, the exit code is 1.
    """
    run_program(lambda: _run(main))


def run_program(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs it as all that this process does."""
    code = 0
    try:
        asyncio.run(_stoppable(work))
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:
        if not isinstance(error, asyncio.CancelledError | SystemExit):
            code = 1
            print(to_report(_sentence(error)), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        sys.exit(code)


async def _stoppable(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    running = asyncio.current_task()
    with contextlib.suppress(NotImplementedError):  # Windows has no such signals
        if running:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await work()


async def _run(main: Main) -> None:
    opts = parse_opts(os.environ.get("BYTEBOT_OPTS"))
    stdio = Stdio()
    running = asyncio.ensure_future(run_main(main, Run(stdio.connect, opts)))
    try:
        await asyncio.wait([running, stdio.gone], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        running.cancel()
    if not running.done():
        # It ends by itself, as start() returns; what does not is ended.
        timer = threading.Timer(_LEAVE_S, lambda: os._exit(1))
        timer.daemon = True
        timer.start()
        await asyncio.wait([running], timeout=_LEAVE_S / 2)
        running.cancel()
    try:
        await running
    finally:
        await stdio.close("its main ended")


def parse_opts(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        opts = json.loads(text)
    except ValueError:
        opts = None  # said below, without the text: options may hold a key
    if not isinstance(opts, dict):
        message = 'BYTEBOT_OPTS is no JSON object: set it to one, such as {"model":"m"}, or leave it unset'
        raise BytebotError("invalid_params", message)
    return opts


def _sentence(error: BaseException) -> str:
    """One line: what was raised, and for anything but our own errors where."""
    if isinstance(error, BytebotError):
        return " ".join(f"bytebot: {error.message}".split())
    at = traceback.extract_tb(error.__traceback__)
    where = f" at {at[-1].filename}:{at[-1].lineno}" if at else ""
    return " ".join(f"bytebot: the satellite failed: {type(error).__name__}: {error}{where}".split())
