"""Units that systemd has given up on."""

from bot.domain.verdict import Confidence, Status
from bot.probes.formats.systemctl import FailedUnit
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

FAILED = "failed-units"


def test_failed_unit_is_degraded_confirmed_and_nothing_is_offered() -> None:
    backup = b.stopped("backup.service", 5, exit_status=1)
    line = "backup.service loaded failed failed Nightly backup"
    finding = found(FAILED, b.units(backup, failed_units=(FailedUnit("backup.service", "Nightly backup", line),)))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert (finding.suspects, finding.remedy) == (("backup.service",), ())
    assert finding.evidence[0].says == "backup.service is failed: exit-code, exit status 1, after 5 restarts"
    assert line in finding.evidence[0].source


def test_failed_unit_that_is_no_service_counts_too() -> None:
    mount = FailedUnit("data.mount", "", "data.mount loaded failed failed /data")
    assert found(FAILED, b.units(failed_units=(mount,))).suspects == ("data.mount",)


def test_unit_between_tries_is_not_failed() -> None:
    ruled_out(FAILED, b.units(b.between_tries()))


def test_failed_units_are_not_ruled_out_by_what_was_not_read() -> None:
    undecided(FAILED, b.unread("units"))


def test_of_many_failed_units_the_essential_ones_come_first() -> None:
    names = ["a.service", "b.mount", "c.service", "d.timer", "kubelet.service"]
    lines = tuple(FailedUnit(name, "", f"{name} failed") for name in names)
    finding = found(FAILED, b.units(failed_units=lines))
    assert finding.status is Status.CRITICAL
    assert finding.summary == (
        "5 failed units: kubelet.service, a.service, b.mount and 2 more; the node cannot work without kubelet.service"
    )
    three = found(FAILED, b.units(failed_units=lines[:3]))
    assert three.summary == "3 failed units: a.service, b.mount, c.service"
