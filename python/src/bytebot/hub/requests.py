"""What an app asks its Hub, one request each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ..codec import Event
from ..scope import resolve_scope


class Requests(ABC):
    @abstractmethod
    async def _asked(self, event: Mapping[str, Any], timeout: float = 30.0) -> Event:
        """The answer. Raises what it says of a failure."""

    async def detach(self, component_id: str) -> None:
        """Raises BytebotError `not_found`."""
        await self._asked({"event_type": "bb_detach", "component_id": component_id})

    async def components(self) -> list[dict[str, Any]]:
        answer = await self._asked({"event_type": "bb_components"})
        return [each for each in answer["components"] if each["component_id"] != "app"]

    async def set_policy(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """Replaces the tool policy: the last rule that matches decides."""
        await self._asked({"event_type": "bb_policy", "rules": list(rules)})

    async def conversations(
        self, scope: str | None = None, *, limit: int | None = None, before: str | None = None
    ) -> Event:
        """The `conversations` of a scope, or all, the newest activity first, and whether there are `more`.

        `before`: the `cursor` of the last one of the page before.
        """
        return await self._asked({"event_type": "bb_conversations", **given(scope=scope, limit=limit, before=before)})

    async def rename(self, scope: str | None, title: str, *, principal: str | None = None) -> None:
        """Gives a conversation another title. Raises BytebotError `not_found` where nothing was said in it."""
        event = {"event_type": "bb_rename", "scope": resolve_scope(scope), "title": title}
        await self._asked({**event, **given(principal=principal)})

    async def fork(self, scope: str | None, at: int, to: str) -> None:
        """Begins `to` with all that was said in `scope` up to the end of a turn: `at`, the `seq` of its `loop_done`."""
        await self._asked({"event_type": "bb_fork", "scope": resolve_scope(scope), "at": at, "to": to})

    async def delete(self, scope: str | None, *, principal: str | None = None) -> None:
        """Deletes a conversation and what is below it in its cell: nothing of it is left.

        Raises BytebotError `conflict` while something goes on there.
        """
        event = {"event_type": "bb_delete", "scope": resolve_scope(scope)}
        await self._asked({**event, **given(principal=principal)})

    async def mint_token(self, grant: Mapping[str, Any], *, expires_ms: int | None = None) -> Event:
        """Makes a token that is kept where the app's log is, until it is revoked or over: its `token`, this once, and
        its `token_id`. `grant`: `name`, `kind`, `scopes`, `principal`, … (TOK-1).
        """
        event = {"event_type": "bb_token", "action": "mint", "grant": dict(grant)}
        return await self._asked({**event, **given(expires_ms=expires_ms)})

    async def tokens(self) -> list[dict[str, Any]]:
        """The tokens that were made and are still good."""
        return list((await self._asked({"event_type": "bb_token", "action": "list"})).get("tokens", []))

    async def revoke_token(self, token_id: str) -> None:
        """Takes back a token, and all that was made with it; what came in with them ends.

        Raises BytebotError `not_found`.
        """
        await self._asked({"event_type": "bb_token", "action": "revoke", "token_id": token_id})


def given(**fields: Any) -> dict[str, Any]:
    """Those that were."""
    return {key: value for key, value in fields.items() if value is not None}
