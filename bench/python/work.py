"""The work itself, the same for every contender, as in ../work.ts; a figure is printed as one line of JSON."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable

SEQUENTIAL, PIPELINED, IN_FLIGHT = 500, 3_000, 100
CHUNKS, TURNS, DELTA = 20_000, 3, "a few tokens ok "


async def calls(call: Callable[[int, str], Awaitable[str]]) -> dict[str, float]:
    """Calls of an echo: one after the other, then 100 in flight; `call` is told in which lane it is."""

    async def one(lane: int, number: int) -> float:
        text = f"call {number}: {'x' * 60}"
        begun = time.perf_counter()
        assert await call(lane, text) == text
        return time.perf_counter() - begun

    for number in range(50):
        await one(0, number)
    times = sorted([await one(0, number) for number in range(SEQUENTIAL)])

    async def lane(number: int) -> None:
        for at in range(PIPELINED // IN_FLIGHT):
            await one(number, at)

    begun = time.perf_counter()
    await asyncio.gather(*map(lane, range(IN_FLIGHT)))
    rate = PIPELINED / (time.perf_counter() - begun)
    return {"p50_us": times[SEQUENTIAL // 2] * 1e6, "p99_us": times[SEQUENTIAL * 99 // 100] * 1e6, "calls_per_s": rate}


class Turns:
    """Chunks as they arrive, from each turn's first to its last; the first turn warms up. Merged ones count once."""

    def __init__(self) -> None:
        self._spent = self._cpu = 0.0
        self._characters = self._chunks = self._arrived = 0
        self._first = self._began = 0.0

    def chunk(self, delta: str) -> bool:
        """True with the last one."""
        if self._characters == 0:
            self._first, self._began = time.perf_counter(), time.process_time()
        self._characters += len(delta)
        self._chunks += 1
        return self._characters == CHUNKS * len(DELTA)

    def ended(self, counts: bool) -> None:
        assert self._characters == CHUNKS * len(DELTA), self._characters
        if counts:
            self._spent += time.perf_counter() - self._first
            self._cpu += time.process_time() - self._began
            self._arrived += self._chunks
        self._characters = self._chunks = 0

    def figure(self) -> dict[str, float]:
        return {"events_per_s": self._arrived / self._spent, "cpu_us": self._cpu * 1e6 / self._arrived}


def report(figure: dict[str, float]) -> None:
    os.write(1, json.dumps(figure).encode() + b"\n")
