"""Blobs whole, by a path of their own: `PUT|GET /blob/{ref}?scope=…` (BLB-9)."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp

from ..errors import BytebotError
from ..transfers import BlobReading, must_be
from .headers import refusal

#: Within which a blob has to be there, and silence while one comes; in seconds.
_PUT_S, _IDLE_S = 30.0, 30.0
#: Of an answer that is no blob.
_MAX_ANSWER = 64 * 1024


class BlobPaths:
    def __init__(self, session: aiohttp.ClientSession, url: str, headers: Callable[[], dict[str, str]]) -> None:
        self._session = session
        self._url = url
        #: The connection's own, as they are now.
        self._headers = headers

    async def put(self, scope: str, ref: str, data: bytes | bytearray, mime_type: str) -> Mapping[str, Any]:
        url = self._at(scope, ref)
        headers = {**self._headers(), "Content-Type": mime_type}
        deadline = aiohttp.ClientTimeout(total=_PUT_S)
        try:
            async with self._session.put(
                url, data=io.BytesIO(data), headers=headers, allow_redirects=False, timeout=deadline
            ) as response:
                body = await response.content.read(_MAX_ANSWER)
                if response.status != 200:
                    raise refusal(url, response.status, body)
                kept = json.loads(body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _broke(error) from None
        except ValueError:
            kept = None  # said below
        if not isinstance(kept, dict) or kept.get("ref") != ref:
            raise BytebotError("unavailable", f"{url} answered with no blob block: is the URL right?")
        return kept

    async def get(self, scope: str, ref: str) -> BlobReading:
        url = self._at(scope, ref)
        deadline = aiohttp.ClientTimeout(total=None, sock_read=_IDLE_S, sock_connect=_IDLE_S)
        try:
            response = await self._session.get(url, headers=self._headers(), allow_redirects=False, timeout=deadline)
            if response.status != 200:
                try:
                    raise refusal(url, response.status, await response.content.read(_MAX_ANSWER))
                finally:
                    response.close()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _broke(error) from None
        kind = response.headers.get("Content-Type", "application/octet-stream")
        return BlobReading(kind, response.content_length or 0, _pieces(response, ref), response.close)

    def _at(self, scope: str, ref: str) -> str:
        return f"{self._url}blob/{quote(ref, safe='')}?{urlencode({'scope': scope})}"


async def _pieces(response: aiohttp.ClientResponse, ref: str) -> AsyncIterator[bytes]:
    digest = hashlib.sha256()
    try:
        async for piece in response.content.iter_any():
            digest.update(piece)
            yield piece
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _broke(error) from None
    finally:
        response.close()
    must_be(ref, digest.hexdigest())


def _broke(error: BaseException) -> BytebotError:
    if isinstance(error, asyncio.TimeoutError):
        return BytebotError("timeout", f"the Hub was silent about a blob for {_IDLE_S:.0f} s", retryable=True)
    return BytebotError("unavailable", f"a blob could not be carried: {error or type(error).__name__}", retryable=True)
