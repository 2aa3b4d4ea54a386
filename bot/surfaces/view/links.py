"""The links of one incident: the templates of `[links]`, filled in so that a value stays a value."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from bot.domain.incident import Incident
from bot.domain.link import blanks_of
from bot.domain.pagerduty import page_of

MOST = 5


def links_of(incident: Incident, templates: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return each link's name and address; a link for which something is not known is left out.

    Shape: values are percent-encoded whole, also slashes, so that none of them adds a path or a parameter.
    """
    verdict = incident.verdict
    values = {
        "node": incident.node,
        "cause": (verdict.cause or "") if verdict is not None else "",
        "incident": incident.id,
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
