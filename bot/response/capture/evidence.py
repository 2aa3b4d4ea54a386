"""A captured profile as a reading, for causes to weigh."""

from __future__ import annotations

from bot.domain.probe import Unread
from bot.domain.safe_text import one_line
from bot.probes.profile import ProfileReading
from bot.profile import Profile, meaning

_FEWEST = 20  # samples of the hottest core: fewer do not show what it does


def profile_reading(profile: Profile) -> ProfileReading | Unread:
    """Return what the hottest core did.

    Unread when: everything was idle, or there are too few samples.
    """
    meant = meaning(profile)
    if meant is None:
        why = "every sample was idle" if profile.samples else "no sample was taken of anything but perf itself"
        return Unread(ProfileReading.probe, why)
    hot = meant.hot
    samples = next((core.samples for core in profile.cores if core.core == hot.core), profile.busy_samples)
    if samples < _FEWEST:
        return Unread(ProfileReading.probe, f"only {samples} samples were taken on the hottest core")
    return ProfileReading(
        core=hot.core,
        process=one_line(hot.process, 40),
        pid=hot.pid,
        function=one_line(hot.function, 120),
        share_of_core=meant.share_of_core,
        samples=samples,
        seconds=profile.seconds,
        signature=meant.signature.name if meant.signature is not None else "",
        does=one_line(meant.says, 160),
        under=tuple(one_line(name, 120) for name in meant.under),
        has_names=not hot.function.startswith("["),
    )
