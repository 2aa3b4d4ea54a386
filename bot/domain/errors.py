"""Every error of the house, in one tree.

ZombieError
├── UsageError                 the person or a file of theirs is wrong: exit status 2
│   ├── InventoryError         the inventory cannot be read, or has no such node (UnknownNode)
│   ├── PlaybookError          a playbook cannot be read, or has no such name (UnknownPlaybook)
│   ├── SettingsError          a setting is missing or malformed
│   ├── MissingFile            a key or known_hosts file is missing or unreadable
│   ├── CaseError              a case is damaged, of a newer form, or none at all
│   ├── BundleError            a bundle is of a newer form, or none at all, or cannot be made
│   ├── ProfileError           a profile is no text of `perf script`, or cannot be read as asked
│   ├── SchedulerError         a scheduler, or its workers, cannot do what was asked
│   └── UnknownIncident        the ledger has no incident of that id
├── Unreachable                nobody could talk to the node: exit status 4
│   ├── NameUnknown            the address does not resolve
│   ├── ConnectionRefused      nothing listens there
│   ├── ConnectTimedOut        no answer to the TCP connect
│   ├── BannerStalled          TCP accepted, then silence: no SSH banner, no login
│   ├── HostKeyRejected        the host key changed, or is not in known_hosts
│   ├── LoginRefused           the node does not accept our key or user
│   ├── ShellStalled           the login is accepted, then nothing answers
│   ├── ConnectionLost         the connection broke, or the node lacks what a batch needs
│   └── StoodStill             this program itself stood still: nothing is known of the node, and it is unread
├── LedgerError                the record cannot be written or read as asked
│   ├── Conflict               somebody else appended first: read again, decide again
│   ├── ImpossibleEvent        the event cannot follow what is on record
│   ├── UnreadableEntry        an entry is malformed, or of a newer form than this program knows
│   └── LedgerUnavailable      the database is locked, gone, full or newer than this program
├── Refused                    a person's wish is not done, and they are told why: a reply, not a fault
│   ├── NotAllowedToAsk        the policy does not let them ask for checks
│   ├── TooManyRequests        this person asked, or marked, more often than one may in that time
│   ├── NotAnApprover          the policy does not name whoever said yes
│   ├── SelfApproval           whoever asked may not be the one who approves
│   ├── ReasonMissing          a decision was given without a reason
│   ├── ApprovalExpired        the time to decide, or to begin, is over
│   ├── PlanChanged            another plan, or another policy, was meant
│   ├── StateChanged           the node is not as it was when the plan was proposed
│   ├── AlreadyDecided         somebody else was first
│   ├── AlreadyCured           there is nothing left to cure
│   ├── AlreadyTried           the same plan was run on the same node within a day
│   ├── NothingProposed        the incident has no plan that could be approved
│   ├── NothingToUndo          the incident changed nothing that could be taken back
│   ├── NothingToRelease       no incident holds the node
│   ├── NothingToMark          the incident has no verdict to mark yet, or nobody is in doubt about the cause
│   ├── CauseInDoubt           people marked verdicts of this cause wrong too often
│   ├── NotEnoughApprovers     more people have to say yes
│   ├── NodeBusy               another incident acts on the node
│   ├── BudgetSpent            as many nodes as may be are acted on already
│   ├── Braked                 the brake is on
│   ├── StaleRequest           what it answers is not the present one: the brake was pulled again since
│   ├── QuietHours             nothing may begin at this time of day
│   ├── ProtectedUnit          no plan may stop this unit
│   ├── WouldStopProtected     with the unit a protected one would stop
│   ├── MissingRight           the login on the node may not run one of the commands
│   ├── UnknownCluster         no cluster of that name is configured
│   ├── CannotDrain            the node's pods cannot be moved away as asked
│   └── CannotTell             something that decides could not be read
├── MalformedDelivery          what a source brought is proven to be its own, and cannot be read
├── PagerDutyFailed            PagerDuty did not do what it was asked
│   ├── PagerDutyUnavailable   it is down, slow or limits us: try again later
│   └── PagerDutyRefused       it said no, and would say so again
└── CannotRead                 one probe has no answer: becomes `Unread`, never ends a run

Every error carries what was wrong as a sentence for a person and, where there is one, what to try.

Longer than 300 lines: it is one tree, and whoever looks for an error looks here.
"""

from __future__ import annotations


