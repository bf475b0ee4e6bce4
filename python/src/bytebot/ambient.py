"""How the satellite that runs here reaches its Hub, and its one handshake."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from .connection import Connection
from .errors import BytebotError
from .link import Link, Receiver
from .satellite import Satellite

Kind = Literal["ui", "context", "infer", "toolsource", "telemetry"]
#: A satellite's program: it calls `sync`, registers handlers and awaits `start`. A parameter is given its options.
Main = Callable[[], Awaitable[object]] | Callable[[dict[str, Any]], Awaitable[object]]


@dataclass
class Run:
    """One run of one `main`."""

    connect: Callable[[Receiver], Link]
    #: What the app passed for this component.
    opts: dict[str, Any] = field(default_factory=dict)
    #: Announces acknowledgements: the transport answers each event, or this side sends them itself (HTP-10).
    acks: Literal["answers", "sends"] | None = None
    connection: Connection | None = None


RUN: ContextVar[Run | None] = ContextVar("bytebot.run", default=None)


async def run_main(main: Main, run: Run) -> None:
    """Returns as `main` does, after its connection is closed."""
    token = RUN.set(run)
    reason = "its main returned"
    try:
        await call_main(main, run.opts)
    except BaseException as error:
        reason = f"its main failed: {error}"
        raise
    finally:
        if run.connection:
            await run.connection.close(reason)
        RUN.reset(token)


async def call_main(main: Main, opts: dict[str, Any]) -> None:
    takes = any(each.default is each.empty for each in inspect.signature(main).parameters.values())
    await (main(opts) if takes else main())  # type: ignore[call-arg]


async def sync(
    *,
    kind: Kind,
    input_capable: bool | None = None,
    primary: bool | None = None,
    controller: bool | None = None,
    capabilities: Mapping[str, Any] | None = None,
    name: str | None = None,
    version: str | None = None,
    scopes: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    resume: str | Sequence[str] | None = None,
) -> Satellite:
    """Opens the connection `main` was started with and shakes hands; once in each run.

    A role that is left out is as granted: this narrows the grant, never widens it. `scopes` and `types`: what it
    wants to see. `resume`, for a ui or a telemetry that returns: its last `ctrl.cursor`, or "start" for all there is.

    Raises BytebotError: the Hub's refusal, `timeout` after 10 s, `unavailable` where the connection closed,
    `invalid_params` outside of a run, `conflict` for a second one.
    """
    run = RUN.get()
    if not run:
        message = "sync() has no connection here: call it inside main, and start that with bb.run(main)"
        raise BytebotError("invalid_params", message)
    if run.connection:
        message = "sync() was already called in this run: one satellite a run, keep what the first call returned"
        raise BytebotError("conflict", message)
    run.connection = Connection(run.connect, run.acks == "sends")
    announced = {**(capabilities or {}), **({"acks": {}} if run.acks else {})}
    event: dict[str, Any] = {
        "event_type": "bb_sync",
        "kind": kind,
        "input_capable": input_capable,
        "primary": primary,
        "controller": controller,
        "language": "python",
        "protocol_version": 1,
        "capabilities": announced if announced or capabilities is not None else None,
        "name": name,
        "version": version,
        "scopes": list(scopes) if scopes is not None else None,
        "types": list(types) if types is not None else None,
        "resume": [resume] if isinstance(resume, str) and resume != "start" else resume,
    }
    granted = await run.connection.sync({key: value for key, value in event.items() if value is not None})
    return Satellite(run.connection, granted, capabilities)
