"""Grafana's webhook contact point, whose requests are like Alertmanager's:
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier

The signature (Grafana 12): hex HMAC-SHA256 of the body, or of `TIMESTAMP:BODY` if a timestamp header is configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.alert import Delivery
from bot.domain.setting import duration, option, secret
from bot.domain.toml_table import TomlTable
from bot.sources.alertmanager import delivery_of_group, parsed_group
from bot.sources.body import any_alike, hmac_of, read_body
from bot.sources.source import Body, Source

NAME, PATH = "grafana", "/grafana"
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class GrafanaSettings:
    """The settings that prove a request to be Grafana's, and recent."""

    webhook_secret: str = secret(
        "The secret with which Grafana signs its webhook; it switches /grafana on.", "GRAFANA_WEBHOOK_SECRET"
    )
    timestamp_header: str = option(
        TomlTable.text,
        "",
        "The header with the time of signing, where Grafana sends one.",
        like='"X-Grafana-Alerting-Timestamp"',
    )
    window: timedelta = option(duration, timedelta(minutes=5), "How old a signature may be.")


class GrafanaWebhook:
    """Receives Grafana's requests; with a timestamp header only those within the window."""

    kind = NAME
    path = PATH

    def __init__(self, settings: GrafanaSettings) -> None:
        self._secret = settings.webhook_secret.strip()
        self._timestamp_header = settings.timestamp_header.lower()
        self._window = settings.window

    def is_genuine(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """True when the signature is made with our secret, and its timestamp, if any, is recent."""
        before = b""
        if self._timestamp_header:
            stamp = headers.get(self._timestamp_header, "")
            if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _DIGITS):
                return False
            if abs(now.timestamp() - int(stamp)) > self._window.total_seconds():
                return False
            before = stamp.encode() + b":"
        given = headers.get("x-grafana-alerting-signature", "").strip().lower()
        return any_alike([given], [hmac_of(self._secret, before + body)])

    def delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Return the request's group of alerts.

        Raises: MalformedDelivery when it does not have the documented form.
        """
        return delivery_of_group(self.kind, read_body(body))


def _recognises(body: Body) -> bool:
    return "alerts" in body and ("orgId" in body or body.get("version") == "1")


def _webhook(settings: GrafanaSettings) -> GrafanaWebhook | None:
    return GrafanaWebhook(settings) if settings.webhook_secret.strip() else None


SOURCE = Source(
    NAME,
    "Grafana",
    PATH,
    GrafanaSettings,
    _webhook,
    _recognises,
    parse_file=lambda body: parsed_group(NAME, body),
)