class ZombieError(Exception):
    """Root of the tree: a sentence, and what to try next."""

    def __init__(self, sentence: str, try_next: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.try_next = try_next

    def __str__(self) -> str:
        return f"{self.sentence} {self.try_next}".strip()


class UsageError(ZombieError):
    """The command line, or a file it names, is wrong."""


class InventoryError(UsageError):
    """The inventory cannot be used as written."""


class UnknownNode(InventoryError):
    """The inventory has no node of that name; `near` are those that may have been meant, the nearest first."""

    def __init__(self, sentence: str, try_next: str = "", near: tuple[str, ...] = ()) -> None:
        super().__init__(sentence, try_next)
        self.near = near


class PlaybookError(UsageError):
    """A playbook cannot be used as written."""


class UnknownPlaybook(PlaybookError):
    """There is no playbook of that name."""


class SettingsError(UsageError):
    """A setting is missing or malformed."""


class MissingFile(UsageError):
    """A file that reaching a node needs is missing or unreadable."""


class CaseError(UsageError):
    """A case cannot be read as one."""


class BundleError(UsageError):
    """A bundle cannot be made, or a file is none."""


class ProfileError(UsageError):
    """A profile is no text of `perf script`, or cannot be read as asked."""


class SchedulerError(UsageError):
    """A scheduler, or its workers, cannot do what was asked."""


class UnknownIncident(UsageError):
    """The ledger has no incident of that id."""


class Unreachable(ZombieError):
    """Nobody could talk to the node; `kind` is the stable name of the class of failure."""

    kind = "unreachable"


class NameUnknown(Unreachable):
    """The node's address does not resolve."""

    kind = "name-unknown"


class ConnectionRefused(Unreachable):
    """Nothing listens at the node's address and port."""

    kind = "refused"


class ConnectTimedOut(Unreachable):
    """The node did not answer the TCP connect in time."""

    kind = "timed-out"


class BannerStalled(Unreachable):
    """The node accepted TCP and then said nothing in time."""

    kind = "banner-stall"


class HostKeyRejected(Unreachable):
    """The node showed a host key that is not the one on file."""

    kind = "host-key"


class LoginRefused(Unreachable):
    """The node accepted the connection and refused the login."""

    kind = "authentication"


class ShellStalled(Unreachable):
    """The node accepted the login, and then not one command answered in time."""

    kind = "shell-stall"


class ConnectionLost(Unreachable):
    """The connection broke before the node had answered, or cannot carry a batch."""

    kind = "connection-lost"


class StoodStill(Unreachable):
    """This program stood still while it read the node: what is missing is unread, and the node is not to blame.

    It is an `Unreachable`, because whoever acts may take no more from it than from a connection that broke.
    """

    kind = "standstill"


class LedgerError(ZombieError):
    """The record cannot be written or read as asked."""


class Conflict(LedgerError):
    """Somebody else appended to the stream first; nothing was appended. Read again, fold, decide again."""


class ImpossibleEvent(LedgerError):
    """The event cannot follow what is on record; nothing was appended."""


class UnreadableEntry(LedgerError):
    """An entry is malformed, or of a newer form than this program knows."""


class LedgerUnavailable(LedgerError):
    """The database is locked, gone, full or newer than this program; a look will tell what was appended."""


class Refused(ZombieError):
    """What a person asked for is not done; `name` is the refusal's stable name, the sentence is for them."""

    @property
    def name(self) -> str:
        """The refusal's name, as it goes on record."""
        return type(self).__name__


class NotAllowedToAsk(Refused):
    """The policy does not let this person ask for checks."""


class TooManyRequests(Refused):
    """This person asked for more checks, or marked more verdicts, than one may in that time."""


class NotAnApprover(Refused):
    """The policy does not name whoever said yes."""


class SelfApproval(Refused):
    """Whoever asked may not be the one who approves."""


class ReasonMissing(Refused):
    """A decision was given without a reason."""


class ApprovalExpired(Refused):
    """The time to decide, or to begin, is over."""


class PlanChanged(Refused):
    """Another plan, or another policy, was meant."""


class StateChanged(Refused):
    """The node is not as it was when the plan was proposed."""


class StaleRequest(Refused):
    """What it answers is not the present one."""


class AlreadyDecided(Refused):
    """Somebody else was first."""


class AlreadyCured(Refused):
    """There is nothing left to cure."""


class AlreadyTried(Refused):
    """The same plan was run on the same node within a day."""


class NothingProposed(Refused):
    """The incident has no plan that could be approved."""


class NothingToUndo(Refused):
    """The incident changed nothing that could be taken back."""


class NothingToRelease(Refused):
    """No incident holds the node."""


class NotEnoughApprovers(Refused):
    """More people have to say yes."""


class NodeBusy(Refused):
    """Another incident acts on the node."""


class BudgetSpent(Refused):
    """As many nodes as may be are acted on already."""


class NothingToMark(Refused):
    """The incident has no verdict that could be called right or wrong yet, or nobody is in doubt about the cause."""


class CauseInDoubt(Refused):
    """People marked verdicts of this cause wrong too often; it offers nothing until somebody has looked at it."""


class Braked(Refused):
    """The brake is on."""


class PartOfWave(Refused):
    """The incident is part of a wave, and only the wave approves its plan."""


class WaveHeld(Refused):
    """The wave does not run, or it is not this node's turn."""


class QuietHours(Refused):
    """Nothing may begin at this time of day."""


class ProtectedUnit(Refused):
    """No plan may stop, or start, this unit."""


class WouldStopProtected(Refused):
    """What no plan may stop depends on the unit, and would stop with it."""


class MissingRight(Refused):
    """The login on the node may not run one of the commands."""


class UnknownCluster(Refused):
    """No Kubernetes cluster of that name is configured; another one is never taken in its place."""


class CannotDrain(Refused):
    """The node's pods cannot be moved away as asked."""


class CannotTell(Refused):
    """Something that decides could not be read."""


class MalformedDelivery(ZombieError):
    """What a source brought is proven to be its own, and is not of the form that its documentation gives."""


class PagerDutyFailed(ZombieError):
    """PagerDuty did not do what it was asked, or nobody can tell whether it did."""


class PagerDutyUnavailable(PagerDutyFailed):
    """PagerDuty is down, slow or limits us; `retry_after_seconds` is what it asked for, 0 where it said nothing."""

    def __init__(self, sentence: str, try_next: str = "", retry_after_seconds: float = 0.0) -> None:
        super().__init__(sentence, try_next)
        self.retry_after_seconds = retry_after_seconds


class PagerDutyRefused(PagerDutyFailed):
    """PagerDuty said no; `status` is its HTTP status."""

    def __init__(self, sentence: str, try_next: str = "", status: int = 400) -> None:
        super().__init__(sentence, try_next)
        self.status = status


class CannotRead(ZombieError):
    """A probe has no answer; the reason is what the verdict will list as unread."""
