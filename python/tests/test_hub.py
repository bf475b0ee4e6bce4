"""An app in Python, which owns a real Hub."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

import bytebot as bb

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "packages/bytebot/bin/bytebot.js"


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTEBOT_BIN", str(PROGRAM))
    monkeypatch.chdir(HERE)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    for kind in ("context", "infer", "toolsource"):
        (tmp_path / kind).mkdir()
        entry = {"type": "stdio", "command": [sys.executable, str(HERE / f"satellites/{kind}.py")]}
        manifest = {"schema_version": 1, "kind": kind, "name": kind, "language": "python", "entry": entry}
        (tmp_path / kind / "bytebot.component.json").write_text(json.dumps(manifest))
    return tmp_path


async def test_a_python_app_runs_turns_interrupts_and_attaches_more_later_and_its_log_passes_verify(app: Path) -> None:
    file = app / "bytebot.db"
    async with bb.ByteBot(context="./context", base=app, file=file) as hub:
        infer = hub.attach_infer("./infer", primary=True)
        assert infer
        assert await infer == "infer"
        later = hub.attach("./toolsource")
        assert later
        assert await later == "toolsource"
        assert [each["component_id"] for each in await hub.components()] == ["context", "infer", "toolsource"]
        seen: list[bb.Event] = []

        async def watch() -> None:
            async for event in hub.events("u_1", types=["user_event", "infer_chunk", "tool_result", "scope_state"]):
                seen.append(event)
                if event.get("kind") == "block_delta" and event.delta.startswith("Once"):
                    await hub.interrupt("u_1")
                if event.get("stop_reason") == "interrupted" and event.event_type == "infer_chunk":
                    return

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        with bb.scoped("u_1"):
            first = await hub.send(None, "hello")
        assert first.fate == "started"
        assert (await hub.send("u_1", "a story", id="m_2")).fate in ("started", "queued")
        # The same id again sends nothing twice.
        assert (await hub.send("u_1", "a story", id="m_2")).seq
        await asyncio.wait_for(watching, 20)
        said = "".join(each.delta for each in seen if each.get("kind") == "block_delta")
        assert said == "helloOnce upon a time"
        assert [each.text for each in seen if each.event_type == "user_event"] == ["hello", "a story"]
        assert all(each.scope == "u_1" and "observed" not in each for each in seen)
        result = await hub.call_tool("u_1", "toolsource/shout", {"text": "hi", "times": 2})
        assert (result.status, result.content) == ("ok", [{"type": "text", "text": "HIHI"}])
        await hub.set_policy([{"tool": "*", "decision": "deny"}])
        assert (await hub.call_tool("u_1", "shout", {"text": "hi"})).status == "denied"
        await hub.detach("toolsource")
        with pytest.raises(bb.BytebotError, match='no component "toolsource" is attached'):
            await hub.detach("toolsource")
    with pytest.raises(bb.BytebotError, match="the app has stopped"):
        await hub.components()
    verify = await asyncio.create_subprocess_exec("node", str(PROGRAM), "log", "verify", "--db", str(file))
    assert await verify.wait() == 0


async def test_what_an_app_asks_again_under_one_id_runs_once() -> None:
    runs = 0

    async def counter() -> None:
        ctrl = await bb.sync(kind="toolsource")

        @ctrl.tool
        async def count() -> int:
            nonlocal runs
            runs += 1
            return runs

        await ctrl.start()

    hub = bb.ByteBot()
    hub.attach(counter)
    async with hub:
        ids = ["k_1", "k_1", None, None]
        results = [await hub.call_tool("u_1", "count", {}, id=each, principal="kim") for each in ids]
        assert [result.content[0]["text"] for result in results] == ["1", "1", "2", "3"]
        with pytest.raises(bb.BytebotError) as caught:
            await hub.call_tool("u_1", "count", {"more": 1}, id="k_1", principal="kim")
        assert caught.value.code == "conflict"
        stopped = [await hub.interrupt("u_1", id="s_1", principal="kim") for _ in range(2)]
        assert stopped[0].get("seq") == stopped[1].get("seq")
        with pytest.raises(bb.BytebotError) as caught:
            await hub.interrupt("u_1", id="s_1", principal="lou")
        assert caught.value.code == "conflict"


async def test_an_app_lists_renames_forks_and_deletes_its_conversations_and_makes_tokens() -> None:
    """CVS-1 to CVS-5, TOK-1."""
    async with bb.ByteBot() as hub:
        ended = asyncio.ensure_future(anext(hub.events("u", types=["infer_chunk"])))
        await asyncio.sleep(0)
        await hub.send("u/a", "hello", principal="kim")
        end = await asyncio.wait_for(ended, 20)
        await hub.rename("u/a", "The first", principal="kim")
        await hub.fork("u/a", end.seq, "u/b")
        listed = await hub.conversations("u", limit=5)
        assert [(each["scope"], each["title"]) for each in listed.conversations] == [
            ("u/b", "hello"),
            ("u/a", "The first"),
        ]
        assert listed.more is False
        await hub.delete("u/a", principal="kim")
        for gone in (hub.delete("u/a"), hub.rename("u/a", "x"), hub.revoke_token("t_0123456789abcdef")):
            with pytest.raises(bb.BytebotError) as caught:
                await gone
            assert caught.value.code == "not_found"
        assert [each["scope"] for each in (await hub.conversations()).conversations] == ["u/b"]
        made = await hub.mint_token({"name": "phone", "scopes": ["u"], "principal": "kim"}, expires_ms=60_000)
        assert len(made.token) > 20
        assert [each["grant"]["principal"] for each in await hub.tokens()] == ["kim"]
        await hub.revoke_token(made.token_id)
        assert await hub.tokens() == []


async def test_an_apps_options_are_its_hubs_and_a_wrong_one_is_named() -> None:
    """QTA-6."""

    async def infer() -> None:
        ctrl = await bb.sync(kind="infer")
        ctrl.on_infer(lambda request, reply: reply.text("hi") or "end_turn")
        await ctrl.start()

    hub = bb.ByteBot(budgets={"u_*": {"turns": 1, "per": "day"}}, quotas={"calls": 2}, recovery="end")
    hub.attach_infer(infer, primary=True)
    ends: list[str] = []
    async with hub:
        for scope in ("u_1", "u_1", "u_2"):
            ended = asyncio.ensure_future(_end(hub, scope))
            await asyncio.sleep(0)
            await hub.send(scope, "hi")
            ends.append(await asyncio.wait_for(ended, 20))
    assert ends == ["end_turn", "budget_exceeded", "end_turn"]
    with pytest.raises(bb.BytebotError, match=r'"quotas": unknown key "call": did you mean "calls"'):
        await bb.ByteBot(quotas={"call": 1}).start()


async def test_an_app_that_cannot_start_says_why_and_leaves_nothing(app: Path) -> None:
    hub = bb.ByteBot(base=app)
    hub.attach("./nothing")
    with pytest.raises(bb.BytebotError, match=r"there is no .*/nothing") as caught:
        await hub.start()
    assert caught.value.code == "not_found"
    with pytest.raises(bb.BytebotError, match="start\\(\\) was already called"):
        await hub.start()
    with pytest.raises(bb.BytebotError, match=r"await hub.start\(\) first"):
        await bb.ByteBot().send("u_1", "hi")
    with pytest.raises(bb.BytebotError, match="a component is a reference"):
        bb.ByteBot().attach({"kind": "ui"})


async def test_a_hub_whose_process_ends_is_told_to_everybody_who_waits(app: Path) -> None:
    async with bb.ByteBot(base=app) as hub:
        events = asyncio.create_task(_all(hub))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(hub.call_tool("u_1", "none", {}))
        assert hub._child
        hub._child._process.kill()
        await asyncio.wait_for(events, 10)
        try:
            await waiting
        except bb.BytebotError as error:
            assert error.code in ("unavailable", "not_found")
        with pytest.raises(bb.BytebotError, match="the Hub's process ended with exit code -9"):
            await hub.components()


async def _end(hub: bb.ByteBot, scope: str) -> str:
    """How the next turn ends."""
    async for event in hub.events(scope, types=["infer_chunk"]):
        if event.kind == "loop_done":
            return str(event.get("error", {}).get("code", event.stop_reason))
    return "never"


async def _all(hub: bb.ByteBot) -> list[bb.Event]:
    return [event async for event in hub.events()]


async def test_where_node_is_missing_or_old_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(bb.BytebotError, match=r"and there is no node: get it from https://nodejs\.org"):
        await bb.ByteBot().start()
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v18.20.1\n")
    old.chmod(0o755)
    with pytest.raises(bb.BytebotError, match=r"runs on Node 22.19 or later, and .*/node is 18.20.1"):
        await bb.ByteBot().start()
    old.write_text("#!/bin/sh\necho v24.0.0\n")
    monkeypatch.delenv("BYTEBOT_BIN")
    with pytest.raises(bb.BytebotError, match="there is no bytebot program: run npm install bytebot"):
        await bb.ByteBot().start()
    monkeypatch.setenv("BYTEBOT_BIN", os.devnull)
    with pytest.raises(bb.BytebotError, match="BYTEBOT_BIN names /dev/null, which is no file"):
        await bb.ByteBot().start()
