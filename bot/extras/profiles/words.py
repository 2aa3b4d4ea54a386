"""A profile in words: what uses the hottest core, and what uses most of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain.safe_text import counted, one_line, safe
from bot.extras.profiles.profile import HotFunction, Profile
from bot.extras.profiles.profiler import Captured

MOST_LINES = 10
HEADING = ("Of all", "Function", "Where")


def headline(profile: Profile) -> str:
    """Describe in a sentence what the hottest core does."""
    hot, core = profile.hot, profile.hottest
    if not profile.samples:
        return f"Nothing is known of that: none of {counted(profile.events, 'sample')} was selected."
    if hot is None:
        return "Every sample is idle: no function uses the CPU."
    who = f"{one_line(hot.process, 40)} ({hot.pid}) in {one_line(hot.function, 80)}"
    if core is None:
        return f"{who}: {_percent(hot.share)} of the samples that are not idle; the text does not say on which core."
    share, samples = _percent(hot.samples / core.samples), counted(core.samples, "sample")
    return f"Core {core.core} ran {who} for {share} of its {samples}."


def text(profile: Profile, name: str) -> str:
    """Return the whole profile as text for a terminal."""
    return "\n".join([*_profile_lines(profile, name), ""])


def known_function_words(profile: Profile) -> str:
    """Return what the hottest core's function is known to do, in a sentence; empty where no signature knows it."""
    known = profile.meaning
    return f"That {one_line(known.says, 160)}." if known is not None and known.says else ""


def sample_lines(profile: Profile, name: str) -> Iterator[str]:
    """Yield what was sampled, what was selected of it, and what is missing."""
    selected = str(profile.selection)
    of = f" of {profile.events:,}" if selected else ""
    cores = f" on {counted(len(profile.cores), 'core')}" if profile.cores else ""
    idle = f"; {_percent(profile.idle_samples / profile.samples)} idle, left out here" if profile.idle_samples else ""
    event, seconds = one_line(profile.event, 40), profile.seconds
    yield f"{name}: {profile.samples:,}{of} samples of {event} in {seconds:.1f} s{cores}{idle}"
    if selected:
        yield f"selected: {one_line(selected, 120)}"
    yield from _missing(profile)


def rows(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Yield what burns most as rows under `HEADING`, for a table that is narrow enough for a phone."""
    for hot in profile.top[:MOST_LINES]:
        core = "" if hot.core is None else f", core {hot.core}"
        yield _percent(hot.share), hot.function, f"{one_line(hot.process, 24)} ({hot.pid}){core}"


def _profile_lines(profile: Profile, name: str) -> Iterator[str]:
    yield headline(profile)
    if says := known_function_words(profile):
        yield says
    yield ""
    yield from sample_lines(profile, name)
    if profile.top:
        yield ""
        yield "  share  samples  core  process (pid)             function"
        yield from (_hot_function_line(hot) for hot in profile.top[:MOST_LINES])


def _missing(profile: Profile) -> Iterator[str]:
    if profile.is_cut:
        yield "The text ends within an event, which is left out: it was cut, and there may have been more."
    if profile.skipped_events:
        yield f"Left out, because only the first kind of event is counted: {profile.skipped_events:,} of other kinds."
    if profile.skipped_lines:
        yield f"Skipped, because they are neither an event nor a frame: {counted(profile.skipped_lines, 'line')}."


def _hot_function_line(hot: HotFunction) -> str:
    core = "?" if hot.core is None else str(hot.core)
    who = f"{one_line(hot.process, 24)} ({hot.pid})"
    return f"  {_percent(hot.share):>5}  {hot.samples:>7,}  {core:>4}  {who:<25} {one_line(hot.function, 100)}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"


_HIDDEN = (
    "The kernel hides its functions' names (kernel.kptr_restrict is {kptr}): the function is unread. "
    "zombie sudoers --profile prints the line that lets the login read them; with 2 nobody can."
)
_NAMELESS_KERNEL = ("[[kernel.", "[[guest.kernel", "[kernel")  # a frame without a name has its module's name


@dataclass(frozen=True, slots=True)
class ProfileWords:
    """A node's profile in words, all of them safe to show.

    Shape: `meant` is what the hottest core's function is known to do; `sampled` says how it was sampled; `unread` what
    was not read, empty if everything was; `lines` are those after the headline.
    """

    headline: str
    meant: str
    sampled: str
    unread: str
    lines: tuple[str, ...]


def says(captured: Captured, profile: Profile) -> ProfileWords:
    """Return the words of what was captured on a node."""
    hidden = ""
    if profile.hot is not None and profile.hot.function.startswith(_NAMELESS_KERNEL):
        hidden = safe(_HIDDEN.format(kptr=one_line(captured.facts.text("kptr"), 8)))
    sampled = safe(_sampled(captured))
    lines = tuple(filter(None, (sampled, hidden, *captured.remarks, captured.incomplete)))
    return ProfileWords(
        headline(profile),
        "" if hidden else known_function_words(profile),
        sampled,
        hidden or captured.incomplete,
        lines,
    )


def _sampled(captured: Captured) -> str:
    """Say how it was sampled, what that cost, and how far apart the clocks are."""
    request, clock = captured.request, captured.end.kernel_log
    log = f"; the kernel log's clock is {clock} from perf's" if clock is not None else ""
    return (
        f"{captured.event} at {request.hertz} Hz for {request.seconds} s; that took {captured.load_percent:.1f} % of a "
        f"core, which is left out{log}."
    )
