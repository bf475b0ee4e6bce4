"""The web example: a site whose browser tabs each see their own scope; real programs, a real HTTP client."""

from __future__ import annotations

import asyncio
import html
import importlib.util
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest
from hubs import PROGRAM
from starlette.requests import Request

EXAMPLE = Path(__file__).parents[1] / "examples/web"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def program(name: str, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLE / name), env={**os.environ, **env}, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 20)


class Tab:
    """A browser's tab: the same cookies as its other ones, a stream of its own."""

    def __init__(self, browser: aiohttp.ClientSession, url: str, name: str) -> None:
        self._browser = browser
        self._url = url
        self._name = name
        self.shown = ""

    async def open(self) -> asyncio.Task[None]:
        response = await self._browser.get(f"{self._url}/stream", params={"tab": self._name})
        assert response.status == 200
        assert await response.content.readline() == b": open\n"

        async def read() -> None:
            async with response:
                async for line in response.content:
                    if line.startswith(b"data: "):
                        self.shown += json.loads(line[6:])

        return asyncio.create_task(read())

    async def say(self, text: str) -> None:
        async with self._browser.post(f"{self._url}/say", json={"tab": self._name, "text": text}) as answer:
            assert (answer.status, await answer.json()) == (200, {"fate": "started"})

    async def sees(self, text: str) -> None:
        async with asyncio.timeout(20):
            while text not in self.text:
                await asyncio.sleep(0.005)

    @property
    def text(self) -> str:
        return html.unescape(re.sub("<[^>]*>", "", self.shown))


async def status(call: Any) -> int:
    async with call as response:
        return int(response.status)


@pytest.fixture
async def site() -> AsyncIterator[str]:
    pages, wire = str(free_port()), str(free_port())
    env = {"PAGES_PORT": pages, "WIRE_PORT": wire, "BYTEBOT_BIN": PROGRAM, "BYTEBOT_TOKEN": "a-secret-of-the-test"}
    async with program("site.py", **env), program("app.py", **env) as app:
        assert app.stdout
        assert await asyncio.wait_for(app.stdout.readline(), 30) == b"ready\n"
        yield f"http://127.0.0.1:{pages}"


@pytest.fixture
def pages() -> ModuleType:
    """The site's own code, in this program."""
    spec = importlib.util.spec_from_file_location("web_example", EXAMPLE / "site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_whose_a_scope_is_follows_from_the_cookie_and_says_nothing_of_it(pages: ModuleType) -> None:
    def scope(cookie: str, tab: str) -> str:
        return str(pages.scope_of(Request({"type": "http", "headers": [(b"cookie", f"user={cookie}".encode())]}), tab))

    assert scope("s3cret", "one") == scope("s3cret", "one")
    tenants = {scope(cookie, tab).split("/")[0] for cookie in ("s3cret", "other") for tab in ("one", "../two")}
    assert len(tenants) == 2
    # Scopes are in every event, and so in logs and reports: a secret is not.
    assert not any("s3cret" in tenant for tenant in tenants)


async def test_a_tab_that_does_not_read_keeps_a_bounded_number_of_events_and_then_its_stream_ends(
    pages: ModuleType,
) -> None:
    stalled = pages.markup_of("u_1")
    assert await anext(stalled) == ": open\n\n"
    (queue,) = pages.streams["u_1"]
    for number in range(3 * pages.MOST_WAITING):
        pages.push("u_1", f"<p>{number}")
    assert queue.qsize() == pages.MOST_WAITING + 1
    assert not pages.streams.get("u_1")
    seen = [json.loads(line.removeprefix("data: ")) async for line in stalled]
    assert seen == [f"<p>{number}" for number in range(pages.MOST_WAITING)]
    assert pages.streams == {}


async def test_each_tab_sees_its_own_scope_and_no_other(site: str) -> None:
    """SCP-7, SCP-9."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        aiohttp.ClientSession(cookie_jar=jar) as kim,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as lee,
    ):
        # Who has not opened the page has no scope.
        assert await status(kim.get(f"{site}/stream?tab=t")) == 401
        assert await status(kim.post(f"{site}/say", json={"tab": "t", "text": "x"})) == 401
        for browser in (kim, lee):
            async with browser.get(site) as page:
                assert "EventSource" in await page.text()
                assert "HttpOnly" in page.headers["Set-Cookie"]
                assert "SameSite=strict" in page.headers["Set-Cookie"]
        # Two tabs of one browser; and of another browser, one of the same name.
        tabs = {
            who: Tab(browser, site, name)
            for who, browser, name in [
                ("kim 1", kim, "one"),
                ("kim 2", kim, "two"),
                ("lee 1", lee, "one"),
            ]
        }
        readers = [await tab.open() for tab in tabs.values()]
        await asyncio.gather(*(tab.say(f"I am <b>{who}</b> & co") for who, tab in tabs.items()))
        for who, tab in tabs.items():
            await tab.sees(f"You said: I am <b>{who}</b> & co ")
        for who, tab in tabs.items():
            assert tab.text == f"I am <b>{who}</b> & coYou said: I am <b>{who}</b> & co "
            assert "<b>" not in tab.shown
        # A path as the name of a tab is a name, and what is no JSON of this page's is refused.
        await Tab(lee, site, "../one").say("hello")
        assert await status(lee.post(f"{site}/say", data={"tab": "one", "text": "forged"})) == 415
        answer = {"tab": "one", "question": "q_1", "value": "yes"}
        assert await status(lee.post(f"{site}/answer", json=answer)) == 409
        assert "hello" not in tabs["kim 1"].text + tabs["lee 1"].text
        for reader in readers:
            reader.cancel()
        await asyncio.wait(readers)
