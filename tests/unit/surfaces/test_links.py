"""Links of `[links]`: on card and note, and nothing that an alert or a node says decides where they lead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.alert import Alert
from bot.domain.errors import SettingsError
from bot.domain.post import MessageRef
from bot.domain.transitions import State
from bot.settings.settings import Settings
from bot.surfaces.pagerduty_note import LIMIT, note_text
from bot.surfaces.slack.people import Workspace
from bot.view.view import links_of
from tests.alerts.pages import of_page
from tests.known import known
from tests.record.incidents import WAYS
from tests.slack.drawn import acting_card
from tests.unit.surfaces.cards import CONTEXT, part, shown, told
from tests.unit.surfaces.test_slack_card import taken_by_slack
from tests.unit.surfaces.test_slack_group_card import group

GRAFANA = "https://grafana.example/d/node?var-node={node}"
PAGE = "https://acme.pagerduty.com/incidents/{page}"


def test_card_has_the_links_of_its_node_and_leaves_out_what_is_not_known() -> None:
    context = replace(CONTEXT, links={"Grafana": GRAFANA, "PagerDuty": PAGE})
    asked = shown(told(*WAYS[State.PROPOSED]), context)
    assert part(asked, "link") == [
        {"type": "link", "url": "https://grafana.example/d/node?var-node=node-gpu-01", "text": "Grafana"}
    ]
    paged = shown(of_page("Q3B15VLMF3ASBD", State.PROPOSED), context)
    assert part(paged, "link")[1]["url"] == "https://acme.pagerduty.com/incidents/Q3B15VLMF3ASBD"


def test_card_of_several_nodes_has_shared_links_once_and_those_of_the_worst() -> None:
    several = group(*[WAYS[State.PROPOSED]] * 6)
    links = {"Grafana": GRAFANA, "Runbook": "https://wiki.example/on-call", "PagerDuty": PAGE}
    message = known(acting_card(several, replace(CONTEXT, links=links)))
    taken_by_slack(message)
    found = [(link["text"], link["url"]) for link in part(message, "link")]
    assert found[0] == ("Runbook", "https://wiki.example/on-call")
    assert found[1:] == [("Grafana", GRAFANA.replace("{node}", incident.node)) for incident in several[:4]]
    without = known(acting_card(several, CONTEXT))
    assert part(without, "link") == []


@pytest.mark.parametrize(
    ("url", "links", "address"),
    [
        ("https://acme.pagerduty.com/incidents/Q1", {}, "https://acme.pagerduty.com/incidents/Q1"),
        ("https://acme.eu.pagerduty.com/incidents/Q1", {}, "https://acme.eu.pagerduty.com/incidents/Q1"),
        ("https://acme.pagerduty.com/incidents/Q1", {"Page": PAGE.replace("acme", "us")}, PAGE.replace("acme", "us")),
        ("https://acme.pagerduty.com/incidents/Q1", {"pagerduty": "https://x.example/"}, "https://x.example/"),
        ("", {}, ""),
        ("http://acme.pagerduty.com/incidents/Q1", {}, ""),
        ("https://pagerduty.com.evil.example/incidents/Q1", {}, ""),
        ("https://evilpagerduty.com/incidents/Q1", {}, ""),
        ("https://evil.example/#.pagerduty.com/incidents/Q1", {}, ""),
        ("https://evil.example\\.pagerduty.com/incidents/Q1", {}, ""),
        ("https://me@acme.pagerduty.com/incidents/Q1", {}, ""),
        ("https://acme.pagerduty.com:8443/incidents/Q1", {}, ""),
        ("https://acme.pagerduty.com/incidents/Q2", {}, ""),
        ("https://acme.pagerduty.com/incidents/Q1?next=https://evil.example", {}, ""),
        ("https://acme.pagerduty.com/incidents/Q1\n", {}, ""),
    ],
)
def test_page_is_linked_by_the_address_that_pagerduty_gave(url: str, links: dict[str, str], address: str) -> None:
    incident = of_page("Q1", State.PROPOSED)
    incident = replace(incident, alert=Alert("slack", "1.1", url=url), joined=(replace(incident.alert, url=url),))
    assert [where for _, where in links_of(incident, links)] == ([address.replace("{page}", "Q1")] if address else [])


def test_page_does_not_push_a_link_of_the_settings_from_the_card() -> None:
    incident = of_page("Q1", State.PROPOSED)
    incident = replace(incident, alert=replace(incident.alert, url="https://acme.pagerduty.com/incidents/Q1"))
    links = links_of(incident, {f"link {number}": GRAFANA for number in range(7)})
    assert [name for name, _ in links] == [*(f"link {number}" for number in range(5)), "PagerDuty"]
    assert "pagerduty.com" not in note_text([incident], incident.id, "", CONTEXT), "the note is on that page already"


@pytest.mark.parametrize("name", ["a/../b", "x&admin=1", "a b", "<!channel>", "https://evil.example", "{cause}", "ü\n"])
def test_value_stays_a_value(name: str) -> None:
    incident = replace(told(*WAYS[State.PROPOSED]), node=name)
    ((_, address),) = links_of(incident, {"Grafana": GRAFANA})
    value = address.removeprefix("https://grafana.example/d/node?var-node=")
    assert value.replace("%", "").replace(".", "").replace("-", "").isalnum()


def test_note_has_card_links_and_the_command_that_tells_the_rest_before_its_mark() -> None:
    incident = of_page("Q1", State.PROPOSED)
    card = Workspace("T1", url="https://acme.slack.com/").permalink(MessageRef("C1", "1700000000.000100"))
    text = note_text([incident], incident.id, "", replace(CONTEXT, links={"Grafana": GRAFANA}), card)
    assert text.splitlines()[-4:] == [
        "Card in Slack: https://acme.slack.com/archives/C1/p1700000000000100",
        "Grafana: https://grafana.example/d/node?var-node=node-gpu-01",
        f"The whole story: zombie incidents show {incident.id}",
        f"[zombie {incident.id}]",
    ]
    assert len(text) <= LIMIT


def test_links_are_read_from_the_settings_and_a_wrong_one_is_told_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "zombie.toml"
    config.write_text(f'[links]\ngrafana = "{GRAFANA}"\n')
    assert Settings.load({"config": config}, {}, tmp_path).links == {"grafana": GRAFANA}
    for wrong in ("http://plain.example/{node}", "https://{node}.example/", "https://x.example/{host}", "javascript:1"):
        config.write_text(f'[links]\ngrafana = "{GRAFANA}"\nbad = "{wrong}"\n')
        with pytest.raises(SettingsError, match=r"zombie\.toml:3: .*bad"):
            Settings.load({"config": config}, {}, tmp_path)


def test_window_is_around_the_beginning_in_milliseconds() -> None:
    incident = told(*WAYS[State.PROPOSED])
    template = "https://parca.example/?from={from}&to={until}&expression={node}"
    ((_, address),) = links_of(incident, {"Parca": template})
    start, end = (int(part.partition("=")[2]) for part in address.partition("?")[2].split("&")[:2])
    middle = incident.opened_at.timestamp() * 1000
    assert (start, end) == (middle - 900_000, middle + 900_000)
