"""Runs a satellite on a Hub that serves HTTP: it dials in (HTP-2 to HTP-9)."""

from __future__ import annotations

import asyncio
import io
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import aiohttp

from ..ambient import Main, Run, run_main
from ..codec import Event
from ..errors import BytebotError, report
from ..link import HIGH_WATER, LineReader, Receiver
from .blobs import BlobPaths
from .headers import BATCH, CONNECTION, MAX_UNSENT, NDJSON, RECEIVED, RETURN_S, SILENT_S, SSE, is_lines, refusal
from .sse import SseReader
from .token import chosen_token

_FIRST_WAIT_S, _LAST_WAIT_S = 0.1, 10.0
#: A stream that ends sooner was none: its next GET waits, a little longer each time.
_STREAM_S = 1.0
_FLUSH_S = 1.0
#: Of one inbox request, of its answer, and of a refusal.
_MAX_LINES, _MAX_BYTES, _MAX_ANSWERS, _MAX_REFUSAL = 1000, 1024 * 1024, 4 * 1024 * 1024, 64 * 1024


class DialedLink:
    """Events come on `/stream`, and go to `/inbox`."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str, sse: bool, receiver: Receiver) -> None:
        self._loop = asyncio.get_running_loop()
        self._session = session
        self._url = url
        self._auth = {"Authorization": f"Bearer {token}"} if token else {}
        self._accept = SSE if sse else f"{NDJSON}, {SSE};q=0.5"
        self._receiver = receiver
        self._connection: str | None = None
        self._queue: list[bytes] = []
        self._queued = 0
        self._batch = 0
        self._received = 0
        self._over = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._posting: asyncio.Task[Any] | None = None
        self._listening: asyncio.Task[Any] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._reader = LineReader(
            _Counted(self), given_up=lambda reason: self._lose(BytebotError("unavailable", reason))
        )
        #: Blobs go and come by a path of their own.
        self.whole = BlobPaths(session, url, self._ours)
        #: Why the connection ended by itself; None while it is there, or where `close` ended it.
        self.lost: BytebotError | None = None
        self.synced = False
        #: Who said goodbye.
        self.left = self.hub_left = False

    # As a link.

    def send(self, line: bytes, event: Mapping[str, Any]) -> None:
        self.left = self.left or event["event_type"] == "bb_bye"
        if self._over or self._closing:
            return
        self._queue.append(line)
        self._queued += len(line)
        if self._queued > MAX_UNSENT:
            self._lose(BytebotError("overloaded", f"{self._url} takes too little: {MAX_UNSENT} bytes wait"))
        elif not self._posting:
            self._posting = self._start(self._post_all())

    async def drained(self) -> None:
        while self._queued >= HIGH_WATER and not self._over:
            await asyncio.sleep(0.005)

    async def close(self, reason: str) -> None:
        self._closing = self._closing or self._loop.create_task(self._finish(reason))
        await asyncio.shield(self._closing)

    async def _finish(self, reason: str) -> None:
        if self._posting and not self.lost:
            await self._flushed()
        if self._connection:
            try:
                deadline = aiohttp.ClientTimeout(total=_FLUSH_S)
                async with self._session.delete(
                    f"{self._url}stream", headers=self._ours(), allow_redirects=False, timeout=deadline
                ):
                    pass
            except (aiohttp.ClientError, TimeoutError, OSError):
                pass  # it learns so when nobody returns
            else:
                # What it says to the last lines is still heard.
                if self._listening and not self.lost:
                    await asyncio.wait([self._listening], timeout=_FLUSH_S)
        self._over = True
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._receiver.closed(reason)

    async def _flushed(self) -> None:
        """Everything that was queued has left, or the other side takes nothing any more."""
        left = self._queued + 1
        while self._posting and self._queued < left:
            left = self._queued
            await asyncio.wait([self._posting], timeout=_FLUSH_S)

    def _lose(self, error: BytebotError) -> None:
        if self._over or self._closing:
            return
        self.lost = error
        self._closing = self._closing or self._loop.create_task(self._finish(error.message))

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # The inbox.

    async def _post_all(self) -> None:
        try:
            while self._queue and not self._over:
                await self._post()
        except BytebotError as error:
            self._lose(error)
        finally:
            self._posting = None

    async def _post(self) -> None:
        # The first event of a connection goes alone: its answer says which connection that is.
        most = 1 if self._connection is None else _MAX_LINES
        count = size = 0
        while count < min(most, len(self._queue)) and (count == 0 or size + len(self._queue[count]) <= _MAX_BYTES):
            size += len(self._queue[count])
            count += 1
        body = b"".join(self._queue[:count])
        if self._connection is not None:
            self._batch += 1
        number = self._batch
        answers = await self._again("inbox", lambda: self._deliver(body, number))
        del self._queue[:count]
        self._queued -= size
        reader = LineReader(_Answered(self))
        reader.push(answers)
        reader.end()
        await reader.settled()

    async def _deliver(self, body: bytes, number: int) -> bytes:
        first = self._connection is None
        headers = {"Content-Type": NDJSON, **self._auth}
        if not first:
            headers |= {**self._ours(), BATCH: str(number)}
        url = f"{self._url}inbox"
        async with self._session.post(
            url,
            data=io.BytesIO(body),
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=SILENT_S),
        ) as response:
            text = await _read(response, _MAX_ANSWERS)
            if response.status != 200:
                raise refusal(url, response.status, text)
            if first:
                minted = response.headers.get(CONNECTION)
                if not minted:
                    message = f"{url} answered with no header {CONNECTION}: is the URL right?"
                    raise BytebotError("unavailable", message)
                self._connection = minted
                self._listening = self._start(self._listen())
            return text

    def _ours(self) -> dict[str, str]:
        return {**self._auth, CONNECTION: self._connection or "", RECEIVED: str(self._received)}

    # The stream.

    async def _listen(self) -> None:
        """Reads the stream, and comes back to it when it breaks, until the other side does not know the connection."""
        wait = 0.0
        try:
            while not self._over and not self._closing:
                since = self._loop.time()
                response = await self._again("stream", self._get)
                try:
                    await self._read_stream(response)
                except (aiohttp.ClientError, TimeoutError, OSError):
                    self._reader.cut()
                finally:
                    response.close()
                # What came is counted before it is said how much did.
                await self._reader.settled()
                wait = 0.0 if self._loop.time() - since > _STREAM_S else min(2 * wait + 0.01, 2.0)
                await asyncio.sleep(wait * random.uniform(0.8, 1))
        except BytebotError as error:
            self._lose(error)

    async def _get(self) -> aiohttp.ClientResponse:
        url = f"{self._url}stream"
        deadline = aiohttp.ClientTimeout(total=None, sock_read=SILENT_S, sock_connect=RETURN_S)
        headers = {**self._ours(), "Accept": self._accept}
        response = await self._session.get(url, headers=headers, allow_redirects=False, timeout=deadline)
        if response.status != 200:
            try:
                raise refusal(url, response.status, await _read(response, _MAX_REFUSAL))
            finally:
                response.close()
        kind = response.headers.get("Content-Type", "")
        if "Content-Encoding" in response.headers or not (is_lines(kind) or kind.startswith(SSE)):
            response.close()
            message = f"{url} answered with the content type {json.dumps(kind[:100])}: is the URL right?"
            raise BytebotError("unavailable", message)
        return response

    async def _read_stream(self, response: aiohttp.ClientResponse) -> None:
        sse = SseReader(self._reader) if response.headers.get("Content-Type", "").startswith(SSE) else None
        into = sse.push if sse else self._reader.push
        try:
            async for piece in response.content.iter_any():
                into(piece)
                await self._reader.settled()
        except aiohttp.ClientError:
            # What had come before it broke did arrive, and is still there.
            response.content.set_exception(None)  # type: ignore[arg-type]
            into(response.content.read_nowait(-1))
            raise
        # Where its length is not known, a stream that broke looks like one that ended: only whole lines count.
        known = "Transfer-Encoding" in response.headers or "Content-Length" in response.headers
        if known and not sse:
            self._reader.end()
        self._reader.cut()

    async def _again(self, what: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Tries until it works, for as long as the other side keeps the connection; a refusal is final."""
        until: float | None = None
        wait = 0.05
        while True:
            try:
                return await work()
            except BytebotError as error:
                if not error.retryable:
                    raise
                failed, after = error.message, (error.retry_after_ms or 0) / 1000
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                failed, after = str(error) or type(error).__name__, 0.0
            after = max(after, wait)
            until = until or self._loop.time() + RETURN_S
            if self._over or self._loop.time() + after > until:
                message = f"{self._url} could not be reached at its {what} for {RETURN_S:.0f} s: {failed}"
                raise BytebotError("unavailable", message)
            await asyncio.sleep(after)
            wait *= 2

    def take(self, event: Event) -> None:
        if self._over:
            return
        self.synced = self.synced or event["event_type"] == "bb_sync_ack"
        self.hub_left = self.hub_left or (event["event_type"] == "bb_bye" and event.get("observed") is not True)
        self._receiver.event(event)

    def count(self) -> None:
        self._received += 1

    def fault(self, error: BytebotError) -> None:
        self._receiver.fault(error)


