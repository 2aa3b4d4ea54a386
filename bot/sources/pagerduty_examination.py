"""Examines PagerDuty: the key, the webhook subscription, and with a ping whether its signature is accepted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import PagerDutyFailed, PagerDutyRefused
from bot.domain.pagerduty import Subscription
from bot.sources.pagerduty_client import PagerDutyClient
from bot.sources.pagerduty_http import Access, Patience
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.sources.source import ServingBot

PING_SECONDS = 8.0  # from the ping to its webhook; PagerDuty needs one or two
_COUNTED = re.compile(r'^zombie_webhooks_total\{outcome="([a-z-]+)",source="pagerduty"\} ([0-9.e+]+)$', re.MULTILINE)
_GENUINE = ("accepted", "repeated", "ignored")

Counts = Mapping[str, float]


async def request_outcomes(bot: ServingBot) -> Counts:
    """Return the outcomes of PagerDuty's requests, counted by the bot that serves on this machine.

    Raises: OSError when no bot answers there.
    """
    return {outcome: float(count) for outcome, count in _COUNTED.findall(await bot.fetch("/metrics"))}


class PagerDutyExamination:
    """Examines the account. It sends only the ping, which raises no alert and calls nobody."""

    def __init__(
        self,
        settings: PagerDutySettings,
        bot: ServingBot,
        patience: Patience | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._settings = settings
        self._bot = bot
        self._patience = patience or Patience(tries=1)
        self._ping_seconds = ping_seconds

    async def look(self) -> tuple[DoctorFinding, ...]:
        """Examine everything.

        Raises: SettingsError when what is set cannot be used.
        """
        access = Access.of(self._settings)
        events = (
            DoctorFinding("PagerDuty routing key", Mark.OK, "set; not tried, because that would raise an alert")
            if access.routing_key
            else DoctorFinding(
                "PagerDuty routing key", Mark.NOT_SET, "PAGERDUTY_ROUTING_KEY is not set: no alerts raised"
            )
        )
        if not access.token:
            seen = "PAGERDUTY_API_TOKEN is not set, so no notes are written, and no alerts read"
            return (DoctorFinding("PagerDuty key", Mark.NOT_SET, seen), events)
        client = PagerDutyClient.of(access, self._patience)
        try:
            known = await client.subscriptions()
            sender = access.sender or "nobody: notes need PAGERDUTY_FROM with an account's key"
            key = DoctorFinding(
                "PagerDuty key", Mark.OK if access.sender else Mark.NOTE, f"taken; notes come from {sender}"
            )
            return (key, *await self._subscription(client, known), events)
        except PagerDutyFailed as error:
            hint = error.try_next or "Can this machine reach PagerDuty (PAGERDUTY_API_URL, a proxy, DNS)?"
            return (DoctorFinding("PagerDuty key", Mark.WRONG, error.sentence, hint), events)
        finally:
            await client.close()

    async def _subscription(
        self, client: PagerDutyClient, known: tuple[Subscription, ...]
    ) -> tuple[DoctorFinding, ...]:
        name = "PagerDuty subscription"
        if self._settings.poll:
            return (DoctorFinding(name, Mark.NOT_SET, "[pagerduty] poll = true: nothing need reach this bot"),)
        if not self._settings.webhook_secrets:
            seen = "PAGERDUTY_WEBHOOK_SECRETS is not set, so /pagerduty is off, and no webhooks are received"
            return (DoctorFinding(name, Mark.NOT_SET, seen, "Set it, or [pagerduty] poll = true."),)
        wanted = self._settings.subscription
        found = [subscription for subscription in known if subscription.id == wanted or not wanted]
        if len(found) != 1:
            seen = f"{len(known)} webhook subscriptions, but none is ours" if known else "no webhook subscription"
            hint = (
                "Subscribe to incidents in “Integrations”, “Generic Webhooks (v3)”; [pagerduty] subscription names it."
            )
            return (DoctorFinding(name, Mark.WRONG, seen, hint),)
        (ours,) = found
        if ours.is_disabled:
            by = "by PagerDuty, after deliveries that failed" if ours.is_suspended else "by somebody"
            return (
                DoctorFinding(
                    name,
                    Mark.WRONG,
                    f"{ours.id} is switched off {by}",
                    "Enable it in “Integrations”, “Generic Webhooks (v3)”.",
                ),
            )
        return (
            DoctorFinding(name, Mark.OK, f"{ours.id} delivers to {ours.url}"),
            await self._examine_signature(client, ours),
        )

    async def _examine_signature(self, client: PagerDutyClient, ours: Subscription) -> DoctorFinding:
        name = "PagerDuty signature"
        try:
            before = await request_outcomes(self._bot)
        except OSError as error:
            seen = f"not tried: no bot answers at {self._bot.address} on this machine ({error})"
            return DoctorFinding(name, Mark.NOTE, seen, "Run zombie doctor beside the bot that serves.")
        try:
            await client.ping(ours.id)
        except PagerDutyRefused as error:
            return DoctorFinding(name, Mark.NOTE, f"PagerDuty does not ping: {error.sentence}", error.try_next)
        more: dict[str, float] = {}
        try:
            async with asyncio.timeout(self._ping_seconds):
                while not more:
                    await asyncio.sleep(0.2)
                    now = await request_outcomes(self._bot)
                    more = {outcome: count for outcome, count in now.items() if count > before.get(outcome, 0.0)}
        except (TimeoutError, OSError):
            seen = f"a ping was sent, and nothing came to the bot here within {self._ping_seconds:g} s"
            return DoctorFinding(name, Mark.WRONG, seen, f"Does {ours.url} lead to this bot (TLS, firewall, path)?")
        if any(outcome in more for outcome in _GENUINE):
            return DoctorFinding(name, Mark.OK, "a ping came, and its signature is right")
        hint = "PAGERDUTY_WEBHOOK_SECRETS has to hold the secret that PagerDuty showed when the subscription was made."
        return DoctorFinding(name, Mark.WRONG, f"a ping came and was refused: {', '.join(sorted(more))}", hint)
