"""Lists of containers as docker, crictl and ctr print them.

Defined in: docker container ls (Go templates of docker/cli, cli/command/formatter), the Kubernetes CRI's
ListContainersResponse (runtime.v1, as JSON by crictl), containerd's ctr (tables).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line, redacted_line, safe


@dataclass(frozen=True, slots=True)
class Container:
    """A container. `age` is since its creation, None if the runtime's text has no readable date."""

    id: str
    image: str
    name: str = ""
    status: str = ""
    running: bool = True
    age: timedelta | None = None
    source: str = ""


DOCKER_ROW = "{{.ID}}|{{.Image}}|{{.Names}}|{{.CreatedAt}}|{{.Status}}"

_ABSOLUTE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)? ?([+-][0-9]{4}|Z)\b")
_RELATIVE = re.compile(r"(?:Up |About )?(Less than a|[0-9]{1,6}|an?) (second|minute|hour|day|week|month|year)s?( ago)?")
_ROUNDED = timedelta(seconds=2)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000, "year": 31536000}


def created_age(text: str, now: datetime) -> timedelta | None:
    """Return a container's age from docker's absolute or relative text; None when it is neither, or ahead of the clock.

    Example:
    >>> now = datetime(2026, 11, 21, 10, 0, 11, tzinfo=UTC)
    >>> created_age("2026-11-21 12:00:00 +0200 CEST", now), created_age("About a minute ago", now)
    (datetime.timedelta(seconds=11), datetime.timedelta(seconds=60))
    """
    absolute = _ABSOLUTE.match(text)
    if absolute is not None:
        day, clock, zone = absolute.groups()
        try:
            made = datetime.strptime(f"{day} {clock} {zone.replace('Z', '+0000')}", "%Y-%m-%d %H:%M:%S %z")
            return _age_since(made, now)
        except (ValueError, OverflowError):
            return None
    relative = _RELATIVE.fullmatch(text.strip())
    if relative is None:
        return None
    count = relative.group(1)
    many = 0 if count.startswith("Less") else int(count) if count.isdigit() else 1
    return timedelta(seconds=many * _SECONDS[relative.group(2)])


def _age_since(made: datetime, now: datetime) -> timedelta | None:
    """The time since then; None if it is ahead of the clock: the clock was set back, and tells no age."""
    age = now - made
    return max(timedelta(0), age) if age >= -_ROUNDED else None


def docker_rows(lines: list[str], now: datetime) -> Iterator[Container]:
    """Read rows made by `DOCKER_ROW`.

    Raises: CannotRead when a row is cut short.
    """
    for line in lines:
        parts = line.split("|", 4)
        if len(parts) < 5 or not parts[0]:
            raise CannotRead(f"containers: a row of docker's list is cut short ({one_line(line, 60)})")
        identity, image, name, made, status = parts
        yield Container(identity, image, name, status, status.startswith("Up"), created_age(made, now), line)


def crictl_rows(text: str, now: datetime) -> Iterator[Container]:
    """Read `crictl ps -o json`.

    Raises: CannotRead when it is cut short or malformed.
    """
    try:
        rows = json.loads(text)["containers"] or ()
        for row in rows:
            yield _crictl_row(row, now)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise CannotRead("containers: crictl's list is cut short or malformed") from error


def _crictl_row(row: Mapping[str, Any], now: datetime) -> Container:
    labels, image, state = row.get("labels") or {}, row.get("image") or {}, str(row.get("state", ""))
    keys = ("io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name")
    name = "/".join(str(labels[key]) for key in keys if key in labels) or str(row["metadata"]["name"])
    shown = one_line(str(image.get("userSpecifiedImage") or image.get("image") or row.get("imageRef") or ""), 200)
    attempt = (row.get("metadata") or {}).get("attempt", 0)
    status = one_line(f"{state.removeprefix('CONTAINER_').lower()}, attempt {attempt}", 60)
    nanoseconds = int(row.get("createdAt") or 0)
    made = datetime.fromtimestamp(nanoseconds / 1e9, UTC) if 0 < nanoseconds < 1 << 62 else None
    return Container(
        id=safe(str(row["id"])),
        image=shown,
        name=one_line(name, 200),
        status=status,
        running=state == "CONTAINER_RUNNING",
        age=None if made is None else _age_since(made, now),
        source=redacted_line(f"{row['id']} {shown} {name} {status}", 400),
    )


def ctr_rows(containers: list[str], tasks: list[str]) -> Iterator[Container]:
    """Read the tables of `ctr containers ls` and `ctr tasks ls`; ctr does not list creation times.

    Raises: CannotRead when a table has no heading.
    """
    if not containers or not containers[0].startswith("CONTAINER") or not tasks or not tasks[0].startswith("TASK"):
        raise CannotRead("containers: ctr's list is cut short or malformed")
    states = {words[0]: words[2] for line in tasks[1:] if len(words := line.split()) >= 3}
    for line in containers[1:]:
        words = line.split()
        if len(words) >= 2:
            status = states.get(words[0], "no task")
            image = "" if words[1] == "-" else words[1]
            yield Container(words[0], image, "", status, status == "RUNNING", None, line.rstrip())
