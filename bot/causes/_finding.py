"""What most causes end with: a finding that its first evidence sums up."""

from __future__ import annotations

from collections.abc import Sequence

from bot.causes._figures import sentence
from bot.domain.action import Step
from bot.domain.verdict import Confidence, Evidence, Finding, Status

_TOLD = 3  # sentences of a summary; people find the others among the evidence


def make_finding(
    cause: str,
    status: Status,
    confidence: Confidence,
    evidence: Sequence[Evidence],
    *,
    suspects: tuple[str, ...] = (),
    remedy: tuple[Step, ...] = (),
    lasting_fix: str = "",
) -> Finding:
    """Return the finding with that evidence and with its first sentences as the summary."""
    summary = sentence(*(seen.says for seen in evidence[:_TOLD]))
    return Finding(cause, status, confidence, summary, tuple(evidence), suspects, remedy, lasting_fix)
