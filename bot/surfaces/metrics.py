"""What the bot says of its own work: a log line for each change of an incident, and metrics, which count those lines.

Metrics are for Prometheus; who may read them: this machine, and whoever has the token.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ and OpenMetrics, whichever a scraper asks for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import disable_created_metrics

from bot.chat.remembered import BoundedDict
from bot.domain.addresses import is_loopback
from bot.domain.contracts import Log
from bot.domain.events import StepFailed, StepSkipped, StepVerified
from bot.domain.incident import Incident, StepRecord
from bot.domain.verdict import Status
from bot.ledger.ledger_counts import OF_RECORD, Gauged
from bot.sources.body import is_bearer

ACK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0)  # Slack waits 3 s, PagerDuty 16
CHECK = (1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0, 30.0, 60.0)  # around the window of 5 s
VERDICT = (5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0)
SWEEP = (1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 180.0, 600.0, 1800.0)
WAVE_TURNS = ("cured", "contained", "failed", "dropped")  # as the extra writes them in its lines of the log
SWEEP_KINDS, SWEEP_ENDINGS = ("asked", "scheduled"), ("whole", "broken-off")
SWEPT_NODES, SWEEP_NEWS = ("answered", "unknown", "unreachable"), ("new", "nearer")
STEP_OUTCOMES = ("verified", "skipped", "failed")
_OUTCOMES = dict(zip((StepVerified, StepSkipped, StepFailed), STEP_OUTCOMES, strict=True))
REMEMBERED = 5000  # incidents whose last logged entry is known; an open group is shown again and again
_TROUBLE = ("_failed", "_unavailable", "_lost", "_refused", "_unreadable", "_given_up", "_dropped", "_trouble")
_ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "info": ("_info",)}
# Outcomes that anybody can cause: their times do not say how fast the bot is.
UNPROVEN = frozenset({"unauthorized", "slow", "aborted", "too-large"})
Gauges: TypeAlias = Mapping[str, tuple[str, tuple[str, ...]]]  # what each says, and its labels, by its name
NO_GAUGES: Gauges = {}
OF_BOT: Gauges = {  # beside those of the record
    "zombie_ready": ("1 while the bot takes work, as /readyz says.", ()),
    "zombie_ledger_up": ("1 while the record can be asked.", ()),
    "zombie_nodes": ("Nodes of the inventory.", ()),
    "zombie_readings_running": ("Nodes that are being read.", ()),
}
_MOST_EVENTS = 100  # event names are fixed words; a bug that invents names at run time must not flood Prometheus


class IncidentLog:
    """A surface that logs incidents. Whatever happened before `since` was logged by the process that ran then."""

    def __init__(self, log: Log, since: datetime) -> None:
        self._log = log
        self._since = since
        self._told: BoundedDict[str, Incident] = BoundedDict(REMEMBERED)

    async def show(self, group: Sequence[Incident]) -> None:
        """Log what is new in each incident."""
        for incident in group:
            before = self._told.get(incident.id)
            self._told[incident.id] = incident
            if before is None or before.seq < incident.seq:
                self._log_changes(before, incident)

    def _log_changes(self, before: Incident | None, now: Incident) -> None:
        if now.updated_at < self._since:
            return
        cause = (now.verdict.cause if now.verdict is not None else None) or ""
        about = {"incident": now.id, "node": now.node}
        self._log("incident", **about, group=now.group, state=now.state.value, cause=cause, entries=now.seq)
        if now.triage is not None and (before is None or before.triage is None):
            verdict, taken_at = now.triage.verdict, now.triage.taken_at
            judged_at = taken_at + verdict.took if taken_at is not None else now.updated_at
            if judged_at >= self._since:
                after = max(0.0, (judged_at - now.opened_at).total_seconds())
                self._log("judged", **about, status=verdict.status.value, after_seconds=round(after, 3))
        known = {step.number for step in before.steps if step.outcome is not None} if before is not None else set()
        for step in now.steps:
            if step.outcome is not None and step.number not in known and self._is_ours(step):
                outcome = _OUTCOMES[type(step.outcome)]
                self._log("step_ended", **about, step=step.number, action=_action(now, step), outcome=outcome)

    def _is_ours(self, step: StepRecord) -> bool:
        return step.ended_at is not None and step.ended_at >= self._since


def _action(incident: Incident, step: StepRecord) -> str:
    steps = incident.proposal.plan.steps if incident.proposal is not None else ()
    return steps[step.number - 1].action if step.number <= len(steps) else "unknown"


class Metrics:
    """Counters that follow the log and the web edge, and gauges that are set at each scrape.

    Shape: `actions` are the names of all actions, so that each starts at 0. `of_extras` are the extras' gauges.
    """

    def __init__(
        self,
        version: str,
        actions: Iterable[str] = (),
        of_extras: Gauges = NO_GAUGES,
    ) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._own = _Own(self.registry)
        gauges = {**OF_BOT, **OF_RECORD, **of_extras}
        self._gauges = {
            name: Gauge(name, says, labels, registry=self.registry) for name, (says, labels) in gauges.items()
        }
        # Of what could not be read there is no figure: zero and unknown are two things.
        self._unread: Gauged = {name: {} if labels else {(): math.nan} for name, (_, labels) in gauges.items()}
        self._events: set[str] = set()
        # Otherwise each counter gets a second series that nobody reads.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        ProcessCollector(registry=self.registry)  # memory, processor time and open files of the bot itself
        self._own.build.info({"version": version})
        for counter, *labels in (
            (self._own.checks, tuple(Status)),
            (self._own.wave_turns, WAVE_TURNS),
            (self._own.steps, tuple(actions), STEP_OUTCOMES),
            (self._own.sweeps, SWEEP_KINDS, SWEEP_ENDINGS),
            (self._own.sweep_nodes, SWEPT_NODES),
            (self._own.sweep_news, SWEEP_NEWS),
        ):
            for words in itertools.product(*labels):
                counter.labels(*words)  # starts at 0, so that rate() sees the first event

    def heard(self, event: str, fields: Mapping[str, Any]) -> None:
        """Count what a log line reports."""
        match event:
            case "checked":
                self._own.checks.labels(str(fields["status"])).inc()
                self._own.check_seconds.observe(float(fields["took_seconds"]))
            case "judged":
                self._own.verdict_seconds.observe(float(fields["after_seconds"]))
            case "step_ended":
                self._own.steps.labels(str(fields["action"]), str(fields["outcome"])).inc()
            case "wave" if fields.get("outcome"):
                self._own.wave_turns.labels(str(fields["outcome"])).inc()
            case "swept":
                self._count_sweep(fields)
            case _ if event.endswith(_TROUBLE) and (event in self._events or len(self._events) < _MOST_EVENTS):
                self._events.add(event)
                self._own.trouble.labels(event).inc()

    def _count_sweep(self, fields: Mapping[str, Any]) -> None:
        whole, broken_off = SWEEP_ENDINGS
        self._own.sweeps.labels(str(fields["kind"]), whole if fields["whole"] else broken_off).inc()
        self._own.sweep_seconds.observe(float(fields["seconds"]))
        for came in SWEPT_NODES:
            self._own.sweep_nodes.labels(came).inc(int(fields[came]))
        for what in SWEEP_NEWS:
            self._own.sweep_news.labels(what).inc(int(fields.get(what, 0)) if fields.get("told") else 0)

    def counted(self, source: str, outcome: str, seconds: float) -> None:
        """Count a request of a source, and how long its answer took."""
        self._own.webhooks.labels(source, outcome).inc()
        if outcome not in UNPROVEN:
            self._own.ack_seconds.observe(seconds)

    def unauthorized(self, path: str) -> None:
        """Count a request that was answered 401, by the path of its route."""
        self._own.unauthorized.labels(path).inc()

    def exposition(self, now: Gauged, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics in the format of the scraper's Accept header, and that format's content type.

        Shape: `now` has the gauges' figures, as far as they could be read.
        """
        for name, gauge in self._gauges.items():
            if not self._unread[name]:  # a gauge with labels; one without is set in any case
                gauge.clear()
            for labels, figure in now.get(name, self._unread[name]).items():
                (gauge.labels(*labels) if labels else gauge).set(figure)
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    @property
    def names(self) -> Sequence[str]:
        """Every series by its name in queries, without those of the process."""
        families = [family for metric in (*self._own.all, *self._gauges.values()) for family in metric.describe()]
        return sorted(f"{family.name}{ending}" for family in families for ending in _ENDINGS.get(family.type, ("",)))


