"""What an app sees of what happens, where it reads slowly."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hubs import PROGRAM

import bytebot as bb
from bytebot.hub.watcher import Watcher

HERE = Path(__file__).parent
DELTAS = 40_000
PLACE = {"scope": "u_1", "loop_id": "l_1", "round": 0, "attempt": 0}


def delta(n: int, **fields: Any) -> bb.Event:
    chunk = {"event_type": "infer_chunk", "kind": "block_delta", "index": 0, "block_type": "text", "delta": f"{n} "}
    return bb.Event({**chunk, **PLACE, "n": n, **fields})


async def test_an_app_whose_loop_was_blocked_still_sees_all_of_a_fast_turn_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTEBOT_BIN", PROGRAM)
    entry = {"type": "stdio", "command": [sys.executable, str(HERE / "satellites/talks.py")]}
    manifest = {"schema_version": 1, "kind": "infer", "name": "talks", "language": "python", "entry": entry}
    (tmp_path / "bytebot.component.json").write_text(json.dumps(manifest))
    async with bb.ByteBot(base=tmp_path) as hub:
        ready = hub.attach_infer("./", primary=True)
        assert ready
        await ready
        said, n = "", 0
        events = hub.events("u_1", types=["infer_chunk"])
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        await hub.send("u_1", str(DELTAS))
        async with asyncio.timeout(60):
            assert (await first).kind == "block_start"
            while not (tmp_path / "said").exists():
                time.sleep(0.01)  # noqa: ASYNC251 (the loop is blocked: that is the point)
            async for event in events:
                if event.kind == "loop_done":
                    break
                assert event.n - event.get("merged", 1) == n
                n = event.n
                said += event.get("delta", "")
        assert said == "".join(f"{number} " for number in range(DELTAS))


async def test_deltas_that_wait_are_joined_and_all_else_keeps_its_place() -> None:
    watcher = Watcher("*", None)
    sent = [delta(n, scope=f"u_{scope}") for n in range(15_000) for scope in (1, 2)]
    sent[20_000] = bb.Event({"event_type": "user_event", "scope": "u_1", "text": "meanwhile", "seq": 7})
    for event in sent:
        watcher.add(event)
    watcher.end()
    got = [event async for event in watcher]
    assert len(got) < 2000
    for scope in ("u_1", "u_2"):
        own, all_of_it = ([each for each in events if each.scope == scope] for events in (got, sent))
        assert [each.get("delta", each.get("text")) for each in all_of_it] != [each.get("delta") for each in own]
        texts = ("".join(each.get("delta", "<meanwhile>") for each in events) for events in (own, all_of_it))
        assert next(texts) == next(texts)
        assert sum(each.get("merged", 1) for each in own) == 15_000
        assert own[-1].n == 14_999


async def test_what_even_so_is_too_much_is_told_after_what_waited() -> None:
    watcher = Watcher("*", None)
    for seq in range(10_001):
        watcher.add(bb.Event({"event_type": "user_event", "scope": "u_1", "seq": seq}))
    got = []
    with pytest.raises(bb.BytebotError, match="fell 10000 events behind: read faster") as caught:
        async for event in watcher:
            got.append(event.seq)
    assert (caught.value.code, got) == ("overloaded", list(range(10_000)))


#: A Hub that tells its owner that events went by.
OVERLOADED = """#!/bin/sh
read -r sync
echo '{"event_type":"bb_sync_ack","component_id":"app","limits":{"line_bytes":1048576,"values":10000,"depth":64}}'
read -r asked
echo '{"event_type":"user_event","type":"message","scope":"u_1","text":"hi","observed":true}'
echo '{"event_type":"bb_error","code":"forbidden","message":"something else","retryable":false}'
echo '{"event_type":"bb_error","code":"overloaded","message":"10000 events behind","retryable":true}'
echo '{"event_type":"user_event","type":"message","scope":"u_1","text":"later","observed":true}'
cat >/dev/null
"""


async def test_events_that_the_hub_could_not_hand_over_are_missed_by_no_reader_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub_program = tmp_path / "hub"
    hub_program.write_text(OVERLOADED)
    hub_program.chmod(0o755)
    monkeypatch.setenv("BYTEBOT_BIN", str(hub_program))
    async with bb.ByteBot() as hub:
        events = hub.events()
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        asked = asyncio.ensure_future(hub.components())
        async with asyncio.timeout(10):
            assert (await first).text == "hi"
            with pytest.raises(bb.BytebotError, match="10000 events behind"):
                async for event in events:
                    raise AssertionError(event)
        asked.cancel()
    assert "something else" in capsys.readouterr().err
