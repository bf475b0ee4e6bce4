"""What the seed's web UI names without showing it: a browser, of which this is all that a test needs."""

import asyncio
import html
import json
import sys
import threading
from collections.abc import Awaitable, Callable

import bytebot as bb


class Browser:
    """Lines of JSON: what each scope's tab shows on stdout, what people send on stdin."""

    async def push(self, scope: str, piece: str) -> None:
        print(json.dumps({"scope": scope, "html": piece, "current": bb.current_scope()}), flush=True)

    def open(self, on_send: Callable[[str, str], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()

        def read() -> None:
            for line in sys.stdin:
                asyncio.run_coroutine_threadsafe(_sent(on_send, **json.loads(line)), loop)

        threading.Thread(target=read, daemon=True).start()


async def _sent(on_send: Callable[[str, str], Awaitable[None]], user_id: str, text: str) -> None:
    # A page may be open before its Hub is there: what is sent until then waits for the program's `ctrl`.
    while "ctrl" not in on_send.__globals__:
        await asyncio.sleep(0.01)
    await on_send(user_id, text)


browser = Browser()


def html_for(chunk: bb.Event) -> str:
    match chunk.kind:
        case "block_start":
            return f"<section class={chunk.block_type}>"
        case "block_delta":
            return html.escape(chunk.delta, quote=False)
        case "block_stop":
            return "</section>"
    return f"<hr title={chunk.stop_reason}>"


async def ask_the_human(question: bb.Event) -> None:
    print(json.dumps({"scope": question.scope, "asked": question.prompt}), flush=True)