class _Counted:
    """What comes on the stream: every event counts, also one that was not understood."""

    def __init__(self, link: DialedLink) -> None:
        self._link = link

    def event(self, event: Event) -> None:
        self._link.count()
        self._link.take(event)

    def fault(self, error: BytebotError) -> None:
        self._link.count()
        self._link.fault(error)

    def closed(self, reason: str) -> None:
        raise AssertionError("a reader does not close")


class _Answered:
    """What the inbox answers; a bare acknowledgement says nothing that anybody waits for."""

    def __init__(self, link: DialedLink) -> None:
        self._link = link

    def event(self, event: Event) -> None:
        if event["event_type"] != "bb_ack" or "in_reply_to" in event:
            self._link.take(event)

    def fault(self, error: BytebotError) -> None:
        self._link.fault(error)

    def closed(self, reason: str) -> None:
        raise AssertionError("a reader does not close")


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    body = b""
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > most:
            raise BytebotError("too_large", f"{response.url} answered with more than {most} bytes")
    return body


async def dial_http(
    main: Main,
    url: str,
    *,
    token: str | None = None,
    send_acks: bool = False,
    opts: Mapping[str, Any] | None = None,
    format: Literal["ndjson", "sse"] = "ndjson",
) -> None:
    """Runs a satellite's `main` on a Hub that serves HTTP, and again whenever the connection is lost for good.

    Returns when `main` has ended the connection itself; raises what it raised while it was connected, and the Hub's
    refusal (`unauthorized`, `forbidden`, …). `token`: default BYTEBOT_TOKEN; `invalid_params` where
    no header carries it.
    """
    secret = chosen_token(token)
    base = url if url.endswith("/") else f"{url}/"
    loop = asyncio.get_running_loop()
    told, wait = "", _FIRST_WAIT_S
    connector = aiohttp.TCPConnector(limit=0)
    # What is encoded is refused, and not unpacked first.
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        while True:
            links: list[DialedLink] = []
            since = loop.time()

            def connect(receiver: Receiver, links: list[DialedLink] = links) -> DialedLink:
                links.append(DialedLink(session, base, secret, format == "sse", receiver))
                return links[0]

            try:
                await run_main(main, Run(connect, dict(opts or {}), "sends" if send_acks else None))
            except Exception as error:
                link = links[0] if links else None
                if link and link.lost and link.lost.code in ("unauthorized", "forbidden"):
                    raise link.lost from None
                if not link or not _was_lost(link) or not _comes_back(link, error):
                    raise
            link = links[0] if links else None
            if not link or not _was_lost(link):
                return
            why = link.lost.message if link.lost else "the Hub said goodbye"
            if why != told:
                report(f"{why}; trying again")
            told = why
            # Two that share a token drive each other out: they shall not do so ten times a second.
            if link.synced and loop.time() - since > _LAST_WAIT_S:
                wait = _FIRST_WAIT_S
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LAST_WAIT_S)


def _was_lost(link: DialedLink) -> bool:
    """Was it the connection that ended, and not `main`? Then the Hub may be there again later."""
    return not link.left and (link.hub_left or link.lost is not None)


def _comes_back(link: DialedLink, error: Exception) -> bool:
    return link.synced or (isinstance(error, BytebotError) and error.code == "unavailable")
