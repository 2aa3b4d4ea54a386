"""A bot that serves: its parts, each made when first asked for, from those that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from bot.app.acting import Acting, acting
from bot.app.alerts import Alerts, alerts, rules_of
from bot.app.chat import ChatPosting, chat_cards, chat_posting
from bot.app.check_service import CheckService, make_check_service
from bot.app.json_log import JsonLog
from bot.app.metrics import Metering, metering
from bot.app.pagerduty import PagerDutyParts, serving_pagerduty
from bot.app.stores import Stores
from bot.chat.cards import ChatCards
from bot.chat.connection import ChatConnection
from bot.chat.service import Timing
from bot.domain.contracts import Log
from bot.domain.errors import ZombieError
from bot.domain.safe_text import one_line
from bot.engine import NoticeBoard
from bot.inventory import Inventory
from bot.library import Library
from bot.response.diagnosis.scheduler import Diagnose
from bot.response.incident_record import IncidentRecord
from bot.response.intake.intake import IntakeRules
from bot.seats import Extra, Named, loaded
from bot.settings import Settings
from bot.sources import SOURCES
from bot.sources.source import Source
from bot.surfaces import SURFACES
from bot.surfaces.descriptor import SurfaceDescriptor
from bot.surfaces.slack.tokens import SlackTokens

if TYPE_CHECKING:
    from bot.app.chat import ChatHandlers

T = TypeVar("T")


@dataclass
class Bot:
    """What a bot is made from, and its parts.

    Shape: `diagnose` reads a node, by default over SSH. Without `tokens` of Slack `chat` is its chat, if any. Any
    number of bots may share a database: the engine sees to it that each incident has a single owner.
    """

    settings: Settings
    known: Inventory
    tokens: SlackTokens | None
    stores: Stores
    environment: Mapping[str, str]
    json_log: JsonLog
    _: KW_ONLY
    diagnose: Diagnose | None = None
    chat: ChatConnection | None = None
    timing: Timing = field(default_factory=Timing)
    sources: Sequence[Source] = SOURCES
    surfaces: Sequence[SurfaceDescriptor] = SURFACES
    extras: Sequence[Extra] = ()
    _made: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def log(self) -> Log:
        """Writes a line of the log."""
        return self.json_log.log

    def seated(self, seat: str, *given: object) -> list[Any]:
        """Return what each extra that takes this seat of `Extra` has there, made of this bot and of what is `given`.

        Shape: None counts for nothing. An extra that cannot be loaded is named in the log and left out.
        Raises: ZombieError, such as SettingsError, where an extra cannot be used as it is set up.
        """
        found: list[Any] = []
        for extra in self.extras:
            named: Named = getattr(extra, seat)
            try:
                made = loaded(named)(self, *given) if named else None
            except ZombieError:
                raise
            except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra, the bot serves without it
                self.log("extra_left_out", extra=extra.name, error=one_line(f"{type(no).__name__}: {no}", 300))
                continue
            if made is not None:
                found.append(made)
        return found

    def once(self, make: Callable[[Bot], T]) -> T:
        """Return what that makes of this bot; it is made once, for all seats of an extra."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @cached_property
    def notices(self) -> NoticeBoard:
        """Where parts say that an incident changed."""
        return NoticeBoard()

    @cached_property
    def arrivals(self) -> asyncio.Event:
        """Is set when an alert was stored."""
        return asyncio.Event()

    @cached_property
    def record(self) -> IncidentRecord:
        """The incidents on record."""
        return IncidentRecord(self.stores.ledger, self.log)

    @cached_property
    def acting(self) -> Acting:
        """Everything that acts. Raises: SettingsError when the settings name something unknown."""
        return acting(
            self.settings,
            self.known,
            self.stores.ledger,
            self.environment,
            runner=self.stores.runner,
            cases=self.stores.case_store,
        )

    @property
    def playbooks(self) -> Library:
        """The playbooks in force."""
        return self.acting.playbooks

    @cached_property
    def metered(self) -> Metering:
        """The metrics."""
        return metering(self.settings, self.json_log, self.stores, self.seated("counts"))

    @cached_property
    def posting(self) -> ChatPosting:
        """What posts in the chat."""
        return chat_posting(self)

    @cached_property
    def pagerduty(self) -> PagerDutyParts | None:
        """PagerDuty, where it is set up. Raises: SettingsError."""
        return serving_pagerduty(self.settings, self.stores, self.posting.poster, self.log, self.arrivals)

    @cached_property
    def rules(self) -> IntakeRules:
        """Where alerts go. Raises: PlaybookError when a route names an unknown playbook."""
        return rules_of(self.settings, self.playbooks, self.sources)

    @cached_property
    def cards(self) -> ChatCards:
        """The cards of checks and storms."""
        return chat_cards(self)

    @cached_property
    def check_service(self) -> CheckService:
        """What reads nodes, judges them and puts that on record. Raises: SettingsError."""
        return make_check_service(self)

    @cached_property
    def alerts(self) -> Alerts:
        """What takes alerts in."""
        return alerts(self)

    @cached_property
    def chat_handlers(self) -> ChatHandlers:
        """Who takes commands, clicks and dialogs in the chat."""
        from bot.app.chat import chat_handlers

        return chat_handlers(self)
