"""A component that runs in the app's own program: the Hub dials it on loopback, by a secret of its own."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..ambient import Main, call_main
from ..errors import BytebotError

#: What a `main` may take to end after its connection has.
_LEAVE_S = 1.0


class InProcess:
    """Its `main` runs once, on the app's event loop; when it has ended, `ended` is called."""

    def __init__(self, main: Main, opts: Mapping[str, Any], ended: Callable[[], Awaitable[None]]) -> None:
        self._main = main
        self._opts = dict(opts)
        self._ended = ended
        self._stack = contextlib.AsyncExitStack()
        self._state = "new"
        #: Why it ended before it was connected.
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self._leaving: asyncio.Task[None] | None = None

    async def serve(self) -> dict[str, Any]:
        """How the Hub reaches it."""
        from ..http.serving import serving  # noqa: PLC0415 (an app of processes alone starts without it)

        token = secrets.token_urlsafe(32)
        where = await self._stack.enter_async_context(serving(self._once, token=token))
        # It is the app's own code: its tools ask no more than those of its children.
        return {"ref": where.url, "token": token, "ask_first": False}

    async def close(self) -> None:
        """Its connection has ended, or will now."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                while self._state == "running":
                    await asyncio.sleep(0.01)
        await self._stack.aclose()

    async def _once(self) -> None:
        if self._state != "new":
            raise BytebotError("unavailable", "it has ended: attach it anew")
        self._state = "running"
        try:
            await call_main(self._main, self._opts)
        except BaseException as error:
            if not self.failed.done():
                self.failed.set_result(error)
            raise
        finally:
            self._state = "ended"
            self._leaving = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        await self._ended()
        await self._stack.aclose()
