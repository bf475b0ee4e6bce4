"""Content by reference, on a real Hub; named as packages/bytebot/test/sdk/blobs.test.ts names it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hubs import PROGRAM, TOKEN, listening
from peer import synced

import bytebot as bb

MiB = 1024 * 1024
LIMITS = {"line_bytes": MiB, "values": 10_000, "depth": 64, "blob_bytes": 64 * MiB}
#: Bytes that differ from place to place, so that a part in the wrong one shows.
PICTURE = b"".join(struct.pack("<I", n * 2_654_435_761 % 2**32) for n in range(5 * MiB // 4))


def ref_of(data: bytes) -> str:
    return f"sha256-{hashlib.sha256(data).hexdigest()}"


@asynccontextmanager
async def running(monkeypatch: pytest.MonkeyPatch, *mains: Any) -> AsyncIterator[bb.ByteBot]:
    monkeypatch.setenv("BYTEBOT_BIN", PROGRAM)
    monkeypatch.chdir(Path(__file__).parent)
    hub = bb.ByteBot()
    for main in mains:
        hub.attach(main)
    async with hub:
        yield hub


def satellite(kind: bb.Kind, work: Callable[[bb.Satellite], Awaitable[None]]) -> tuple[Any, asyncio.Future[None]]:
    """One whose `work` runs beside it, and how that ended."""
    outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def main() -> None:
        ctrl = await bb.sync(kind=kind)
        started = asyncio.create_task(ctrl.start())
        try:
            await work(ctrl)
            outcome.set_result(None)
        except BaseException as error:
            outcome.set_exception(error)
        await ctrl.close()
        await started

    return {"main": main, "name": kind, "kind": kind}, outcome


async def in_pieces(data: bytes, size: int = 70_001) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def test_a_ui_uploads_5_mib_and_sends_them_as_its_input_the_app_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """BLB-2, BLB-5."""
    own: dict[str, Any] = {}

    async def work(ui: bb.Satellite) -> None:
        with bb.scoped("u"):
            block = await ui.put_blob(None, in_pieces(PICTURE), mime_type="image/png", name="a.png")
        assert block == {
            "type": "blob",
            "ref": ref_of(PICTURE),
            "mime_type": "image/png",
            "size": 5 * MiB,
            "name": "a.png",
        }
        assert await ui.put_blob("u", PICTURE, mime_type="image/png", name="a.png") == block
        assert (await ui.send_user_event("u", [block])).fate == "started"
        own.update(block)

    async with running(monkeypatch) as hub:
        main, done = satellite("ui", work)
        hub.attach(main)
        await asyncio.wait_for(done, 20)
        reading = await hub.read_blob("u", own["ref"])
        assert (reading.mime_type, reading.size) == ("image/png", 5 * MiB)
        assert b"".join([piece async for piece in reading]) == PICTURE
        mine = await hub.put_blob("u", b"of the app", mime_type="text/plain")
        assert (await hub.get_blob("u", mine["ref"])).data == b"of the app"
        for call in (hub.get_blob("v", mine["ref"]), hub.send("v", [mine])):
            with pytest.raises(bb.BytebotError) as caught:
                await call
            assert caught.value.code == "not_found"
        # One that is not read to its end is given up, and the next has its turn.
        for _ in range(6):
            (await hub.read_blob("u", own["ref"])).close()
        assert (await hub.get_blob("u", own["ref"])).data == PICTURE


async def test_over_http_too_a_blob_comes_and_goes_and_a_refusal_reaches_its_upload(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """BLB-2, BLB-3, BLB-9: whole by a path of its own, in parts where its length is not known."""
    said: dict[str, Any] = {}

    async def main() -> None:
        ui = await bb.sync(kind="ui")
        started = asyncio.create_task(ui.start())
        block = await ui.put_blob("u", PICTURE, mime_type="image/png")
        said["whole"] = (await ui.get_blob("u", block["ref"])).data == PICTURE
        said["parts"] = (await ui.put_blob("u", in_pieces(PICTURE), mime_type="image/png"))["ref"] == block["ref"]

        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield PICTURE[:200_000]

        for name, call in {
            "refused": ui.put_blob("u", endless(), mime_type="no\nname"),
            "gone": ui.get_blob("u", ref_of(b"never")),
            "named": ui.put_blob("u", b"x", mime_type="text/plain\r\nx: y"),
        }.items():
            with pytest.raises(bb.BytebotError) as caught:
                await call
            said[name] = caught.value.code
        await ui.close()
        await started

    async with listening(tmp_path) as url:
        await asyncio.wait_for(bb.dial_http(main, url, token=TOKEN), 30)
    assert said == {
        "whole": True,
        "parts": True,
        "refused": "invalid_event",
        "gone": "not_found",
        "named": "invalid_event",
    }


async def test_a_picture_that_a_tool_returns_reaches_the_infer_as_it_was_and_no_line_carried_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """BLB-1, TOL-10."""
    seen: list[dict[str, Any]] = []

    async def camera() -> None:
        ctrl = await bb.sync(kind="toolsource")

        @ctrl.tool
        def look() -> list[dict[str, Any]]:
            return [
                {"type": "text", "text": "a picture:"},
                {"type": "image", "mime_type": "image/png", "data": PICTURE},
            ]

        await ctrl.start()

    async def model() -> None:
        ctrl = await bb.sync(kind="infer")

        @ctrl.on_infer
        async def infer(request: bb.Event, reply: bb.InferReply) -> str:
            if request.round == 0:
                reply.tool_use("look", {})
                return "tool_use"
            whole = await ctrl.resolve_blobs(None, request.messages)
            seen.extend(each for each in whole[-1]["content"] if each["type"] == "tool_result")
            return "end_turn"

        await ctrl.start()

    async with running(monkeypatch, camera, model) as hub:
        shown = asyncio.create_task(until_done(hub))
        await asyncio.sleep(0)
        await hub.send("u", "what is there?")
        result = next(each for each in await asyncio.wait_for(shown, 20) if each.event_type == "tool_result")
    words, blob = result.content
    assert (words["text"], blob["type"], blob["mime_type"], blob["size"]) == (
        "a picture:",
        "blob",
        "image/png",
        5 * MiB,
    )
    _, image = seen[0]["content"]
    assert (image["type"], image["mime_type"]) == ("image", "image/png")
    assert base64.b64decode(image["data"]) == PICTURE


async def until_done(hub: bb.ByteBot) -> list[bb.Event]:
    seen = []
    async for event in hub.events("u"):
        seen.append(event)
        if event.get("kind") == "loop_done":
            break
    return seen


async def test_a_text_too_large_for_its_line_is_cut_at_a_character_and_kept_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TOL-10."""
    text = "😀" * 400_000

    async def tools() -> None:
        ctrl = await bb.sync(kind="toolsource")
        ctrl.tool(read_only=True, name="long")(lambda: text)
        await ctrl.start()

    async with running(monkeypatch, tools) as hub:
        shown, note, blob = (await hub.call_tool("u", "long", {})).content
        assert set(shown["text"]) == {"😀"}
        assert note["text"] == "[cut: 1600000 bytes in all, limit 131072; the whole is kept as the blob that follows]"
        assert (await hub.get_blob("u", blob["ref"])).data.decode() == text


