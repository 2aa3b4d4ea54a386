"""Who may decide about a wave, and whether the people who said yes still may."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain.errors import SelfApproval
from bot.domain.policy import Approval, ApproverLookup, Policy
from bot.extras.waves.wave import Wave, WaveApproval
from bot.response.decision import guards


@dataclass(frozen=True, slots=True)
class WaveApprovers:
    """Checks the people of a wave. `lookup` is None where people's present standing cannot be asked."""

    policy: Policy
    lookup: ApproverLookup | None = None

    def has_asked(self, wave: Wave, approval: Approval) -> bool:
        """True if this person asked for the wave, under any name or from the same login."""
        mine = self.policy.speaker_names(approval.by, approval.os_user)
        return bool(mine & self.policy.speaker_names(wave.asked_by, wave.proposal.os_user))

    def check_self_approval(self, wave: Wave, approval: Approval) -> None:
        """Raises: SelfApproval."""
        if not self.policy.self_approval and self.has_asked(wave, approval):
            raise SelfApproval(
                "You, or your login, asked for this wave, so another person has to approve it.",
                "A login counts as one person, whatever name it claims.",
            )

    async def refreshed_approval(self, earlier: WaveApproval, digest: str, wave: Wave) -> Approval:
        """Return a yes to the wave as a yes to a plan, with the person's present standing.

        Raises: NotAnApprover or SelfApproval when it no longer counts; CannotTell when that is not known here.
        """
        self.check_self_approval(wave, Approval(earlier.by, "", os_user=earlier.os_user))
        guards.check_acting(self.policy)
        elsewhere = "A running `zombie serve` can ask Slack, and continues the wave."
        again = await guards.recheck_approval(self.policy, self.lookup, earlier, elsewhere)
        reason = f"{wave.id}: {earlier.event.reason}"
        return replace(again, by=earlier.by, reason=reason, digest=digest, os_user=earlier.os_user)
