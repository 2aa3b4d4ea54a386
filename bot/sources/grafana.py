"""Grafana's webhook contact point, which tells what Alertmanager's does:
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier

The signature (Grafana 12): hex HMAC-SHA256 of the body, or of `TIMESTAMP:BODY` where a timestamp header is configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from bot.domain.alarm import Delivery
from bot.domain.alert import SourceKind
from bot.sources.alertmanager import group_of
from bot.sources.body import read_body
from bot.sources.credentials import any_alike, signed

WINDOW = timedelta(minutes=5)
_DIGITS = 12


class GrafanaSource:
    """Takes what Grafana brings; with a timestamp header nothing that is older, or newer, than the window."""

    kind = SourceKind.GRAFANA
    path = "/grafana"

    def __init__(self, secret: str, timestamp_header: str = "", window: timedelta = WINDOW) -> None:
        self._secret = secret
        self._timestamp_header = timestamp_header.lower()
        self._window = window

    def is_genuine(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """True when the signature is by our secret, and of our time where it says which."""
        before = b""
        if self._timestamp_header:
            stamp = headers.get(self._timestamp_header, "")
            if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _DIGITS):
                return False
            if abs(now.timestamp() - int(stamp)) > self._window.total_seconds():
                return False
            before = stamp.encode() + b":"
        given = headers.get("x-grafana-alerting-signature", "").strip().lower()
        return any_alike([given], [signed(self._secret, before + body)])

    def delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Return what the request tells of its group of alerts.

        Raises: MalformedDelivery when it is not of the documented form.
        """
        return group_of(self.kind, read_body(body))
