"""The far end of the behaviour suite: sends every event back inside an `echo`, and does what it is asked to.

As packages/bytebot/test/fixtures/echo.ts. Run as a program it echoes over stdio.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Callable
from typing import Any

from bytebot.codec import Event, encode
from bytebot.errors import BytebotError
from bytebot.limits import WIDE
from bytebot.link import Link, Receiver
from bytebot.stdio import Stdio


class Echo:
    """`raw` writes bytes past the link, in one piece where `whole`; `over` is done when it has closed."""

    def __init__(
        self, connect: Callable[[Receiver], Link], whole: bool = False, over: asyncio.Future[None] | None = None
    ) -> None:
        self.closings = 0
        self.closing: asyncio.Task[None] | None = None
        self._whole = whole
        self._over = over
        self._link = connect(self)

    def event(self, event: Event) -> None:
        match event["event_type"]:
            case "bb_error" | "bb_ack":
                pass
            case "close" | "bb_bye":
                self.close()
            case "raw":
                parts = [base64.b64decode(each["base64"]) * each["times"] for each in event["parts"]]
                for bytes_ in [b"".join(parts)] if self._whole else parts:
                    self._link.send(bytes_, {"event_type": "raw"})
            case "flood":
                for n in range(event["count"]):
                    self._send({"event_type": "flooded", "n": n})
            case "throw":
                raise RuntimeError("the receiver failed")
            case _:
                self._send({"event_type": "echo", "event": event})

    def fault(self, error: BytebotError) -> None:
        self._send({"event_type": "refused", "code": error.code, "text": error.message})

    def closed(self, reason: str) -> None:
        self.closings += 1
        if self._over and not self._over.done():
            self._over.set_result(None)

    def close(self) -> None:
        self.closing = self.closing or asyncio.ensure_future(self._link.close("it was asked to"))

    def _send(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(BytebotError):
            self._link.send(encode(event, WIDE), event)


async def program() -> None:
    """Ends when its input does, or where it closed."""
    stdio = Stdio()
    echo = Echo(stdio.connect)
    while not stdio.gone.done() and not echo.closing:
        await asyncio.sleep(0.005)
    echo.close()
    if echo.closing:
        await echo.closing


if __name__ == "__main__":
    asyncio.run(program())