async def test_a_download_whose_parts_or_bytes_are_not_what_was_asked_for_fails_and_the_hub_need_not_go_on() -> None:
    """BLB-5."""
    async with synced("ui", granted={"limits": LIMITS}) as (peer, ui, _):
        for parts, words in [
            ([{"part": 0, "last": False}, {"part": 2, "last": True}], "part 1 of .* did not come in its turn"),
            ([{"part": 0, "last": True}], "the bytes that came are"),
        ]:
            reading = asyncio.create_task(ui.get_blob("u", ref_of(b"never")))
            asked = await peer.next("bb_blob")
            part = {"event_type": "bb_blob", "in_reply_to": asked.id, "scope": "u", "data": "aGk="}
            peer.send(*({**part, **each} for each in parts))
            with pytest.raises(bb.BytebotError, match=words):
                await reading
        reading = asyncio.create_task(ui.get_blob("u", ref_of(b"never")))
        asked = await peer.next("bb_blob")
        peer.send({**part, "in_reply_to": asked.id, "part": 0, "last": False})
        await asyncio.sleep(0.01)
        reading.cancel()
        given_up = await peer.next("bb_error")
        assert (given_up.in_reply_to, given_up.code) == (asked.id, "cancelled")


async def test_what_waits_for_a_blob_is_told_when_the_connection_closes_and_the_rest_has_its_turn() -> None:
    """CON-7, BLB-4."""
    async with synced("ui", granted={"limits": LIMITS}) as (peer, ui, _):
        uploads = [asyncio.create_task(ui.put_blob("u", in_pieces(PICTURE))) for _ in range(6)]
        first = [await peer.next("bb_blob") for _ in range(4)]
        assert len({each.id for each in first}) <= 4
        peer.send({"event_type": "bb_bye", "reason": "the end"})
        outcomes = await asyncio.gather(*uploads, return_exceptions=True)
        assert [getattr(each, "code", each) for each in outcomes] == ["unavailable"] * 6
    async with synced("ui") as (_, ui, _):
        with pytest.raises(bb.BytebotError, match="this Hub takes no blobs"):
            await ui.put_blob("u", b"x")
    async with synced("ui", granted={"limits": {**LIMITS, "blob_bytes": 10}}) as (_, ui, _):
        with pytest.raises(bb.BytebotError, match="a blob of 11 bytes or more; the limit is 10"):
            await ui.put_blob("u", b"x" * 11)
