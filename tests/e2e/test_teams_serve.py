"""The program itself in Teams: `zombie serve` and `zombie doctor`, set up by settings and environment alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.app.policy_settings import policy_as_written, policy_of
from bot.domain.errors import SettingsError
from bot.inventory import Inventory
from bot.settings import Settings
from bot.surfaces import member_settings
from tests.program import Running, awaited
from tests.serving import served
from tests.teams.simulated import BOB, EVE, GUS, ONCALL, SECRET, TENANT, SimulatedTeams, simulated_teams

TOML = f"""
[teams]
alerts_channel = "{ONCALL}"

[policy]
approvers = ["teams:{TENANT}/{BOB}"]
acting = true

[act]
units = ["ecs.service"]
"""
SERVE = ("serve", "--inventory", "nodes.toml")
BEARER = {"Authorization": f"Bearer {'t' * 20}"}
ALARM = {"status": "firing", "labels": {"alertname": "CpuPinned", "instance": "node-1"}, "fingerprint": "f1"}


def placed(folder: Path, teams: SimulatedTeams, toml: str = TOML) -> dict[str, str]:
    """Write settings and inventory, and return the environment."""
    (folder / "zombie.toml").write_text(toml)
    (folder / "nodes.toml").write_text('[nodes.node-1]\naddress = "127.0.0.1"\nport = 1\n')
    own = {
        "HOME": str(folder),
        "ZOMBIE_LISTEN": "127.0.0.1:0",
        "ZOMBIE_STATE_DIR": str(folder),
    }
    return own | teams.environment | {"ALERTMANAGER_TOKEN": "t" * 20}


async def test_served_by_settings_alone_it_checks_what_is_asked_and_what_an_alert_says(tmp_path: Path) -> None:
    async with simulated_teams() as teams:
        environment = placed(tmp_path, teams)
        starting = Running.start(*SERVE, cwd=tmp_path, env=environment, out=False)
        async with served(starting) as bot:
            teams.bot = bot.address
            assert bot.logged("ready")["by"] == "http"
            assert [line["event"] for line in bot.lines if line["event"].startswith("acting")] == ["acting_on"]

            await teams.say("alice", ONCALL, "check node-1", thread="1700000000000")
            card = await teams.until(lambda: next(iter(teams.posted), None), what="the card")
            assert (card.channel, card.thread_ts) == (ONCALL, "1700000000000"), "in the thread where it was asked for"
            await teams.until(lambda: "known_hosts" in card.text, what="the verdict")

            body = {
                "version": "4",
                "groupKey": "g1",
                "status": "firing",
                "alerts": [ALARM | {"startsAt": "2026-11-22T03:00:00Z"}],
            }
            async with aiohttp.ClientSession() as client:
                async with client.post(f"{teams.bot}/alertmanager", json=body, headers=BEARER) as answer:
                    assert answer.status == 202
                async with client.get(f"{teams.bot}/readyz") as ready:
                    assert ready.status == 200
                async with client.get(f"{teams.bot}/metrics") as metrics:
                    assert 'source="teams"' in await metrics.text()
            alerts = await teams.until(
                lambda: [one for one in teams.posted if not one.thread_ts and one.channel == ONCALL]
            )
            assert "node-1" in alerts[0].text
        assert SECRET not in json.dumps(bot.lines)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"TEAMS_TENANT": ""}, "TEAMS_TENANT is not set."),
        ({"TEAMS_APP_ID": "zombie"}, "TEAMS_APP_ID is no id."),
        ({"TEAMS_APP_SECRET": ""}, "TEAMS_APP_SECRET is not set."),
        ({"TEAMS_APP_SECRET": "another"}, "Entra rejects TEAMS_APP_SECRET: invalid_client."),
        ({"TEAMS_SERVICE_URL": "http://smba.example/"}, "An address of Teams is neither https nor on loopback."),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "Slack and Teams are both set up."),
    ],
)
async def test_what_is_not_set_up_right_is_said_at_the_start(
    tmp_path: Path, changed: dict[str, str], says: str
) -> None:
    async with simulated_teams() as teams:
        environment = {name: value for name, value in (placed(tmp_path, teams) | changed).items() if value}
        done = await awaited(*SERVE, cwd=tmp_path, env=environment, within=60)
        assert done.returncode == 2
        assert says in done.stderr


async def test_doctor_asks_entra_and_looks_each_approver_up(tmp_path: Path) -> None:
    async with simulated_teams() as teams:
        people = ", ".join(f'"teams:{TENANT}/{user}"' for user in (BOB, GUS, EVE))
        environment = placed(tmp_path, teams, TOML.replace(f'"teams:{TENANT}/{BOB}"', people))

        async def looked(**changed: str) -> dict[str, Any]:
            done = await awaited(
                "doctor", "--json", "--inventory", "nodes.toml", cwd=tmp_path, env=environment | changed, within=60
            )
            said = json.loads(done.stdout)["examined"]
            return {each["name"]: each for each in said if each["name"].startswith("Teams")}

        found = await looked()
        assert found["Teams app"]["mark"] == "ok"
        assert found["Teams approvers"]["mark"] == "wrong"
        assert "Gus is a guest" in found["Teams approvers"]["seen"]
        assert "Eve is from another organisation" in found["Teams approvers"]["seen"]
        assert BOB not in found["Teams approvers"]["seen"]
        assert "another" not in json.dumps(wrong := await looked(TEAMS_APP_SECRET="another-secret"))
        assert wrong["Teams app"]["mark"] == "wrong"
        assert not [call for call in teams.calls if call[0] in ("POST", "PUT")], "nothing is posted"


def test_policy_names_people_of_teams_and_of_its_own_tenant_alone(tmp_path: Path) -> None:
    def settings(toml: str) -> Settings:
        (tmp_path / "zombie.toml").write_text(toml)
        ours = {"TEAMS_APP_ID": BOB, "TEAMS_APP_SECRET": "x", "TEAMS_TENANT": TENANT}
        return Settings.load({}, ours, tmp_path, members=member_settings())

    both = (
        f'[policy]\napprovers = ["U012AB", "teams:{TENANT}/{BOB}"]\nterminal_approvers = ["bob=teams:{TENANT}/{BOB}"]\n'
    )
    policy = policy_as_written(settings(both))
    assert policy.approvers == {"slack:U012AB", f"teams:{BOB}", "terminal:bob"}
    assert policy.may_approve(f"teams:{TENANT}/{BOB}")
    assert policy.same_person == {"terminal:bob": f"teams:{BOB}"}
    for wrong in (f"teams:{BOB}", f"teams:{GUS}/{BOB}", "teams:bob@example.com", f"teams:{TENANT}/{BOB}x"):
        for key in ("approvers", "askers"):
            with pytest.raises(SettingsError):
                policy_as_written(settings(f'[policy]\n{key} = ["{wrong}"]\n'))


@pytest.mark.parametrize(
    ("changed", "acts"),
    [
        ({}, True),
        ({"TEAMS_SERVICE_URL": "https://smba.infra.gov.teams.microsoft.us/teams/"}, True),
        ({"TEAMS_SERVICE_URL": "https://evil.trafficmanager.net/teams/"}, False),
        ({"TEAMS_METADATA_URL": "https://login.botframework.com.evil.example/"}, False),
        ({"TEAMS_LOGIN_URL": "http://127.0.0.1:9/"}, False),
    ],
)
def test_server_that_stands_in_for_teams_makes_nobody_act(tmp_path: Path, changed: dict[str, str], acts: bool) -> None:
    (tmp_path / "zombie.toml").write_text(f'[policy]\napprovers = ["teams:{TENANT}/{BOB}"]\n')
    ours = {"TEAMS_APP_ID": BOB, "TEAMS_APP_SECRET": "x", "TEAMS_TENANT": TENANT, **changed}
    settings = Settings.load({}, ours, tmp_path, members=member_settings())
    assert policy_of(settings, Inventory({}, "none")).acting is acts
