"""The behaviour of a satellite; named as packages/bytebot/test/sdk names it."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from peer import Peer, synced

import bytebot as bb
from bytebot.ambient import Run, run_main

MARK = {"event_type": "vendor.example/mark"}


def code(expected: str) -> Any:
    return pytest.raises(bb.BytebotError, check=lambda error: error.code == expected)


async def test_bb_sync_carries_what_was_given_and_nothing_undefined_and_the_grant_comes_back() -> None:
    peer = Peer()

    async def main() -> None:
        ctrl = await bb.sync(kind="ui", input_capable=True, name="web", scopes=["u_1"], resume="start")
        assert ctrl.component_id == "c_1"
        assert ctrl.granted.scopes == ["u_1"]

    running = asyncio.create_task(run_main(main, Run(peer.connect)))
    assert await peer.accept("ui", scopes=["u_1"]) == {
        "event_type": "bb_sync",
        "kind": "ui",
        "input_capable": True,
        "language": "python",
        "protocol_version": 1,
        "name": "web",
        "scopes": ["u_1"],
        "resume": "start",
    }
    await running
    assert (await peer.next("bb_bye")).reason == "its main returned"
    assert peer.faults == []


async def test_a_refused_sync_throws_the_hubs_error_and_closes_the_connection() -> None:
    peer = Peer()

    async def main() -> None:
        await bb.sync(kind="ui")

    running = asyncio.create_task(run_main(main, Run(peer.connect)))
    await peer.next("bb_sync")
    peer.send({"event_type": "bb_error", "code": "unauthorized", "message": "no such token", "retryable": False})
    with code("unauthorized"):
        await running
    assert peer.over


async def test_sync_outside_of_a_run_and_twice_in_one_says_what_to_do() -> None:
    with pytest.raises(bb.BytebotError, match=r"call it inside main, and start that with bb.run\(main\)"):
        await bb.sync(kind="ui")
    peer = Peer()

    async def main() -> None:
        await bb.sync(kind="ui")
        await bb.sync(kind="ui")

    running = asyncio.create_task(run_main(main, Run(peer.connect)))
    await peer.accept("ui")
    with pytest.raises(bb.BytebotError, match="one satellite a run, keep what the first call returned"):
        await running


async def test_a_ping_is_answered_and_a_goodbye_from_the_hub_closes_with_its_reason() -> None:
    """CON-6."""
    async with synced("ui") as (peer, ctrl, reason):
        peer.send({"event_type": "bb_ping", "id": "p1"})
        assert (await peer.next("bb_pong")).in_reply_to == "p1"
        peer.send({"event_type": "bb_bye", "reason": "slow_consumer"})
        assert await reason == "slow_consumer"
        with code("unavailable"):
            await ctrl.send_user_event("u_1", "late")


async def test_close_says_goodbye_and_settles_everything_that_waits() -> None:
    async with synced("ui") as (peer, ctrl, reason):
        waiting = asyncio.create_task(ctrl.send_user_event("u_1", "hi"))
        await peer.next("user_event")
        await ctrl.close("done here")
        with code("unavailable"):
            await waiting
        assert (await peer.next("bb_bye")).reason == "done here"
        assert await reason == "done here"


async def test_handlers_run_in_the_scope_of_their_event_whatever_scope_it_was_sent_from() -> None:
    seen: list[str | None] = []
    last = asyncio.Event()

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.on("scope_state")
        async def first(event: bb.Event) -> None:
            await asyncio.sleep(0)
            # A task started inside keeps it.
            await asyncio.create_task(later())

        async def later() -> None:
            seen.append(bb.CURRENT_SCOPE.get())

        @ctrl.on("scope_state")
        def in_thread(event: bb.Event) -> None:
            seen.append(bb.current_scope())

        @ctrl.on("vendor.example/mark")
        async def mark(event: bb.Event) -> None:
            while len(seen) < 4:
                await asyncio.sleep(0.001)
            seen.append(bb.current_scope())
            last.set()

    async with synced("ui", setup) as (peer, _, _):
        with bb.scoped("u_9"):
            for scope in ("u_1", "u_2/c"):
                peer.send({"event_type": "scope_state", "scope": scope, "state": "idle"})
            peer.send(MARK)
        await asyncio.wait_for(last.wait(), 10)
    assert sorted(map(str, seen)) == ["None", "u_1", "u_1", "u_2/c", "u_2/c"]


async def test_null_is_the_current_scope_a_user_id_cannot_become_a_path_and_none_is_an_error_with_the_fix() -> None:
    async with synced("ui") as (peer, ctrl, _):
        async with bb.scoped("auth0|7", "x/y"):
            sent = asyncio.create_task(ctrl.send_user_event(None, "hi", id="m1", mode="steer"))
        assert await peer.next("user_event") == {
            "event_type": "user_event",
            "type": "message",
            "id": "m1",
            "scope": "auth0%7C7/x%2Fy",
            "text": "hi",
            "mode": "steer",
        }
        peer.send({"event_type": "bb_ack", "in_reply_to": "m1", "seq": 4, "fate": "steering"})
        assert (await sent).fate == "steering"
        with pytest.raises(bb.BytebotError, match=r"pass one, or call this inside `with scoped\(user_id\):`"):
            await ctrl.send_user_event(None, "hi")
        with pytest.raises(bb.BytebotError, match="make one of any text with scoped"):
            await ctrl.interrupt("not a scope")


async def test_interrupts_and_answers_are_acknowledged_and_a_refused_answer_says_why() -> None:
    async with synced("ui") as (peer, ctrl, _):
        interrupted = asyncio.create_task(ctrl.interrupt("u_1", "esc"))
        interrupt = await peer.next("interrupt")
        assert interrupt.reason == "esc"
        peer.send({"event_type": "bb_ack", "in_reply_to": interrupt.id})
        await interrupted
        answered = asyncio.create_task(ctrl.answer({"id": "q1", "scope": "u_1"}, "accepted", {"n": -1}))
        reply = await peer.next("input_reply")
        assert (reply.in_reply_to, reply.outcome, reply.value) == ("q1", "accepted", {"n": -1})
        error = {"code": "invalid_params", "message": "n is negative", "retryable": False}
        peer.send({"event_type": "bb_error", "in_reply_to": reply.id, **error})
        with pytest.raises(bb.BytebotError, match="n is negative"):
            await answered


async def test_a_satellite_that_serves_several_people_says_whose_each_event_is() -> None:
    async with synced("ui") as (peer, ctrl, _):
        for done, type in (
            (ctrl.send_user_event("u_1", "hi", principal="kim"), "user_event"),
            (ctrl.interrupt("u_1", principal="kim"), "interrupt"),
            (
                ctrl.answer({"id": "q1", "scope": "u_1"}, "accepted", "once", principal="kim", expires_at=5),
                "input_reply",
            ),
        ):
            waiting = asyncio.create_task(done)
            event = await peer.next(type)
            assert (event.principal, event.get("expires_at")) == ("kim", 5 if type == "input_reply" else None)
            peer.send({"event_type": "bb_ack", "in_reply_to": event.id})
            await waiting


async def test_a_request_is_answered_by_its_id_past_its_acknowledgement_or_fails_by_deadline_or_abort() -> None:
    async with synced("ui") as (peer, ctrl, _):
        one = asyncio.create_task(ctrl.request({"event_type": "bb_components", "id": "r1"}))
        await peer.next("bb_components")
        with code("conflict"):
            await ctrl.request({"event_type": "bb_components", "id": "r1"})
        result = {"event_type": "bb_components_result", "in_reply_to": "r1", "success": False}
        peer.send({"event_type": "bb_ack", "in_reply_to": "r1"}, result)
        assert await one == result
        with code("timeout"):
            await ctrl.request({"event_type": "bb_components"}, timeout=0.005)
        # Cancellation is asyncio's.
        stopped = asyncio.create_task(ctrl.request({"event_type": "bb_components"}))
        await peer.next("bb_components")
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped


async def test_a_handler_that_throws_is_reported_once_and_the_others_and_the_next_events_still_come(
    capsys: pytest.CaptureFixture[str],
) -> None:
    heard: list[str] = []
    last = asyncio.Event()

    def setup(ctrl: bb.Satellite) -> None:
        def sync(event: bb.Event) -> None:
            raise RuntimeError("sync")

        async def later(event: bb.Event) -> None:
            raise RuntimeError("async")

        async def fine(event: bb.Event) -> None:
            heard.append(event.state)

        async def every(event: bb.Event) -> None:
            if event.event_type == MARK["event_type"]:
                last.set()

        for handler in (sync, later, fine):
            ctrl.on("scope_state", handler)
        ctrl.on("*", every)

    async with synced("ui", setup) as (peer, _, _):
        peer.send({"event_type": "scope_state", "scope": "u_1", "state": "running"}, MARK)
        await asyncio.wait_for(last.wait(), 10)
        said = ""
        while "RuntimeError: sync" not in said:
            await asyncio.sleep(0.001)
            said += capsys.readouterr().err
    assert heard == ["running"]
    assert said.count("a handler of scope_state failed") == 2
    assert "RuntimeError: async" in said


async def test_a_removed_handler_hears_no_more_and_the_same_function_registered_twice_is_heard_once() -> None:
    heard = 0
    last = asyncio.Event()

    def setup(ctrl: bb.Satellite) -> None:
        async def count(_: bb.Event) -> None:
            nonlocal heard
            heard += 1

        async def mark(_: bb.Event) -> None:
            last.set()

        remove = ctrl.on("infer_chunk", count)
        ctrl.on_infer_chunk(count)
        remove()
        ctrl.on("vendor.example/mark", mark)

    async with synced("ui", setup) as (peer, _, _):
        chunk = {"event_type": "infer_chunk", "kind": "block_delta", "index": 0, "block_type": "text", "delta": "a"}
        peer.send(chunk, MARK)
        await asyncio.wait_for(last.wait(), 10)
    assert heard == 1


async def test_a_sync_handler_gets_the_events_of_a_scope_one_after_the_other_in_a_thread() -> None:
    got: dict[str, list[int]] = {"u_1": [], "u_2": []}
    threads: set[int] = set()
    done = threading.Event()

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.on("vendor.example/count")
        def count(event: bb.Event) -> None:
            threads.add(threading.get_ident())
            got[event.scope].append(event.n)
            if event.n % 10 == 0:
                time.sleep(0.001)
            if all(len(each) == 200 for each in got.values()):
                done.set()

    async with synced("ui", setup) as (peer, _, _):
        for n in range(200):
            peer.send(*({"event_type": "vendor.example/count", "scope": scope, "n": n} for scope in got))
        assert await asyncio.to_thread(done.wait, 10)
    assert got == {"u_1": list(range(200)), "u_2": list(range(200))}
    assert threading.get_ident() not in threads


async def test_a_sync_handler_of_any_kind_waits_for_what_is_async_with_bb_wait() -> None:
    done: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
    fates: list[str] = []

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.on("scope_state")
        def in_thread(event: bb.Event) -> None:
            fates.append(bb.wait(ctrl.send_user_event(None, "hi")).fate)

        @ctrl.on("vendor.example/mark")
        def of_no_scope(event: bb.Event) -> None:
            fates.append(bb.wait(ctrl.send_user_event("u_3", "hi")).fate)
            done.get_loop().call_soon_threadsafe(done.set_result, fates)

    async with synced("ui", setup) as (peer, _, _):
        states = [{"event_type": "scope_state", "scope": scope, "state": "idle"} for scope in ("u_1", "u_1", "u_2")]
        for event in (*states, MARK):
            peer.send(event)
            said = await peer.next("user_event")
            assert said.scope == event.get("scope", "u_3")
            peer.send({"event_type": "bb_ack", "in_reply_to": said.id, "fate": "started"})
        assert await asyncio.wait_for(done, 10) == ["started"] * 4
    with pytest.raises(RuntimeError, match="elsewhere use await"):
        bb.wait(asyncio.sleep(0))


async def test_an_error_of_the_hubs_that_answers_nothing_is_reported_or_goes_to_its_handler(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = {"event_type": "bb_error", "code": "forbidden", "message": "not for a ui", "retryable": False}
    async with synced("ui") as (peer, _, _):
        peer.send(error, {"event_type": "bb_ping"})
        await peer.next("bb_pong")
    assert capsys.readouterr().err == "bytebot: the Hub answered forbidden: not for a ui\n"


async def test_a_line_that_is_no_event_is_answered_with_its_error_and_the_link_goes_on() -> None:
    async with synced("ui") as (peer, _, _):
        peer.send_bytes(b'{"event_type":"a/b","__proto__":1}\nnoise\n{"event_type":"bb_ping","id":"p2"}\n')
        assert (await peer.next("bb_error")).code == "invalid_event"
        assert (await peer.next("bb_error")).code == "parse_error"
        assert (await peer.next("bb_pong")).in_reply_to == "p2"
