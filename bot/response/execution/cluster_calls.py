"""Access to a node's Kubernetes cluster for acting: looks, and rounds of approved calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.actions.cluster_node import CLUSTER
from bot.domain.action import Action, Args, Facts, Step
from bot.domain.cluster_call import ApiAnswer, Call, is_as_approved
from bot.domain.command import Command, Completed, Outputs
from bot.domain.contracts import ClusterApi
from bot.domain.errors import Braked, CannotRead, ConnectionLost, UnknownCluster
from bot.domain.safe_text import listed, one_line

KUBERNETES = "kubernetes"  # the first word of a right that a cluster grants, not sudo
_LOOK_LIMIT = timedelta(seconds=10)
_ROUND = timedelta(seconds=8)  # a round ends before its runner counts as dead; the next round does the rest
_AT_ONCE = 8
_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_GONE, _CONFLICT, _NOT_NOW = 404, 409, 429
_WORDS = 3  # refused calls that are quoted in full


async def never_braked() -> None:
    """Allow every call."""


class TooLate(Exception):
    """It was begun too long ago, so it is not sent. No ZombieError: the node is read again."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Access to the clusters; None where none is configured, or a package is not installed."""

    api: ClusterApi | None

    async def facts(self, action: Action, args: Args, boot_id: str) -> Facts:
        """Return the answers to the action's looks, and the boot id of the node itself.

        Raises: ConnectionLost; CannotRead when the cluster is unknown, refuses the look, or has no such node.
        """
        try:
            seen = await asyncio.gather(*(self._send_read(args, command) for command in action.looks(args)))
        except UnknownCluster as no:
            raise CannotRead(no.sentence, no.try_next) from no
        return {**action.facts(args, Outputs(*seen)), "boot_id": boot_id}

    async def send_due_calls(
        self,
        action: Action,
        step: Step,
        before: Facts,
        in_time: Callable[[], bool] = lambda: True,
        released: Callable[[], Awaitable[None]] = never_braked,
    ) -> Completed:
        """Look, and send the calls that are due now; a pod that may not be evicted yet is no failure.

        Shape: `in_time` and `released` are asked before each call, because each call has its own effect.
        Raises: ConnectionLost when the cluster does not answer: a later round goes on. TooLate, or what `released`
        raises, when some calls were not sent.
        """
        try:
            now = await self.facts(action, step.args, before.get("boot_id", ""))
        except CannotRead as no:
            raise ConnectionLost(no.sentence) from no
        assert action.by_calls is not None
        lines = action.by_calls.calls(step.args, before, now)
        if strange := [line for line in lines if not any(is_as_approved(line, command) for command in step.commands)]:
            return Completed("step", "run", 0, "", f"not what was approved: {one_line(strange[0], 120)}", 1)
        gate, said, failed = asyncio.Semaphore(_AT_ONCE), [*action.by_calls.spares(step.args, before, now)], list[str]()
        lost: list[ConnectionLost] = []
        late: list[str] = []
        braked: list[Braked] = []

        async def send(line: str) -> None:
            async with gate:
                try:
                    await released()
                except Braked as no:
                    braked.append(no)
                    return
                if not in_time():
                    late.append(line)
                    return
                try:
                    call = Call.of(line)
                    answer = await self._api.call(step.args[CLUSTER], call, action.limit)
                except ConnectionLost as no:
                    lost.append(no)
                    return
            if call.verb == "POST" and answer.status != 401:
                said.extend(_not_yet(call, answer))
            elif not answer.is_done:
                failed.append(f"{call.verb} {call.path}: {_message(answer)}")

        first, rest = [line for line in lines if line.startswith("PATCH ")], [*lines]
        for line in first:  # cordon before evicting, so that no new pod comes
            rest.remove(line)
            await send(line)
        if not failed and not lost and not late and not braked:
            doing = [asyncio.ensure_future(send(line)) for line in rest]
            if doing:
                _, unanswered = await asyncio.wait(doing, timeout=_ROUND.total_seconds())
                for task in unanswered:
                    task.cancel()
                await asyncio.gather(*doing, return_exceptions=True)
        if late:
            raise TooLate
        if braked:
            raise braked[0]
        if lost and not failed:
            raise lost[0]
        words = listed(sorted(said), _WORDS, "; ")
        return Completed("step", "run", 0, words, "; ".join(failed), int(bool(failed)))

    async def lacking(self, action: Action, args: Args) -> tuple[tuple[str, ...], ...]:
        """Return the rights that the bot's login in the cluster does not have.

        Raises: UnknownCluster, ConnectionLost; CannotRead when the cluster does not say.
        """
        rights = action.rights_of(args)
        answers = await asyncio.gather(*(self._has_right(args, verb, resource) for verb, resource in rights))
        return tuple((KUBERNETES, *right) for right, allowed in zip(rights, answers, strict=True) if not allowed)

    async def close(self) -> None:
        """Hang up."""
        if self.api is not None:
            await self.api.close()

    async def _has_right(self, args: Args, verb: str, resource: str) -> bool:
        name, _, sub = resource.partition("/")
        asked = {"verb": verb, "resource": name, "group": "", "version": "v1"} | ({"subresource": sub} if sub else {})
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        answer = await self._api.call(args[CLUSTER], Call("POST", _REVIEW, json.dumps(body)), _LOOK_LIMIT)
        try:
            allowed = json.loads(answer.body)["status"]["allowed"] if answer.is_done else None
        except (ValueError, KeyError, TypeError):
            allowed = None
        if not isinstance(allowed, bool):
            raise CannotRead(f"Cluster {args[CLUSTER]} does not say what the bot may do there: {_message(answer)}")
        return allowed

    async def _send_read(self, args: Args, command: Command) -> Completed:
        verb, path = command.argv
        answer = await self._api.call(args[CLUSTER], Call(verb, path), _LOOK_LIMIT)
        if answer.status >= 500 or answer.status == _NOT_NOW:
            raise ConnectionLost(f"The API of cluster {args[CLUSTER]} says {_message(answer)}.")
        if not answer.is_done:
            raise CannotRead(f"Cluster {args[CLUSTER]} says to {verb} {path}: {_message(answer)}")
        return Completed("", command.name, 0, answer.body, cut=answer.cut)

    @property
    def _api(self) -> ClusterApi:
        if self.api is None:
            raise UnknownCluster("No Kubernetes cluster is configured.", "[kubernetes] in zombie.toml")
        return self.api


def _not_yet(call: Call, answer: ApiAnswer) -> Sequence[str]:
    """Why an eviction was refused; a pod that is gone or was replaced does not count."""
    if answer.is_done or answer.status in (_GONE, _CONFLICT):
        return ()
    namespace, _, name = call.path.removeprefix("/api/v1/namespaces/").removesuffix("/eviction").partition("/pods/")
    return (f"{namespace}/{name}: {_message(answer)}",)


def _message(answer: ApiAnswer) -> str:
    """An answer's status with the API's message, if any."""
    try:
        said = json.loads(answer.body).get("message", "")
    except (ValueError, AttributeError):
        said = ""
    return f"{answer.status} {one_line(str(said), 160)}".rstrip()
