"""What a cause's file says is what is judged; what follows from it is not written; a slip is told with its line."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.app.factories import library
from bot.causes import CAUSES
from bot.causes.declared import FORMATS, FUNCTIONS, read_cause
from bot.domain.cause import Cause, CauseResult, Tuning
from bot.domain.errors import PlaybookError
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.library.language import AS_WRITTEN
from bot.library.shapes import CauseFile, EvidenceShape, OtherwiseShape
from bot.probes.conntrack import ConntrackReading
from bot.probes.ebs import EbsReading, Volume
from bot.probes.kernel_limits import KernelLimitsReading, Limit, TcpMemory
from tests.commandline import CommandLine
from tests.known import known_as
from tests.unit.causes import builders as b

PAGE = (Path(__file__).parents[3] / "docs" / "causes.md").read_text()
HEAD = "cause: worn\ntitle: Worn\nabout: It is worn.\nlasting_fix: Another.\n"
TAIL = "otherwise:\n  - {ruled_out: it is not}\nexamples:\n  - {then: undecided}\n"
PLAIN = 'evidence:\n  - {name: full, when: conntrack.count > 5, says: "{conntrack.count} of them"}\n'


def cause(folder: Path, text: str = PLAIN, tail: str = TAIL) -> Cause:
    path = folder / "worn.yaml"
    path.write_text(HEAD + text + tail)
    return read_cause(path)


def evaluate(folder: Path, text: str, *readings: Any, tail: str = TAIL) -> CauseResult:
    of = cause(folder, text, tail)
    return of.evaluate(b.node(*readings), Tuning(of.thresholds))


def table(count: int = 9, maximum: int = 10) -> ConntrackReading:
    return ConntrackReading(True, count, maximum, ("count 9",))


def test_probes_gravity_and_figures_follow_from_the_file(tmp_path: Path) -> None:
    plain = cause(tmp_path)
    assert (plain.probes, plain.worst, plain.signature, plain.beside) == (("conntrack",), Status.DEGRADED, (), ())
    more = (
        'single_look: true\nbeside: [cpu]\nlet:\n  lines: log("oom-kill", hours=1)\ncritical: cpu.cores > 1 and lines\n'
    )
    whole = cause(tmp_path, PLAIN + more)
    assert (whole.probes, whole.worst, whole.beside) == (("conntrack", "kernel_log", "host"), Status.CRITICAL, ("cpu",))
    assert whole.signature == whole.probes
    assert (whole.title, whole.about, whole.lasting_fix) == ("Worn", "It is worn.", "Another.")


def test_what_evidence_asks_and_is_unread_rules_nothing_out(tmp_path: Path) -> None:
    assert evaluate(tmp_path, PLAIN, table(3)) == RuledOut("worn", "it is not")
    open_ = evaluate(tmp_path, PLAIN, b.unread("conntrack"))
    assert open_ == Undecided("worn", "conntrack was not read (permission denied)")
    said = "otherwise:\n  - {undecided: nobody counts, unread: conntrack, decided_by: a look, worst: degraded}\n"
    open_ = evaluate(tmp_path, PLAIN, b.unread("conntrack"), tail=said + "examples: [{then: undecided}]\n")
    decided_by = "nobody counts (permission denied)"
    assert open_ == Undecided("worn", decided_by, would_decide="a look", worst=Status.DEGRADED)


def test_gravity_that_is_not_known_is_degraded_and_says_so(tmp_path: Path) -> None:
    text = PLAIN + 'critical: log("oom-kill", hours=1)\n'
    found = known_as(evaluate(tmp_path, text, table(), b.unread("kernel_log")), Finding)
    assert found.status is Status.DEGRADED
    says = "whether it is critical is not known: kernel_log was not read (permission denied)"
    assert found.evidence[1] == Evidence("gravity-open", "kernel_log", says)
    found = known_as(evaluate(tmp_path, text, table(), b.log(b.event("oom-kill"))), Finding)
    assert (found.status, len(found.evidence)) == (Status.CRITICAL, 1)


def test_several_are_seen_one_by_one_and_the_surest_counts(tmp_path: Path) -> None:
    text = (
        "evidence:\n  - {name: held, each: volume in ebs.volumes, when: volume.queue_length > 1,"
        ' says: "{volume.device} holds {volume.queue_length:count request}", lines: volume.lines, confidence: likely}\n'
        "  - {when: count(ebs.volumes) > 1, says: that is all}\n"
    )
    volumes = [Volume(f"nvme{n}n1", 0, 0, 0, 0, queue_length=n, lines=(f"line {n}",)) for n in (1, 2, 3)]
    found = known_as(evaluate(tmp_path, text, EbsReading(tuple(volumes))), Finding)
    assert [(seen.name, seen.says, seen.source) for seen in map(_named, found.evidence)] == [
        ("held", "nvme2n1 holds 2 requests", ("line 2",)),
        ("held", "nvme3n1 holds 3 requests", ("line 3",)),
    ]
    assert found.summary == "nvme2n1 holds 2 requests; nvme3n1 holds 3 requests; that is all"
    assert found.confidence is Confidence.LIKELY


def test_name_that_goes_over_the_same_parts_leaves_the_others_where_they_are(tmp_path: Path) -> None:
    text = (
        'let:\n  most: "[volume for volume in ebs.volumes if volume.queue_length > 0]"\n'
        "evidence:\n  - {name: held, each: volume in ebs.volumes, when: most, says: '{volume.device}'}\n"
    )
    volumes = [Volume(f"nvme{n}n1", 0, 0, 0, 0, queue_length=n) for n in (1, 2, 3)]
    found = evaluate(tmp_path, text, EbsReading(tuple(volumes)))
    assert found.summary == "nvme1n1; nvme2n1; nvme3n1"  # type: ignore[union-attr]


def _named(seen: Evidence) -> Any:
    return type("Seen", (), {"name": seen.finding, "says": seen.says, "source": seen.source})


LIMITS = KernelLimitsReading((Limit("threads", 9, 10), Limit("files", 2, 10)), tcp=TcpMemory(5, 4, 9))


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("kernel_limits.tcp.pages > kernel_limits.tcp.pressure", True),
        ("kernel_limits.table_fulls > 0", None),
        ("surely(kernel_limits.table_fulls > 0)", False),
        ("unread(kernel_limits.table_fulls) and not unread(kernel_limits) and unread(conntrack.count)", True),
        ("count([limit for limit in kernel_limits.limits if limit.used > 5]) == 1", True),
        ("[limit for limit in kernel_limits.limits if limit.used > 50]", False),
        ("any(limit.used > 5 for limit in kernel_limits.limits)", True),
        ('highest(kernel_limits.limits, "used").name == "threads"', True),
        ('lowest(kernel_limits.limits, "used").name == first(kernel_limits.limits[1:]).name', True),
        ("sum([limit.used for limit in kernel_limits.limits]) == 11", True),
        ('joined([limit.name for limit in kernel_limits.limits], ", ") == "threads, files"', True),
        ("count(distinct([limit.maximum for limit in kernel_limits.limits])) == 1", True),
        ("last(kernel_limits.limits[:0]).used > 5", None),
        ("unread(largest([limit.used for limit in kernel_limits.limits[:0]]))", True),
        ("[limit for limit in kernel_limits.limits if kernel_limits.table_fulls > 0]", None),
        ('(1 if kernel_limits.tcp else 2) == 1 and f"{kernel_limits.tcp.pages}" == "5"', True),
        ("(1 if kernel_limits.table_fulls > 0 else 2) > 0", None),
        ("host.uptime > 11 * 86400", True),
        ('log("oom-kill", minutes=5)', True),
        ('log("oom-kill", minutes=2)', False),
        ('within(log("oom-kill"), hours=1) and not within(log("oom-kill"), minutes=1)', True),
        ('log("oom-kill", has="nothing")', False),
        ('log("oom-kill", minutes=0)', False),
        ('count(log("oom-kill", timed=True)) == 1', True),
        ('"kubelet.service" in services("kubelet") and conntrack.loaded', None),
        ('hottest("sys_percent").percent > 0 and not held("sys_percent", 90, 1)', True),
    ],
)
def test_expression_comes_to(tmp_path: Path, expression: str, holds: bool | None) -> None:
    text = f"evidence:\n  - name: so\n    when: >-\n      {expression}\n    says: so\n"
    found = evaluate(tmp_path, text, LIMITS, b.unread("conntrack"), b.log(b.event("oom-kill")))
    assert type(found) is {True: Finding, False: RuledOut, None: Undecided}[holds]


def test_numbers_are_written_as_people_read_them(tmp_path: Path) -> None:
    says = (
        "{kernel_limits.tcp.pages:,} {55.5:%} {90:span} {2048:memory} {1.25:.1f} {2:count reply|replies}, "
        "{ago(log('oom-kill'))}, {kernel_limits.table_fulls:,}"
    )
    found = evaluate(tmp_path, f'evidence:\n  - name: so\n    says: "{says}"\n', LIMITS, b.log(b.event("oom-kill")))
    assert found.summary == "5 56 % 90 s 2 MiB 1.2 2 replies, 3 minutes ago, an unknown value"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("when", "fault"),
    [
        ("contrack.count > 1", '"contrack" is not a probe. Did you mean'),
        ("conntrack.cnt > 1", 'conntrack has no field "cnt". Did you mean'),
        ("conntrack.count", "its value is a number; a condition is a yes"),
        ("log('conntrak')", 'no row of the kernel log tells "conntrak"'),
        ('log("oom-kill", days=1)', "log takes text, hours=a number"),
        ('held("ys", 1, 1)', "a core has usr_percent"),
        ("open('x')", "open cannot be called."),
        ("count(conntrack.count) > 1", "count takes several, and conntrack"),
        ('highest(ebs.volumes, "device")', "'device' is no number of a"),
        ("ebs.volumes[0]", "ebs.volumes[0] is not allowed"),
        ("(lambda: 1)()", "lambda: 1 cannot be called."),
        ("conntrack.__class__", 'conntrack has no field "__class__"'),
    ],
)
def test_slip_in_a_condition_is_told_with_its_line(tmp_path: Path, when: str, fault: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        cause(tmp_path, f"evidence:\n  - says: so\n    when: >-\n      {when}\n")
    assert f"worn.yaml:7: when: {fault}" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("evidence:\n  - {says: it is so}\n", "6: it uses no reading, so it is seen always or never"),
        ("evidence:\n  - {says: '{conntrack.count:kg}'}\n", '6: says: there is no format "kg"'),
        ("evidence:\n  - {says: '{conntrack.loaded}'}\n", "6: says: conntrack.loaded is a yes or no, which cannot be"),
        ("evidence:\n  - {says: 'a \\\\ {conntrack.count}'}\n", "6: says: a sentence has no backslash"),
        ("evidence:\n  - {says: so, each: ebs.volumes}\n", "6: each: not an expression"),
        (
            "evidence:\n  - {says: so, each: x in conntrack.count}\n",
            "6: each: conntrack.count is a number, not several",
        ),
        (PLAIN + "let:\n  conntrack: conntrack.count\n", "8: conntrack: conntrack is taken already"),
        (
            PLAIN + "let:\n  x: (1 if conntrack.loaded else 'a')\n",
            "8: x: 1 if conntrack.loaded else 'a' is a number or",
        ),
        (
            PLAIN + "thresholds:\n  used_percent: {value: 900, reason: x}\n",
            "8: used_percent is 900; a percentage is at",
        ),
        (PLAIN + "beside: [moon]\n", '7: unknown probe "moon" in beside'),
        (PLAIN + "critcal: conntrack.loaded\n", '7: unknown key "critcal". Did you mean critical?'),
        ("", '1: the cause lacks "evidence": what is seen on a node that has it.'),
    ],
)
def test_slip_is_told_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        cause(tmp_path, text)
    assert f"worn.yaml:{fault}" in str(refused.value)


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("{when: conntrack.loaded}", "write one of ruled_out, does_not_apply, undecided"),
        ("{undecided: so, unread: moon}", "moon"),
    ],
)
def test_otherwise_says_one_thing(tmp_path: Path, entry: str, fault: str) -> None:
    with pytest.raises(PlaybookError, match=f"worn.yaml:8: .*{fault}"):
        cause(tmp_path, tail=f"otherwise:\n  - {entry}\nexamples: [{{then: undecided}}]\n")


def own(folder: Path, name: str, text: str) -> Path:
    (folder / "causes").mkdir(exist_ok=True)
    (folder / "causes" / f"{name}.yaml").write_text(text)
    return folder


def test_causes_of_a_site_are_evaluated_and_replace_none_of_ours(tmp_path: Path) -> None:
    folder = own(tmp_path, "worn", HEAD + PLAIN + TAIL)
    assert [used.cause.name for used in library([folder]).get("node-health").causes][-1] == "worn"
    assert "worn" not in {used.cause.name for used in library().get("node-health").causes}
    own(tmp_path, "worn", HEAD.replace("worn", "worm") + PLAIN + TAIL)
    with pytest.raises(PlaybookError, match=r"worn.yaml:1: the cause is called worm; call the file worm.yaml"):
        library([folder], strict=True)
    (folder / "causes" / "worn.yaml").unlink()
    own(tmp_path, "conntrack-full", HEAD.replace("worn", "conntrack-full") + PLAIN + TAIL)
    with pytest.raises(PlaybookError, match=r"conntrack-full.yaml:1: there is a cause conntrack-full, and none is"):
        library([folder], strict=True)


def test_cause_of_ones_own_is_begun_and_checked(run: CommandLine, tmp_path: Path) -> None:
    assert run("playbooks", "new", "worn", "--dir", str(tmp_path)).status == 0
    path = tmp_path / "causes" / "worn.yaml"
    for what in (path, tmp_path):
        assert run("playbooks", "check", str(what))[:2] == (0, f"{path}: worn is valid: 4 examples\n")
    assert run("playbooks", "new", "worn", "--dir", str(tmp_path)).status == 2
    assert run("playbooks", "new", "Worn").status == 2
    text = path.read_text()
    path.write_text(text.replace("then: critical", "then: degraded"))
    line = next(at for at, row in enumerate(text.splitlines(), 1) if "then: critical" in row)
    status, _, err = run("playbooks", "check", str(path))
    assert (status, f"worn.yaml:{line}: then is critical, not degraded" in err) == (2, True)


def test_page_names_every_key_function_and_format() -> None:
    keys = [field.name for kind in (CauseFile, EvidenceShape, OtherwiseShape) for field in dataclasses.fields(kind)]
    named: Mapping[str, Any] = {**FUNCTIONS, **AS_WRITTEN}
    assert [key for key in keys if f"`{key}`" not in PAGE] == []
    assert [name for name in named if not re.search(rf"[`{{]{name}\(", PAGE)] == []
    assert [name for name in FORMATS if name and not re.search(rf"`{re.escape(name)}[` ]", PAGE)] == []
    assert all(cause.about for name, cause in CAUSES.items() if name in ("cpu-steal", "conntrack-full"))
