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

from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.blocks import MOST_ENDS, bold, bound_words, ends_blocks, line, merged, moved_blocks, text
from bot.surfaces.slack.message import (
    Block,
    footnote,
    footnotes,
    paragraph,
    paragraphs,
    plain_text,
    preformatted,
    titled,
)
from bot.surfaces.view.plan_words import SAID, PlanView, sum_words

REASON = "reason"
HOME = "home"  # the action of the App Home's intent, which names the person's direct message with the bot
MOST_PLANS = 25  # in a dialog; the next dialog decides the rest
MOST_BLOCKS = 90  # of the 100 that a dialog may have
LONGEST_REASON = 1000
PIECE = 2500
_TITLES = {
    "approve": ("Approve", "Approve"),
    "decline": ("Decline", "Decline"),
    "undo": ("Undo", "Propose undo"),
    "brake on": ("Pull the brake", "Pull it"),
    "brake off": ("Release the brake", "Release it"),
    "answer": ("Answer", "Answer"),
}
_PLACEHOLDERS = {
    "approve": "Why this may be done now",
    "decline": "Why this is not done",
}


def reason_dialog(
    action: str,
    sealed: str,
    plans: Sequence[PlanView],
    words: Sequence[str] = (),
    objection: str = "",
    *,
    titles: tuple[str, str] | None = None,
    read_first: bool = False,
) -> dict[str, Any]:
    """Return the view.

    Shape: `plans` are shown whole, with every node and command; what ends comes first, and what each is bound to is in
    the small print below the reason. `words` are paragraphs for a dialog that is about no plan. `objection` is what
    would refuse it now: then nothing can be sent. `titles` are those of the dialog and its button, for an action of an
    extra's; `read_first`: its words are long, as plans are.
    """
    title, submit = titles or _TITLES[action]
    blocks: list[Block] = [paragraph(f"As it stands, this will be refused: {objection}")] if objection else []
    if len(plans) > 1:
        named = ", ".join(one_line(plan.node, 60) for plan in plans)
        blocks.append(titled(f"{sum_words(plans)}, on {len(plans)} nodes: {named}"))
    blocks += [paragraph(sentence) for sentence in words if sentence.strip()]
    for plan in plans:
        blocks += _plan(plan)
    if plans and action == "approve":
        blocks.append(footnote("Each node is read again first; a node that is not as shown here is left alone."))
    if not objection:
        # With the cursor in it the dialog would open at its end, below what has to be read.
        blocks.append(
            _input(_PLACEHOLDERS.get(action, "Why"), focus=not plans and action != "approve" and not read_first)
        )
    blocks += _small_print(plans)
    view = {
        "type": "modal",
        "callback_id": REASON,
        "private_metadata": sealed,
        "title": plain_text(title),
        "close": plain_text("Close" if objection else "Cancel"),
        "blocks": blocks,
    }
    return view if objection else {**view, "submit": plain_text(submit)}


def covered(plans: Sequence[PlanView]) -> list[PlanView]:
    """Return as many of these, from the first, as a dialog shows whole: people approve only what they see."""
    found: list[PlanView] = []
    room = MOST_BLOCKS
    for plan in plans[:MOST_PLANS]:
        room -= len(list(_plan(plan)))
        if room < 0:
            break
        found.append(plan)
    return found


def _plan(plan: PlanView) -> Iterator[Block]:
    """What ends, why, and what is done."""
    pieces = [
        line(bold(f"{one_line(plan.node, 80)}: "), text(plan.words, 500)),
        *ends_blocks(plan, plan.kept + MOST_ENDS),
    ]
    if plan.why and not plan.also and not plan.moves:
        pieces.append(line(bold("Why: "), text(plan.why, SAID)))
    yield merged(pieces)
    for sentence in plan.also:
        yield from paragraphs(sentence)  # a yes covers all of it
    yield from moved_blocks(plan)
    if plan.why and (plan.also or plan.moves):
        yield line(bold("Why: "), text(plan.why, SAID))
    commands = "\n".join(safe(command) for command in plan.commands)
    for at in range(0, len(commands), PIECE):
        yield preformatted(commands[at : at + PIECE].split("\n"))
    yield from footnotes((plan.impact, *plan.notes))


def _small_print(plans: Sequence[PlanView]) -> Iterator[Block]:
    """What each plan is bound to, and its digest, in as few blocks as they fit."""
    words = list[str]()
    for plan in plans:
        bound = f" Bound to {bound_words(plan)}." if plan.bound_to else ""
        lasting = f" Lasting fix: {plan.lasting_fix}" if plan.lasting_fix else ""
        words.append(f"{one_line(plan.node, 80)}: plan {plan.digest}.{bound}{lasting}")
    yield from footnotes(words, 1500)


def _input(placeholder: str, *, focus: bool) -> Block:
    return {
        "type": "input",
        "block_id": REASON,
        "label": plain_text("Reason"),
        "hint": plain_text("It goes on record with your name."),
        "element": {
            "type": "plain_text_input",
            "action_id": REASON,
            "multiline": True,
            "max_length": LONGEST_REASON,
            "placeholder": plain_text(placeholder),
            "focus_on_load": focus,
        },
    }


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
