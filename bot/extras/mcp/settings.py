"""Who owns the token for MCP, and how much may be asked at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.allowance import Allowance
from bot.domain.safe_text import one_line
from bot.domain.setting import allowance, count, option, parsed, secret

_MEMBER = re.compile(r"[UW][A-Z0-9]+\Z")


def _asker(text: str) -> str:
    if _MEMBER.match(text) is None:
        raise ValueError(f'is "{one_line(text, 40)}"; write the ID of a Slack member: "U012AB3CD"')
    return text


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Who owns the token for MCP, and how much may be asked at once."""

    token: str = secret(
        "A bearer token with which other programs may ask for verdicts by MCP, at /mcp; without it there is no /mcp.",
        "ZOMBIE_MCP_TOKEN",
    )
    asker: str = option(
        parsed(_asker),
        "",
        "Whose token it is: a member whom [policy] askers names; without it the only one there.",
        like='"U012AB3CD"',
    )  # empty: the only member in [policy] askers
    calls: Allowance = option(
        allowance, Allowance(30, timedelta(minutes=1)), "How many calls of all tools together are accepted."
    )
    nodes_per_call: int = option(count(1, 100), 20, "How many nodes one check may name.")
