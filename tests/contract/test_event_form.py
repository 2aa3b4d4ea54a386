"""The form of an extra's entries is a promise to older records: what they hold is read, or refused."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest

from bot.domain.entry import (
    FORMS,
    LIFTS,
    OF_EXTRAS,
    Event,
    OwnEvent,
    body_of,
    canonical_body,
    event_of,
    kind_of,
)
from bot.extras.captures.events import KINDS as CAPTURE_KINDS
from bot.extras.marks.marks import KINDS as MARK_KINDS
from bot.extras.waves.events import KINDS as WAVE_KINDS
from tests.record.incidents import CAPTURE_EVENTS, MARK_EVENTS, WAVE_EVENTS

OF_OTHERS = (*WAVE_EVENTS, *CAPTURE_EVENTS, *MARK_EVENTS)
KINDS = {kind: event for kind, event in {**WAVE_KINDS, **CAPTURE_KINDS, **MARK_KINDS}.items() if kind in OF_EXTRAS}

# What every such entry on record has. Whatever comes later has a default, and nothing of this goes away.
ALWAYS_THERE = {
    "WaveProposed": {"selectors", "causes", "members", "controls", "stages", "expires", "policy", "digest"},
    "WaveEndorsed": {"digest", "reason"},
    "WaveApproved": {"digest", "reason"},
    "WaveDeclined": {"reason"},
    "TurnGiven": {"incident", "node"},
    "TurnEnded": {"incident", "node", "outcome"},
    "WaveStopped": {"because"},
    "WaveResumed": {"reason"},
    "WaveEnded": {"how"},
    "CaptureAsked": {"capture", "node", "hours", "segment_minutes"},
    "CaptureApproved": {"capture"},
    "CaptureStarting": {"capture", "boot_id", "machine_id", "host_key", "uptime"},
    "CaptureBegan": {"capture", "since_usec"},
    "SymptomCaught": {"capture", "symptom", "at", "at_mono", "sentence"},
    "CaptureStopping": {"capture"},
    "CaptureEnded": {"capture", "because"},
    "VerdictMarked": {"incident", "cause", "right"},
    "CauseLookedAt": {"cause", "reason"},
    "CauseDoubted": {"cause", "against", "voices"},
}


def test_every_kind_has_what_records_have_of_it_and_asks_for_nothing_else() -> None:
    asked = {
        kind.__name__: {
            field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
        }
        for kind in KINDS.values()
    }
    assert asked == ALWAYS_THERE


@pytest.mark.parametrize("kind", ALWAYS_THERE)
def test_core_steps_over_these_kinds_where_their_extra_is_left_out(kind: str) -> None:
    assert set(OF_EXTRAS) == ALWAYS_THERE.keys()
    assert type(event_of(kind, {"form": 1})) is OwnEvent


def read(kind: str, body: Any) -> Event:
    return event_of(kind, body, FORMS, LIFTS, KINDS)


@pytest.mark.parametrize("event", OF_OTHERS, ids=kind_of)
def test_entry_of_the_first_version_is_read(event: Event) -> None:
    body = json.loads(canonical_body(body_of(event)))
    named = {name for name in body if name.removesuffix("_seconds") in ALWAYS_THERE[kind_of(event)]}
    first = {name: value for name, value in body.items() if name in named | {"form"}}
    assert len(named) == len(ALWAYS_THERE[kind_of(event)])
    assert kind_of(read(kind_of(event), first)) == kind_of(event)
