"""`zombie doctor` beside a simulated workspace, PagerDuty and fleet: what is wrong is named, and nothing is changed."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.machine.machine import Machine
from bot.demo.slack.access import DEFAULT_SCOPES
from bot.demo.slack.people import BOT, GROUPS
from bot.domain.doctor_finding import DoctorFinding, Mark, all_well
from bot.domain.events import AlertReceived, Triaged
from bot.domain.house_events import HOUSE, BrakePulled
from bot.ledger import Database, Ledger
from bot.ledger.migrations import VERSION
from bot.sources import SOURCES, pagerduty
from bot.surfaces.slack.examination import SCOPES
from tests.alerts.given_up import give_up
from tests.alerts.pagerduty import account
from tests.program import awaited
from tests.record.incidents import ALERT, ASKER, VERDICT
from tests.slack.service import Readings, serving
from tests.slack.surroundings import POLICY, Surroundings, surroundings


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Surroundings]:
    async with surroundings(tmp_path) as found:
        yield found


def marks(found: Mapping[str, DoctorFinding]) -> dict[str, str]:
    return {name: one.mark.value for name, one in found.items()}


async def test_what_is_well_is_said_to_be_and_nothing_was_touched(here: Surroundings) -> None:
    found = await here.examined()
    assert all_well(found.values()), found
    assert marks(found) == {
        "database": "not set",
        "disk": "ok",
        "policy": "ok",
        "units": "ok",
        "bot here": "not set",
        "Slack bot token": "ok",
        "Slack scopes": "ok",
        "clock and Slack's": "ok",
        "Slack Socket Mode": "ok",
        f"approvers {GROUPS[0].id}": "ok",
        "approvers": "ok",
        "PagerDuty key": "not set",
        "PagerDuty routing key": "not set",
        **{source.title: "not set" for source in SOURCES if source != pagerduty.SOURCE},
        "Prometheus": "not set",
        "inventory": "ok",
        **{f"{what} {node}": "ok" for node in ("sick", "busy") for what in ("node", "clock of", "sudo")},
        **{f"{what} {node}": "ok" for node in ("sick", "busy") for what in ("node, acting", "sudo, acting")},
    }
    assert not (here.folder / "state").exists(), "no database is made"
    asked = {one.method for one in here.slack.asked()}
    assert asked == {"auth.test", "apps.connections.open", "usergroups.users.list", "users.info"}
    for server in here.fleet.servers.values():
        assert isinstance(server.machine, Machine)
        assert (server.machine.done, server.machine.reboots) == ([], 0)


WRONG = (
    ({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "Slack bot token", "rejects it: invalid_auth"),
    ({"SLACK_BOT_TOKEN": ""}, "Slack", "SLACK_BOT_TOKEN is not set"),
    ({"SLACK_APP_TOKEN": "xapp-wrong"}, "Slack Socket Mode", "rejects SLACK_APP_TOKEN: invalid_auth"),
    ({"SLACK_API_URL": "http://127.0.0.1:1/api/"}, "Slack bot token", "Slack cannot be reached"),
    ({"ZOMBIE_DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:1/z"}, "database", "cannot be read"),
    ({"ZOMBIE_DATABASE_URL": "mysql://x"}, "database", "cannot be kept in mysql"),
    ({"PAGERDUTY_API_TOKEN": "x", "PAGERDUTY_API_URL": "http://127.0.0.1:1"}, "PagerDuty key", "cannot be reached"),
    ({"PAGERDUTY_API_TOKEN": "x", "PAGERDUTY_API_URL": "ftp://x"}, "PagerDuty", "neither https"),
    ({"PROMETHEUS_URL": "http://127.0.0.1:1"}, "Prometheus", "cannot be reached"),
    ({"PROMETHEUS_URL": "nowhere"}, "Prometheus", "is not an address"),
)


async def test_what_is_wrong_is_named_with_what_to_do_and_the_rest_is_still_told(here: Surroundings) -> None:
    for changes, name, seen in WRONG:
        found = await here.examined(**changes)
        assert (found[name].mark, seen in found[name].seen) == (Mark.WRONG, True), found[name]
        assert found[name].to_do
        assert "hunter2" not in str(found)
        assert not all_well(found.values())
        assert found["node busy"].mark is Mark.OK


POLICIES = (
    ('[policy]\napprovers = ["U0NOBODY01"]', "approvers", Mark.WRONG, "U0NOBODY01 (user_not_found)"),
    (f'[policy]\napprovers = ["{BOT.id}"]', "approvers", Mark.WRONG, "a bot"),
    ('[policy]\napprover_groups = ["S0NOBODY01"]', "approvers S0NOBODY01", Mark.WRONG, "cannot be read"),
    ('[policy]\nterminal_approvers = ["x"]\n[act]\nunits = ["sshd.service"]', "units", Mark.WRONG, "never stopped"),
    ('[policy]\nterminal_approvers = ["x"]\nacting = false', "policy", Mark.NOTE, "acting is off"),
    ('[policy]\nterminal_approvers = ["x"]', "units", Mark.NOTE, "nothing may be stopped"),
    ("", "policy", Mark.NOT_SET, "names no approvers"),
    (
        '[policy]\nterminal_approvers = ["x"]\n[ssh.act]\nkey = "gone"',
        "login that acts",
        Mark.WRONG,
        "cannot be used",
    ),
)


async def test_policy_is_looked_through(here: Surroundings) -> None:
    for toml, name, mark, seen in POLICIES:
        found = await here.examined(toml)
        assert (found[name].mark, seen in found[name].seen) == (mark, True), found[name]


async def test_scopes_are_those_that_slack_reports(tmp_path: Path) -> None:
    async with surroundings(tmp_path, frozenset(SCOPES) - {"users:read", "chat:write"}) as here:
        found = await here.examined()
        assert found["Slack scopes"].mark is Mark.WRONG
        assert "missing: chat:write (to post cards); users:read" in found["Slack scopes"].seen
        assert found["approvers"].mark is Mark.WRONG
    plain = tmp_path / "plain"
    plain.mkdir()
    async with surroundings(plain, frozenset(SCOPES) - {"files:write"}) as here:
        lacks = (await here.examined())["Slack scopes"]
        assert lacks.mark is Mark.NOTE, "the bot serves without pictures"
        assert "missing: files:write (to show pictures on cards; without it they have strips of text)" in lacks.seen
    other = tmp_path / "other"
    other.mkdir()
    async with surroundings(other, DEFAULT_SCOPES) as here:
        more = (await here.examined())["Slack scopes"]
        assert (more.mark, more.seen) == (Mark.NOTE, "all that are needed, and more: im:history")


async def test_silent_slack_costs_no_more_than_its_time(here: Surroundings) -> None:
    here.slack.faults.silent("auth.test", timedelta(seconds=60), times=9)
    began = asyncio.get_running_loop().time()
    here.seconds = 1.5
    found = await here.examined()
    assert asyncio.get_running_loop().time() - began < 12
    assert found["Slack bot token"].seen == "did not answer within 1.5 s"
    assert found["Slack Socket Mode"].mark is Mark.OK


# --- nodes


async def test_node_that_cannot_be_reached_or_lacks_rights_or_lags_is_named(tmp_path: Path) -> None:
    async with surroundings(tmp_path, late=90.0) as here:
        machine = here.fleet.servers["sick"].machine
        assert isinstance(machine, Machine)
        machine.become(replace(machine.state, sudo=False))
        text = here.fleet.inventory.read_text() + '\n[nodes.gone]\naddress = "127.0.0.1"\nport = 1\n'
        inventory = here.fleet.inventory.with_name("more.toml")
        inventory.write_text(text)
        found = await here.examined(ZOMBIE_INVENTORY=str(inventory))
        assert found["node gone"].mark is Mark.WRONG
        assert "refused" in found["node gone"].seen
        assert "clock of gone" not in found
        assert found["sudo sick"].mark is Mark.NOTE, "what is unread without it is said in each verdict"
        assert found["sudo, acting sick"].mark is Mark.WRONG
        assert "may not run as root: systemctl disable --now -- ecs.service" in found["sudo, acting sick"].seen
        assert "zombie sudoers" in found["sudo, acting sick"].to_do
        assert found["sudo, acting busy"].mark is Mark.OK
        assert found["clock of busy"].mark is Mark.WRONG
        assert found["clock of busy"].seen in [f"{late} s from this machine's" for late in (90, 91, 92)]


# --- the record


async def test_record_is_looked_at_and_left_as_it_was(here: Surroundings) -> None:
    path = here.folder / "state" / "zombie.db"
    with Database.open(f"sqlite:///{path}"):
        pass
    before = path.read_bytes()
    found = await here.examined()
    assert (found["database"].mark, found["audit head"].mark, "one machine" in found) == (Mark.OK, Mark.NOT_SET, False)
    assert found["database"].seen == f"reachable, version {VERSION}, 0 incidents open"
    assert path.read_bytes() == before

    with Database.open(f"sqlite:///{path}") as database:
        for name in ("node-1", "node-2"):
            Ledger(database).append.now(f"of-{name}", 0, AlertReceived(ALERT, name), ASKER)
            Ledger(database).append.now(
                f"of-{name}", 1, Triaged(replace(VERDICT, plan=None, node=name), machine_id="m1"), "bot"
            )
    assert (await here.examined())["one machine"].seen.startswith("node-1, node-2 share a machine-id")

    _set_version(path, VERSION + 1)
    assert "knows up to" in (await here.examined())["database"].seen
    _set_version(path, VERSION - 1)
    assert (await here.examined())["database"].mark is Mark.NOTE
    path.write_bytes(b"this is no database" * 1000)
    for rest in path.parent.glob("zombie.db-*"):
        rest.unlink()
    assert (await here.examined())["database"].mark is Mark.WRONG


async def test_deliveries_that_were_given_up_are_told(here: Surroundings) -> None:
    give_up(here.folder / "state")
    found = (await here.examined())["deliveries"]
    assert (found.mark, found.seen.split()[0]) == (Mark.NOTE, "1")


async def test_brake_that_is_on_is_told_with_who_pulled_it_and_what_releases_it(here: Surroundings) -> None:
    with Database.open(f"sqlite:///{here.folder / 'state' / 'zombie.db'}") as database:
        Ledger(database).append.now(HOUSE, None, BrakePulled("a rollout"), ASKER)
    found = (await here.examined())["brake"]
    assert (found.mark, f"{ASKER}: a rollout" in found.seen) == (Mark.NOTE, True)
    assert "zombie brake off" in found.to_do


def _set_version(path: Path, version: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE zombie_schema SET version = ?", (version,))
    connection.close()


# --- PagerDuty, by a ping to the bot that serves


@pytest.mark.parametrize(
    ("secret", "mark", "seen"),
    [("the-right-one", Mark.OK, "its signature is right"), ("another-one", Mark.WRONG, "was refused: unauthorized")],
)
async def test_signature_is_proved_by_a_ping_to_the_bot_beside(
    here: Surroundings, tmp_path: Path, secret: str, mark: Mark, seen: str
) -> None:
    async with account() as pagerduty:
        variables = {**pagerduty.environment, "PAGERDUTY_WEBHOOK_SECRETS": secret}
        ours = pagerduty.deliver_to("http://127.0.0.1:9/", "the-right-one")
        folder = tmp_path / "bot"
        folder.mkdir()
        async with serving(here.slack, folder, Readings(), environment=variables) as bot:
            ours.url = f"{bot.address}/pagerduty"
            listen = bot.address.removeprefix("http://")
            found = await here.examined(**variables, ZOMBIE_LISTEN=listen)
            assert (found["PagerDuty key"].mark, found["PagerDuty subscription"].mark) == (Mark.OK, Mark.OK)
            assert found["bot here"].mark is Mark.OK
            assert (found["PagerDuty signature"].mark, seen in found["PagerDuty signature"].seen) == (mark, True)
        assert list(pagerduty.account.incidents) == [], "nobody is called"


async def test_subscription_that_is_off_or_not_there_is_wrong(here: Surroundings) -> None:
    async with account() as pagerduty:
        variables = {**pagerduty.environment, "PAGERDUTY_WEBHOOK_SECRETS": "x"}
        found = await here.examined(**variables)
        assert found["PagerDuty subscription"].seen == "no webhook subscription"
        ours = pagerduty.deliver_to("http://127.0.0.1:9/", "x")
        found = await here.examined(**variables)
        assert found["PagerDuty signature"].mark is Mark.NOTE, "no bot serves here"
        ours.active = False
        found = await here.examined(**variables)
        assert (found["PagerDuty subscription"].mark, found["PagerDuty subscription"].to_do) == (
            Mark.WRONG,
            "Enable it in “Integrations”, “Generic Webhooks (v3)”.",
        )
        polled = await here.examined("[pagerduty]\npoll = true\n", **variables)
        assert polled["PagerDuty subscription"].mark is Mark.NOT_SET


# --- the command


async def run(here: Surroundings, *arguments: str, **changes: str) -> tuple[int | None, str, str]:
    environ = {"PATH": os.environ["PATH"], **here.environment(**changes)}
    done = await awaited("doctor", *arguments, cwd=here.folder, env=environ)
    return done.returncode, done.stdout, done.stderr


async def test_command_says_it_in_a_line_each_and_by_its_exit_status(here: Surroundings) -> None:
    (here.folder / "zombie.toml").write_text(POLICY)
    status, out, err = await run(here)
    assert (status, err) == (0, ""), out
    assert out.endswith("\nAll is well.\n")
    assert max(map(len, out.splitlines())) <= 80
    status, out, _ = await run(here, "--json", "--nodes", "1", SLACK_APP_TOKEN="xapp-1-wrong-token")
    told: dict[str, Any] = json.loads(out)
    assert (status, told["schema"], told["well"]) == (1, 1, False)
    (wrong,) = [one for one in told["examined"] if one["mark"] == "wrong"]
    assert wrong["name"] == "Slack Socket Mode"
    assert wrong["to_do"]
    assert [one["name"] for one in told["examined"] if one["name"].startswith("node ")] == ["node sick"]
