"""Events as the bodies of entries and back, each in a numbered form.

A field that is added with a default needs no new number: older bodies lack it, older programs pass it over. A change
of meaning does: the event's number in `FORMS` is raised, and `LIFTS` says how a body of the number before becomes one
of the next. A program that meets a number above its own leaves the incident alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args

from bot.domain.errors import UnreadableEntry
from bot.domain.events import IncidentEvent
from bot.domain.house_events import HouseEvent
from bot.domain.json_form import NotOfForm, plain, read

Event: TypeAlias = IncidentEvent | HouseEvent
Body: TypeAlias = dict[str, Any]
Lift: TypeAlias = Callable[[Body], Body]

INCIDENT_EVENTS: tuple[type[Any], ...] = get_args(IncidentEvent)
HOUSE_EVENTS: tuple[type[Any], ...] = get_args(HouseEvent)
EVENTS: Mapping[str, type[Any]] = {event.__name__: event for event in (*INCIDENT_EVENTS, *HOUSE_EVENTS)}

FORMS: Mapping[str, int] = {}  # kinds whose form is no longer 1
LIFTS: Mapping[tuple[str, int], Lift] = {}  # (kind, form) → a body of that form becomes one of the next


def kind_of(event: Event) -> str:
    """Return the event's name, as an entry keeps it."""
    return type(event).__name__


def body_of(event: Event, forms: Mapping[str, int] = FORMS) -> Body:
    """Return the event as a JSON object; `form` in it is the number of its form."""
    return {"form": forms.get(kind_of(event), 1), **plain(event)}


def event_of(
    kind: str, body: Mapping[str, Any], forms: Mapping[str, int] = FORMS, lifts: Mapping[tuple[str, int], Lift] = LIFTS
) -> Event:
    """Return the event that a body stands for.

    Raises: UnreadableEntry when the kind or its form is unknown here, or the body is malformed.
    """
    event, form = EVENTS.get(kind), body.get("form")
    if event is None or not isinstance(form, int) or form > forms.get(kind, 1):
        raise UnreadableEntry(
            f"An entry of kind {kind!r}, form {form!r}, is not known to this program.", "A newer one may have made it."
        )
    lifted = dict(body)
    try:
        for number in range(form, forms.get(kind, 1)):
            lifted = lifts[kind, number](lifted)
        found: Event = read(event, lifted)
    except (NotOfForm, KeyError) as no:
        raise UnreadableEntry(f"An entry of kind {kind} is malformed: {no}.") from no
    return found


def written(body: Mapping[str, Any]) -> str:
    """Return a body as the one text that is kept and hashed: sorted keys, no spaces, nothing but ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
