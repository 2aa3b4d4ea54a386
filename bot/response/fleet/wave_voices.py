"""Who may say what about a wave, and how everybody whose yes it rests on stands now."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain.errors import CannotTell, NotAnApprover, SelfApproval
from bot.domain.policy import Approval, Policy, Voices
from bot.domain.wave import Voice, Wave
from bot.response.decision import guards


@dataclass(frozen=True, slots=True)
class WaveVoices:
    """Looks at the people of a wave. `voices` is None where nobody can be asked who somebody is now."""

    policy: Policy
    voices: Voices | None = None

    def has_asked(self, wave: Wave, approval: Approval) -> bool:
        """True when this person asked for the wave, under whatever name or from the same login."""
        mine = self.policy.people_of(approval.by, approval.os_user)
        return bool(mine & self.policy.people_of(wave.asked_by, wave.proposal.os_user))

    def is_not_the_asker(self, wave: Wave, approval: Approval) -> None:
        """Raises: SelfApproval."""
        if not self.policy.self_approval and self.has_asked(wave, approval):
            raise SelfApproval(
                "You, or your login, asked for this wave, so somebody else has to approve it.",
                "One login is one person, whatever name it claims.",
            )

    async def as_now(self, voice: Voice, digest: str, wave: Wave) -> Approval:
        """Return a yes to the wave as a yes to one of its plans, by the person as they stand now.

        Raises: NotAnApprover or SelfApproval when it counts no more; CannotTell when that cannot be told here.
        """
        again = await self.voices.again(voice.by) if self.voices is not None else Approval(voice.by, "")
        said = replace(
            again, by=voice.by, reason=f"{wave.id}: {voice.event.reason}", digest=digest, os_user=voice.event.os_user
        )
        self.is_not_the_asker(wave, said)
        try:
            guards.is_approver(self.policy, said)
        except NotAnApprover as no:
            # A group may still name them.
            if self.voices is None and self.policy.acting and self.policy.approver_groups:
                raise CannotTell(
                    f"{voice.by} has said yes, and whether they still may cannot be told here.",
                    "A running `zombie serve` can ask Slack, and carries the wave on.",
                ) from no
            raise
        return said
