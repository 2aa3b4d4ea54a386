"""The links of an incident: the templates of `[links]`, with every value percent-encoded, and its page of PagerDuty."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote

from bot.domain.incident import Incident
from bot.domain.link import blanks_of
from bot.domain.pagerduty import address_of, page_of

MOST = 5
PAGE = "PagerDuty"
AROUND = timedelta(minutes=15)  # a link to a time window covers this long before and after the incident's start


def links_of(incident: Incident, templates: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return each link's name and address; a link is left out while any of its values is unknown.

    Shape: values are percent-encoded whole, also slashes, so that none of them adds a path or a parameter. The last is
    its page, where PagerDuty told the address; a template with `{page}` or of this name takes its place.
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
    page = next((address for alert in incident.alerts if (address := address_of(alert))), "")
    if any("page" in blanks_of(text) or name.casefold() == PAGE.casefold() for name, text in templates.items()):
        page = ""
    return (*found[:MOST], *(((PAGE, page),) if page else ()))
