"""Log lines of Amazon's ENA driver about stalled queues and resets, in the wording of each version.

Defined in: amzn/amzn-drivers, kernel/linux/ena/ena_netdev.c and ena_com (tags ena_linux_1.1.2 to 2.17.0), and Linux,
drivers/net/ethernet/amazon/ena.
"""

from __future__ import annotations

import re

from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_line import KernelEventKind as Kind

VERSION = re.compile(r"Elastic Network Adapter \(ENA\) v(?P<version>[0-9][0-9A-Za-z.]{0,30})")
SWAPPED_IN = "2.17.0"

# Some lines of old drivers name only the interface.
_SPEAKER = re.compile(
    r"ena (?P<bus>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])(?: (?P<name>[^\s:]{1,15}))?"
    r"(?: \([^)]*\))*: (?P<says>.*)"
)
_BARE = re.compile(r"(?P<name>[^\s:]{1,15}): (?P<says>The number of lost tx completions .*)")

_Q = r"(?P<queue>[0-9]{1,4})"
_SINCE = r".*?(?:last napi (?P<usecs>[0-9]{1,12}) usec|usecs since napi (?P<us>[0-9]{1,12})|"
_SINCE += r"(?P<u>[0-9]{1,12}) usecs from last napi|(?P<msecs>[0-9]{1,9}) msecs since (?:last )?napi)"
_NAPI = rf"{_SINCE}.*?napi scheduled: (?P<napi>[0-9]{{1,5}})(?:\. napi CPU: (?P<core>[0-9]{{1,5}}))?"
# The driver's own limit, TX_TIMEOUT: a scheduled poll that has not run for longer is starved.
_STARVED_AFTER_USECS = 5_000_000
_WORDINGS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Kind.NIC_STARVED, r"napi handler hasn't been called for a long time but is scheduled"),
        # 2.7.2 and later; since 2.17.0 the line names the core.
        (Kind.NIC_STALLED, rf"TX q {_Q} is paused for too long{_NAPI}"),
        (Kind.NIC_STALLED, r"Transmit time out"),
        (Kind.NIC_STALLED, r"Tx queue is stuck"),
        (Kind.NIC_STALLED, rf"Found a Tx that wasn't completed on time, qid {_Q}, index"),
        (Kind.NIC_STALLED, rf"TX hasn't completed, qid {_Q}, index(?:{_NAPI})?"),
        (Kind.NIC_STALLED, r"The number of lost tx completions is above the threshold"),
        (Kind.NIC_STALLED, rf"Lost TX completions are above the threshold(?:.*\bqid {_Q}\.)?"),
        (Kind.NIC_STALLED, rf"\[1/2\] [0-9]+ new missed TX completions, qid: {_Q},{_NAPI}"),
        (Kind.NIC_STALLED, rf"\[1/2\] Lost TX completions are above threshold.*\bqid: {_Q}"),
        (Kind.NIC_STALLED, rf"\[2/2\] qid: {_Q}, highest TX completion pending.*napi CPU: (?P<core>[0-9]{{1,5}})"),
        (Kind.NIC_KEEPALIVE, r"Keep alive watchdog timeout"),
        (Kind.NIC_ADMIN, r"ENA admin queue is not in running state"),
        (Kind.NIC_ADMIN, r"The ena device (?:didn't send a|doesn't send any) completion for the admin cmd"),
        (Kind.NIC_INTERRUPT, rf"Potential MSIX issue on [RT]x side Queue = {_Q}"),
        (Kind.NIC_INTERRUPT, r"The ena device (?:sent a|have) completion but the driver didn't receive"),
        (Kind.NIC_REFILL, rf"Trigger refill for ring {_Q}"),
        (Kind.NIC_RESET_FAILED, r"(?:Reset|Restore) attempt failed"),
        (Kind.NIC_RESET_FAILED, r"Device reset completed, status: (?!0\b)-?[0-9]+"),
        (Kind.NIC_RESET, r"Device reset completed"),
        (Kind.NIC_RESET, r"Trigger reset is on"),
        (Kind.NIC_DEVICE_ERROR, r"The device has detected an unhealthy state, reset is requested"),
        (Kind.NIC_DEVICE_ERROR, r"FW isn't responsive, skipping reset routine"),
        (Kind.NIC_DEVICE_ERROR, r"Invalid req_id[: ]"),
        (Kind.NIC_DEVICE_ERROR, r"Faulty descriptor found in CQ"),
        (Kind.NIC_DEVICE_ERROR, r"(?:Invalid (?:rx|tx)|.*\bmalformed\b)"),
    )
)
# In 2.17.0 the second line about lost completions swaps core and queue.
_SWAPPED_PAIR = re.compile(r"\[2/2\] qid: (?P<core>[0-9]{1,5}), napi CPU: (?P<queue>[0-9]{1,4})")
_PAIR = re.compile(r"\[2/2\] qid: (?P<queue>[0-9]{1,4}), napi CPU: (?P<core>[0-9]{1,5})")


def ena_event(line: KernelLine, version: str) -> tuple[KernelEvent, str] | None:
    """Return an ENA line's event and the device's bus address, None for any other line.

    `version` is the driver's, without the `g`, if the log has it; otherwise empty.
    """
    speaker = _SPEAKER.match(line.says) or _BARE.match(line.says)
    if speaker is None:
        return None
    parts, says = speaker.groupdict(), speaker["says"]
    pair = (_SWAPPED_PAIR if version in ("", SWAPPED_IN) else _PAIR).match(says)
    wordings = ((Kind.NIC_STALLED, pair),) if pair else ((kind, pattern.match(says)) for kind, pattern in _WORDINGS)
    for kind, found in wordings:
        if found is None:
            continue
        said = found.groupdict()
        scheduled = None if said.get("napi") is None else said["napi"] != "0"
        starved = kind is Kind.NIC_STARVED or (scheduled and _usecs_since_napi(said) > _STARVED_AFTER_USECS)
        event = KernelEvent(
            kind=Kind.NIC_STARVED if starved else kind,
            text=line.raw,
            since_boot=line.since_boot,
            device=parts["name"] or parts.get("bus") or "",
            core=int(said["core"]) if said.get("core") else None,
            queue=int(said["queue"]) if said.get("queue") else None,
            napi_scheduled=True if kind is Kind.NIC_STARVED else scheduled,
        )
        return event, parts.get("bus") or ""
    return None


def _usecs_since_napi(said: dict[str, str | None]) -> int:
    usecs = said.get("usecs") or said.get("us") or said.get("u")
    return int(usecs) if usecs else int(said.get("msecs") or 0) * 1000
