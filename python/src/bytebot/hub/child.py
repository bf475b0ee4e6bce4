"""The Hub's process as a link."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from ..errors import to_report
from ..limits import LineLimits
from ..link import HIGH_WATER, LineReader, Receiver

#: What the owner's Hub may send and take in a line: whole histories.
OWNER = LineLimits(64 * 1024 * 1024, 4_000_000, 96)
_GRACE_S = 5.0
_PIECE = 64 * 1024


class HubChild:
    def __init__(self, process: asyncio.subprocess.Process, receiver: Receiver) -> None:
        self._process = process
        self._receiver = receiver
        self._over = False
        self._said: list[str] = []
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._read()), loop.create_task(self._errors())]
        self._ending: asyncio.Task[None] | None = None

    @staticmethod
    async def start(command: list[str], cwd: str | None) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=cwd,
            env=os.environ,
            # A Ctrl-C of the terminal is this program's to hear: it ends the Hub in order.
            start_new_session=True,
        )

    def send(self, line: bytes, event: Mapping[str, Any]) -> None:
        if not self._over and self._process.stdin and not self._process.stdin.is_closing():
            self._process.stdin.write(line)

    async def drained(self) -> None:
        if self._process.stdin:
            with contextlib.suppress(ConnectionError):
                await self._process.stdin.drain()

    async def close(self, reason: str) -> None:
        self._over = True
        if not self._ending:
            self._ending = asyncio.get_running_loop().create_task(self._end(reason))
        await asyncio.shield(self._ending)

    async def _end(self, reason: str) -> None:
        """The end of its stdin ends the Hub, with all that it started."""
        if self._process.stdin:
            with contextlib.suppress(ConnectionError):
                self._process.stdin.close()
        for halt in (None, self._process.terminate, self._process.kill):
            if halt and self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    halt()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _GRACE_S)
                break
        await asyncio.wait(self._tasks, timeout=_GRACE_S)
        self._receiver.closed(reason)

    async def _read(self) -> None:
        reader = LineReader(self._receiver, OWNER, given_up=self._give_up)
        stdout = self._process.stdout
        while stdout and (piece := await stdout.read(_PIECE)):
            reader.push(piece)
            await reader.settled()
        reader.end()
        await reader.settled()
        if self._over:
            return
        self._over = True
        code = await self._process.wait()
        await asyncio.wait(self._tasks[1:], timeout=_GRACE_S)
        why = f": {self._said[-1]}" if self._said else ""
        self._receiver.closed(f"the Hub's process ended with exit code {code}{why}")

    def _give_up(self, reason: str) -> None:
        self._over = True
        self._ending = self._ending or asyncio.get_running_loop().create_task(self._end(reason))

    async def _errors(self) -> None:
        """What components print, and how they fare, is for whoever runs this program."""
        stderr = self._process.stderr
        rest = b""
        while stderr and (piece := await stderr.read(_PIECE)):
            *lines, rest = (rest + piece).split(b"\n")
            rest = rest[:HIGH_WATER]
            self._tell(lines)
        self._tell([rest] if rest else [])

    def _tell(self, lines: list[bytes]) -> None:
        for line in lines:
            text = to_report(line.decode(errors="replace"))
            self._said = [*self._said[-4:], text]
            print(text, file=sys.stderr, flush=True)
