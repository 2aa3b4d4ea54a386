"""Acting in the simulated workspace: real desks, guards and record over nodes that count what is done to them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.actions import ACTIONS
from bot.app.chat import ChatHandlers
from bot.app.extras import cause_doubters, shipped, step_blockers
from bot.app.factories import library
from bot.app.json_log import JsonLog
from bot.chat.cards import ChatCards
from bot.chat.clicks import Submission
from bot.chat.context import ChatContext
from bot.chat.people import Person
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.requests import CommandRequest
from bot.chat.service import Message as Posted
from bot.chat.thread_files import ReportFile
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER, User
from bot.domain.alert import BOT
from bot.domain.events import PlanProposed, Triaged
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.domain.verdict import Verdict
from bot.extras.marks.chat import QUESTION, MarkClicks
from bot.extras.marks.marker import VerdictMarker
from bot.extras.marks.store import MarkStore
from bot.extras.profiles.chat_file import SketchFile
from bot.extras.reports.page import page
from bot.extras.reports.report import whole_report
from bot.extras.reports.report_maker import report_data
from bot.ledger import Database, Leases, Ledger, Outbox
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.inbox import Inbox
from bot.response.decision.preflight import Preflight, approval_bindings
from bot.response.decision.responder import Responder
from bot.response.diagnosis.figures import figures
from bot.response.execution.node_access import NodeAccess, NodeStatus
from bot.response.execution.remediation import Remediation
from bot.response.execution.step_executor import StepExecutor
from bot.response.incident_record import IncidentRecord, IncidentRequest
from bot.seats import Chat
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.tokens import SlackTokens
from bot.view.context import ViewContext
from tests.record.ledgers import ledger_in
from tests.schedules.parts import CountingNode, Wire
from tests.schedules.stage import PLAYBOOK, Stage
from tests.schedules.whole_look import WholeLook
from tests.slack.acting_parts import FastWorld, Gone, desk
from tests.slack.service import QUICK
from tests.slack.workspace import SlackWorkspace

ALICE, BOB, GUEST = "U0ALICE001", "U0BOB00001", "U0GUEST001"
ONCALL = "C0ONCALL01"
TEAM = "T0DEMO0001"
CAROL = User("U0CAROL001", "carol", "Carol Ito")  # she may ask, and approves nothing
GROUPED = Policy(
    acting=True,
    approver_groups=frozenset(("slack:S0SRE00001",)),
    kinds=frozenset(("slack", "terminal")),
    approval_expires=timedelta(minutes=15),
    units=frozenset(("ecs.service",)),
    validation=timedelta(seconds=10),
    reboot_deadline=timedelta(minutes=2),
)


@dataclass(frozen=True)
class Cast:
    """The people and the channel of a chat, as the record names them."""

    kind: str = "slack"
    team: str = TEAM
    alice: str = ALICE
    bob: str = BOB
    channel: str = ONCALL

    def by(self, user: str) -> str:
        return f"{self.kind}:{self.team}/{user}"


IN_SLACK = Cast()


@dataclass
class ActingTeam:
    """Everything that acts, in one workspace; `run_plans` carries out what is approved."""

    slack: Any  # the workspace, or what people see of another chat
    world: Any
    stage: Stage
    ledger: Any
    poster: Poster
    responder: Responder
    remediation: Remediation
    log: io.StringIO
    run_plans: bool = True
    acting: ChatHandlers = field(init=False)
    restarted: Callable[[str], ChatHandlers] = field(init=False)  # the same again, as another runner
    chat_requests: Any = None
    marks: Any = None
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    fleet: Any = None  # the cards of sweeps and waves, where the test has some
    needed: int = 1  # how many have to say yes
    looks: int = 0  # how often a node was looked at again
    running: int = 0  # nodes that are read
    cast: Cast = IN_SLACK

    is_dying: bool = False  # what is acknowledged now is never begun
    programs: int = 1  # how many have run

    def begin(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any] | None:
        if self.is_dying:
            work.close()
            return None
        task = asyncio.create_task(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.write(json.dumps({"event": "failed", "task": task.get_name(), "error": repr(error)}) + "\n")

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]

    def take(self, request: CommandRequest) -> None:
        self.acting.commands.take(request)

    def decided(self, incident_id: str, /) -> None:
        self.begin(self._carry_on(incident_id), f"carry on {incident_id}")

    def changed(self, group: str, /) -> None:
        raise AssertionError("no alert comes here")

    def waits_for(self, incident_id: str, /) -> str:
        return ""

    async def _carry_on(self, incident_id: str) -> None:
        """Stand in for the engine: do the next thing, and have it shown."""
        while True:
            acts = self.run_plans and (await self.find(incident_id)).state in ("approved", "acting", "verifying")
            again = await self.remediation.advance(incident_id) if acts else None
            await self.shown(incident_id)
            if again is None:
                return
            await self.world.sleep(max(0.5, again.after.total_seconds()))

    async def shown(self, incident_id: str) -> None:
        incident = await self.find(incident_id)
        await self.acting.cards.show(await self.acting.cards.group(incident.card))

    async def find(self, incident_id: str) -> Incident:
        return fold(await self.ledger.read(incident_id))

    async def refusals(self) -> list[tuple[str, str]]:
        """What was refused to whom, as it stands on record."""
        entries = [entry for entry in await self.ledger.read(HOUSE) if entry.kind == "WishRefused"]
        return [(entry.by.rpartition("/")[2], str(entry.body["refusal"])) for entry in entries]

    # --- what happens

    async def proposed(self, *nodes: str, asked_by: str = "", key: str = "cmd-1") -> Message:
        """Have somebody's check come to a proposal for each node, and return the card that offers it."""
        cast = self.cast
        by = cast.by(asked_by or cast.alice)
        opening = IncidentRequest(cast.kind, f"{cast.channel}/-/{key}", by, "check", PLAYBOOK.name)
        verdicts = [self.stage.verdict(node) for node in nodes]
        await self.poster.enqueue(opening.group, CARD, MessageTarget(cast.channel), Posted(", ".join(nodes)))
        for verdict in verdicts:
            name, node = opening.incident(verdict.node), self.stage.nodes[verdict.node]
            await self.ledger.append(name, 0, opening.opening_event(verdict.node), opening.by)
            await self.ledger.append(name, 1, Triaged(verdict, PLAYBOOK.name, 1), BOT)
            assert verdict.plan is not None
            seen = NodeStatus(node.boot_id, node.machine_id, "SHA256:as-ever")
            bound = approval_bindings(verdict, self.stage.find(verdict.node), seen, PLAYBOOK, self.stage.policy)
            await self.ledger.append(
                name, 2, PlanProposed.of(verdict.plan, bound, self.needed, figures(verdict, ())), BOT
            )
        self.poster.mark_finished(opening.group)
        await self.shown(opening.incident(nodes[0]))
        return await self.offering(nodes[0])

    async def offering(self, words: str) -> Message:
        """Wait for a card with these words and an Approve button."""
        offer: Message = await self.slack.until(
            lambda: next((one for one in self.cards(words) if '"approve"' in json.dumps(one.blocks)), None),
            what=f"an offer: {words}",
        )
        return offer

    def cards(self, words: str) -> list[Message]:
        return [one for one in self.slack.messages(self.cast.channel) if one.user == BOT_USER and words in one.text]

    async def card(self, words: str, within: float = 20) -> Message:
        found: Message = await self.slack.until(
            lambda: next(iter(self.cards(words)), None), timedelta(seconds=within), what=f"a card: {words}"
        )
        return found

    async def dialog(self, user: str, message: Message, action: str = "approve") -> Any:
        """Click, and return the dialog that opens, as its chat shows it."""
        await self.slack.click(user, message, action)
        return await self.slack.until(lambda: self.slack.modal(user), what="the dialog")

    async def sends(self, user: str, view: Any, reason: str) -> None:
        """Deliver the dialog as sent, also one without a button for it: it may have been opened when it had one."""
        person = Person(self.slack.state.user(user).id, self.cast.team, chat=self.cast.kind)
        await self.acting.decisions.handle_submission(Submission(view.id, person, view.private_metadata, reason))

    async def decides(self, user: str, message: Message, action: str = "approve", reason: str = "it leaks") -> None:
        """Click, give the reason, and send it."""
        view = await self.dialog(user, message, action)
        if "submit" not in view.fields:
            await self.slack.close(user, view)
            await self.sends(user, view, reason)
            return
        sent = await self.slack.submit(user, view, {"reason": reason})
        assert (dict(sent.errors), sent.trouble) == ({}, "")

    async def dies_over(self, user: str, view: Any, reason: str) -> Any:
        """Send a dialog to a program that dies once it is on disk; return what that answers."""
        self.is_dying = True
        sent = await self.slack.submit(user, view, {"reason": reason})
        self.is_dying = False
        return sent

    async def goes_on(self) -> None:
        """Start the next program, and have it go on with what was left."""
        self.programs += 1
        await self.restarted(f"runner-{self.programs}").decisions.resume_unfinished()
        await self.idle()

    async def card_of(self, offer: Message, words: str, by: str) -> Message:
        """Have somebody approve, and return the card as it then ends."""
        await self.decides(by, offer)
        card = await self.card(words)
        await self.idle()
        return card

    async def told(self, user: str, words: str, channel: str = "") -> Message:
        """Wait for what one person alone is told."""
        channel = channel or self.cast.channel

        def found() -> Message | None:
            said = [one for one in self.slack.messages(channel, user) if words in one.text]
            mine = self.slack.state.user(user).id
            return next((one for one in said if one.only_for == mine or channel[0] == "D"), None)

        told: Message = await self.slack.until(found, what=f"{user} to be told: {words}")
        return told

    async def decided_nothing(self, node: str = "node-1") -> None:
        """The incident waits as before, and its card has its buttons again."""
        await self.idle()
        assert {one.state.value for one in await self.ledger.incidents()} == {"proposed"}
        await self.offering(node)
        assert sum(machine.asked for machine in self.stage.nodes.values()) == 0

    async def until_state(self, state: str) -> None:
        """Wait until the only incident is in this state."""
        async with asyncio.timeout(120):
            while [one.state.value for one in await self.ledger.incidents()] != [state]:  # noqa: ASYNC110 - asks a database
                await asyncio.sleep(0.02)

    async def idle(self) -> None:
        """Wait until nothing is under way any more."""
        while self.tasks:
            await asyncio.wait(set(self.tasks), timeout=20)


