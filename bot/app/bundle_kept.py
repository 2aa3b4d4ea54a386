"""What a bundle holds beside the case: everything else that entries name by hash, and whether it matches.

That is what a node said just before a reboot, and the sketches of profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bot.domain.bundle import FORM, PLAIN_FORM, Bundle
from bot.domain.case import read_case
from bot.domain.entry import Entry
from bot.domain.errors import CaseError
from bot.domain.events import ProfileTaken, StepStarted
from bot.domain.incident import Incident
from bot.ledger import KeptCases, Ledger


@dataclass(slots=True)
class Verified:
    """The findings about a bundle.

    Shape: `broken` is wrong, `unproven` could not be verified, `holds` is right: all as sentences.
    """

    incident: str = ""
    broken: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)


def kept_of(
    incident: Incident, entries: Sequence[Entry], cases: KeptCases, ledger: Ledger
) -> tuple[tuple[str, ...], int]:
    """Return what is still stored of it, as texts, and the bundle form that can hold it."""
    named = list(_named(entries))
    if not named:
        return (), PLAIN_FORM
    # The sketch of a profile that changed a verdict is stored with the incident whose card asked for it.
    of_card = dict.fromkeys((incident.id, *ledger.together(incident.card)))
    texts = (next(filter(None, (cases.text(name, digest) for name in of_card)), None) for digest, _ in named)
    return tuple(filter(None, texts)), FORM


def look_at_kept(bundle: Bundle, entries: Sequence[Entry], findings: Verified) -> None:
    """Note whether the stored texts match the entries' hashes; a bundle of form 1 has no such texts."""
    if bundle.form == PLAIN_FORM:
        return
    named, seen = dict(_named(entries)), set[str]()
    for text in bundle.kept:
        try:
            digest = read_case(text, "What was kept", bundle.head.node).digest
        except CaseError as no:
            findings.broken.append(f"what was kept: {no.sentence}")
            continue
        if digest not in named:
            findings.broken.append(f"what was kept: no entry names {digest[:16]}…")
        elif digest not in seen:
            findings.holds.append(f"{named[digest]}, of which the entry has the hash: {digest[:16]}…")
        seen.add(digest)
    findings.unproven += [f"{what} is no longer kept" for digest, what in named.items() if digest not in seen]


def _named(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield each hash in the entries beside the case's, and what it stands for."""
    for entry in entries:
        event = entry.event
        if isinstance(event, StepStarted) and event.kept:
            yield event.kept, f"what the node said before step {event.number}"
        elif isinstance(event, ProfileTaken) and event.sketch:
            yield event.sketch, f"the sketch of the profile in entry {entry.seq}"
