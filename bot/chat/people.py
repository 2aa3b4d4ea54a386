"""Who a person of a chat is, and what they may: the chat is asked, and without an answer nobody is admitted."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from bot.chat.remembered import BoundedDict
from bot.domain.alert import CHATS, SLACK
from bot.domain.allowance import CHECKS_PER_PERSON, Allowance
from bot.domain.contracts import Seconds
from bot.domain.duration import span_words
from bot.domain.errors import CannotTell, NotAllowedToAsk, NotAnApprover, TooManyRequests
from bot.domain.policy import Approval, Policy, person_of

GROUP_SECONDS = 1.0  # of the time in which a dialog can be opened, for a chat to say in which groups a person is
_REMEMBERED_SECONDS = 60.0  # how long a person's profile is kept: many checks at once cost a single call
_PEOPLE = 2000
_HINT = "Ask a person who may: [policy] askers in zombie.toml."


@dataclass(frozen=True, slots=True)
class Person:
    """Who did something and in which workspace, according to a payload; not verified yet.

    Shape: `home` is the person's own workspace, where the payload names it; `chat` is the kind of its people.
    """

    user: str
    team: str
    enterprise: str = ""
    home: str = ""
    chat: str = SLACK

    @property
    def by(self) -> str:
        """The person as the ledger names them."""
        return f"{self.chat}:{self.enterprise or self.team}/{self.user}"


@dataclass(frozen=True, slots=True)
class Membership:
    """The approver groups that a person is in; `unread` says which groups could not be read, and why."""

    groups: frozenset[str]
    unread: tuple[str, ...] = ()


class People(Protocol):
    """Asks a chat who its people are; a chat has a class of its own of this one."""

    chat: str  # the kind of its people
    word: str  # the chat's name
    groups: Sequence[str] = ()  # the policy's approver groups of this chat, named as in the record

    @property
    def group_members(self) -> Mapping[str, Collection[str]]:
        """Who was in each approver group when it was last asked for, as the record names them; empty if not told."""
        return {}

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """True once the chat has said which workspace is the bot's own."""

    @abstractmethod
    def is_ours(self, person: Person) -> bool:
        """True for a person, and a payload that names them, of the bot's own workspace."""

    @abstractmethod
    def of(self, user: str) -> Person:
        """Return a person of the bot's own workspace by their id."""

    @abstractmethod
    def user(self, by: str) -> str:
        """Return the id of a person named as in the record; empty for people of elsewhere."""

    @abstractmethod
    async def admit(self, user: str, do: str = "decide") -> None:
        """Return for a full member of the bot's own workspace; `do` is what only such members may do.

        Raises: NotAnApprover for everybody else; CannotTell when the chat does not answer.
        """

    async def is_in(self, group: str, user: str) -> bool:
        """Return whether a person is in a group, by its id, now. Raises: CannotTell when the chat does not answer."""
        return False

    @abstractmethod
    async def named(self, words: str) -> str:
        """Return the words with people's names in place of their ids."""

    async def of_email(self, email: str) -> str:
        """Return the full member with an e-mail address, as the record names them; empty where unknown."""
        return ""

    async def membership(self, user: str) -> Membership:
        """Return the approver groups that a person is in now; all are asked for at the same time."""
        asked = (self._asked_of_group(group, user) for group in self.groups)
        answers = dict(zip(self.groups, await asyncio.gather(*asked), strict=True))
        unread = tuple(answer for answer in answers.values() if isinstance(answer, str))
        return Membership(frozenset(group for group, answer in answers.items() if answer is True), unread)

    async def _asked_of_group(self, group: str, user: str) -> bool | str:
        """Whether a person is in a group; or why that is not known."""
        try:
            return await self.is_in(group.partition(":")[2], user)
        except CannotTell as no:
            return no.sentence

    def check_workspace(self, person: Person) -> None:
        """Return for a person from the bot's own workspace.

        Raises: NotAnApprover when a person, or the payload that names them, is from another workspace.
        """
        if not self.is_ours(person):
            raise NotAnApprover("That came from another workspace than the bot's own.")

    async def approval(self, person: Person, policy: Policy, reason: str, *, by_group: bool = True) -> Approval:
        """Return a person's decision, with their present groups; asks the chat who they are.

        Shape: `by_group` is for what only approvers may do: then an unreadable group matters.
        Raises: NotAnApprover for a person who is no full member; CannotTell when the chat does not answer what matters.
        """
        self.check_workspace(person)
        approval, unknown = await self.standing(person.by, person.user, policy, reason)
        if by_group and unknown:
            raise CannotTell(f"The bot cannot tell whether you may approve. {unknown}", "Try again.")
        return approval

    async def standing(self, by: str, user: str, policy: Policy, reason: str = "") -> tuple[Approval, str]:
        """Return a person's decision, with their present groups, and why it is unknown whether the policy names them.

        Shape: the second is empty where that is known.
        Raises: NotAnApprover for a person who is no full member; CannotTell when the chat does not say who they are.
        """
        await self.admit(user)
        member = await self.membership(user)
        is_named = person_of(by) in policy.approvers or bool(member.groups & policy.approver_groups)
        return Approval(by, reason, groups=member.groups), member.unread[0] if member.unread and not is_named else ""

    async def approval_before_dialog(self, person: Person, policy: Policy) -> Approval:
        """Return the yes of whoever is about to be asked, so that a dialog can say that it would be refused.

        Shape: it has all approver groups where the chat does not say soon: it is asked again when the dialog is sent.
        """
        if person_of(person.by) in policy.approvers or not policy.approver_groups:
            return Approval(person.by, "")
        try:
            async with asyncio.timeout(GROUP_SECONDS):
                member = await self.membership(person.user)
        except TimeoutError:
            return Approval(person.by, "", groups=policy.approver_groups)
        return Approval(person.by, "", groups=policy.approver_groups if member.unread else member.groups)


