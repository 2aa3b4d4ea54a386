"""What would change a verdict, for scripts and for people."""

from __future__ import annotations

from typing import Any

from bot.extras.cases.what_if import VerdictExplanation
from bot.extras.cases.what_if_words import sentence
from bot.surfaces.document import SCHEMA_VERSION, node_document
from bot.surfaces.verdict_text import headline, wrapped
from bot.view.plan_words import PlanWords
from bot.view.words import mute_words, plain

MOST_TOLD = 20


def why_body(explanation: VerdictExplanation, words: PlanWords) -> dict[str, Any]:
    """Return the document that `zombie why --json` prints."""
    verdict, kept = explanation.verdict, ("status", "cause", "confidence", "plan")
    before, nodes = node_document(verdict), []
    for each in explanation.changes:
        after = node_document(each.verdict)
        says = sentence(each, verdict, words)
        nodes.append({"with": [str(each.change)], **{name: after[name] for name in kept}, "says": says})
    now = {name: before[name] for name in (*kept, "muted") if name in before}
    return {"schema": SCHEMA_VERSION, "node": verdict.node, "verdict": now, "changes": nodes}


def why_text(explanation: VerdictExplanation, words: PlanWords, width: int = 80) -> list[str]:
    """Return the same as lines for a person, limited to the first few changes."""
    verdict, changes = explanation.verdict, explanation.changes
    says = (verdict.summary, *map(plain, mute_words(verdict)))
    lines = [headline(verdict), *(line for each in says for line in wrapped(each, width, "  ")), ""]
    if verdict.snapshot is None:
        return [*lines, "  Nobody could talk to the node, so no reading would change this."]
    if not changes:
        return [*lines, "  No single change of a reading would change this."]
    lines.append("    It would change:")
    for each in changes[:MOST_TOLD]:
        lines += wrapped(sentence(each, verdict, words), width, "    ", "  - ")
    if (more := len(changes) - MOST_TOLD) > 0:
        lines.append(f"  … and {more} more: --json")
    return lines
