"""Serves a satellite's `/stream` and `/inbox` to the one Hub that dials it (HTP-1, HTP-11, HTP-12)."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import json
import re
import secrets
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from aiohttp import ClientError, web

from ..ambient import Main, Run, run_main
from ..errors import BytebotError, report
from .headers import BATCH, CONNECTION, ID, NDJSON, RECEIVED, SSE, error_line, is_lines, status_of
from .held import Entry
from .served import ServedLink
from .token import chosen_token

_LEAVE_S = 1.0


class Serving:
    """What `bb.serving` gives."""

    def __init__(self, url: str) -> None:
        #: What an app attaches.
        self.url = url


class _Server:
    def __init__(self, main: Main, opts: Mapping[str, Any], token: str, send_acks: bool, hosts: Sequence[str] | None):
        self._main = main
        self._opts = dict(opts)
        self._token = token
        self._acks = send_acks
        self._hosts = hosts
        self.loopback = True
        self._links: dict[str, ServedLink] = {}
        self._current: ServedLink | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            guard(request, self._hosts, self.loopback)
            self._authorize(request)
            match request.method, request.path:
                case "GET", "/stream":
                    return await self._stream(request)
                case "DELETE", "/stream":
                    link = self._find(request)
                    asyncio.get_running_loop().call_soon(link.leave)
                    return web.Response(content_type=NDJSON)
                case "POST", "/inbox":
                    return await self._inbox(request)
                case _, "/stream" | "/inbox":
                    message = f"{request.method} of {request.path}: there is GET and DELETE /stream, and POST /inbox"
                    allow = "POST" if request.path == "/inbox" else "GET, DELETE"
                    error = BytebotError("invalid_params", message)
                    return web.Response(
                        status=405, body=error_line(error), headers={"Allow": allow}, content_type=NDJSON
                    )
            raise BytebotError("not_found", "there is nothing at this path")
        except BytebotError as error:
            return web.Response(status=status_of(error.code), body=error_line(error), content_type=NDJSON)

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=_LEAVE_S * 3)

    def _authorize(self, request: web.BaseRequest) -> None:
        given = re.fullmatch(r"Bearer +([\x21-\x7e]{1,512})", request.headers.get("Authorization", ""), re.IGNORECASE)
        if self._token and not (given and hmac.compare_digest(given[1].encode(), self._token.encode())):
            message = "the token is missing or wrong: send Authorization: Bearer BYTEBOT_TOKEN"
            raise BytebotError("unauthorized", message)

    def _find(self, request: web.BaseRequest) -> ServedLink:
        key = _id_of(request)
        link = self._links.get(key) if key else None
        if not link:
            which = f"the header {CONNECTION} is missing" if key is None else "no such connection"
            raise BytebotError("not_found", f"{which}: begin a new one with bb_sync")
        return link

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        key, received = _id_of(request), _count_of(request, RECEIVED)
        known = key is not None and key in self._links
        link = self._find(request) if known or received else self._begin(key or secrets.token_urlsafe(16))
        stream = object()
        if not link.open(stream, received, request.headers.get("Last-Event-ID")):
            link.end("it misses events that are not kept any more")
            raise BytebotError("not_found", "what it misses is not kept any more: begin a new one with bb_sync")
        sse = SSE in [each.strip() for each in request.headers.get("Accept", "").split(",")]
        headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
        response = web.StreamResponse(headers={**headers, "Content-Type": SSE if sse else NDJSON})
        if not known and key is None:
            response.headers[CONNECTION] = next(each for each, its in self._links.items() if its is link)
        transport = request.transport
        whole = False
        try:
            await response.prepare(request)
            async for entries in link.lines(stream):
                await response.write(_shaped(entries, sse))
            whole = link.has_stream(stream)
            if whole:
                await response.write_eof()
        except (ConnectionError, ClientError):
            pass  # it broke: the peer may return
        finally:
            link.lost(stream)
            if not whole and transport:
                # A stream that only ended would say that all of it had come.
                transport.abort()
        return response

    async def _inbox(self, request: web.BaseRequest) -> web.StreamResponse:
        kind = request.headers.get("Content-Type", "")
        if not is_lines(kind):
            return _form(f"the content type is {json.dumps(kind[:100])}: send application/x-ndjson")
        if "Content-Encoding" in request.headers:
            return _form("a Content-Encoding is not taken: send the lines as they are")
        link = self._find(request)
        received = _count_of(request, RECEIVED)
        if received is not None:
            link.has(received)
        status, body = await link.inbox(request.content.iter_any(), _count_of(request, BATCH))
        return web.Response(status=status, body=body, content_type=NDJSON)

    def _begin(self, key: str) -> ServedLink:
        if self._current and self._current.connected:
            message = "another Hub is connected to this satellite, which serves one"
            raise BytebotError("conflict", message, retryable=True)
        # A Hub that is new here is not the one that was expected back.
        if self._current:
            self._current.end("another Hub has connected")
        link = ServedLink(lambda: self._ended(key, link))
        self._links[key] = self._current = link
        task = asyncio.get_running_loop().create_task(self._run(link))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return link

    def _ended(self, key: str, link: ServedLink) -> None:
        self._links.pop(key, None)
        if self._current is link:
            self._current = None

    async def _run(self, link: ServedLink) -> None:
        try:
            await run_main(self._main, Run(link.connect, self._opts, "answers" if self._acks else None))
        except BytebotError as error:
            report(f"the satellite failed: {error.message}")
        except Exception as error:
            report(f"the satellite failed: {type(error).__name__}: {error}")
        finally:
            await asyncio.shield(link.close("its main ended"))


@contextlib.asynccontextmanager
async def serving(
    main: Main,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    send_acks: bool = False,
    token: str | None = None,
    opts: Mapping[str, Any] | None = None,
    hosts: Sequence[str] | None = None,
) -> AsyncIterator[Serving]:
    """`async with bb.serving(main) as it:` serves at `it.url`; `main` runs anew for each connection of a Hub.

    `token`: default BYTEBOT_TOKEN. `send_acks`: both sides say of each event that has a name that it came (HTP-10).
    `hosts`: names it may be called by; default: on loopback its own, elsewhere any. Raises BytebotError `forbidden`
    where others could reach it without a token, `conflict` where the port is taken.
    """
    secret = chosen_token(token)
    server = _Server(main, opts or {}, secret, send_acks, hosts)
    server.loopback = is_loopback(host)
    if not server.loopback:
        if not secret:
            message = (
                f"{host} is reachable from other machines: set BYTEBOT_TOKEN to a secret of your own "
                f"(such as {secrets.token_urlsafe(24)}) for this satellite and for the app, or serve on 127.0.0.1"
            )
            raise BytebotError("forbidden", message)
        report(f"{host} is reachable from other machines, and HTTP is not encrypted: put TLS in front of it")
    # What is encoded is refused, and not unpacked first.
    its = web.Server(server.handle, handler_cancellation=True, auto_decompress=False, access_log=None)
    runner = web.ServerRunner(its, handle_signals=False, shutdown_timeout=_LEAVE_S)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            if "in use" in str(error):
                message = f"port {port} of {host} is in use: choose another, or 0 for any"
                raise BytebotError("conflict", message) from None
            raise BytebotError("unavailable", f"cannot listen on {host}:{port}: {error}") from None
        bound = runner.addresses[0][1]
        yield Serving(f"http://{f'[{host}]' if ':' in host else host}:{bound}")
        await server.close()
    finally:
        await server.close()
        await runner.cleanup()


async def serve_http(
    main: Main,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    send_acks: bool = False,
    token: str | None = None,
    opts: Mapping[str, Any] | None = None,
    hosts: Sequence[str] | None = None,
) -> None:
    """As `serving`, until it is cancelled; where it listens is said on stderr."""
    async with serving(main, host=host, port=port, send_acks=send_acks, token=token, opts=opts, hosts=hosts) as where:
        print(f"listening on {where.url}", file=sys.stderr, flush=True)
        await asyncio.get_running_loop().create_future()


def is_loopback(host: str) -> bool:
    """Does it mean this machine alone?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guard(request: web.BaseRequest, hosts: Sequence[str] | None, loopback: bool) -> None:
    """Refuses what a web page of another origin, or one that had its name point here, makes a browser send (HTP-12)."""
    host = request.headers.get("Host", "")
    name = re.sub(r":\d+$", "", host).lower()
    if hosts is not None:
        allowed = any(each.lower() in (name, host.lower()) for each in hosts)
    else:
        allowed = not loopback or is_loopback(name.strip("[]"))
    if not allowed:
        raise BytebotError("forbidden", f"the Host {json.dumps(host[:100])} is none of this server's")
    origin = request.headers.get("Origin")
    if origin is not None and re.sub("^https?://", "", origin) != host:
        raise BytebotError("forbidden", f"pages of {json.dumps(origin[:100])} may not use this server")
    if origin is None and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
        raise BytebotError("forbidden", "pages of another site may not use this server")


def _id_of(request: web.BaseRequest) -> str | None:
    key = request.headers.get(CONNECTION)
    if key and not ID.fullmatch(key):
        raise BytebotError("invalid_params", f"the header {CONNECTION} is no 1 to 128 visible ASCII characters")
    return key or None


def _count_of(request: web.BaseRequest, name: str) -> int | None:
    value = request.headers.get(name)
    if not value:
        return None
    if not re.fullmatch("[0-9]{1,15}", value):
        raise BytebotError("invalid_params", f"the header {name} is no whole number")
    return int(value)


def _form(message: str) -> web.Response:
    return web.Response(status=415, body=error_line(BytebotError("invalid_params", message)), content_type=NDJSON)


def _shaped(entries: list[Entry], sse: bool) -> bytes:
    if not sse:
        return b"".join(each.line for each in entries) or b"\n"
    named = (b"" if each.cursor is None else b"id: " + each.cursor.encode() + b"\n" for each in entries)
    return b"".join(name + b"data: " + each.line + b"\n" for name, each in zip(named, entries, strict=True)) or b":\n\n"