def with_carol(slack: SlackWorkspace) -> None:
    """Let carol into the workspace and its channel."""
    slack.state.add_user(CAROL)
    slack.state.set_member(ONCALL, CAROL.id, member=True)


@asynccontextmanager
async def acting_team(
    slack: Any,
    folder: Path,
    *,
    policy: Policy = GROUPED,
    nodes: int = 3,
    endings: str = "cured",
    reports: bool = False,
    absent: frozenset[str] = frozenset(),
    chat: Any = None,
    cast: Cast = IN_SLACK,
    fleet: Callable[[ActingTeam, SlackConnection, Database], Any] = lambda *_: None,
) -> AsyncIterator[ActingTeam]:
    """Put it together over a database in a folder, listening to the workspace, for the length of a block.

    Shape: `fleet` makes the cards of sweeps and waves, anew for each runner. `absent` are buttons of extras that are
    left out. `chat` is another chat than Slack, with its `cast`; what its people see is in the place of the workspace.
    """
    world: Any = FastWorld()
    log = io.StringIO()
    json_log = JsonLog(log)
    with ledger_in(folder) as database:
        kept = Ledger(database, world.clock, holders=step_blockers(shipped().on), doubters=cause_doubters(shipped().on))
        ledger: Any = Gone(kept)
        outbox: Any = Gone(Outbox(database))
        machines = {f"node-{n}": CountingNode(world, f"node-{n}", endings) for n in range(1, nodes + 1)}
        for machine in machines.values():
            machine.down_until = world.began_at
        stage = Stage(world, kept, policy, machines, Wire(world, machines, 0), ledger)
        reach = NodeAccess(stage.wire, ACTIONS)
        record = IncidentRecord(ledger)

        async def diagnose(node: Node, playbook: str) -> Verdict:
            team.looks += 1
            return await stage.diagnose(node, playbook)

        preflight = Preflight(reach, stage, WholeLook(reach, diagnose))
        responder = Responder(policy, record, ledger, reach, stage, preflight, world.clock)
        stepping = StepExecutor(policy, ledger, reach, stage, world.clock, world.sleep, "runner-1")
        remediation = Remediation(record, stepping, stage, stage.diagnose)
        tokens = SlackTokens(slack.bot_token, slack.app_token, "", slack.api_url)
        logger = json_log.logger("slack")
        connection = chat or SlackConnection(tokens, QUICK, lambda: datetime.now(UTC), json_log.log, logger)

        async def page_of(incident_id: str) -> str:
            data = await asyncio.to_thread(report_data, database, incident_id, library(), datetime.now(UTC))
            return page(whole_report(data))

        kinds = (*((ReportFile(page_of),) if "report" not in absent else ()), SketchFile())
        poster = Poster(
            connection.calls,
            outbox,
            QUICK,
            lambda: datetime.now(UTC),
            json_log.log,
            files=kinds if reports else (),
        )
        team = ActingTeam(slack, world, stage, ledger, poster, responder, remediation, log, cast=cast)
        team.marks = Gone(MarkStore(database, world.clock))

        def chats(context: ChatContext) -> Sequence[Chat]:
            others: Any = getattr(fleet, "chats", lambda _: [])
            return [*others(context), MarkClicks(context, VerdictMarker(policy, team.marks, world.clock))]

        view = ViewContext(absent=absent, asks=(QUESTION,))

        def runs(runner: str) -> ChatHandlers:
            team.chat_requests = Gone(ChatRequestStore(Leases(database, runner)))
            fleet(team, connection, database)
            cards = ChatCards(
                poster,
                outbox,
                ledger,
                policy,
                json_log.log,
                team,
                ACTIONS,
                view,
            )
            return desk(
                team,
                connection,
                poster,
                cards,
                responder,
                ledger,
                outbox,
                team.chat_requests,
                Inbox(Leases(database, "runner-1")),
                policy=policy,
                view=view,
                timing=QUICK,
                log=json_log.log,
                names=tuple(team.stage.nodes),
                chats=chats,
            )

        team.restarted, team.acting = runs, runs("runner-1")
        listening: Any = team  # it takes commands
        connection.listen(listening, team.acting.home, team.acting.decisions)
        assert await connection.start() == ""
        try:
            yield team
        finally:
            world.looking.set()
            await connection.stop_listening()
            for task in set(team.tasks):
                task.cancel()
            await asyncio.gather(*team.tasks, return_exceptions=True)
            await poster.drain(5)
            await connection.stop()


def people(**changes: Any) -> Policy:
    """The policy with something else in it."""
    return replace(GROUPED, **changes)
