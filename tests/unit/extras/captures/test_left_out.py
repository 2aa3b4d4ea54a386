"""Where captures are left out nobody can ask for one, what is on record of them stays, and everything else goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.app.extras import extras_in_force, rights_of, shipped
from bot.chat.requests import ExtraQuestion, HelpRequest, WorkRequest, parse
from bot.domain.house_events import HOUSE
from bot.domain.node import Node
from bot.extras.captures.chat import CaptureChat
from bot.extras.captures.events import CaptureAsked, CaptureEnded
from bot.extras.captures.store import CaptureStore
from bot.inventory import Inventory
from bot.ledger.entries import append_entry, database_time
from tests.known import known_as
from tests.program import zombie_in as zombie
from tests.record.audits import audit
from tests.record.incidents import ASKER
from tests.record.ledgers import ledger_in

ROOT = Path(__file__).parents[4]
CAPTURE = "c4p7t0re00"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A folder whose record has a capture, and whose settings leave captures out."""
    (tmp_path / "state").mkdir()
    with ledger_in(tmp_path / "state") as database:
        store = CaptureStore(database)
        store.append.now(lambda _: (CaptureAsked(CAPTURE, "n1", 1, 2, ("lockup",)),), ASKER)
        store.append.now(lambda _: (CaptureEnded(CAPTURE, "it was not started"),), "bot")
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["captures"]\n')
    return tmp_path


def test_record_with_a_capture_is_whole_and_shown_as_what_it_is(older: Path) -> None:
    verified = zombie(older, "audit", "verify")
    assert (verified.returncode, "left out" in verified.stdout) == (0, False), verified
    exported = [json.loads(line) for line in zombie(older, "audit", "export").stdout.splitlines()]
    kinds = {entry["kind"]: entry["body"].get("capture") for entry in exported if "kind" in entry}
    assert (kinds["CaptureAsked"], kinds["CaptureEnded"]) == (CAPTURE, CAPTURE)
    assert zombie(older, "capture", "list").returncode == 2
    (older / "zombie.toml").write_text("")
    assert CAPTURE in zombie(older, "capture", "list").stdout


@pytest.mark.parametrize(("stream", "says"), [(HOUSE, ""), ("7k3m9x2qpv", "is not a valid incident")])
def test_entry_of_a_capture_belongs_into_house_alone(tmp_path: Path, stream: str, says: str) -> None:
    with ledger_in(tmp_path) as database:
        with database.writing() as connection:
            now = database_time(connection)
            append_entry(connection, stream, None, CaptureAsked(CAPTURE, "n1", 1, 2), ASKER, now)
        found = " ".join(each.says for each in audit(database).broken)
    assert (says in found, bool(found)) == (True, bool(says))


def test_login_needs_no_right_of_it(older: Path) -> None:
    without = zombie(older, "sudoers", "--profile").stdout
    assert "zombie-capture" not in without
    assert "/usr/bin/perf record" in without
    (older / "zombie.toml").write_text("")
    assert "zombie-capture" in zombie(older, "sudoers", "--profile").stdout


def test_nobody_asks_for_one_in_a_chat(tmp_path: Path) -> None:
    known = Inventory({"n1": Node("n1", "10.0.0.1")}, "nodes.toml")
    nothing: Any = None
    chat = CaptureChat(nothing, nothing, known)
    for words, kind in (
        ("capture n1 12h", WorkRequest),
        ("captures", ExtraQuestion),
        ("capture stop 7k3m9x2qpv", ExtraQuestion),
    ):
        assert isinstance(parse(words, known, [chat]), kind)
        without = known_as(parse(words, known), HelpRequest)
        assert "I do not know the command" in without.sentence
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["captures"]\n')
    with_all, left = shipped().on, extras_in_force((), {}, tmp_path).on
    assert {extra.name for extra in with_all} - {extra.name for extra in left} == {"captures"}
    assert set(rights_of(left)) < set(rights_of(with_all))
