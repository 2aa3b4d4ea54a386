"""All errors, as a tree.

ZombieError
├── UsageError                 the command line or a file of the user's is wrong: exit status 2
│   ├── InventoryError         the inventory cannot be read, or has no such node (UnknownNode)
│   ├── PlaybookError          a playbook cannot be read, or has no such name (UnknownPlaybook)
│   ├── SettingsError          a setting is missing or malformed
│   ├── MissingFile            a key or known_hosts file is missing or unreadable
│   ├── CaseError              a case is damaged, of a newer form, or not a case
│   ├── BundleError            a bundle is of a newer form, is not a bundle, or cannot be made
│   ├── ProfileError           a profile is not text of `perf script`, or cannot be read as asked
│   ├── SchedulerError         a scheduler or its workers cannot do what was asked
│   └── UnknownIncident        the ledger has no incident of that id
├── Unreachable                the node could not be talked to: exit status 4
│   ├── NameUnknown            the address does not resolve
│   ├── ConnectionRefused      nothing listens there
│   ├── ConnectTimedOut        no answer to the TCP connect
│   ├── BannerStalled          TCP accepted, then silence: no SSH banner, no login
│   ├── HostKeyRejected        the host key changed, or is not in known_hosts
│   ├── LoginRefused           the node does not accept our key or user
│   ├── ShellStalled           the login is accepted, then nothing answers
│   ├── ConnectionLost         the connection broke, or the node lacks what a batch needs
│   └── StoodStill             this program itself was suspended: the node is unread
├── LedgerError                the ledger cannot be written or read as asked
│   ├── Conflict               another program appended first: read again, decide again
│   ├── ImpossibleEvent        the event cannot follow the recorded entries
│   ├── UnreadableEntry        an entry is malformed, or of a newer form than this program knows
│   └── LedgerUnavailable      the database is locked, gone, full or newer than this program
├── Refused                    a person's request is refused, and they are told why: a reply, not a fault
│   ├── NotAllowedToAsk        the policy does not let this person ask for checks
│   ├── TooManyRequests        this person asked, or marked, more often than allowed in that time
│   ├── NotAnApprover          the policy does not name this person as an approver
│   ├── SelfApproval           the person who asked may not approve
│   ├── ReasonMissing          a decision was given without a reason
│   ├── ApprovalExpired        the time to decide, or to begin, is over
│   ├── PlanChanged            the plan or the policy changed since the approver saw it
│   ├── StateChanged           the node is not as it was when the plan was proposed
│   ├── AlreadyDecided         somebody else decided first
│   ├── AlreadyCured           there is nothing left to cure
│   ├── AlreadyTried           the same plan was run on the same node within a day
│   ├── NothingProposed        the incident has no plan that could be approved
│   ├── NothingToUndo          the incident changed nothing that could be taken back
│   ├── NothingToRelease       no incident holds the node
│   ├── NothingToMark          the incident has no verdict to mark yet, or the cause is not in doubt
│   ├── CauseInDoubt           people marked verdicts of this cause wrong too often
│   ├── NotEnoughApprovers     more people must approve
│   ├── NodeBusy               another incident acts on the node
│   ├── BudgetSpent            the limit of nodes that may be acted on is reached
│   ├── Braked                 the brake is on
│   ├── StaleRequest           the card, dialog or brake it answers is outdated, as the brake was pulled again since
│   ├── QuietHours             nothing may begin at this time of day
│   ├── ProtectedUnit          no plan may stop this unit
│   ├── WouldStopProtected     stopping the unit would stop a protected unit too
│   ├── WouldCutOff            a reboot would cut off work that has to end first
│   ├── MissingRight           the login on the node may not run a command of the plan
│   ├── UnknownCluster         no cluster of that name is configured
│   ├── CannotDrain            the node's pods cannot be moved away as asked
│   └── CannotTell             a deciding probe could not be read
├── MalformedDelivery          a delivery is authentic, but cannot be read
├── PagerDutyFailed            PagerDuty did not do what it was asked
│   ├── PagerDutyUnavailable   it is down, slow or limits our rate: try again later
│   └── PagerDutyRefused       it refused, and would refuse again
└── CannotRead                 a probe has no answer: becomes `Unread`, never ends a run

Every error carries a sentence for the user about what was wrong and, if there is something, what to try.
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
    """The inventory has no node of that name; `near` are similar names, nearest first."""

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
    """A file cannot be read as a case."""


class BundleError(UsageError):
    """A bundle cannot be made, or a file is not a bundle."""


class ProfileError(UsageError):
    """A profile is not text of `perf script`, or cannot be read as asked."""


class SchedulerError(UsageError):
    """A scheduler or its workers cannot do what was asked."""


class UnknownIncident(UsageError):
    """The ledger has no incident of that id."""


class Unreachable(ZombieError):
    """The node could not be talked to; `kind` is the stable name of the failure's class."""

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
    """The node accepted TCP and then sent no SSH banner in time."""

    kind = "banner-stall"


