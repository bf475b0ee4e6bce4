"""Serving and dialling; `test_check` goes through the rules, this through what the author of a satellite meets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

import bytebot as bb

HERE = Path(__file__).parent


async def idle() -> None:
    ctrl = await bb.sync(kind="ui")
    await ctrl.start()


async def test_what_others_reach_needs_a_token_and_the_error_offers_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTP-11."""
    monkeypatch.delenv("BYTEBOT_TOKEN", raising=False)
    with pytest.raises(bb.BytebotError, match=r"set BYTEBOT_TOKEN to a secret .* \(such as \S{32}\)") as caught:
        await bb.serve_http(idle, host="0.0.0.0")
    assert caught.value.code == "forbidden"


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("my secret", r"character 3 is a space \(U\+0020\)"),
        ("secret\n", r"character 7 is the end of a line \(U\+000A\)"),
        ("gehe\u00efm", r"character 5 is U\+00EF"),
        ("x" * 513, "it is 513 characters long"),
    ],
)
async def test_a_token_that_no_header_carries_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, token: str, why: str
) -> None:
    """HTP-11."""
    for run in (bb.serve_http(idle, token=token), bb.dial_http(idle, "http://127.0.0.1:9", token=token)):
        with pytest.raises(bb.BytebotError, match=f"^token is no token: {why}; take 1 to 512") as caught:
            await run
        assert (caught.value.code, token in str(caught.value)) == ("invalid_params", False)
    monkeypatch.setenv("BYTEBOT_TOKEN", token)
    for run in (bb.serve_http(idle), bb.dial_http(idle, "http://127.0.0.1:9")):
        with pytest.raises(bb.BytebotError, match=f"^BYTEBOT_TOKEN is no token: {why}"):
            await run


async def test_a_port_that_is_taken_is_said_and_where_it_serves_ends_with_its_block() -> None:
    async with bb.serving(idle, token="t") as here:
        port = int(here.url.rsplit(":", 1)[1])
        with pytest.raises(bb.BytebotError, match=f"port {port} of 127.0.0.1 is in use: choose another, or 0 for any"):
            await bb.serve_http(idle, port=port, token="t")
        async with aiohttp.ClientSession() as session, session.get(f"{here.url}/stream") as refused:
            assert (refused.status, (await refused.json(content_type=None))["code"]) == (401, "unauthorized")
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"{here.url}/stream")


async def test_a_satellite_that_serves_ends_its_stream_with_goodbye_when_it_is_stopped() -> None:
    async with aiohttp.ClientSession() as session:
        async with bb.serving(idle) as here:
            headers = {"Bytebot-Connection": "k1"}
            stream = await session.get(f"{here.url}/stream", headers=headers)
            assert b'"kind":"ui"' in await stream.content.readline()
        assert b"bb_bye" in await stream.content.read()


async def test_what_answers_and_is_no_hub_is_said() -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(bb.BytebotError, match="answered with no header Bytebot-Connection"):
            await asyncio.wait_for(_dialled_once(port), 20)


async def _dialled_once(port: int) -> None:
    async def once() -> None:
        try:
            await bb.sync(kind="ui")
        except bb.BytebotError as error:
            raise RuntimeError from error

    try:
        await bb.dial_http(once, f"http://127.0.0.1:{port}")
    except RuntimeError as error:
        assert error.__cause__
        raise error.__cause__ from None
