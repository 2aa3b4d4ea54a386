"""The links of an incident: the templates of `[links]`, with every value percent-encoded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote

from bot.domain.incident import Incident
from bot.domain.link import blanks_of
from bot.domain.pagerduty import page_of

MOST = 5
AROUND = timedelta(minutes=15)  # a link to a time window covers this long before and after the incident's start


def links_of(incident: Incident, templates: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return each link's name and address; a link is left out while any of its values is unknown.

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
