"""The links of one incident: the templates of `[links]`, filled in so that a value stays a value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote

from bot.domain.incident import Incident
from bot.domain.link import blanks_of
from bot.domain.pagerduty import page_of

MOST = 5
AROUND = timedelta(minutes=15)  # before and after an incident's beginning: what a link to a window shows


def links_of(incident: Incident, templates: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return each link's name and address; a link for which something is not known is left out.

    Shape: values are percent-encoded whole, also slashes, so that none of them adds a path or a parameter.
    """
    verdict = incident.verdict
    values = {
        "node": incident.node,
        "cause": (verdict.cause or "") if verdict is not None else "",
        "incident": incident.id,
        "from": f"{(incident.opened_at - AROUND).timestamp() * 1000:.0f}",
        "until": f"{(incident.opened_at + AROUND).timestamp() * 1000:.0f}",
        "page": next((page for alert in incident.alerts if (page := page_of(alert))), ""),
    }
    found = []
    for name, template in templates.items():
        wanted = blanks_of(template)
        if all(values[blank] for blank in wanted):
            address = template
            for blank in wanted:
                address = address.replace(f"{{{blank}}}", quote(values[blank], safe="", errors="replace"))
            found.append((name, address))
    return tuple(found[:MOST])
