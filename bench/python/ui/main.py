"""Asks for one turn after the other, and times the chunks in its handler."""

import asyncio
import json
import sys
from pathlib import Path

import bytebot as bb

sys.path.insert(0, str(Path(__file__).parents[1]))
from work import TURNS, Turns


async def main(opts: dict[str, str]) -> None:
    ctrl = await bb.sync(kind="ui", input_capable=True, primary=True)
    turns = Turns()
    done = asyncio.Event()

    @ctrl.on_infer_chunk
    async def render(chunk: bb.Event) -> None:
        if chunk.kind == "block_delta":
            turns.chunk(chunk.delta)
        elif chunk.kind == "loop_done":
            done.set()

    started = asyncio.create_task(ctrl.start())
    for number in range(TURNS + 1):
        await ctrl.send_user_event(f"bench/c_{number}", "go")
        await done.wait()
        done.clear()
        turns.ended(number > 0)
    Path(opts["figure"]).write_text(json.dumps(turns.figure()))
    await ctrl.close()
    await started


bb.run(main)
