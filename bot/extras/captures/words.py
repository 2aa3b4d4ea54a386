"""Rolling captures in words, and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.domain.entry import instant_text
from bot.domain.safe_text import one_line
from bot.extras.captures.capture_fold import RollingCapture, RollingState
from bot.extras.captures.capture_watch import CaptureLookResult
from bot.extras.captures.events import SymptomCaught


def line(rolling: RollingCapture) -> str:
    """Return a capture's state as a line."""
    caught = f", {len(rolling.found)} caught" if rolling.found else ""
    return f"{rolling.id}  {one_line(rolling.node, 60)}  {_state(rolling)}{caught}, asked by {one_line(rolling.by, 60)}"


def lines(news: CaptureLookResult, most: int = 0) -> list[str]:
    """Return what a look found, as lines: the capture, what is not read of it, what it caught.

    Shape: `most` is how many of the last two stand there each, the newest; 0: all.
    """
    rolling = news.shown
    found = [f"Capture {rolling.id} of {one_line(rolling.node, 60)}: {_state(rolling)}."]
    found.append(f"Looks for {', '.join(rolling.request.around)}; asked by {one_line(rolling.by, 80)}.")
    ended, load = rolling.ended, news.load_percent
    if (cost := _cost(news)) is not None and (rolling.stopping is not None or rolling.is_over):
        found.append(f"It recorded {cost[0]:.0f} s and cost {cost[1]:.2f} % of one core.")
    elif load is not None:
        found.append(
            f"It has recorded {news.recorded_seconds:.0f} s and costs {load:.2f} % of one core; its ring holds "
            f"{news.segments} segments, {news.ring_bytes / 1e6:.1f} MB."
        )
    if ended is not None and ended.left:
        found.append(f"Left on the node: {one_line(ended.left, 200)}.")
    if news.clock_error is not None:
        found.append(f"Times of the kernel's log and perf's agree within {news.clock_error:.3f} s.")
    said = [f"{'Not read' if rolling.is_over else 'Not yet'}: {one_line(unread, 200)}." for unread in news.unread]
    found += _newest(rolling, "not read", said, most)
    found += [f"* {gap_words(rolling.gaps)}."] if rolling.gaps else []
    said = [f"* {caught_words(caught, rolling.is_over)}." for caught in rolling.found]
    found += _newest(rolling, "caught", said, most)
    is_looked_at = load is not None or rolling.is_over
    if not rolling.caught and not news.unread and rolling.started is not None and is_looked_at:
        found.append("Nothing was caught." if rolling.is_over else "Nothing was caught so far.")
    return found


def _newest(rolling: RollingCapture, what: str, said: Sequence[str], most: int) -> Sequence[str]:
    """Return the newest of them, the newest first, under how many there are; all in their order where all find room."""
    if not 0 < most < len(said):
        return said
    return [
        f"{len(said)} {what}, of which the last {most}; all: zombie capture show {rolling.id}",
        *said[: -most - 1 : -1],
    ]


def gap_words(gaps: Sequence[SymptomCaught]) -> str:
    """Say of the parts of the kernel's log that no look read how many there are, the first, and the last."""
    more = f"; {len(gaps) - 1:,} more times, the last: {one_line(gaps[-1].unread, 200)}" if len(gaps) > 1 else ""
    return f"{caught_words(gaps[0])}{more}"


def caught_words(caught: SymptomCaught, is_over: bool = True) -> str:
    """Say what was caught, and what is not known of it; while its capture is not over, that may come."""
    may_come = caught.unfinished and not is_over
    goes_on = ", and it may go on" if may_come and caught.ends_mono else ""
    unread = f"; not read{' yet' if may_come else ''}: {one_line(caught.unread, 200)}" if caught.unread else ""
    return f"{one_line(caught.sentence, 400)}{goes_on}{unread}"


def _cost(news: CaptureLookResult) -> tuple[float, float] | None:
    """Seconds recorded and percent of one core: when it was stopped, or at the last look that saw it run."""
    stopping = news.rolling.stopping
    if stopping is not None and stopping.recorded_seconds:
        return stopping.recorded_seconds, 100 * stopping.spent_seconds / stopping.recorded_seconds
    return None if news.load_percent is None else (news.recorded_seconds, news.load_percent)


def document(rolling: RollingCapture, news: CaptureLookResult | None = None) -> dict[str, Any]:
    """Return it as JSON values; the node's figures are null where nobody looked."""
    running = news is not None and news.load_percent is not None
    return {
        "id": rolling.id,
        "node": rolling.node,
        "state": rolling.state.value,
        "because": rolling.ended.because if rolling.ended is not None else "",
        "left": rolling.ended.left if rolling.ended is not None else "",
        "by": rolling.by,
        "hours": rolling.request.hours,
        "segment_minutes": rolling.request.segment_minutes,
        "around": list(rolling.request.around),
        "asked_at": instant_text(rolling.asked_at),
        "until": None if rolling.until is None else instant_text(rolling.until),
        "caught": [
            {
                "symptom": caught.symptom,
                "at": instant_text(caught.at),
                "sentence": caught_words(replace(caught, unread=""), rolling.is_over),
                "unread": caught.unread,
            }
            for caught in (news or CaptureLookResult(rolling)).shown.caught
        ],
        "waits": list((news or CaptureLookResult(rolling)).unread),
        "recorded_seconds": round(news.recorded_seconds, 1) if running and news is not None else None,
        "load_percent": round(news.load_percent or 0.0, 3) if running and news is not None else None,
        "ring_bytes": news.ring_bytes if running and news is not None else None,
    }


def _state(rolling: RollingCapture) -> str:
    match rolling.state:
        case RollingState.ENDED:
            because = rolling.ended.because if rolling.ended is not None else ""
            return f"ended: {one_line(because, 200).rstrip('.')}" if because else "ended"
        case RollingState.STARTING:
            return "is being started; a look says whether it runs"
    until = f" until {rolling.until:%Y-%m-%d %H:%M} UTC" if rolling.until is not None else ""
    return f"{rolling.state.value}{until}"
