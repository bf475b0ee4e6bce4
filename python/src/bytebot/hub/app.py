"""`ByteBot`: the app, which owns a Hub and attaches its components."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ..ambient import Main
from ..codec import Event
from ..connection import Connection
from ..errors import BytebotError, report
from ..link import Link, Receiver
from ..names import new_id
from ..scope import resolve_scope
from ..transfers import Blob, BlobReading, BlobSource
from .child import HubChild
from .inprocess import InProcess
from .program import command
from .requests import Requests, given
from .watcher import Watcher

#: A URL, a path relative to `base`, a package; `{"ref": …, "opts": {…}}`, with `name`, `env`, `scopes`, `token`; or a
#: `main` of this program, alone or as `{"main": …, "name": …}`.
Component = str | Main | Mapping[str, Any]

#: A component may take 30 s until it is ready, and a moment more until it is said.
_READY_S = 40.0


class ByteBot(Requests):
    """An app: a Hub and its satellites. `async with ByteBot(…) as hub:` starts it, and ends it with all it started.

    `file`: the durable log; without it the log is in memory. `base`: the folder relative references start from.
    `input`: what becomes of input while a turn runs, as `[{"scope": "*", "mode": "steer"}]`. `retention`: how much each
    conversation's log keeps, as `{"events": 5000}`. `recovery`: whether turns that were cut off go on ("resume", the
    default) or "end". `budgets`: what tenants may use up, by patterns, as `{"u_*": {"tokens": 100000, "per": "day"}}`;
    `prices`: of a million tokens, by patterns of models. `quotas`: what one tenant may have at once.
    """

    def __init__(
        self,
        ui: Component | None = None,
        context: Component | None = None,
        *,
        base: str | os.PathLike[str] | None = None,
        file: str | os.PathLike[str] | None = None,
        policy: Sequence[Mapping[str, Any]] | None = None,
        input: Sequence[Mapping[str, Any]] | None = None,
        retention: Mapping[str, Any] | None = None,
        recovery: str | None = None,
        budgets: Mapping[str, Mapping[str, Any]] | None = None,
        prices: Mapping[str, Mapping[str, Any]] | None = None,
        quotas: Mapping[str, int] | None = None,
    ) -> None:
        self._base = base
        self._file = file
        self._policy = policy
        self._options = given(
            input=input, retention=retention, recovery=recovery, budgets=budgets, prices=prices, quotas=quotas
        )
        self._waiting: list[dict[str, Any]] = []
        self._connection: Connection | None = None
        self._child: HubChild | None = None
        self._watchers: set[Watcher] = set()
        self._attaching: set[asyncio.Task[str]] = set()
        self._inprocess: set[InProcess] = set()
        self._ended = False
        if context is not None:
            self._waiting.append(_to_attach(context, kind="context", primary=True, controller=True))
        self._ui = None if ui is None else _to_attach(ui, kind="ui", primary=True)

    def attach(
        self,
        component: Component,
        *,
        primary: bool | None = None,
        controller: bool | None = None,
        content: bool = False,
        principal: str | None = None,
        vouches: bool | None = None,
    ) -> asyncio.Task[str] | None:
        """Attaches a component: at `start()`, or at once where the app runs; the task returned then gives its id.

        `content`: a telemetry that is shown what is said, too. `principal`: who its person is. `vouches`: it serves
        several people, and says who they are; default: a ui.
        """
        roles = {"primary": primary, "controller": controller, "content": content or None}
        return self._attach(_to_attach(component, **roles, principal=principal, vouches=vouches))

    def attach_infer(self, component: Component, *, primary: bool | None = None) -> asyncio.Task[str] | None:
        """Attaches an infer; one may be primary, the others are named by the context."""
        return self._attach(_to_attach(component, kind="infer", primary=primary))

    async def start(self) -> None:
        """Starts the Hub and connects everything attached so far, whoever may send last.

        Raises BytebotError: the first failure, after stopping what had started; `unavailable` where Node is missing.
        """
        if self._connection or self._ended:
            raise BytebotError("conflict", "start() was already called")
        try:
            self._connection = await self._open()
            if self._policy is not None:
                await self.set_policy(self._policy)
            waiting, self._waiting = self._waiting, []
            # Those that others need come first; within a kind, in order of attachment.
            order = {"telemetry": 0, "context": 1, "infer": 2}
            for event in sorted(waiting, key=lambda each: order.get(each.get("kind", ""), 3)):
                await self._send_attach(event)
            if self._ui:
                await self._send_attach(self._ui)
        except BaseException:
            await self.stop("it could not start")
            raise

    async def send(
        self,
        scope: str | None,
        content: str | Sequence[Mapping[str, Any]],
        *,
        id: str | None = None,
        mode: str | None = None,
        principal: str | None = None,
    ) -> Event:
        """Sends as a person would; returns when it is durable, with what became of it (`fate`).

        The same `id` again sends nothing twice. `principal`: who says it.
        """
        said: dict[str, Any] = {"text": content} if isinstance(content, str) else {"content": list(content)}
        event = {"event_type": "user_event", "type": "message", "id": id or new_id("a"), "scope": resolve_scope(scope)}
        return await self._asked({**event, **said, **given(mode=mode, principal=principal)})

    async def interrupt(
        self,
        scope: str | None = None,
        reason: str = "the app interrupted",
        *,
        id: str | None = None,
        principal: str | None = None,
    ) -> Event:
        """Stops what runs in the scope and below. The same `id` again stops nothing that began since."""
        event = {"event_type": "interrupt", "id": id or new_id("a"), "scope": resolve_scope(scope), "reason": reason}
        return await self._asked({**event, **given(principal=principal)})

    async def call_tool(
        self,
        scope: str | None,
        name: str,
        input: Mapping[str, Any],
        *,
        id: str | None = None,
        principal: str | None = None,
    ) -> Event:
        """Has the Hub execute a tool, under the same checks and policy as a model's call.

        The same `id` again runs nothing twice, and gets the same result, after a restart too.
        """
        call = {"event_type": "bb_tool_call_request", "scope": resolve_scope(scope), "name": name, "input": dict(input)}
        return await self._running().request({**call, **given(id=id, principal=principal)}, timeout=None)

    async def put_blob(
        self,
        scope: str | None,
        source: BlobSource,
        *,
        mime_type: str | None = None,
        name: str | None = None,
        size: int | None = None,
    ) -> dict[str, Any]:
        """Keeps bytes as a blob of the scope; the block it returns may stand in `send`, whose content is then a list.

        Raises BytebotError `too_large` or `overloaded` where they are too many.
        """
        blobs = self._running().blobs
        return await blobs.put(resolve_scope(scope), source, mime_type=mime_type, name=name, size=size)

    async def get_blob(self, scope: str | None, ref: str) -> Blob:
        """All bytes of a blob of the scope. Raises BytebotError `not_found`."""
        return await (await self.read_blob(scope, ref)).read()

    async def read_blob(self, scope: str | None, ref: str) -> BlobReading:
        """The same as it comes."""
        return await self._running().blobs.read(resolve_scope(scope), ref)

    async def events(self, scope: str = "*", types: Sequence[str] | None = None) -> AsyncIterator[Event]:
        """Everything that happens in a scope and below it ("*": everywhere) from the first step on, once each.

        A reader that is behind gets deltas that follow each other in one block as one, with their number in `merged`.
        Ends with the app. Raises BytebotError `overloaded` where 10,000 events wait for the reader all the same, or for
        this program: after the last before those that it missed.
        """
        watcher = Watcher(scope, frozenset(types) if types is not None else None)
        if self._ended:
            return
        self._watchers.add(watcher)
        try:
            async for event in watcher:
                yield event
        finally:
            self._watchers.discard(watcher)

    async def stop(self, reason: str = "the app stops") -> None:
        """Ends every component and the Hub; nothing is left running."""
        self._ended = True
        if self._connection:
            await self._connection.close(reason)
        elif self._child:
            await self._child.close(reason)
        self._end_watchers()
        if self._attaching:
            await asyncio.wait(self._attaching)
        # The Hub has said goodbye to them by now.
        await asyncio.gather(*(each.close() for each in self._inprocess))

    async def __aenter__(self) -> ByteBot:
        if not self._connection:
            await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _open(self) -> Connection:
        program = [*await command(), "hub", "--stdio"]
        if self._base is not None:
            program += ["--base", os.fspath(self._base)]
        if self._file is not None:
            program += ["--db", os.fspath(self._file)]
        if self._options:
            program += ["--options", json.dumps(self._options)]
        process = await HubChild.start(program, None)

        def connect(receiver: Receiver) -> Link:
            self._child = HubChild(process, receiver)
            return self._child

        connection = Connection(connect, acks=False)
        connection.start(self._hear)
        connection.ended.add_done_callback(lambda _: self._end_watchers())
        sync = {"event_type": "bb_sync", "kind": "ui", "owner": True, "language": "python", "protocol_version": 1}
        await connection.sync(sync)
        return connection

    def _attach(self, event: dict[str, Any]) -> asyncio.Task[str] | None:
        if not self._connection:
            self._waiting.append(event)
            return None
        task = asyncio.get_running_loop().create_task(self._send_attach(event))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)
        return task

    async def _send_attach(self, event: dict[str, Any]) -> str:
        if "main" in event:
            return await self._attach_main(**event)
        return str((await self._asked(event, _READY_S))["component_id"])

    async def _attach_main(self, main: Main, opts: Mapping[str, Any] | None = None, **event: Any) -> str:
        async def ended() -> None:
            self._inprocess.discard(its)
            with contextlib.suppress(BytebotError):
                await self.detach(await attached)

        its = InProcess(main, opts or {}, ended)
        self._inprocess.add(its)
        name = event.pop("name", None) or getattr(main, "__name__", "main")
        named = {"name": event.get("kind", "inproc") if name in ("main", "<lambda>") else name}
        attached = asyncio.ensure_future(self._send_attach({**event, **named, **await its.serve()}))
        try:
            return await attached
        except BytebotError as error:
            await its.close()
            raise (its.failed.result() if its.failed.done() else error) from None

    async def _asked(self, event: Mapping[str, Any], timeout: float = 30.0) -> Event:
        answer = await self._running().request(event, timeout)
        if answer.get("success") is False:
            raise BytebotError.from_wire(answer.get("error"))
        return answer

    def _running(self) -> Connection:
        if self._connection and not self._ended:
            return self._connection
        why = "the app has stopped" if self._ended else "the app has not started: await hub.start() first"
        raise BytebotError("unavailable", why)

    def _end_watchers(self, error: BytebotError | None = None) -> None:
        for watcher in self._watchers:
            watcher.end(error)

    def _hear(self, event: Event) -> None:
        if event.pop("observed", None) is True:
            for watcher in self._watchers:
                watcher.add(event)
        elif event["event_type"] == "bb_error" and "in_reply_to" not in event:
            error = BytebotError.from_wire(event)
            if error.code == "overloaded":
                # Events went by that nobody here will see.
                self._end_watchers(error)
            else:
                report(f"the Hub: {error.message}")


def _to_attach(component: Component, **granted: Any) -> dict[str, Any]:
    if isinstance(component, str):
        described: dict[str, Any] = {"ref": component}
    else:
        described = {"main": component} if callable(component) else dict(component)
    if not isinstance(described.get("ref"), str) and not callable(described.get("main")):
        raise BytebotError(
            "invalid_params", 'a component is a reference, {"ref": …, "opts": {…}}, or a main of this program'
        )
    fields = {**granted, **described}
    return {"event_type": "bb_attach", **given(**fields)}