@dataclass(frozen=True, slots=True)
class ChatApproverLookup:
    """Asks a chat about its own people, at the last yes; of others it knows the names only.

    It is a `bot.domain.policy.ApproverLookup`.
    """

    people: People
    policy: Policy

    async def again(self, by: str) -> Approval:
        """Return the person with their present groups.

        Raises: NotAnApprover for a person who is no longer a full member; CannotTell when the chat does not say, or
        where a group of another chat may name them.
        """
        if (kind := by.partition(":")[0]) != self.people.chat:
            if (
                kind in CHATS and self.policy.approver_groups and not self.policy.may_approve(by)
            ):  # a group may name them
                raise CannotTell(
                    f"{by} has said yes, and cannot be asked about here.", "Say the last yes in their chat."
                )
            return Approval(by, "")
        word = self.people.word
        no = CannotTell(f"{by} has said yes, and {word} does not say whether they still may.", "Try again.")
        try:
            approval, unknown = await self.people.standing(by, self.people.user(by), self.policy)
        except CannotTell as why:
            raise no from why
        if unknown:
            raise no
        return approval


@dataclass(slots=True)
class CheckPermissions:
    """Who may ask for checks, and how many: a check logs in to nodes, so not everybody may start it.

    Shape: admits full members of the bot's own workspace; where `named` is set, only the people and user groups in it,
    and `people` reads those groups. Checks are counted in this process only: several processes with the same ledger
    count separately, and a restart begins at zero.
    """

    people: People
    clock: Seconds
    named: frozenset[str] = frozenset()
    allowance: Allowance = CHECKS_PER_PERSON
    _known: BoundedDict[str, tuple[float, str]] = field(default_factory=partial(BoundedDict, _PEOPLE))
    _asked: BoundedDict[str, deque[float]] = field(default_factory=partial(BoundedDict, _PEOPLE))

    async def admit(self, person: Person) -> None:
        """Return for a person who may ask.

        Raises: NotAllowedToAsk for everybody else; CannotTell when the chat does not say who they are.
        """
        if not self.people.is_known:
            raise CannotTell(f"{self.people.word} has not said yet in which workspace this bot is.", "Try again.")
        if not self.people.is_ours(person):
            raise NotAllowedToAsk("That came from another workspace than the bot's own.", _HINT)
        asked_at, refusal = self._known.get(person.user, (float("-inf"), ""))
        if self.clock() - asked_at > _REMEMBERED_SECONDS:
            refusal = await self._refusal_words(person.user)
            self._known[person.user] = (self.clock(), refusal)
        if refusal:
            raise NotAllowedToAsk(refusal, _HINT)

    def count(self, person: Person) -> None:
        """Count a check, of however many nodes. Raises: TooManyRequests when it exceeds the limit."""
        asked = self._asked.get(person.user, deque())
        if wait := self.allowance.count_or_wait(asked, self.clock()):
            raise TooManyRequests(
                f"You asked for {len(asked)} checks within {span_words(self.allowance.within)}, which is the limit.",
                f"Ask again in {span_words(wait)}. A check may name many nodes.",
            )
        self._asked[person.user] = asked

    async def _refusal_words(self, user: str) -> str:
        """Say why somebody may not ask; empty where they may."""
        try:
            await self.people.admit(user, "ask for checks")
        except NotAnApprover as no:
            return no.sentence
        if not self.named or user in self.named:
            return ""
        member = await self.people.membership(user)
        if any(group.rpartition(":")[2] in self.named for group in member.groups):
            return ""
        if member.unread:
            raise CannotTell(f"The bot cannot tell whether you may ask for checks. {member.unread[0]}", "Try again.")
        return "[policy] askers does not name you, nor a group that you are in."


def groups_among(named: Collection[str]) -> frozenset[str]:
    """Return the user groups among people and groups.

    Example:
    >>> groups_among(["U012AB", "S012AB"])
    frozenset({'S012AB'})
    """
    return frozenset(name for name in named if name.startswith("S"))
