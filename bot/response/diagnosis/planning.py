"""From a cause's remedy to a plan with exact commands, or to no plan and the reason why.

Where the node belongs to a Kubernetes cluster, drain and uncordon enclose its reboot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.actions.cluster_node import is_name
from bot.domain.action import Action, Plan, Step
from bot.domain.defaults import DRAIN_DEADLINE
from bot.domain.duration import duration_text
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import is_protected
from bot.domain.safe_text import one_line
from bot.domain.verdict import Verdict
from bot.probes.agents import AgentsReading
from bot.probes.host import HostReading
from bot.response.diagnosis import plan_impact
from bot.response.proven_cures import proven_on

NODE_LABEL, CONTEXT_LABEL = "kubernetes_node", "kubernetes_context"
_NODE, _CLUSTER = "node", "of_cluster"  # the arguments of an action on a cluster's node
PLAN_LABELS = (NODE_LABEL, CONTEXT_LABEL)
_ONLY = "[act] proven_only keeps to what is proven."


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """The settings for clusters, and which cures may be offered at all.

    Shape: `missing` says why no node can be drained, empty where they can. `cluster` is that of nodes whose label names
    none; empty: the label has to name it. `bare_pods`: also evict pods that nothing starts again. `proven_only`: a cure
    is offered only for a cause, with the figures, and on a kernel for which it is proven.
    """

    missing: str = "no Kubernetes cluster is configured"
    cluster: str = ""
    within: timedelta = DRAIN_DEADLINE
    bare_pods: bool = False
    proven_only: bool = False

    def with_drain(self, node: Node, steps: Sequence[Step], reboot_at: int) -> tuple[tuple[Step, ...], str]:
        """Return the steps with a drain before and an uncordon after the reboot, or why they are missing.

        Example:
        >>> node = Node("n1", "10.0.0.7", labels={"kubernetes_node": "ip-10-0-0-7"})
        >>> [step.action for step in DrainSettings("", "prod").with_drain(node, [Step("reboot")], 0)[0]]
        ['drain', 'reboot', 'uncordon']
        >>> DrainSettings().with_drain(node, [Step("reboot")], 0)[1]
        'ip-10-0-0-7 is not drained: no Kubernetes cluster is configured. Its pods are cut off by the reboot.'
        """
        name = node.labels.get(NODE_LABEL, "")
        if not name or any(step.action == "drain" for step in steps):
            return tuple(steps), ""
        where = self.cluster_arguments(node)
        if not where:
            none = "" if is_name(name) else "that cannot be a node's name in Kubernetes"
            why = self.missing or none or f"no label {CONTEXT_LABEL} names its cluster"
            return tuple(steps), f"{one_line(name, 100)} is not drained: {why}. Its pods are cut off by the reboot."
        how = {"within": duration_text(self.within)} | ({"with_bare_pods": "bare pods too"} if self.bare_pods else {})
        before, after = steps[:reboot_at], steps[reboot_at:]
        return (*before, Step("drain", where | how), *after, Step("uncordon", where)), ""

    def cluster_arguments(self, node: Node) -> dict[str, str]:
        """Return the arguments that name the cluster's node for an action; empty where it cannot be reached.

        Example:
        >>> node = Node("n1", "10.0.0.7", labels={"kubernetes_node": "ip-10-0-0-7"})
        >>> DrainSettings("", "prod").cluster_arguments(node)
        {'node': 'ip-10-0-0-7', 'of_cluster': 'prod'}
        """
        name, cluster = node.labels.get(NODE_LABEL, ""), node.labels.get(CONTEXT_LABEL, "") or self.cluster
        return {_NODE: name, _CLUSTER: cluster} if is_name(name) and cluster and not self.missing else {}


_NONE = DrainSettings()


def with_plan(
    verdict: Verdict,
    playbook: Playbook,
    actions: Mapping[str, Action],
    node: Node | None = None,
    draining: DrainSettings = _NONE,
) -> Verdict:
    """Return the verdict with its plan, where its remedy may be offered by this playbook.

    Steps belong together: if a step may not be offered, no later step is. An offered reboot brings drain and uncordon
    with it, where the node belongs to a Kubernetes cluster. Where a playbook does not offer a step's own action but an
    action that may replace it, that action replaces it. Actions in a cluster are offered only for a cluster's node.
    """
    if not verdict.remedy or verdict.snapshot is None:
        return verdict
    used = next((used for used in playbook.causes if used.cause.name == verdict.cause), None)
    allowed = used.remedy if used is not None else ()
    steps: list[Step] = []
    for step in (_swapped_for_allowed(step, allowed, actions) for step in verdict.remedy):
        action = actions.get(step.action)
        if action is None or step.action not in allowed or _stops_protected(step, action):
            break
        if _NODE in action.targets and _NODE not in step.args:
            where = draining.cluster_arguments(node) if node is not None else {}
            if not where:
                break
            step = replace(step, args={**step.args, **where})
        try:
            steps.append(_with_commands(step, actions, verdict.snapshot))
        except CannotRead:
            break
    if not steps:
        return verdict
    whole, note, unseen, loss, ends = tuple(steps), "", "", "", None
    reboot_at = next((at for at, step in enumerate(steps) if actions[step.action].reboots), None)
    if node is not None and reboot_at is not None:
        whole, note = draining.with_drain(node, whole, reboot_at)
    stops = next((step for step in steps if actions[step.action].stops_a_unit), None)
    if stops is not None:
        loss = _need_words(verdict.snapshot, stops.args["unit"])
    if reboot_at is not None:
        ends = plan_impact.ended_by_reboot(verdict.snapshot)
        unseen = plan_impact.not_read(ends, verdict.half_read)
    elif stops is not None:
        ends = plan_impact.ended_by_stop(verdict.snapshot, stops.args["unit"])
    host, cure = verdict.snapshot.get(HostReading), tuple(step.action for step in steps)
    kernel, cause = "" if isinstance(host, Unread) else host.kernel, verdict.cause or ""
    proven = proven_on(cause, cure, kernel, own_figures=used is not None and used.has_own_figures)
    if draining.proven_only and not proven.here:
        kept = f"Nothing is offered: {_ONLY} {proven.says}"
        return replace(verdict, summary=f"{verdict.summary.removesuffix('.')}. {kept}")
    planned = tuple(_with_commands(step, actions, verdict.snapshot) for step in whole)
    said = (note, unseen, *(actions[step.action].note for step in planned), loss, proven.says)
    notes = tuple(dict.fromkeys(filter(None, said)))
    return replace(verdict, plan=Plan(verdict.node, planned, verdict.lasting_fix, notes, ends, proven))


def _need_words(snapshot: Snapshot, unit: str) -> str:
    """Say whether a unit that would be stopped is needed on its node, as far as that was read."""
    agents = snapshot.get(AgentsReading)
    known = () if isinstance(agents, Unread) else agents.agents
    if (agent := next((each for each in known if each.unit == unit), None)) is None or agent.used is not False:
        return f"Whether anything here needs {unit} is not known."
    return f"{unit} is not needed: {agent.because.partition(',')[0] or 'nobody uses it'}."


def _swapped_for_allowed(step: Step, allowed: Sequence[str], actions: Mapping[str, Action]) -> Step:
    """Return the step, or its replacement where a playbook offers only that."""
    if step.action in allowed:
        return step
    instead = (name for name in allowed if name in actions and actions[name].in_place_of == step.action)
    return next((Step(name) for name in instead), step)


def _stops_protected(step: Step, action: Action) -> bool:
    return not action.starts_a_unit and "unit" in step.args and is_protected((step.args["unit"],))


def _with_commands(step: Step, actions: Mapping[str, Action], snapshot: Snapshot) -> Step:
    return replace(step, commands=actions[step.action].commands(step.args, snapshot))
