"""The dialog that asks for the reason of a decision, and the signed intent that it carries.

It spells out everything that is decided. The intent is signed, so that no state is kept while a dialog is open and
tampering is noticed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bot.chat.blocks import MOST_ENDS, ends_blocks, moved_blocks
from bot.chat.document import (
    Block,
    BlockGroup,
    Dialog,
    Fits,
    Line,
    Lines,
    Listing,
    Paragraph,
    SmallPrint,
    clipped,
    line,
    small,
)
from bot.domain.safe_text import one_line
from bot.view.plan_words import SAID, PlanView, sum_words
from bot.view.words import Bold, Sentence

HOME = "home"  # the action of a home's intent, which names the person's direct message with the bot
MOST_PLANS = 25  # in a dialog; the next dialog decides the rest
LONGEST_REASON = 1000
_TITLES = {
    "approve": ("Approve", "Approve and run"),
    "decline": ("Decline", "Decline"),
    "undo": ("Undo", "Propose undo"),
    "brake on": ("Pull the brake", "Pull it"),
    "brake off": ("Release the brake", "Release it"),
    "answer": ("Answer", "Answer"),
}
_PLACEHOLDERS = {
    "approve": "Required: why this may be done now",
    "decline": "Why this is not done",
}
_FENCED = "; each command has a fence: on another machine, in another boot or too late it does nothing."
_LOGGER = "logger writes into the node's own journal who approved this and why; it is told that on its input."


def reason_dialog(
    action: str,
    plans: Sequence[PlanView],
    words: Sequence[str] = (),
    objection: str = "",
    *,
    titles: tuple[str, str] | None = None,
    read_first: bool = False,
    becomes: Sentence = (),
) -> Dialog:
    """Return the dialog.

    Shape: `plans` are shown whole, with every node and command; what ends comes first, and what each is bound to is in
    the small print below the reason. `words` are paragraphs for a dialog that is about no plan. `objection` is what
    would refuse it now: then nothing can be sent. `titles` are those of the dialog and its button, for an action of an
    extra's; `read_first`: its words are long, as plans are. `becomes` says what becomes of a yes.
    """
    title, submit = titles or _TITLES[action]
    blocks: list[Block] = [Paragraph(f"As it stands, this will be refused: {objection}")] if objection else []
    if len(plans) > 1:
        named = ", ".join(one_line(plan.node, 60) for plan in plans)
        blocks.append(line(Bold(f"{sum_words(plans)}, on {len(plans)} nodes: {named}")))
    blocks += [Paragraph(sentence) for sentence in words if sentence.strip()]
    blocks += [block for plan in plans for block in _plan_blocks(plan)]
    blocks += [line(*becomes)] if becomes else []
    # With the cursor in it the dialog would open at its end, below what has to be read.
    focus = not plans and action != "approve" and not read_first
    asks = "" if objection else _PLACEHOLDERS.get(action, "Why")
    return Dialog(title, submit, tuple(blocks), asks, tuple(_small_print(plans)), focus)


def plans_that_fit(plans: Sequence[PlanView], fits: Fits, words: Sequence[str] = ()) -> list[PlanView]:
    """Return as many of these, from the first, as a dialog shows whole: people approve only what they see.

    Shape: `words` are the paragraphs that may stand beside them.
    """
    found: list[PlanView] = []
    for plan in plans[:MOST_PLANS]:
        dialog = reason_dialog("approve", [*found, plan], words)
        if not fits([*dialog.blocks, *dialog.small]):
            break
        found.append(plan)
    return found


def _plan_blocks(plan: PlanView) -> Iterator[Block]:
    """What ends, why, and what is done."""
    parts: list[Line | Listing] = [
        line(Bold(f"{one_line(plan.node, 80)}: "), clipped(plan.words, 500)),
        *ends_blocks(plan, plan.kept + MOST_ENDS),
    ]
    parts += [line(Bold("Why: "), clipped(plan.why, 2 * SAID))] if plan.why else []
    yield BlockGroup(tuple(parts))
    yield from (Paragraph(sentence, whole=True) for sentence in plan.also)  # a yes covers all of it
    yield from moved_blocks(plan)
    yield Lines(plan.commands)
    yield from small(
        _LOGGER if any(step.journal for step in plan.steps) else "",
        plan.impact,
        *plan.notes,
        f"Lasting fix: {plan.lasting_fix}" if plan.lasting_fix else "",
    )


def _small_print(plans: Sequence[PlanView]) -> Iterator[SmallPrint]:
    """What each plan is bound to, and its digest."""
    bound = (f" Bound to {plan.bound_to}{_FENCED}" if plan.bound_to else "" for plan in plans)
    words = (f"{one_line(plan.node, 80)}: plan {plan.digest}.{binds}" for plan, binds in zip(plans, bound, strict=True))
    yield from small(*words, limit=1500)


LONGEST = 3000  # Slack's limit for a view's private_metadata


@dataclass(frozen=True, slots=True)
class Intent:
    """What a dialog is about.

    Shape: `action` is what its submission asks for. `plans` holds, by incident, the first digits of the digest of the
    plan that the dialog showed. `detail` is what else the action needs (`on` or `off` for the brake, an answer).
    `channel` is where the person is answered, empty for the App Home. `pull` is the number of the pull of the brake
    that would be released; `since` is when the question was asked that is answered, or of the last news that whoever
    resumes a wave was shown, as the record writes instants.
    """

    action: str
    user: str
    plans: Mapping[str, str]
    channel: str = ""
    thread_ts: str = ""
    detail: str = ""
    pull: int = 0
    since: str = ""


class MetadataSigner:
    """Signs and verifies with a key that every program of this app derives, before and after a restart."""

    def __init__(self, secret: str) -> None:
        self._key = hashlib.sha256(b"zombie dialogs\n" + secret.encode()).digest()

    def sign(self, intent: Intent) -> str:
        """Return the intent as a dialog carries it."""
        body = json.dumps(asdict(intent), separators=(",", ":"), sort_keys=True)
        return f"{self._mac(body)}{body}"

    def verify(self, text: str) -> Intent | None:
        """Return the intent; None where it was not signed with this key."""
        mac, body = text[:64], text[64:]
        if len(text) > LONGEST or not hmac.compare_digest(_bytes(mac), _bytes(self._mac(body))):
            return None
        fields: dict[str, Any] = json.loads(body)
        try:
            return Intent(**fields)
        except TypeError:  # an older version of the bot opened this dialog with other fields
            return None

    def _mac(self, body: str) -> str:
        return hmac.new(self._key, _bytes(body), hashlib.sha256).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # JSON may carry half a surrogate pair, which must not fail
