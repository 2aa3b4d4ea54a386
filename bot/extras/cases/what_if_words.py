"""What would change a verdict, in words: the change and its outcome. It is worded nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from bot.domain.change import NONE, UNREAD, Change
from bot.domain.duration import span_words
from bot.domain.safe_text import one_line
from bot.domain.verdict import Verdict
from bot.extras.cases.what_if import WhatIf
from bot.view.plan_words import PlanWords
from bot.view.words import cause_words


def sentence(what_if: WhatIf, before: Verdict, words: PlanWords) -> str:
    """Return a change and its outcome as a sentence.

    Example: "If cgroups.dying were 999, not 1,204 (1,000 would change nothing): healthy, and no plan."
    """
    return one_line(f"{_change_words(what_if)}: {_outcome(before, what_if.verdict, words)}.", 600)


def _change_words(what_if: WhatIf) -> str:
    change, was = what_if.change, what_if.was
    if change.value == UNREAD and not change.field:
        return f"If {change.probe} had not been read"
    if change.value == NONE and was is None:
        return f"Without {change.what}"
    value, still = _figure(change, change.value, was), _figure(change, what_if.still, was) if what_if.still else ""
    if what_if.still and value == still:  # two times that differ by less than is shown
        value, still = (f"{float(text):,.0f} s" for text in (change.value, what_if.still))
    said = f"If {change.what} were {value}"
    if isinstance(was, bool):
        return f"{said}, not {str(was).lower()}"
    if was is not None:
        said += f", not {_figure(change, str(was.total_seconds() if isinstance(was, timedelta) else was), was)}"
    return said + (f" ({still} would change nothing)" if still else "")


def _figure(change: Change, value: str, was: object) -> str:
    if isinstance(was, bool) or was is None:
        return value
    if isinstance(was, timedelta):
        return span_words(timedelta(seconds=float(value)))
    figure = f"{int(value):,}" if isinstance(was, int) else f"{float(value):,.6g}"
    return f"{figure} %" if "percent" in (change.part or change.field) else figure


def _outcome(before: Verdict, now: Verdict, words: PlanWords) -> str:
    parts = [now.status.value, cause_words(now)]
    if (before.status, before.cause, before.confidence) == (now.status, now.cause, now.confidence):
        parts = [f"still {parts[0]}", parts[1]]
    return ", ".join(part for part in (*parts, _plan_words(before, now, words)) if part)


def _plan_words(before: Verdict, now: Verdict, words: PlanWords) -> str:
    had = [words.step(step) for step in before.plan.steps] if before.plan is not None else []
    has = [words.step(step) for step in now.plan.steps] if now.plan is not None else []
    if had and not has:
        return "and no plan would be offered"
    lost, gained = [step for step in had if step not in has], [step for step in has if step not in had]
    changes = [f"{_steps_words(lost)} would not be offered"] if lost else []
    changes += [f"{_steps_words(gained)} would be offered"] if gained else []
    if not changes and before.plan is not None and now.plan is not None and before.plan.digest != now.plan.digest:
        changes = ["the plan would have other commands"]
    return "and " + " but ".join(changes) if changes else ""


def _steps_words(steps: Sequence[str]) -> str:
    *before, last = steps
    return f"{', '.join(before)} and {last}" if before else last
