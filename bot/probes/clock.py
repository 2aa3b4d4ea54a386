"""The node's clock: which time service keeps it, how far it is off, and its clocksource.

Defined in: chronyc(1) (`tracking`), systemd-timesyncd(8) (/run/systemd/timesync), ntpq(8) (`rv`); Linux,
Documentation/ABI/testing/sysfs-devices-system-clocksource.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.dates import DATE, instant
from bot.probes.formats.fragment import END, fragment, whole_text
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The time service, and how well it keeps the time.

    Shape: `keeper` is `chrony`, `timesyncd`, `ntp`, or empty if none of them runs; `synced` None: it does not say.
    `heard_at` is when it last took the time from a source, by the node's clock; None: it does not say. `alone`: it
    calls itself synchronised, to nothing but its own clock.
    Units: `offset_seconds` from the time service's time, in either direction.
    """

    probe: ClassVar[str] = "clock"

    keeper: str = ""
    synced: bool | None = None
    offset_seconds: float | None = None
    source: str = ""  # the kernel's clocksource
    available: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    heard_at: datetime | None = None
    alone: bool = False  # it follows nothing but the node's own clock


_SYSFS = "/sys/devices/system/clocksource/clocksource0"
# timedatectl would start a service; these commands ask only what runs already. Processes may end during the look: grep
# reports that as an error, and without -q the error hides what it found.
_LOOK = fragment(f"""
    echo '==> /source <=='; for f in current available; do
        read -r s <{_SYSFS}/${{f}}_clocksource && echo "$s"; done;
    k=; f=$(grep -hsx -e chronyd -e systemd-timesyn -e ntpd /proc/[0-9]*/comm);
    for p in chronyd systemd-timesyn ntpd; do case $f in *$p*) k=$p; break;; esac; done;
    echo "==> /keeper <=="; echo "$k";
    case $k in
        chronyd) echo '==> /chrony <=='; chronyc -n tracking;;
        systemd-timesyn) echo '==> /timesyncd <==';
            s=/run/systemd/timesync/synchronized;
            if [ -e $s ]; then echo yes; stat -c 'touched %Y' $s; elif [ -d ${{s%/*}} ]; then echo no; fi;;
        ntpd) echo '==> /ntp <=='; ntpq -n -c 'rv 0 leap,offset';; esac;
    echo '{END}'
""")
_NEVER = 1970  # what chrony prints as the year of a time that it never had
_KEEPERS = {"chronyd": "chrony", "systemd-timesyn": "timesyncd", "ntpd": "ntp"}
_LEAP = re.compile(r"Leap status\s*:\s*(\S.*)")
_REF_TIME = re.compile(rf"Ref time \(UTC\)\s*:\s*[A-Z][a-z]{{2}} ({DATE})")
# 127.127.1.1: the local clock, which `local` in chrony.conf lets it follow when nobody else can be heard.
_OWN_CLOCK = re.compile(r"Reference ID\s*:\s*7F7F0101 .*")
_TOUCHED = re.compile(r"touched ([0-9]{1,11})")
_SYSTEM_TIME = re.compile(r"System time\s*:\s*([0-9]{1,12}(?:\.[0-9]{1,12})?) seconds (?:slow|fast) of NTP time")
_RV = re.compile(r"leap=([a-z_0-9]{1,20}), offset=(-?[0-9]{1,12}(?:\.[0-9]{1,9})?)")


def parse(outputs: Outputs) -> ClockReading:
    """Read the clocksource, and what the time service says.

    Unread when: the answer is cut short, for example because the time service is silent, or there is no clocksource.
    """
    text = whole_text(outputs, "look", "clock")
    files = sections(text)
    sources = files.get("/source", ())
    if not sources or not re.fullmatch(r"[\w-]{1,40}", sources[0].strip()):
        raise CannotRead("clock: the kernel names no clocksource")
    keeper = _KEEPERS.get((files.get("/keeper", ("",)) or ("",))[0].strip(), "")
    synced, offset, lines = _synchronised_state(keeper, files)
    heard_at, of_it = _last_synchronised(keeper, files)
    alone = next((one_line(line, 80) for line in files.get("/chrony", ()) if _OWN_CLOCK.fullmatch(line.strip())), "")
    return ClockReading(
        keeper=keeper,
        synced=synced,
        offset_seconds=offset,
        source=sources[0].strip(),
        available=tuple(one_line(" ".join(sources[1:2]), 200).split()),
        lines=(*lines, *of_it, *([alone] if alone else [])),
        heard_at=heard_at,
        alone=bool(synced and alone),
    )


def _last_synchronised(keeper: str, files: dict[str, tuple[str, ...]]) -> tuple[datetime | None, tuple[str, ...]]:
    """When the service last took the time from a source, and its line."""
    for line in files.get(f"/{keeper}", ()):
        if keeper == "chrony" and (said := _REF_TIME.fullmatch(line.strip())):
            at = instant(said.group(1))
            return (at, (said.group(),)) if at is not None and at.year > _NEVER else (None, ())
        if keeper == "timesyncd" and (said := _TOUCHED.fullmatch(line.strip())):
            at = datetime.fromtimestamp(int(said.group(1)), UTC)
            return at, (f"/run/systemd/timesync/synchronized of {at:%Y-%m-%d %H:%M:%S} UTC",)
    return None, ()


def _synchronised_state(
    keeper: str, files: dict[str, tuple[str, ...]]
) -> tuple[bool | None, float | None, tuple[str, ...]]:
    said = tuple(one_line(line, 200) for line in files.get(f"/{keeper}", ()) if line.strip() and line != END)
    text = "\n".join(said)
    if keeper == "chrony":
        leap, off = _LEAP.search(text), _SYSTEM_TIME.search(text)
        lines = tuple(found.group() for found in (leap, off) if found)
        synced = None if leap is None else "Not synch" not in leap.group(1)
        return synced, float(off.group(1)) if off else None, lines
    if keeper == "ntp":
        found = _RV.search(text)
        if found is None:
            return None, None, ()
        return found.group(1) not in ("leap_alarm", "11"), abs(float(found.group(2))) / 1000, (found.group(),)
    if keeper == "timesyncd" and said and said[0] in ("yes", "no"):
        return said[0] == "yes", None, (f"/run/systemd/timesync/synchronized: {said[0]}",)
    return None, None, ()


PROBE = Probe(
    name="clock",
    title="clock and who keeps it",
    commands=(Command("look", ("sh", "-c", _LOOK), lane="services", output_limit_bytes=32 * 1024),),
    parse=parse,
    reading=ClockReading,
)