class HostKeyRejected(Unreachable):
    """The node showed a host key that is not in known_hosts."""

    kind = "host-key"


class LoginRefused(Unreachable):
    """The node accepted the connection and refused the login."""

    kind = "authentication"


class ShellStalled(Unreachable):
    """The node accepted the login, and then no command answered in time."""

    kind = "shell-stall"


class ConnectionLost(Unreachable):
    """The connection broke before the node had answered, or cannot carry a batch."""

    kind = "connection-lost"


class StoodStill(Unreachable):
    """This program was suspended while it read the node: the rest is unread, and the node is not to blame.

    It is an `Unreachable`, because it says no more about the node than a broken connection does.
    """

    kind = "standstill"


class LedgerError(ZombieError):
    """The ledger cannot be written or read as asked."""


class Conflict(LedgerError):
    """Another program appended to the stream first; nothing was appended. Read again, fold, decide again."""


class ImpossibleEvent(LedgerError):
    """The event cannot follow the recorded entries; nothing was appended."""


class UnreadableEntry(LedgerError):
    """An entry is malformed, or of a newer form than this program knows."""


class LedgerUnavailable(LedgerError):
    """The database is locked, gone, full or newer than this program; read it later to see what was appended."""


class Refused(ZombieError):
    """A person's request is refused; `name` is the refusal's stable name, the sentence is for the person."""

    @property
    def name(self) -> str:
        """The refusal's name, as the ledger records it."""
        return type(self).__name__


class NotAllowedToAsk(Refused):
    """The policy does not let this person ask for checks."""


class TooManyRequests(Refused):
    """This person asked for more checks, or marked more verdicts, than allowed in that time."""


class NotAnApprover(Refused):
    """The policy does not name this person as an approver."""


class SelfApproval(Refused):
    """The person who asked may not approve."""


class ReasonMissing(Refused):
    """A decision was given without a reason."""


class ApprovalExpired(Refused):
    """The time to decide, or to begin, is over."""


class PlanChanged(Refused):
    """The plan or the policy changed since the approver saw it."""


class StateChanged(Refused):
    """The node is not as it was when the plan was proposed."""


class StaleRequest(Refused):
    """The card, dialog or brake that the request answers is outdated."""


class AlreadyDecided(Refused):
    """Somebody else decided first."""


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
    """More people must approve."""


class NodeBusy(Refused):
    """Another incident acts on the node."""


class BudgetSpent(Refused):
    """The limit of nodes that may be acted on is reached."""


class NothingToMark(Refused):
    """The incident has no verdict that could be marked yet, or the cause is not in doubt."""


class CauseInDoubt(Refused):
    """People marked verdicts of this cause wrong too often; it offers nothing until somebody has looked at it."""


class Braked(Refused):
    """The brake is on."""


class PartOfWave(Refused):
    """The incident is part of a wave; only the wave's approval counts."""


class WaveHeld(Refused):
    """The wave is not running, or it is not this node's turn."""


class QuietHours(Refused):
    """Nothing may begin at this time of day."""


class ProtectedUnit(Refused):
    """No plan may stop, or start, this unit."""


class WouldStopProtected(Refused):
    """A protected unit depends on this unit and would stop with it."""


class WouldCutOff(Refused):
    """A reboot would cut off work that has to end first, or the next boot would trip over what is half done."""


class MissingRight(Refused):
    """The login on the node may not run a command of the plan."""


class UnknownCluster(Refused):
    """No Kubernetes cluster of that name is configured; another cluster is never used in its place."""


class CannotDrain(Refused):
    """The node's pods cannot be moved away as asked."""


class CannotTell(Refused):
    """A deciding probe could not be read."""


class MalformedDelivery(ZombieError):
    """A delivery is authentic, but does not have the form that its source documents."""


class PagerDutyFailed(ZombieError):
    """PagerDuty did not do what it was asked, or it is unknown whether it did."""


class PagerDutyUnavailable(PagerDutyFailed):
    """PagerDuty is down, slow or limits our rate; `retry_after_seconds` is what it asked for, 0 if nothing."""

    def __init__(self, sentence: str, try_next: str = "", retry_after_seconds: float = 0.0) -> None:
        super().__init__(sentence, try_next)
        self.retry_after_seconds = retry_after_seconds


class PagerDutyRefused(PagerDutyFailed):
    """PagerDuty refused; `status` is its HTTP status."""

    def __init__(self, sentence: str, try_next: str = "", status: int = 400) -> None:
        super().__init__(sentence, try_next)
        self.status = status


class CannotRead(ZombieError):
    """A probe has no answer; the verdict will list the reason as unread."""
