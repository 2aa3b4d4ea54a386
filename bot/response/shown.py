"""What may be shown of a verdict, wherever it goes: in a channel, in a terminal, to a script."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.json_form import plain, read
from bot.domain.redaction import redacted
from bot.domain.verdict import Verdict


def without_secrets(verdict: Verdict) -> Verdict:
    """Return the verdict as it may be shown: what the record takes out is taken out here too."""
    shown: Verdict = read(Verdict, redacted(plain(verdict)))
    return replace(shown, node=verdict.node, snapshot=verdict.snapshot)  # the name is the inventory's, not the node's
