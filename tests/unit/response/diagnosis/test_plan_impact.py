"""What ends with a plan: named gravest first, grouped, and what was not read is never none."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.action import EndedItem, Plan, PlanImpact, Step
from bot.domain.json_form import read, to_json_types
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import redacted
from bot.domain.verdict import Verdict
from bot.probes.containers import ContainersReading
from bot.probes.formats.container_lists import Container
from bot.probes.gpu import Gpu, GpuReading, GpuUser
from bot.probes.processes import ProcessesReading, ProcessKind
from bot.probes.units import Unit, UnitsReading
from bot.response.diagnosis.plan_impact import ended_by_reboot, ended_by_stop
from bot.surfaces.document import ends_body, node_document
from bot.view.plan_words import PlanWords
from tests.known import known
from tests.unit.causes.builders import node
from tests.unit.surfaces.verdicts import FOUNDING, HOSTILE

DAY = timedelta(days=1)
WORDS = PlanWords(ACTIONS)
BUSES = tuple(f"0000:{number}0:1c.0" for number in range(1, 9))
TRAINING = tuple(GpuUser(4000 + at, "ray::train_step", 39_600.0 + at, (BUSES[at % 8],)) for at in range(24))
KINDS = (
    ProcessKind("ray::train_step", 24, 39_600.0, 90.0),
    ProcessKind("python3", 16, 7300.0, 3.0),
    ProcessKind("systemd-journal", 1, 90_000.0, 2.0),
    ProcessKind("containerd-shim", 9, 90_000.0, 2.0),
    ProcessKind("bash", 2, 60.0, 0.0),
    ProcessKind("qemu-system-x86", 2, 9000.0, 5.0),
)


def processes(*kinds: ProcessKind) -> ProcessesReading:
    return ProcessesReading((), 5.0, kinds=kinds)


def gpus(users: tuple[GpuUser, ...] | None = TRAINING) -> GpuReading:
    return GpuReading(tuple(Gpu(bus, "nvidia", answers=True) for bus in BUSES), "answered", users)


def units(*names: str, active: str = "active") -> UnitsReading:
    return UnitsReading(True, tuple(Unit(name, active=active, started_usec=1_000_000) for name in names))


def container(image: str, name: str = "", running: bool = True, age: timedelta | None = DAY) -> Container:
    return Container(f"{image}{name}", image, name, running=running, age=age)


def looked(*readings: Any) -> Snapshot:
    nothing = (processes(), gpus(()), units(), ContainersReading(()))
    return node(*nothing, *readings)


def said(ends: PlanImpact) -> tuple[str, ...]:
    return WORDS.view(Plan("n1", (Step("reboot"),), ends=ends)).ends


def test_databases_and_members_come_first_then_guests_work_on_gpus_and_the_rest() -> None:
    pods = (
        container("registry.k8s.io/etcd:3.5", "/etcd"),
        container("rayproject/ray-ml:2.9", "k8s_ray-worker_ray_x_0"),
        container("k8s.gcr.io/pause:3.5", "k8s_POD_ray-worker_ray_x_0"),
        container("bitnami/redis:7", running=False),
    )
    seen = looked(processes(*KINDS), gpus(), units("postgresql@14-main.service", "slurmd.service", "cron.service"))
    ends = ended_by_reboot(
        replace(seen, readings={**seen.readings, "containers": ContainersReading(("docker",), pods)})
    )
    assert [(end.what, end.kind, end.count) for end in ends.rows] == [
        ("postgresql@14-main.service", "keeps", 1),
        ("etcd", "keeps", 1),
        ("qemu-system-x86", "guest", 2),
        ("ray::train_step", "gpu", 24),
        ("slurmd.service", "jobs", 1),
        ("python3", "process", 16),
        ("ray-ml", "containers", 1),
    ]
    assert ends.unread == ()
    rows = said(ends)
    assert rows[0].startswith("postgresql@14-main.service (others need its data or its vote), running for ")
    assert rows[3] == "24 × ray::train_step on 8 GPUs, running for 11 h"
    assert rows[5] == "16 × python3, running for 2 h"


def test_a_database_that_no_unit_and_no_container_names_is_known_by_its_processes() -> None:
    lone = looked(processes(ProcessKind("mongod", 1, 100.0, 0.0), ProcessKind("postgres", 12, 100.0, 0.0)))
    assert [(end.what, end.kind, end.count) for end in ended_by_reboot(lone).rows] == [
        ("mongod", "keeps", 1),
        ("postgres", "keeps", 1),  # its processes come and go with its clients
    ]
    clients = ("redis-cli", "mysqldump", "postgres_export", "mysql", "mongorestore")
    assert ended_by_reboot(looked(processes(*(ProcessKind(name, 1, 1.0, 0.0) for name in clients)))).rows == ()
    backup = looked(processes(ProcessKind("mysqldump", 1, 7300.0, 3.0), ProcessKind("mysqld", 1, 9000.0, 3.0)))
    assert [(end.what, end.kind) for end in ended_by_reboot(backup).rows] == [
        ("mysqld", "keeps"),
        ("mysqldump", "process"),  # it keeps nothing, and is cut off
    ]
    both = looked(processes(ProcessKind("postgres", 12, 100.0, 0.0)), units("postgresql.service"))
    assert [end.what for end in ended_by_reboot(both).rows] == ["postgresql.service"], "its unit names it"
    stopped = looked(units("postgresql.service", active="inactive"))
    assert ended_by_reboot(stopped).rows == ()


@pytest.mark.parametrize(
    ("reading", "probe"),
    [
        (Unread("units", "sudo refused"), "units"),
        (Unread("containers", "sudo refused"), "containers"),
        (Unread("processes", "hidden"), "processes"),
        (Unread("gpu", "cut"), "gpu"),
        (gpus(None), "gpu"),
        (ProcessesReading((), 5.0), "processes"),
        (ProcessesReading((), 5.0, kinds=(), kinds_not_listed=7), "processes: rarer"),
        (ContainersReading(("docker",), refused={"cri": "permission denied"}), "containers: cri"),
        (ContainersReading(("docker",), count_is_at_least=True), "containers: older"),
    ],
)
def test_what_was_not_read_is_said_and_never_none(reading: Any, probe: str) -> None:
    seen = looked()
    seen = replace(seen, readings={**seen.readings, probe.partition(":")[0]: reading})
    ends = ended_by_reboot(seen)
    assert [unread.probe for unread in ends.unread] == [probe]
    view = WORDS.view(Plan("n1", (Step("reboot"),), ends=ends))
    assert view.ends == (), "nothing says that nothing ends"
    assert view.ends_unread.startswith(f"What else ends is not known: {probe} (")


def test_nothing_seen_is_said_only_where_everything_was_read() -> None:
    assert said(ended_by_reboot(looked())) == (
        "no database, job, container or busy process that was seen; only the system's own",
    )


def test_a_reboot_of_which_nothing_is_on_record_says_that_it_was_not_read() -> None:
    assert WORDS.view(Plan("n1", (Step("reboot"),))).ends_unread == "What ends with it was not read."
    assert WORDS.view(Plan("n1", (Step("start_unit", {"unit": "a.service"}),))).ends_words() == ""


def test_with_a_unit_alone_ends_the_unit() -> None:
    (row,) = ended_by_stop(looked(units("ecs.service")), "ecs.service").rows
    assert (row.what, row.kind) == ("ecs.service", "unit")
    assert row.age is not None


def test_workers_that_were_counted_on_gpus_are_not_counted_again() -> None:
    kinds = (ProcessKind("python3", 20, 50.0, 9.0),)
    users = tuple(GpuUser(at, "python3", 50.0, (BUSES[at],)) for at in range(8))
    rows = [(end.kind, end.count) for end in ended_by_reboot(looked(processes(*kinds), gpus(users))).rows]
    assert rows == [("gpu", 8), ("process", 12)]


def test_names_of_nodes_are_made_safe_and_rows_are_bounded() -> None:
    kinds = tuple(ProcessKind(f"{at}{HOSTILE}\n", 1, 1.0, 9.0) for at in range(500))
    ends = ended_by_reboot(looked(processes(*kinds)))
    assert (len(ends.rows), ends.more) == (40, 460)
    assert all(end.what.isprintable() for end in ends.rows)
    assert said(ends)[-1] == "460 more"


def test_what_ends_is_named_as_on_record_and_a_name_is_cut_only_for_what_it_is_itself() -> None:
    names = ("redis-token", "mysql-0", "postgres-password", "cassandra-0", "postgres-Fa0ke1Fa2ke3Fa4ke5Fa6ke7")
    ends = ended_by_reboot(looked(ContainersReading((), tuple(container("sha256:aa", name) for name in names))))
    assert [end.what for end in ends.rows] == [*names[:4], "[redacted]"]
    assert read(PlanImpact, redacted(to_json_types(ends))) == ends
    assert redacted(ends_body(ends)) == ends_body(ends)
    others = looked(ContainersReading((), (container("password:1"), container("llama3-70b:1"))))
    what = "password | llama3-70b"
    assert [end.what for end in read(PlanImpact, redacted(to_json_types(ended_by_reboot(others)))).rows] == [what]


def test_it_is_in_the_document_beside_the_plan_and_not_in_its_digest() -> None:
    assert FOUNDING.plan is not None
    ends = PlanImpact((EndedItem("ray::train_step", "gpu", 24, 8, 39_600),), 0, (Unread("units", "sudo refused"),))
    with_ends: Verdict = replace(FOUNDING, plan=replace(FOUNDING.plan, ends=ends))
    document = node_document(with_ends)
    assert document["ends"] == [
        {"what": "ray::train_step", "kind": "gpu", "count": 24, "gpus": 8, "running_seconds": 39_600}
    ]
    assert document["ends_unread"] == [{"probe": "units", "reason": "sudo refused"}]
    assert known(with_ends.plan).digest == FOUNDING.plan.digest


def test_what_ends_is_on_record_with_the_plan_and_older_plans_are_read_without() -> None:
    assert FOUNDING.plan is not None
    rows = (EndedItem("etcd.service", "keeps"), EndedItem("ray::train_step", "gpu", 24, 8, 39_600))
    plan = replace(FOUNDING.plan, ends=PlanImpact(rows, 2, (Unread("units", "sudo refused"),)))
    assert read(Plan, to_json_types(plan)) == plan
    older = {name: value for name, value in to_json_types(plan).items() if name != "ends"}
    assert read(Plan, older).ends is None
