"""The token of `Authorization: Bearer …`."""

from __future__ import annotations

import os
import re

from ..errors import BytebotError

_MOST = 512
_NAMES = {" ": "a space", "\t": "a tab", "\n": "the end of a line", "\r": "a carriage return"}


def chosen_token(given: str | None) -> str:
    """The one that was given, else that of the environment; empty: none.

    Raises BytebotError `invalid_params` where no header carries it: it would be taken here and refused there. Says
    where it is wrong, and not what it is.
    """
    name, token = ("BYTEBOT_TOKEN", os.environ.get("BYTEBOT_TOKEN", "")) if given is None else ("token", given)
    wrong = re.search(r"[^\x21-\x7e]", token)
    if not wrong and len(token) <= _MOST:
        return token
    what = f"it is {len(token)} characters long"
    if wrong:
        code = f"U+{ord(wrong[0]):04X}"
        what = f"character {wrong.start() + 1} is {f'{_NAMES[wrong[0]]} ({code})' if wrong[0] in _NAMES else code}"
    fix = f"take 1 to {_MOST} printable ASCII characters without spaces, such as openssl rand -hex 32 prints"
    raise BytebotError("invalid_params", f"{name} is no token: {what}; {fix}")
