"""A source and a surface that nobody knew before come through by one value each, from the settings to the card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.app.doctor import Doctor
from bot.domain.alert import PEOPLE, AlertGroup, AlertStatus, Delivery, SourceAlert
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import NotAnApprover, SettingsError
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy
from bot.domain.setting import option, secret
from bot.domain.toml_table import TomlTable
from bot.inventory import Inventory
from bot.response.decision import guards
from bot.settings import Settings, all_keys
from bot.sources import SOURCES
from bot.sources.source import Body, Proof, Source
from bot.surfaces import SURFACES, member_settings
from bot.surfaces.descriptor import DoctorChecks, SurfaceDescriptor
from tests.slack.service import Readings, card_saying, serving
from tests.slack.workspace import workspace

NODE, TOKEN = "node-1", "the siren's own token"
BODY = b'{"siren": "wails", "node": "node-1"}'
TOML = """
[slack]
alerts_channel = "C0ONCALL01"
[siren]
room = "gpu"
[[route]]
match = { source = "siren", room = "gpu*" }
playbook = "network-resets"
"""


# --- the source: one file, and its line in `SOURCES`


@dataclass(frozen=True, slots=True)
class SirenSettings:
    token: str = secret("What the siren sends; with it /siren is there.", "SIREN_TOKEN")
    room: str = option(TomlTable.text, "")


def proof(settings: SirenSettings) -> Proof | None:
    if not (settings.token and settings.room == "gpu"):
        return None
    return lambda headers, body, now: headers.get("x-siren") == settings.token


def wailing(body: Body) -> Delivery:
    signal = SourceAlert("s1", title=f"the siren wails at {body['node']}")
    alarm = AlertGroup("siren", "S1", AlertStatus.FIRED, signal.title, signals=(signal,), labels={"room": "gpu"})
    return Delivery("siren", "D1", alarm)


SIREN = Source(
    "siren",
    "Siren",
    "/siren",
    SirenSettings,
    proof,
    delivery=wailing,
    recognises=lambda body: "siren" in body,
)
ALL_SOURCES = (*SOURCES, SIREN)


# --- the surface: one file, and its line in `SURFACES`


@dataclass(frozen=True, slots=True)
class BoardSettings:
    key: str = secret("What opens the board.", "BOARD_KEY")
    corner: str = option(TomlTable.text, "left")


@dataclass
class Board:
    """Shows incidents on a board."""

    said: dict[str, str] = field(default_factory=dict)

    async def show(self, group: Sequence[Incident]) -> None:
        self.said |= {one.node: one.verdict.cause or "" for one in group if one.verdict is not None}


def board_looks(settings: Any, policy: Policy, now: Callable[[], datetime]) -> DoctorChecks:
    async def look() -> tuple[DoctorFinding, ...]:
        return (DoctorFinding("Board", Mark.OK, "it hangs there"),)

    return (("Board", look),)


def board_surface(board: Board) -> SurfaceDescriptor:
    return SurfaceDescriptor(
        "board",
        "at the board",
        settings=BoardSettings,
        looks=board_looks,
        opened=lambda settings: board,
    )


ALL_SURFACES = (*SURFACES, board_surface(Board()))


# --- what they are seen through


def settings(folder: Path, toml: str = TOML, **environment: str) -> Settings:
    (folder / "zombie.toml").write_text(toml)
    return Settings.load({}, environment, folder, members=member_settings(ALL_SOURCES, ALL_SURFACES))


def test_its_settings_have_rows_and_keys_and_hide_its_secret(tmp_path: Path) -> None:
    assert all_keys(member_settings(ALL_SOURCES))["siren"]["token"].name == "siren_token"
    read = settings(tmp_path, SIREN_TOKEN=TOKEN)
    assert read.of(SirenSettings) == SirenSettings(token=TOKEN, room="gpu")
    (given,) = [given for given in read.given if given.key.name == "siren_token"]
    assert (given.shown, given.origin) == ("********", "SIREN_TOKEN")
    assert {name: written for name, written, _ in read.in_tables()}["siren.room"] == "gpu"
    assert TOKEN in read.secrets
    assert TOKEN not in repr(read)
    with pytest.raises(SettingsError, match=r"zombie\.toml:2: unknown key \"rom\" in \[siren\]\. Did you mean room"):
        settings(tmp_path, "[siren]\nrom = 1\n")


def test_settings_of_a_surface_are_its_own_table_too(tmp_path: Path) -> None:
    read = settings(tmp_path, '[board]\ncorner = "right"\n', BOARD_KEY=TOKEN)
    assert read.of(BoardSettings) == BoardSettings(key=TOKEN, corner="right")
    assert TOKEN in read.secrets
    with pytest.raises(SettingsError, match=r"zombie\.toml:2: unknown key \"corn\" in \[board\]\. Did you mean corner"):
        settings(tmp_path, "[board]\ncorn = 1\n")


async def test_its_alert_is_taken_read_and_shown_also_by_a_surface_that_nobody_knew(tmp_path: Path) -> None:
    board, readings = Board(), Readings()
    members = {"sources": ALL_SOURCES, "surfaces": (*SURFACES, board_surface(board))}
    secrets = {"SIREN_TOKEN": TOKEN}
    async with (
        workspace() as slack,
        serving(slack, tmp_path, readings, toml=TOML, environment=secrets, nodes=3, **members) as bot,
        aiohttp.ClientSession() as client,
    ):
        url = f"{bot.address}/siren"
        async with client.post(url, data=BODY, headers={"x-siren": "forged"}) as answer:
            assert answer.status == 401
        async with client.post(url, data=BODY, headers={"x-siren": TOKEN}) as answer:
            assert answer.status == 202
        await card_saying(slack, NODE, "C0ONCALL01")
        await slack.until(lambda: NODE in board.said, what="the board to say it")
        assert readings.asked == {NODE: 1}, "an incident that nobody reads is worse than none"
        (opened,) = await bot.ledger.incidents()
        assert (opened.source, opened.node) == ("siren", NODE)
        async with client.get(f"{bot.address}/metrics") as answer:
            assert 'zombie_webhooks_total{outcome="accepted",source="siren"} 1.0' in await answer.text()


async def test_doctor_has_a_line_of_each(tmp_path: Path) -> None:
    (tmp_path / "nodes.toml").write_text("[nodes]\n")
    members = {"sources": ALL_SOURCES, "surfaces": (board_surface(Board()),)}

    async def found(**environment: str) -> dict[str, DoctorFinding]:
        known = Inventory.load(tmp_path / "nodes.toml")
        read = settings(tmp_path, ZOMBIE_LISTEN="127.0.0.1:1", **environment)
        doctor = Doctor(read, known, f"sqlite:///{tmp_path / 'zombie.db'}", {"HOME": str(tmp_path)}, **members)  # type: ignore[arg-type]
        return {one.name: one for one in await doctor.examined()}

    without, having = await found(), await found(SIREN_TOKEN=TOKEN)
    assert without["Siren"] == DoctorFinding(
        "Siren", Mark.NOT_SET, "SIREN_TOKEN is not set, so /siren is not served (404)"
    )
    assert having["Siren"] == DoctorFinding("Siren", Mark.OK, "/siren is served, for callers with SIREN_TOKEN")
    assert having["Board"].seen == "it hangs there"


def test_people_of_a_surface_are_approvers_and_askers_like_all_others() -> None:
    policy = Policy(acting=True, approvers=frozenset({"board:ann"}), kinds=PEOPLE | {"board"})
    guards.check_approver(policy, Approval("board:ann", "it leaks"))
    for stranger in ("board:bob", "slack:T1/ann", "terminal:ann"):
        with pytest.raises(NotAnApprover):
            guards.check_approver(policy, Approval(stranger, "it leaks"))
