"""The seed's web UI satellite on Starlette: each browser tab sees its own scope, and no other.

    pip install -e python starlette uvicorn   # in the checkout's folder, after `npm ci`
    python site.py        # the satellite: pages at http://127.0.0.1:8080, the wire at 8081
    python app.py         # the app, which holds the Hub

Browsers have paths of their own; what a Hub dials is on another port, and asks for BYTEBOT_TOKEN where it is set.
"""

import asyncio
import hashlib
import html
import json
import os
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route

import bytebot as bb

PAGE = Path(__file__).with_name("page.html").read_text()
#: What a tab that does not read may leave waiting; then its stream ends, and the browser comes again.
MOST_WAITING = 1000

ctrl: bb.Satellite | None = None
#: The open streams of each scope. More than one tab may show it.
streams: dict[str, set[asyncio.Queue[str | None]]] = defaultdict(set)


def push(scope: str, markup: str) -> None:
    for queue in [*streams.get(scope, ())]:
        if queue.qsize() < MOST_WAITING:
            queue.put_nowait(markup)
        else:
            # Its last: it comes again, and sees what happens from then on.
            queue.put_nowait(None)
            leave(scope, queue)


def leave(scope: str, queue: asyncio.Queue[str | None]) -> None:
    streams[scope].discard(queue)
    if not streams[scope]:
        del streams[scope]


# The satellite.


async def bb_main() -> None:
    global ctrl  # noqa: PLW0603 (the seed's own: the pages send through it)
    ctrl = await bb.sync(kind="ui", input_capable=True, primary=True)

    @ctrl.on("user_event")
    async def said(event: bb.Event) -> None:
        push(event.scope, f"<p class=user>{html.escape(event.get('text', ''))}</p>")

    @ctrl.on_infer_chunk
    async def render(chunk: bb.Event) -> None:
        push(chunk.scope, html_for(chunk))

    @ctrl.on("input_strict")
    async def ask_the_human(question: bb.Event) -> None:
        buttons = "".join(
            f"<button data-question={html.escape(question.id)}>{html.escape(option)}</button>"
            for option in question.get("options", ["yes", "no"])
        )
        push(question.scope, f"<p class=question>{html.escape(question.prompt)} {buttons}</p>")

    try:
        await ctrl.start()
    finally:
        ctrl = None


def html_for(chunk: bb.Event) -> str:
    match chunk.kind:
        case "block_start" if chunk.block_type == "text":
            return "<p class=model>"
        case "block_delta" if chunk.block_type == "text":
            return html.escape(chunk.delta)
        case "block_stop" if chunk.block["type"] == "text":
            return "</p>"
        case "loop_done":
            return f"<hr title={html.escape(chunk.stop_reason)}>"
    return ""


# The pages.


def scope_of(request: Request, tab: object) -> str:
    """Whose it is says the cookie alone: whatever tab a browser names, it stays within its own tenant.

    Scopes stand in every event, and so in logs: the secret that the cookie is does not.
    """
    user = request.cookies.get("user")
    if not user or not isinstance(tab, str) or not tab:
        raise HTTPException(401, "open the page first")
    return bb.to_scope(hashlib.sha256(user.encode()).hexdigest(), tab)


async def page(request: Request) -> HTMLResponse:
    response = HTMLResponse(PAGE)
    if "user" not in request.cookies:
        response.set_cookie("user", secrets.token_urlsafe(24), httponly=True, samesite="strict", max_age=30 * 86400)
    return response


async def stream(request: Request) -> StreamingResponse:
    scope = scope_of(request, request.query_params.get("tab"))
    return StreamingResponse(markup_of(scope), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


async def markup_of(scope: str) -> AsyncIterator[str]:
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    streams[scope].add(queue)
    try:
        yield ": open\n\n"
        while (markup := await queue.get()) is not None:
            yield f"data: {json.dumps(markup)}\n\n"
    finally:
        leave(scope, queue)


async def said_by(request: Request) -> tuple[bb.Satellite, str, dict[str, Any]]:
    # A form of another site cannot send this type; the cookie is not sent with one either.
    if request.headers.get("content-type") != "application/json":
        raise HTTPException(415, "send application/json")
    body = await request.json()
    if not isinstance(body, dict):
        raise HTTPException(400, "send an object")
    scope = scope_of(request, body.get("tab"))
    if ctrl is None:
        raise HTTPException(503, "the app is not there yet")
    return ctrl, scope, body


async def say(request: Request) -> JSONResponse:
    ui, scope, body = await said_by(request)
    ack = await ui.send_user_event(scope, str(body.get("text")))
    return JSONResponse({"fate": ack.fate})


async def answer(request: Request) -> JSONResponse:
    ui, scope, body = await said_by(request)
    # The Hub knows of which scope the question is, and takes no answer from another.
    await ui.answer({"id": body.get("question"), "scope": scope}, "accepted", body.get("value"))
    return JSONResponse({})


async def refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, bb.BytebotError)
    return JSONResponse(error.to_wire(), status_code=409)


app = Starlette(
    routes=[
        Route("/", page),
        Route("/stream", stream),
        Route("/say", say, methods=["POST"]),
        Route("/answer", answer, methods=["POST"]),
    ],
    exception_handlers={bb.BytebotError: refused},
)


async def main() -> None:
    pages = uvicorn.Config(app, host="127.0.0.1", port=int(os.environ.get("PAGES_PORT", "8080")), log_level="warning")
    async with bb.serving(bb_main, port=int(os.environ.get("WIRE_PORT", "8081")), send_acks=True):
        await uvicorn.Server(pages).serve()


if __name__ == "__main__":
    asyncio.run(main())
