"""A client of PagerDuty's REST API v2 and Events API v2, with the calls that the bot needs.

Defined in https://developer.pagerduty.com/api-reference and https://developer.pagerduty.com/docs/events-api-v2
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from bot.domain.errors import PagerDutyRefused, PagerDutyUnavailable
from bot.domain.pagerduty import Note, OutgoingAlert, Page, Subscription
from bot.sources.pagerduty_http import Access, PagerDutyHttp, Patience

PAGE_ROWS = 100
MOST_ROWS = 10_000  # PagerDuty returns no more
SUMMARY = 1024  # characters, by the Events API
KEY = 255
WITH_RAISER = {"include[]": "first_trigger_log_entries"}  # otherwise the answer does not say who raised a page


class PagerDutyClient:
    """Reads and writes pages and subscriptions, as `PageReader` and `Subscriptions` promise; never a page's status.

    It never makes up ids: each comes from PagerDuty. Raises: every method raises PagerDutyUnavailable or
    PagerDutyRefused.
    """

    def __init__(self, http: PagerDutyHttp) -> None:
        self._http = http

    @classmethod
    def of(cls, access: Access, patience: Patience | None = None) -> PagerDutyClient:
        """Return a client with its own connection."""
        return cls(PagerDutyHttp(access, patience or Patience()))

    async def close(self) -> None:
        """Close the connection."""
        await self._http.close()

    # --- pages

    async def page(self, page_id: str) -> Page:
        """Return a page as it stands."""
        return _page(
            _object(await self._http.ask("GET", f"/incidents/{_quoted_for_path(page_id)}", WITH_RAISER), "incident")
        )

    async def pages_since(self, since: datetime, *, only_open: bool = True) -> tuple[Page, ...]:
        """Return the pages created since then, oldest first."""
        query: dict[str, Any] = {"since": since.astimezone(UTC).isoformat(), "sort_by": "created_at:asc", **WITH_RAISER}
        if only_open:
            query["statuses[]"] = ["triggered", "acknowledged"]
        return tuple([_page(page) async for page in self._all_rows("/incidents", "incidents", query)])

    async def alerts_of(self, page_id: str) -> tuple[Mapping[str, Any], ...]:
        """Return every alert of a page, oldest first; see `PageReader.alerts_of`."""
        path = f"/incidents/{_quoted_for_path(page_id)}/alerts"
        alerts = [dict(alert) async for alert in self._all_rows(path, "alerts", {"sort_by": "created_at:asc"})]
        for alert in alerts:
            entry = alert.get("first_trigger_log_entry")
            if _says_nothing(alert) and isinstance(entry, Mapping) and isinstance(entry.get("id"), str):
                with contextlib.suppress(PagerDutyRefused):  # without it the alert still has its summary
                    alert["log_entry"] = await self._log_entry(entry["id"])
        return tuple(alerts)

    async def _log_entry(self, entry_id: str) -> Mapping[str, Any]:
        path = f"/log_entries/{_quoted_for_path(entry_id)}"
        return _object(await self._http.ask("GET", path, {"include[]": "channels"}), "log_entry")

    async def custom_fields(self, page_id: str) -> Mapping[str, Any]:
        """Return a page's custom fields by name."""
        answer = await self._http.ask("GET", f"/incidents/{_quoted_for_path(page_id)}/custom_fields/values")
        rows = _rows(answer, "custom_fields")
        return {row["name"]: row.get("value") for row in rows if isinstance(row.get("name"), str)}

    async def email_of(self, user_id: str) -> str:
        """Return a person's e-mail address."""
        return str(_object(await self._http.ask("GET", f"/users/{_quoted_for_path(user_id)}"), "user").get("email", ""))

    # --- what is written

    async def notes(self, page_id: str) -> tuple[Note, ...]:
        """Return a page's notes, oldest first."""
        rows = _rows(await self._http.ask("GET", f"/incidents/{_quoted_for_path(page_id)}/notes"), "notes")
        oldest_first = rows[::-1]  # as PagerDuty lists them, also within the same second
        oldest_first.sort(key=lambda note: _instant(note.get("created_at")) or datetime.max.replace(tzinfo=UTC))
        return tuple(_note(note) for note in oldest_first)

    async def add_note(self, page_id: str, content: str) -> Note:
        """Add a note. If the answer is lost, the note may exist or not: look for it before trying again."""
        body = {"note": {"content": content}}
        return _note(
            _object(await self._http.ask("POST", f"/incidents/{_quoted_for_path(page_id)}/notes", body=body), "note")
        )

    async def edit_note(self, page_id: str, note_id: str, content: str) -> None:
        """Replace a note's text."""
        path = f"/incidents/{_quoted_for_path(page_id)}/notes/{_quoted_for_path(note_id)}"
        await self._http.ask("PUT", path, body={"note": {"content": content}})

    async def set_custom_fields(self, page_id: str, values: Mapping[str, str]) -> None:
        """Set custom fields, by name."""
        body = {"custom_fields": [{"name": name, "value": value} for name, value in values.items()]}
        await self._http.ask("PUT", f"/incidents/{_quoted_for_path(page_id)}/custom_fields/values", body=body)

    async def raise_alert(self, raised: OutgoingAlert) -> None:
        """Raise an alert through the Events API; the same key again is the same alert."""
        payload = {
            "summary": raised.summary[:SUMMARY],
            "source": raised.source or "zombie",
            "severity": raised.severity,
            "custom_details": dict(raised.details),
        }
        event = {"event_action": "trigger", "dedup_key": raised.key[:KEY], "payload": payload, "client": "zombie"}
        await self._http.enqueue(event)

    # --- subscriptions

    async def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the account's webhook subscriptions."""
        return tuple(
            [
                _subscription(subscription)
                async for subscription in self._all_rows("/webhook_subscriptions", "webhook_subscriptions", {})
            ]
        )

    async def ping(self, subscription_id: str) -> None:
        """Make PagerDuty send a test event."""
        await self._http.ask("POST", f"/webhook_subscriptions/{_quoted_for_path(subscription_id)}/ping")

    # --- pages of rows

    async def _all_rows(self, path: str, name: str, query: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """Yield every row of a list, over all its pages; a row that moved between pages comes once."""
        seen: set[str] = set()
        offset = 0
        while offset < MOST_ROWS:
            answer = await self._http.ask("GET", path, {**query, "limit": PAGE_ROWS, "offset": offset})
            rows = _rows(answer, name)
            for row in rows:
                if str(row.get("id")) not in seen:
                    seen.add(str(row.get("id")))
                    yield row
            if not rows or not answer.get("more"):
                return
            offset += len(rows)


def _quoted_for_path(identifier: str) -> str:
    """An id quoted as a step of a path: some ids come from outside."""
    if not identifier or identifier in (".", ".."):
        raise PagerDutyRefused("That cannot be an id of PagerDuty's.", status=404)
    return quote(identifier, safe="")


def _rows(answer: Any, name: str) -> list[Mapping[str, Any]]:
    rows = answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise PagerDutyUnavailable(f"PagerDuty's answer holds no {name}.")
    return rows


def _object(answer: Any, name: str) -> Mapping[str, Any]:
    entity = answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(entity, Mapping):
        raise PagerDutyUnavailable(f"PagerDuty's answer holds no {name}.")
    return entity


def _page(body: Mapping[str, Any]) -> Page:
    created_at = _instant(body.get("created_at"))
    return Page(str(body.get("id", "")), str(body.get("status", "")), str(body.get("title") or ""), created_at, body)


def _note(body: Mapping[str, Any]) -> Note:
    return Note(str(body.get("id", "")), str(body.get("content") or ""))


def _subscription(body: Mapping[str, Any]) -> Subscription:
    way = body.get("delivery_method")
    method: Mapping[str, Any] = way if isinstance(way, Mapping) else {}
    events = body.get("events")
    return Subscription(
        id=str(body.get("id", "")),
        url=str(method.get("url") or ""),
        is_active=body.get("active") is not False,
        is_suspended=method.get("temporarily_disabled") is True,
        events=tuple(str(event) for event in events) if isinstance(events, list) else (),
    )


def _instant(text: object) -> datetime | None:
    try:
        instant = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def _says_nothing(alert: Mapping[str, Any]) -> bool:
    body = alert.get("body")
    return not isinstance(body, Mapping) or not (body.get("details") or body.get("contexts"))
