"""Finds what no webhook brings: alerts added to a page later, and pages without any webhook.

Each is stored in the inbox like a webhook's delivery, under an id made from its content: found twice, by any program,
it is still a single delivery. The store of cases recognises a page that a webhook brought too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from bot.domain.alert import AlertGroup, AlertStatus, Delivery
from bot.domain.contracts import Clock, Log
from bot.domain.errors import MalformedDelivery, PagerDutyRefused
from bot.domain.pagerduty import PAGERDUTY, Page, PageReader
from bot.domain.safe_text import one_line
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import Inbox

LONGEST = timedelta(hours=24)  # how far back to look, however long nothing was heard
MARGIN = timedelta(minutes=5)  # clocks differ, and a page exists before its case
SINGLE = 20  # pages that a look reads one by one, the longest unread first

AlarmOf: TypeAlias = Callable[[Mapping[str, Any], AlertStatus, datetime | None], AlertGroup | None]


@dataclass(slots=True, eq=False)
class PagePoller:
    """Looks at PagerDuty from time to time.

    Shape: `alarm_of` parses a page like the source parses a webhook; None for a page that the bot raised itself.
    `arrivals` is set when something new was stored.
    """

    pages: PageReader
    inbox: Inbox
    cases: DedupStore
    alarm_of: AlarmOf
    now: Clock
    log: Log
    arrivals: asyncio.Event
    _seen: dict[str, str] = field(default_factory=dict, init=False)  # what was last seen of each open case's page
    _over: set[str] = field(
        default_factory=set, init=False
    )  # pages that were seen to be over, also such without a case
    _asked: dict[str, int] = field(default_factory=dict, init=False)  # the look in which a page was last read by itself
    _looks: int = field(default=0, init=False)

    async def mark_alerts_read(self, page_id: str, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Note a page's alerts as just read, so that they are not taken in again.

        Raises: LedgerError when it cannot be noted.
        """
        what = _alert_counts(alerts)
        read = Delivery(PAGERDUTY, _delivery_name("alerts", page_id, what), None, "read")
        if await self.inbox.keep(read):
            await self.inbox.mark_done(read)
        self._seen[page_id] = what

    async def poll_pages(self, unheard_since: datetime | None = None) -> int:
        """Take in what is new; return how many deliveries that made.

        `unheard_since`: from when on pages may have been opened without a webhook.

        Raises: PagerDutyUnavailable, PagerDutyRefused; LedgerError when it cannot be stored.
        """
        now = self.now()
        open_cases = {
            open_case.case: open_case.opened_at for open_case in await self.cases.open_cases(PAGERDUTY, now - LONGEST)
        }
        since = min((*open_cases.values(), *([unheard_since] if unheard_since is not None else [])), default=None)
        if since is None:
            self._seen.clear()
            return 0
        pages = await self.pages.pages_since(max(since - MARGIN, now - LONGEST), only_open=False)
        listed = {page.id: page for page in pages}
        alone = self._pages_to_read([case for case in open_cases if case not in listed or not _counts(listed[case])])
        missing = [case for case in alone if case not in listed]
        kept = 0
        for page in (*pages, *[page for case in missing if (page := await self._single(case)) is not None]):
            if page.id in open_cases:
                if page.is_open and not _counts(page) and page.id not in alone:
                    continue
                kept += await self._ingest_page_with_case(page, now)
            elif unheard_since is not None and page.is_open:
                kept += await self._ingest_page_without_case(page, now)
        self._seen = {case: what for case, what in self._seen.items() if case in open_cases or case in listed}
        self._asked = {case: look for case, look in self._asked.items() if case in open_cases}
        self._over = {page.id for page in pages if not page.is_open}
        if kept:
            self.arrivals.set()
        return kept

    def _pages_to_read(self, cases: Sequence[str]) -> frozenset[str]:
        """Choose the pages that this look reads one by one, so that many pages do not use up PagerDuty's rate limit."""
        self._looks += 1
        chosen = sorted(cases, key=lambda case: self._asked.get(case, 0))[:SINGLE]
        self._asked |= dict.fromkeys(chosen, self._looks)
        return frozenset(chosen)

    async def _ingest_page_without_case(self, page: Page, now: datetime) -> int:
        """Take in an open page without an open case."""
        name = _delivery_name("page", page.id, _in_state_since(page))
        over_at, changed_at = await self.cases.over_at(PAGERDUTY, page.id), _changed_at(page)
        if page.id in self._over or (over_at is not None and changed_at is not None and over_at < changed_at):
            return await self._store_delivery(page, AlertStatus.REOPENED, name, changed_at or now)
        return await self._store_delivery(page, AlertStatus.FIRED, name, page.created_at)

    async def _ingest_page_with_case(self, page: Page, now: datetime) -> int:
        """Take in what is new on a page with a case."""
        if not page.is_open:
            return await self._store_delivery(
                page,
                AlertStatus.RESOLVED,
                _delivery_name("over", page.id, _in_state_since(page)),
                _changed_at(page) or now,
            )
        what = await self._contents(page)
        if self._seen.get(page.id) == what:
            return 0
        # What was added since the last look is not as old as its page: its alerts say when they began.
        name = _delivery_name("alerts", page.id, what)
        kept = await self._store_delivery(page, AlertStatus.FIRED, name, page.created_at)
        self._seen[page.id] = what  # what could not be stored is found by the next look
        return kept

    async def _contents(self, page: Page) -> str:
        """A key for a page's set of alerts: their counts, as PagerDuty counts them."""
        return _counts(page) or _alert_counts(await self.pages.alerts_of(page.id))

    async def _single(self, case: str) -> Page | None:
        try:
            return await self.pages.page(case)
        except PagerDutyRefused as error:
            if error.status == 404:
                return None
            raise

    async def _store_delivery(self, page: Page, happening: AlertStatus, name: str, occurred_at: datetime | None) -> int:
        try:
            alarm = self.alarm_of(page.body, happening, occurred_at)
        except MalformedDelivery as no:
            self.log("page_unreadable", page=one_line(page.id, 40), error=no.sentence)
            return 0
        if alarm is None:
            return 0
        is_new = await self.inbox.keep(Delivery(PAGERDUTY, name, alarm, "looked"))
        if is_new:
            self.log("delivery", source="pagerduty", id=name, what="looked", outcome="accepted")
        return int(is_new)


def _delivery_name(*words: str) -> str:
    return "-".join(words)[:200]


def _counts(page: Page) -> str:
    """How many alerts a page has, where PagerDuty counted them."""
    counts = page.body.get("alert_counts")
    if not isinstance(counts, Mapping):
        return ""
    return "-".join(str(counts.get(name, 0)) for name in ("all", "triggered", "resolved"))


def _alert_counts(alerts: Sequence[Mapping[str, Any]]) -> str:
    over = sum(1 for alert in alerts if alert.get("status") == "resolved")
    return f"{len(alerts)}-{len(alerts) - over}-{over}"


def _in_state_since(page: Page) -> str:
    """Since when a page has its state: the same for every program."""
    changed_at = _changed_at(page) or page.created_at
    return f"{changed_at.timestamp():.0f}" if changed_at is not None else ""


def _changed_at(page: Page) -> datetime | None:
    try:
        changed_at = datetime.fromisoformat(str(page.body.get("last_status_change_at")))
    except ValueError:
        return None
    return changed_at if changed_at.tzinfo is not None else None
