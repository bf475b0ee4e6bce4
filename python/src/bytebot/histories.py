"""The conversations of a context that is sent only what is new of them (HIS-1 to HIS-3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Characters of all conversations together.
_MAX_SIZE = 64 * 1024 * 1024

Message = dict[str, Any]


def announces_incremental(capabilities: Mapping[str, Any]) -> bool:
    history = capabilities.get("history")
    return isinstance(history, Mapping) and "incremental" in history


class Histories:
    """Bounded: the least recently rendered conversation goes first. What a handler is given is its own to change."""

    def __init__(self, max_size: int = _MAX_SIZE) -> None:
        self._max_size = max_size
        self._size = 0
        #: Of each scope its messages, each as JSON, and the characters of all of them.
        self._kept: dict[str, tuple[list[str], int]] = {}

    def whole(self, request: Mapping[str, Any]) -> list[Message] | None:
        """All that was said in the request's conversation; None where what this goes on from is not here (any more)."""
        scope = str(request["scope"])
        before, size = self._kept.pop(scope, (None, 0))
        self._size -= size
        if request.get("history_whole") is False:
            if before is None:
                return None
            messages = [json.loads(each) for each in before]
        else:
            messages = []
        joining = request.get("api_shape") != "openai"
        for message in request["history"]:
            _add(messages, message, joining)
        self._keep(scope, messages)
        return messages

    def _keep(self, scope: str, messages: list[Message]) -> None:
        kept = [json.dumps(each, ensure_ascii=False) for each in messages]
        size = sum(map(len, kept))
        self._kept[scope] = kept, size
        self._size += size
        while self._size > self._max_size:
            _, oldest = self._kept.pop(next(iter(self._kept)))
            self._size -= oldest


def _add(messages: list[Message], message: Message, joining: bool) -> None:
    """Neighbours of one role are one message, in the canonical shape."""
    last = messages[-1] if messages else None
    if joining and last and last["role"] == message["role"]:
        messages[-1] = {**last, "content": [*last["content"], *message["content"]]}
    else:
        messages.append(message)