class _Own:
    """The metrics that count. Labels are words of the bot or of playbooks, never of a node or an alert."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(name, says, labels, registry=registry)

        def histogram(name: str, says: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(name, says, buckets=buckets, registry=registry)

        self.build = Info("zombie_build", "The version that runs.", registry=registry)
        self.webhooks = counter("zombie_webhooks_total", "Requests of sources by outcome.", "source", "outcome")
        self.unauthorized = counter("zombie_unauthorized_total", "Requests with bad credentials, by path.", "path")
        self.ack_seconds = histogram("zombie_ack_seconds", "From a source's request to its answer.", ACK)
        self.checks = counter("zombie_checks_total", "Readings of a node by the status found.", "status")
        self.check_seconds = histogram("zombie_check_seconds", "A reading of a node, its window included.", CHECK)
        self.verdict_seconds = histogram("zombie_verdict_seconds", "From an alert or request to its verdict.", VERDICT)
        self.steps = counter("zombie_actions_total", "Steps by action and by how they ended.", "action", "outcome")
        self.wave_turns = counter("zombie_wave_turns_total", "Turns of waves by the node's outcome.", "outcome")
        self.sweeps = counter("zombie_sweeps_total", "Sweeps by who asked and how they ended.", "kind", "ended")
        self.sweep_seconds = histogram("zombie_sweep_seconds", "A sweep, from its first node to its last.", SWEEP)
        self.sweep_nodes = counter("zombie_sweep_nodes_total", "Nodes of sweeps by outcome.", "came")
        self.sweep_news = counter("zombie_sweep_news_total", "Nodes that a digest reported as new or nearer.", "what")
        self.trouble = counter("zombie_trouble_total", "Log lines that report a failure, by event.", "event")

    @property
    def all(self) -> Sequence[Counter | Histogram | Info]:
        return list(vars(self).values())


_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


class Scrape:
    """Answers a scraper. Without a configured token it answers only this machine, and nothing through a proxy.

    Shape: `exposition` is given the Accept header, and returns a body and its content type.
    """

    def __init__(self, token: str, exposition: Callable[[str], Awaitable[tuple[bytes, str]]]) -> None:
        self._token = token
        self._exposition = exposition

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a scrape: 401 for a wrong token; 403 for another machine where no token is configured."""
        if not self._has_token(request) and not _is_local_request(request):
            if not self._token:
                return web.Response(status=403, text="from this machine only, or with ZOMBIE_METRICS_TOKEN")
            return web.Response(status=401, text="a bearer token is needed", headers={"WWW-Authenticate": "Bearer"})
        body, content_type = await self._exposition(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    def _has_token(self, request: web.Request) -> bool:
        return is_bearer(request.headers.get("Authorization", ""), self._token)


def _is_local_request(request: web.Request) -> bool:
    """True for a local request. A local proxy passes on others', and a web page may use a host name of its own."""
    if "Authorization" in request.headers or any(name in request.headers for name in _FORWARDED):
        return False
    return is_loopback(request.remote or "") and is_loopback(_host(request))


def _host(request: web.Request) -> str:
    try:
        return urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        return ""
