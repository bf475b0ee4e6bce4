"""A connection of the SDK over each transport, with an echo at its far end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from aiohttp import web
from echo import Echo

from bytebot.ambient import RUN
from bytebot.codec import Event
from bytebot.connection import Connection
from bytebot.errors import BytebotError
from bytebot.http.dialing import DialedLink
from bytebot.http.headers import CONNECTION, NDJSON
from bytebot.http.serving import _Server
from bytebot.hub.child import OWNER, HubChild
from bytebot.limits import STANDARD, WIDE
from bytebot.link import Link, Receiver

T = TypeVar("T")
DEADLINE_S = 20.0


class Near(Connection):
    """This side: keeps all it was told, and lets a test wait for more. `stall` makes the far end stop reading."""

    def __init__(self, connect: Callable[[Receiver], Link]) -> None:
        self.events: list[Event] = []
        self.faults: list[BytebotError] = []
        self.closings: list[str] = []
        self._taken: set[int] = set()
        self.stall: Callable[[], Callable[[], None]] = lambda: lambda: None
        self.nothing_left: Callable[[], bool] = lambda: False
        #: What it can be sent: a satellite whole transcripts, an owner more.
        self.takes = WIDE
        super().__init__(connect, acks=False)
        self.limits = STANDARD
        self.start(self.events.append)

    def fault(self, error: BytebotError) -> None:
        self.faults.append(error)
        super().fault(error)

    def closed(self, reason: str) -> None:
        before = self.error
        super().closed(reason)
        if before is None:
            self.closings.append(self.ended.result())

    async def next(self, event_type: str) -> Event:
        """The next event of this type, from the first on; each is handed out once."""

        def find() -> Event | None:
            found = (n for n, each in enumerate(self.events) if each["event_type"] == event_type)
            at = next((n for n in found if n not in self._taken), None)
            if at is None:
                return None
            self._taken.add(at)
            return self.events[at]

        return await until(find, lambda: f"no {event_type} in {[e['event_type'] for e in self.events[-5:]]}")

    async def count(self, events: int) -> list[Event]:
        return await until(
            lambda: self.events if len(self.events) >= events else None,
            lambda: f"{len(self.events)} events, faults {self.faults[-3:]}, closings {self.closings}",
        )

    async def ends(self) -> str:
        return await until(lambda: self.closings[0] if self.closings else None, lambda: "it does not end")

    def write(self, *parts: str | bytes | tuple[str, int]) -> None:
        """Has the far end write these bytes, some of them many times, past its link."""
        raw = []
        for part in parts:
            text, times = part if isinstance(part, tuple) else (part, 1)
            data = text.encode() if isinstance(text, str) else text
            raw.append({"base64": base64.b64encode(data).decode(), "times": times})
        self.send({"event_type": "raw", "parts": raw})


async def until(find: Callable[[], T | None], otherwise: Callable[[], str]) -> T:
    deadline = asyncio.get_running_loop().time() + DEADLINE_S
    while (found := find()) is None:
        assert asyncio.get_running_loop().time() < deadline, otherwise()
        await asyncio.sleep(0.001)
    return found


@asynccontextmanager
async def stdio() -> AsyncIterator[Near]:
    """The far end is a program, as a satellite is."""
    process = await HubChild.start([sys.executable, str(Path(__file__).with_name("echo.py"))], None)
    near = Near(lambda receiver: HubChild(process, receiver))

    def stall() -> Callable[[], None]:
        process.send_signal(signal.SIGSTOP)
        return lambda: process.send_signal(signal.SIGCONT)

    near.stall = stall
    near.takes = OWNER
    near.nothing_left = lambda: process.returncode is not None
    yield near
    await near.close("the test is over")


class _Hub(_Server):
    """Takes whoever dials in: its first event comes alone, and the answer says which connection that is (HTP-2)."""

    async def _inbox(self, request: web.BaseRequest) -> web.StreamResponse:
        if CONNECTION in request.headers:
            return await super()._inbox(request)
        key = secrets.token_urlsafe(16)
        status, body = await self._begin(key).inbox(request.content.iter_any(), None)
        return web.Response(status=status, body=body, headers={CONNECTION: key}, content_type=NDJSON)

    @property
    def served(self) -> int:
        return len(self._links)


class _Dialler(DialedLink):
    """Dials what serves, as a Hub does: it mints the connection (HTP-1)."""

    def __init__(self, session: aiohttp.ClientSession, url: str, receiver: Receiver) -> None:
        super().__init__(session, url, "", False, receiver)
        self._connection = secrets.token_urlsafe(16)
        self._listening = self._start(self._listen())


@asynccontextmanager
async def http(near_serves: bool) -> AsyncIterator[Near]:
    """A server, a network and who dials: one of the two ends is this side, the other one echoes."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[Near | Echo] = loop.create_future()

    async def main() -> None:
        run = RUN.get()
        assert run
        closed: asyncio.Future[None] = loop.create_future()
        its = Near(run.connect) if near_serves else Echo(run.connect, over=closed)
        end.set_result(its)
        await (its.ended if isinstance(its, Near) else closed)

    server = _Hub(main, {}, "", False, None)
    runner = web.ServerRunner(web.Server(server.handle, access_log=None), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with Network(runner.addresses[0][1]) as network, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{network.port}/"
        if near_serves:
            echo = Echo(lambda receiver: _Dialler(session, url, receiver), whole=True)
            async with asyncio.timeout(DEADLINE_S):
                near = await end
        else:
            near = Near(lambda receiver: DialedLink(session, url, "", False, receiver))
            near.send({"event_type": "hello"})
            await near.next("echo")
            near.events.clear()
            near._taken.clear()
            async with asyncio.timeout(DEADLINE_S):
                echo = await end  # type: ignore[assignment]
        assert isinstance(near, Near)
        assert isinstance(echo, Echo)
        near.stall = network.stall
        near.nothing_left = lambda: server.served == 0
        yield near
        network.stall()()
        await near.close("the test is over")
        echo.close()
        await asyncio.wait([echo.closing] if echo.closing else [])
        await server.close()
    await runner.cleanup()


class Network:
    """Between the two, so that it can be stopped."""

    def __init__(self, to: int) -> None:
        self.port = 0
        self._to = to
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def stall(self) -> Callable[[], None]:
        self._open.clear()
        return self._open.set

    async def __aenter__(self) -> Network:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.ensure_future(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while piece := await source.read(64 * 1024):
                await self._open.wait()
                sink.write(piece)
                await sink.drain()
        sink.close()


TRANSPORTS: dict[str, Callable[[], Any]] = {
    "stdio": stdio,
    "HTTP that this side dials": lambda: http(near_serves=False),
    "HTTP that this side serves": lambda: http(near_serves=True),
}
