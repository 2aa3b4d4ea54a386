"""The sentences beside a captured profile: how it was sampled, and what was not read."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.safe_text import one_line, safe
from bot.profile import Profile, words
from bot.response.capture.profiler import Captured

_HIDDEN = (
    "The kernel hides its functions' names (kernel.kptr_restrict is {kptr}): the function is unread. "
    "zombie sudoers --profile prints the line that lets the login read them; with 2 nobody can."
)
_NAMELESS_KERNEL = ("[[kernel.", "[[guest.kernel", "[kernel")  # a frame without a name has its module's name


@dataclass(frozen=True, slots=True)
class ProfileWords:
    """A profile in words: the headline, how it was sampled, and what was not read, empty if everything was."""

    headline: str
    sampled: str
    unread: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines after the headline."""
        return (self.sampled, self.unread) if self.unread else (self.sampled,)


def says(captured: Captured, profile: Profile) -> ProfileWords:
    """Return the words; everything that the node printed is safe to show."""
    hot, _ = profile.hot_functions()
    hidden = hot is not None and hot.function.startswith(_NAMELESS_KERNEL)
    unread = _HIDDEN.format(kptr=one_line(captured.facts.text("kptr"), 8)) if hidden else ""
    return ProfileWords(words.headline(profile), safe(_sampled(captured)), safe(unread))


def _sampled(captured: Captured) -> str:
    """Say how it was sampled, what that cost, and how far apart the clocks are."""
    request, clock = captured.request, captured.end.kernel_log
    log = f"; the kernel log's clock is {clock} from perf's" if clock is not None else ""
    return (
        f"{captured.event} at {request.hertz} Hz for {request.seconds} s; that took {captured.load_percent:.1f} % of a "
        f"core, which is left out{log}."
    )
