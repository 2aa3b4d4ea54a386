"""A certificate of the kubelet has expired, or was not renewed in the time in which the kubelet renews it.

Confirms: an expiry date that has passed, by the node's clock; nine tenths of its lifetime gone without a new
certificate.
Refutes: certificates with time left; no kubelet; a clock that is off by more than they are over. A certificate for less
than a day counts only once it has expired; a
server certificate that the kubelet signed for itself never counts, because nobody checks it.
Remedy: none planned: approve the waiting request (`kubectl get csr`), or repair the renewal; a reboot renews nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.causes._figures import percent, span
from bot.causes._finding import found
from bot.domain.cause import Cause, Threshold, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.certificates import Certificate, CertificatesReading
from bot.probes.clock import ClockReading

NAME = "certificate-expiry"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether a certificate has expired, or is about to."""
    reading = snapshot.get(CertificatesReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the kubelet's certificates were not read ({reading.reason})")
    checked = [each for each in reading.certificates if not each.is_self_signed]
    ended, late = [], []
    for each in checked:
        if not each.begins_at <= reading.now_at < each.ends_at:
            says = f"{_what(each)} {_out_of_time(each, reading.now_at)}"
            ended.append(Evidence("certificate-ended", "certificates", says, each.lines))
        elif (used := _used_percent(each, reading)) >= tuning["life_percent"] and _is_renewed(each, tuning):
            left = span(each.ends_at - reading.now_at)
            says = f"{_what(each)} ends in {left}, with {percent(used)} of its lifetime gone and no new certificate"
            late.append(Evidence("certificate-late", "certificates", says, each.lines))
    off = _clock_is_off(snapshot)
    if ended and off >= timedelta(seconds=1) and all(_out_by(each, reading.now_at) <= off for each in checked):
        because = f"{ended[0].says}, by a clock that is {span(off)} off"
        return Undecided(NAME, because, would_decide="the right time")
    if ended or late:
        evidence = (*ended, *late)
        return found(NAME, Status.CRITICAL if ended else Status.DEGRADED, Confidence.CONFIRMED, evidence)
    if not reading.has_kubelet:
        return RuledOut(NAME, "there is no kubelet here")
    if reading.is_silent:
        by_hand = "`openssl s_client -connect 127.0.0.1:10250` by hand"
        return Undecided(NAME, "the kubelet's port showed no certificate in time", would_decide=by_hand)
    if reading.hidden:
        names = ", ".join(reading.hidden[:3])
        return Undecided(NAME, f"only root may read {names}", would_decide="`openssl x509 -enddate` as root")
    if not checked:
        return RuledOut(NAME, "the kubelet has no certificate here that anybody checks")
    first = min(checked, key=lambda each: each.ends_at)
    return RuledOut(NAME, f"the first to end, {_what(first)}, has {span(first.ends_at - reading.now_at)} left")


def _clock_is_off(snapshot: Snapshot) -> timedelta:
    clock = snapshot.get(ClockReading)
    seconds = None if isinstance(clock, Unread) else clock.offset_seconds
    return timedelta(seconds=seconds or 0)


def _out_by(each: Certificate, now_at: datetime) -> timedelta:
    """How far the time is outside of the certificate's; 0 within it."""
    return max(each.begins_at - now_at, now_at - each.ends_at, timedelta(0))


def _what(each: Certificate) -> str:
    if each.path == "/served":
        return "the certificate that the kubelet serves"
    return f"the kubelet's {'client' if each.is_client else 'server'} certificate {each.path}"


def _out_of_time(each: Certificate, now_at: datetime) -> str:
    if now_at < each.begins_at:
        return f"begins only in {span(each.begins_at - now_at)}: is the clock right?"
    return f"ended {span(now_at - each.ends_at)} ago"


def _used_percent(each: Certificate, reading: CertificatesReading) -> float:
    return 100 * ((reading.now_at - each.begins_at) / (each.ends_at - each.begins_at))


def _is_renewed(each: Certificate, tuning: Tuning) -> bool:
    """True for a certificate that the kubelet should have renewed by now; not for short-lived certificates."""
    return each.ends_at - each.begins_at >= timedelta(hours=tuning["short_hours"])


CAUSE = Cause(
    name=NAME,
    title="Certificate expired or about to",
    probes=("certificates",),
    beside=("clock",),
    thresholds={
        "life_percent": Threshold(
            90,
            (
                "The kubelet renews them at a random point between 70 and 90 % of their life (client-go, "
                "certificate manager)."
            ),
        ),
        "short_hours": Threshold(
            24,
            (
                "Ours. A certificate for hours is renewed within minutes of its end, so an alert would come too "
                "late to help."
            ),
        ),
    },
    signature=("certificates",),
    weigh=weigh,
    lasting_fix="Approve the waiting request (`kubectl get csr`), or mend what renews certificates before they end.",
)
