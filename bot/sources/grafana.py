"""Grafana's webhook contact point, whose requests are like Alertmanager's:
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier

The signature (Grafana 12): hex HMAC-SHA256 of the body, or of `TIMESTAMP:BODY` if a timestamp header is configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.setting import duration, option, secret
from bot.domain.toml_table import TomlTable
from bot.sources.alertmanager import delivery_of_group
from bot.sources.body import any_alike, hmac_of
from bot.sources.source import Body, Proof, Source

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


def _proof(settings: GrafanaSettings) -> Proof | None:
    """Ask for a signature with our secret; with a timestamp header, for a recent one."""
    key, stamped = settings.webhook_secret.strip(), settings.timestamp_header.lower()
    if not key:
        return None

    def is_genuine(headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        before = b""
        if stamped:
            stamp = headers.get(stamped, "")
            if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _DIGITS):
                return False
            if abs(now.timestamp() - int(stamp)) > settings.window.total_seconds():
                return False
            before = stamp.encode() + b":"
        given = headers.get("x-grafana-alerting-signature", "").strip().lower()
        return any_alike([given], [hmac_of(key, before + body)])

    return is_genuine


def _recognises(body: Body) -> bool:
    return "alerts" in body and ("orgId" in body or body.get("version") == "1")


SOURCE = Source(
    NAME,
    "Grafana",
    PATH,
    GrafanaSettings,
    _proof,
    delivery=lambda body: delivery_of_group(NAME, body),
    recognises=_recognises,
)
