"""The image gate: what the next boot would start and nobody needs, before it does harm; and images that are fit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.cause import Tuning
from bot.domain.errors import PlaybookError
from bot.domain.evaluation import evaluate_playbook
from bot.domain.verdict import Confidence, Finding, RuledOut, Status, Undecided, Verdict
from bot.library.library import Library
from bot.probes import PROBES
from bot.probes.boot_units import BootUnit, BootUnitsReading
from bot.probes.units import UnitsReading
from tests.known import known_as
from tests.unit.causes import builders as b

NAME = "unused-agent-enabled"
LIBRARY = Library.load([b.PLAYBOOKS], PROBES, CAUSES, ACTIONS)
ROLE = """\
name: gpu-image
title: Our GPU image
version: 1
extends: image-gate
causes:
  unused-agent-enabled:
    allow: [kubelet.service, "getty@*.service"]
"""


def wanted(name: str, **more: Any) -> BootUnit:
    return BootUnit(name, "multi-user.target.wants", source=f"multi-user.target.wants/{name}", **more)


ECS, KUBELET, GETTY = wanted("ecs.service"), wanted("kubelet.service"), wanted("getty@tty1.service")
FOUNDING = BootUnitsReading(True, (ECS, KUBELET), ("kubelet.service", "/usr/bin/kubelet"))


def evaluate(reading: object, *allow: str) -> Finding | RuledOut | Undecided:
    return CAUSES[NAME].evaluate(b.node(reading), Tuning({}, allow))


def gate(*readings: Any, library: Library = LIBRARY, playbook: str = "image-gate") -> Verdict:
    return evaluate_playbook(b.node(*readings), library.get(playbook))


def test_founding_image_fails_before_its_first_leak() -> None:
    healthy = gate(b.cgroups(17), b.host(days=0.01), UnitsReading(systemd=False))
    assert healthy.status is Status.HEALTHY
    failed = gate(FOUNDING, b.cgroups(17), b.host(days=0.01), UnitsReading(systemd=False))
    assert (failed.status, failed.cause, failed.confidence) == (Status.DEGRADED, NAME, Confidence.LIKELY)
    assert (failed.suspects, failed.remedy) == (("ecs.service",), ())
    assert gate(replace(FOUNDING, enabled=(KUBELET,))).status is Status.HEALTHY


def test_agent_that_a_package_links_is_told_beside_a_list_too_but_no_other_unit_of_packages() -> None:
    by_vendor = replace(FOUNDING, enabled=(replace(ECS, by_vendor=True), KUBELET))
    finding = known_as(evaluate(by_vendor, "kubelet.service"), Finding)
    assert finding.suspects == ("ecs.service",)
    vector = replace(FOUNDING, enabled=(wanted("vector.service", by_vendor=True), KUBELET))
    assert isinstance(evaluate(vector, "kubelet.service"), RuledOut)
    assert isinstance(evaluate(replace(FOUNDING, ecs_cluster="batch"), "ecs.service", "kubelet.service"), RuledOut)


def test_configuration_that_nobody_could_read_does_not_pass_the_gate() -> None:
    assert gate(replace(FOUNDING, ecs_config_readable=False)).status is Status.UNKNOWN


def test_unread_units_do_not_pass_the_gate() -> None:
    assert gate(b.unread("boot_units")).status is Status.UNKNOWN
    assert gate(b.unread("units")).status is Status.UNKNOWN


def test_what_the_role_does_not_allow_fails_and_what_it_allows_passes(tmp_path: Path) -> None:
    (tmp_path / "gpu-image.yaml").write_text(ROLE)
    library = Library.load([b.PLAYBOOKS, tmp_path], PROBES, CAUSES, ACTIONS)
    fit = BootUnitsReading(True, (KUBELET, GETTY), ("kubelet.service",))
    assert gate(fit, library=library, playbook="gpu-image").status is Status.HEALTHY
    cups = replace(fit, enabled=(*fit.enabled, wanted("cups.service")))
    failed = gate(cups, library=library, playbook="gpu-image")
    assert (failed.status, failed.cause, failed.suspects) == (Status.DEGRADED, NAME, ("cups.service",))
    assert failed.confidence is Confidence.CONFIRMED
    assert gate(cups).status is Status.HEALTHY  # without a list nobody said that it is not wanted


def test_a_hundred_units_are_named_and_a_few_shown() -> None:
    many = tuple(wanted(f"x{number}.service") for number in range(100))
    finding = known_as(evaluate(BootUnitsReading(True, many), "sshd.service"), Finding)
    assert len(finding.suspects) == 100
    assert len(finding.evidence) == 12
    assert finding.summary.endswith("x0.service, x1.service, x2.service and 97 more")


@pytest.mark.parametrize(
    ("readings", "cause"),
    [
        ((b.cgroups(140), b.units(b.unit("agent.service", 40, 41))), "leaked-memory-cgroups"),
        ((b.units(b.between_tries()),), "crash-looping-unit"),
        ((b.units(b.stopped("backup.service")),), "failed-units"),
    ],
)
def test_leak_that_begins_loops_and_failed_units_fail_the_gate(readings: tuple[Any, ...], cause: str) -> None:
    said = gate(b.host("6.1.0-18-cloud-amd64", 0.02), *readings)
    assert (said.status, said.cause) == (Status.DEGRADED, cause)


def test_few_dying_cgroups_of_a_build_pass() -> None:
    assert gate(b.host("6.1.0-18-cloud-amd64", 0.02), b.cgroups(60)).status is Status.HEALTHY


def own(folder: Path, text: str) -> Library:
    (folder / "gpu-image.yaml").write_text(text)
    return Library.load([b.PLAYBOOKS, folder], PROBES, CAUSES, ACTIONS)


def test_what_is_allowed_is_part_of_the_playbooks_digest_and_is_inherited(tmp_path: Path) -> None:
    first = own(tmp_path, ROLE).get("gpu-image")
    assert own(tmp_path, ROLE.replace("getty@*", "getty*")).get("gpu-image").digest != first.digest
    (tmp_path / "h100.yaml").write_text("name: h100\ntitle: H100\nversion: 1\nextends: gpu-image\n")
    heir = own(tmp_path, ROLE).get("h100")
    assert [used.allow for used in heir.causes] == [used.allow for used in first.causes]


@pytest.mark.parametrize("name", ["sshd", "sshd.servic", "a b.service", "$(id).service", "../x.service"])
def test_name_that_can_match_no_unit_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlaybookError, match=r"gpu-image\.yaml:7: .* in allow of unused-agent-enabled is not a unit"):
        own(tmp_path, ROLE.replace("kubelet.service", f"'{name}'"))
