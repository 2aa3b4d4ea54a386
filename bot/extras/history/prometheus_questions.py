"""The queries about a node's past, and the sentences of their answers.

Metrics: node_exporter's collectors cpu, softnet and cgroups (the last is off by default, and counts on cgroup v1), and
cAdvisor's container_cpu_cfs_*, in the words of https://github.com/prometheus/node_exporter and google/cadvisor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.domain.verdict import Evidence

HELD = 0.8  # of a core's time in the kernel, over two minutes: from here on it gets its own line
DROPPED = 1.0  # packets
GAP = 500.0  # memory cgroups beyond the live ones
THROTTLED = 0.25  # of a container's periods
_CONTAINER = "instance, namespace, pod, container"


@dataclass(frozen=True, slots=True)
class Series:
    """A series of an answer: its labels, and its points as (seconds since the epoch, value); at least a point."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class PrometheusQuestion:
    """A range query; the node's matcher replaces `{node}` in its form."""

    name: str
    form: str

    def query(self, matcher: str) -> str:
        """Return the query for a node."""
        return self.form.replace("{node}", matcher)


CORE = PrometheusQuestion("core", 'topk by (instance) (1, rate(node_cpu_seconds_total{mode="system",{node}}[2m]))')
DROPS = PrometheusQuestion("drops", "sum by (instance) (increase(node_softnet_dropped_total{{node}}[2m]))")
CGROUPS = PrometheusQuestion(
    "cgroups",
    'node_cgroups_cgroups{subsys_name="memory",{node}} - on (instance) node_cgroups_cgroups{subsys_name="pids",{node}}',
)
QUOTA = PrometheusQuestion(
    "quota",
    f"topk by (instance) (1, sum by ({_CONTAINER}) (rate(container_cpu_cfs_throttled_periods_total{{{{node}}}}[5m]))"
    f" / sum by ({_CONTAINER}) (rate(container_cpu_cfs_periods_total{{{{node}}}}[5m])))",
)
QUESTIONS = (CORE, DROPS, CGROUPS, QUOTA)
# The query of each cause's count: memory cgroups minus cgroups of pids, of which none are dying.
COUNTED = {"leaked-memory-cgroups": CGROUPS}


def answer_evidence(
    answers: Mapping[PrometheusQuestion, Sequence[Series]], until: datetime, probe: str
) -> tuple[Evidence, ...]:
    """Return a line for each notable answer; if there are none, a line that says so."""
    loud: list[Evidence] = []
    quiet: list[str] = []
    for question, says in (
        (CORE, _core_answer),
        (DROPS, _drops_answer),
        (CGROUPS, _cgroups_answer),
        (QUOTA, _quota_answer),
    ):
        if series := answers.get(question, ()):
            sentence, is_loud = says(series)
            if is_loud:
                loud.append(Evidence(f"before-{question.name}", probe, f"before the alert: {sentence}"))
            else:
                quiet.append(sentence)
    if loud or not quiet:
        return tuple(loud)
    span = f"in the 15 min before {until.astimezone(UTC):%H:%M} UTC"
    return (Evidence("before-quiet", probe, f"before the alert: {span}, {', '.join(quiet)}"),)


def _core_answer(series: Sequence[Series]) -> tuple[str, bool]:
    highest, at, share = _highest(series)
    held = sum(value >= HELD for each in series for _, value in each.points)
    if share < HELD:
        return f"no core above {share:.0%} in the kernel", False
    core = highest.labels.get("cpu", "?")
    often = f"; a core above {HELD:.0%} in {held} of {_sample_count(series)} looks"
    return f"core {core} was in the kernel for {min(share, 1.0):.0%} of two minutes at {_clock_words(at)}{often}", True


def _drops_answer(series: Sequence[Series]) -> tuple[str, bool]:
    _, at, most = _highest(series)
    if most < DROPPED:
        return "no packets dropped for lack of a core's time", False
    return f"cores dropped {most:,.0f} packets within two minutes for lack of time, at {_clock_words(at)}", True


def _cgroups_answer(series: Sequence[Series]) -> tuple[str, bool]:
    points = sorted(max(series, key=lambda line: len(line.points)).points)
    (began, first), (ended, last) = points[0], points[-1]
    if max(first, last) < GAP:
        return f"{last:,.0f} memory cgroups beyond the living", False
    minutes = max(1, round((ended - began) / 60))
    return f"memory cgroups beyond the living went from {first:,.0f} to {last:,.0f} in {minutes} min", True


def _quota_answer(series: Sequence[Series]) -> tuple[str, bool]:
    highest, at, share = _highest(series)
    if share < THROTTLED:
        return "no container throttled much", False
    names = (highest.labels.get(label, "") for label in ("namespace", "pod", "container"))
    who = "/".join(name for name in names if name) or "a container"
    return f"{who} was throttled in {min(share, 1.0):.0%} of its periods at {_clock_words(at)}", True


def _highest(series: Sequence[Series]) -> tuple[Series, float, float]:
    return max(((sery, at, value) for sery in series for at, value in sery.points), key=lambda found: found[2])


def _sample_count(series: Sequence[Series]) -> int:
    return len({at for sery in series for at, _ in sery.points})


def _clock_words(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M} UTC"
