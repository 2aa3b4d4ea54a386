"""Every row of the table of secrets: what it has seen goes whole, what it never takes stays, and time is linear."""

import re
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bot.domain.safe_text import redacted, redacted_text
from bot.domain.secret_forms import table

ROWS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[3] / "playbooks/tables/secrets.toml").read_text("utf-8")
)
ROWS.pop("parts")
SEEN = [(name, seen.replace("·", "")) for name, row in ROWS.items() for seen in row["seen"]]
NEVER = [(name, never) for name, row in ROWS.items() for never in row.get("never", ())]
FORMS = {form.name: form for form in table().forms}


def plain(seen: str) -> str:
    """Return a text without the signs around its secrets."""
    return re.sub("[«»]", "", seen)


@pytest.mark.parametrize(("name", "seen"), SEEN)
def test_all_of_a_secret_goes_and_nothing_else(name: str, seen: str) -> None:
    text = plain(seen)
    stays = map(re.escape, re.split("«[^»]*»", seen))
    cut = redacted_text(text)
    assert re.fullmatch(r"\[redacted[^\]]*\]".join(stays), cut, re.DOTALL), cut
    assert redacted_text(cut) == cut, "once is enough"
    assert FORMS[name].cut(text, lambda inner: redacted_text(inner) != inner) != text, "the row itself finds it"


@pytest.mark.parametrize(("name", "never"), NEVER)
def test_what_only_looks_like_a_secret_stays(name: str, never: str) -> None:
    assert redacted_text(never) == never


# But forms of a line's beginning and of several lines.
IN_LINES = [seen for name, seen in SEEN if "\n" not in seen and name not in ("named-line", "redis-line")]


@pytest.mark.parametrize("seen", IN_LINES)
def test_secret_is_found_in_the_middle_of_a_line_of_a_log(seen: str) -> None:
    cut = redacted_text(f"Nov 23 10:00:00 node-1 agent[412]: {plain(seen)}")
    assert [secret for secret in re.findall("«([^»]*)»", seen) if secret in cut] == []


def test_each_row_says_what_it_needs_and_no_other() -> None:
    known = {"has", "starts", "long", "form", "says", "decode", "seen", "never"}
    for name, row in ROWS.items():
        assert row.keys() <= known, name
        assert row["seen"], name
        assert row.get("has") or row.get("starts") or row.get("long"), f"{name} would be searched in every text"
        assert all("«" in seen for seen in row["seen"]), name


def pieces(seen: str) -> list[str]:
    """Return beginnings of a text, and the text: what a hostile node might repeat without end."""
    text = plain(seen)
    return [*{text[:end] for end in (len(text) // 4, len(text) // 2, len(text) - 2) if end > 0}, text + " ", text]


@pytest.mark.parametrize("name", ROWS)
def test_hostile_lines_cost_time_in_proportion_to_their_length(name: str) -> None:
    form = FORMS[name]

    def cost(piece: str, characters: int) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        began = time.process_time()
        form.cut(text, lambda _: False)
        return time.process_time() - began

    for piece in pieces(ROWS[name]["seen"][0].replace("·", "")):
        long = cost(piece, 65_536)
        assert long < 0.05 or long < 12 * cost(piece, 16_384) + 0.2, piece
        assert long < 3, piece


LINES = (
    "kernel: EXT4-fs (nvme0n1p1): error count since last fsck: 4",
    "kernel: RIP: 0010:asm_sysvec_apic_timer_interrupt+0x16/0x20 ffffffffa0c01f2b",
    "pci 0000:00:05.0: [8086:1533] type 00 class 0x020000",
    "image registry.example/agent@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "systemd[1]: machine-id 0123456789abcdef0123456789abcdef, boot 01234567-89ab-cdef-0123-456789abcdef",
    "commit " + "0123456789" * 4 + " of main",
    "eth0: 0a:1b:2c:3d:4e:5f fe80::81b:2cff:fe3d:4e5f/64",
    "sshd[4]: Accepted publickey from 10.0.0.9 port 4 ssh2: ED25519 SHA256:fakeFAKE0123456789fakeFAKE0123456789fakeFAK",
    "systemd-cryptsetup@home.service: Deactivated successfully.",
    "Started systemd-ask-password-console.path - Dispatch Password Requests to Console Directory Watch.",
    "/kubepods.slice/kubepods-burstable.slice/cri-containerd-0123456789abcdef0123456789abcdef.scope",
    'FATAL: password authentication failed for user "bot"',
    "qemu-system-x86_64 --passthrough -device vfio-pci,host=0000:3b:00.0",
)


@pytest.mark.parametrize("line", LINES)
def test_what_an_engineer_needs_stays(line: str) -> None:
    assert redacted_text(line) == line


def test_key_without_its_beginning_or_its_end_is_taken_out() -> None:
    body = ["MIIEow" + "IBAAKCAQEA" + "Fake0123" * 6, "Fake+/01" * 8]
    assert "Fake" not in redacted_text("\n".join(body))


def test_flag_and_its_value_in_a_list_of_lines() -> None:
    assert redacted(["agent", "-password", "hunter2", "--token-ttl", "24h", "--passthrough", "x"]) == [
        *("agent", "-password", "[redacted]", "--token-ttl", "24h", "--passthrough", "x")
    ]
