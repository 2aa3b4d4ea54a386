"""Who may cause a login by asking for a check, and how often; whoever may not hears why, and no node is read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.demo.slack.people import User
from bot.domain.house_events import HOUSE
from bot.domain.transitions import State
from bot.ledger import Database, Ledger
from tests.record.incidents import WAYS
from tests.record.keeping import keep
from tests.slack.acting_team import BOB, CAROL, GUEST, ONCALL
from tests.slack.service import Bot, Readings, card_saying, cards, reply_saying, serving
from tests.slack.workspace import SlackWorkspace

GROUP = "S0SRE00001"  # bob is in it


@pytest.fixture
def slack(slack: SlackWorkspace) -> SlackWorkspace:
    slack.state.set_member(ONCALL, GUEST, member=True)
    return slack


def refusing(slack: SlackWorkspace, who: str, says: str) -> list[str]:
    """The answers with these words, of which a person alone hears."""
    return [one.text for one in slack.messages("oncall-gpu", who) if one.only_for and says in one.text]


async def refusals(bot: Bot) -> list[str]:
    entries: list[Any] = [entry for entry in await bot.ledger.read(HOUSE) if entry.kind == "WishRefused"]
    return [f"{entry.by.rpartition('/')[2]} {entry.body['refusal']}" for entry in entries]


@pytest.mark.parametrize(
    ("user", "policy", "says"),
    [
        (None, "", "gina is a guest: only full members of this workspace ask for checks."),
        (replace(CAROL, is_stranger=True), "", "carol is from another organisation: only full members"),
        (replace(CAROL, is_single_channel_guest=True), 'askers = "members"', "carol is a guest: only full members"),
        (replace(CAROL, is_single_channel_guest=True), f'askers = ["{CAROL.id}", "{BOB}"]', "carol is a guest"),
        (CAROL, f'askers = ["{BOB}"]', "[policy] askers does not name you, nor a group that you are in."),
        (CAROL, f'askers = ["{GROUP}"]', "[policy] askers does not name you, nor a group that you are in."),
    ],
)
async def test_whoever_may_not_ask_has_no_node_read_and_learns_no_name(
    slack: SlackWorkspace, tmp_path: Path, user: User | None, policy: str, says: str
) -> None:
    readings, who = Readings(), "gina" if user is None else "carol"
    if user is not None:
        slack.state.add_user(user)
    async with serving(slack, tmp_path, readings, toml=f"[policy]\n{policy}\n") as bot:
        for way in ("/zombie", "@zombie"):
            await slack.say(who, "oncall-gpu", f"{way} check node-1 node-1x")
        await slack.until(lambda: refusing(slack, who, says)[1:], what=says)
        assert not [text for text in refusing(slack, who, says) if "(NotAllowedToAsk)" not in text or "node-1" in text]
        await slack.say("bob", "oncall-gpu", "/zombie check node-2")
        await card_saying(slack, "node-2")
        assert (set(readings.asked), len(cards(slack))) == ({"node-2"}, 1)
        assert await refusals(bot) == [f"{user.id if user is not None else GUEST} NotAllowedToAsk"] * 2


async def test_whoever_may_not_ask_does_not_learn_either_which_nodes_are_sick(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    toml = f'[policy]\naskers = ["{BOB}"]\napprovers = ["{CAROL.id}"]\n'
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        keep(Ledger(database), "7k3m9x2qpv", WAYS[State.UNKNOWN])
    async with serving(slack, tmp_path, Readings(), toml=toml):
        for who, learns in (("gina", False), ("alice", False), ("bob", True), ("carol", True)):
            await slack.open_home(who)
            home = await slack.until(partial(slack.home, who), what="the App Home")
            assert ("node-gpu-01" in str(home.blocks), "Sick nodes" in str(home.blocks)) == (learns, learns), who
            await slack.say(who, "oncall-gpu", "/zombie status")
            told = await reply_saying(slack, "incident" if learns else "(NotAllowedToAsk)", who)
            assert ("node-gpu-01" in told.text) is learns, who


async def test_who_decides_sees_what_is_open_also_while_the_group_of_the_askers_cannot_be_read(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    toml = f'[policy]\naskers = ["S0SRE00001"]\napprovers = ["{CAROL.id}"]\n'
    slack.faults.error("usergroups.users.list", "missing_scope", times=1000)
    async with serving(slack, tmp_path, Readings(), toml=toml):
        await slack.say("alice", "oncall-gpu", "/zombie status")
        await reply_saying(slack, "(CannotTell)", "alice")
        await slack.say("carol", "oncall-gpu", "/zombie status")
        await reply_saying(slack, "Nothing is open.", "carol")


async def test_checks_of_one_person_are_limited_and_others_go_on(slack: SlackWorkspace, tmp_path: Path) -> None:
    readings = Readings()
    async with serving(slack, tmp_path, readings, toml='[slack]\nchecks_per_person = "2/1h"\n') as bot:
        for number in (1, 2):
            await slack.say("carol", "oncall-gpu", f"/zombie check node-{number} node-1{number}")
            await card_saying(slack, f"node-{number}")
        for number in range(20, 35):
            await slack.say("carol", "oncall-gpu", f"/zombie check node-{number}")
        await reply_saying(slack, "You asked for 2 checks within 1 h, which is the limit.", "carol")
        await slack.say("bob", "oncall-gpu", "/zombie check node-3")
        await card_saying(slack, "node-3")
        answers = [one for one in slack.messages("oncall-gpu", "carol") if "TooManyRequests" in one.text]
        await slack.until(lambda: len(answers) <= 15, what="an answer to each")
        assert set(readings.asked) == {"node-1", "node-2", "node-3", "node-11", "node-12"}
        written = await refusals(bot)
        assert written == [f"{CAROL.id} TooManyRequests"] * 10, "the rest is counted"


async def test_slack_that_does_not_say_who_asks_causes_no_login(slack: SlackWorkspace, tmp_path: Path) -> None:
    readings = Readings()
    async with serving(slack, tmp_path, readings):
        slack.faults.error("users.info", "internal_error")
        await slack.say("carol", "oncall-gpu", "/zombie check node-1")
        await reply_saying(slack, "Slack did not say who you are", "carol")
        assert not readings.asked
