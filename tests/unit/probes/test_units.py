"""units: services that restart, whoever counts it, and failed units of every type, named as the node names them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.domain.root_command import root_ways
from bot.probes.formats.systemctl import failed_units, shown_units
from bot.probes.formats.systemd_span import systemd_span
from bot.probes.units import PROBE, UnitsReading, parse
from tests.known import known
from tests.readings.node_tools import printed
from tests.readings.recorded import CAPTURES, run

UNITS = CAPTURES / "units"
ENDED = "-- status 0 --"


def shown(**changed: str) -> str:
    told = {"Id": "a.service", "Names": "a.service", "ActiveState": "active", "SubState": "running", "NRestarts": "0"}
    return "\n".join(f"{key}={value}" for key, value in {**told, **changed}.items())


def read(
    first: str, later: str | None = None, failed: str = "", journal: str = "-- read --", status: str = ENDED
) -> UnitsReading:
    listed = f"systemd 252 (252.38-1~deb12u1)\n{failed}{status}"
    runs = [run("show", first, 0), run("failed", listed), run("restarts", journal)]
    return parse(Outputs(*runs, *([] if later is None else [run("show", later, 1)])))


def test_unit_that_was_disabled_by_hand_is_known_by_its_journal() -> None:
    line = "[ {at:>12}] lab-1 systemd[1]: ecs.service: Scheduled restart job, restart counter is at {n}."
    journal = "\n".join(line.format(at=f"{90 + n}.000000", n=n) for n in range(1, 31))
    ecs = known(read(shown(), journal=f"{journal}\n-- read --").get("ecs.service"))
    assert (ecs.active, ecs.restarts, ecs.restarts_logged) == ("inactive", None, 30)
    assert ecs.restarts_logged_over == timedelta(seconds=29)
    assert ecs.source == (line.format(at="120.000000", n=30),)


def test_unit_that_is_started_again_is_counted_as_systemd_counts_or_shows_it() -> None:
    reading = read(shown(NRestarts="7"), shown(NRestarts="8", ActiveState="activating", SubState="auto-restart"))
    (unit,) = reading.services
    assert (unit.restarted_in_window, unit.most_restarts, unit.between_tries) == (True, 8, True)
    assert (reading.restarting_count, reading.failed_count) == (1, 0)


def test_unit_in_only_one_look_is_kept() -> None:
    reading = read(shown(Id="a.service", Names="a.service"), shown(Id="b.service", Names="b.service"))
    assert [(unit.name, unit.active_later) for unit in reading.services] == [
        ("a.service", None),
        ("b.service", "active"),
    ]


def test_look_that_failed_or_ended_early_is_no_look() -> None:
    assert read(shown(), shown()).looked_twice
    assert not read(shown()).looked_twice
    early = [replace(run("show", shown(), look), exit_status=look) for look in (0, 1)]
    assert not parse(Outputs(*early, run("failed", f"systemd 252\n{ENDED}"))).looked_twice


def test_alias_makes_a_unit_protected() -> None:
    unit = read(shown(Id="openssh.service", Names="openssh.service sshd.service")).services[0]
    assert (unit.protected, unit.aliases) == (True, ("sshd.service",))
    assert read(shown()).get("a.service") is not None


def test_names_that_no_unit_should_have_survive_as_text() -> None:
    name = "$(touch pwned).service"
    reading = read(shown(Id=name, Names=name), failed=f"{name} loaded failed failed Says <!channel>\n")
    assert reading.services[0].name == name
    assert [(one.name, one.description) for one in reading.failed_units] == [(name, "Says <!channel>")]


@pytest.mark.parametrize(
    "listed",
    [
        "● backup.service loaded failed failed Nightly backup\n",
        "* backup.service loaded failed failed Nightly backup\n",
        "  backup.service   loaded failed failed Nightly backup   \n",
        "  UNIT LOAD ACTIVE SUB DESCRIPTION\n● backup.service loaded failed failed Nightly backup\nLOAD   = what\n",
        '[{"unit":"backup.service","load":"loaded","active":"failed","sub":"failed","description":"Nightly backup"}]',
    ],
    ids=["dot", "star", "padded", "with-legend", "json"],
)
def test_list_of_failed_units_in_every_dress(listed: str) -> None:
    assert [(unit.name, unit.description) for unit in failed_units(listed)] == [("backup.service", "Nightly backup")]


def test_empty_list_is_no_failed_unit_and_an_unfinished_one_is_unread() -> None:
    assert read(shown()).failed_units == ()
    for status in ("", "-- status 1 --", "backup.serv"):
        with pytest.raises(CannotRead, match="never ended"):
            read(shown(), status=status)


@pytest.mark.parametrize("listed", ['[{"unit":"a.ser', '[{"load":"loaded"}]', "[1]", "what is this\n", "[" * 100000])
def test_list_that_is_malformed_is_unread(listed: str) -> None:
    with pytest.raises(CannotRead):
        failed_units(listed)


def test_json_strings_are_made_safe() -> None:
    listed = '[{"unit":"a\\u001b[31m.service","active":"failed","description":"x\\u202ey\\nz"}]'
    assert [(u.name, u.description) for u in failed_units(listed)] == [("a\\x1b[31m.service", "x\\u202ey z")]


def test_systemd_that_names_no_unit_is_unread() -> None:
    with pytest.raises(CannotRead, match="no unit"):
        read("ActiveState=active")


@pytest.mark.parametrize("value", ["", "-1", "many", "9" * 30, "٣"])
def test_counter_that_is_no_number_is_none(value: str) -> None:
    assert read(shown(NRestarts=value)).services[0].restarts is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("1min 30s", 90), ("100ms", 0.1), ("1h 2min 3s 4ms 5us", 3723.004005), ("0", 0), ("2w 1d", 1296000)],
)
def test_spans(text: str, seconds: float) -> None:
    assert systemd_span(text) == timedelta(seconds=seconds)


@given(st.text() | st.text(alphabet="0123456789. smhdwy"))
def test_any_text_is_a_span_or_none(text: str) -> None:
    span = systemd_span(text)
    assert span is None or span >= timedelta(0)


def test_blocks_end_at_empty_lines() -> None:
    assert [unit["Id"] for unit in shown_units("Id=a\nX=1\n\n\n\nId=b\n")] == ["a", "b"]


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        ("219", "by words"),
        ("229", "by words"),
        ("235", "by words"),
        ("236", "by id"),
        ("245 (245.4)", "by id"),
        ("257", "by id"),
    ],
)
def test_old_systemd_is_asked_for_the_words(version: str, asked: str) -> None:
    """The fragment itself, with a systemctl and a journalctl that stand for those versions."""
    said = PROBE.commands[2].argv[2].replace("/run/log/journal/*/system.journal", "/proc/self/stat")
    fakes = f"systemctl() {{ printf 'systemd {version}\\n+PAM +AUDIT\\n'; }}; "
    fakes += 'journalctl() { case "$*" in *MESSAGE_ID*) echo "Scheduled restart job: by id";; '
    fakes += '*) echo "noise"; echo "scheduling restart: by words";; esac; }; '
    lines = printed(fakes + said).splitlines()
    assert (len(lines), lines[0].endswith(asked), lines[1]) == (2, True, "-- read --")


def test_root_runs_journalctl_and_nothing_else() -> None:
    for argv in root_ways(PROBE.commands[2]):
        assert (argv[:5], argv[6].rpartition("/")[2]) == (("sudo", "-n", "timeout", "-k", "1"), "journalctl")
        assert " ".join((*argv[:6], "$p", *argv[7:])) in PROBE.commands[2].alternatives[0][2]
