"""containers: who is replaced between two looks, who is seconds old, and which runtime refused to tell."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.probes.containers import EXITS_OVER, MOST_CONTAINERS, ContainersReading, parse
from bot.probes.formats.container_lists import created_age, crictl_rows, ctr_rows
from tests.readings.recorded import CAPTURES, run

RECORDED = CAPTURES / "containers"
NOW = 1740787200
AT = datetime.fromtimestamp(NOW, UTC)
END, ABSENT = f"-- end {NOW} --", "-- absent --"


def row(identity: str, image: str = "amazon/amazon-ecs-agent:latest", made: int = NOW - 11, status: str = "Up") -> str:
    created = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    return f"{identity}|{image}|name|{created}|{status}\n"


def read(
    docker: str = ABSENT, cri: str = ABSENT, exits: str = "", later: str | None = None, cri_later: str | None = None
) -> ContainersReading:
    runs = [run("docker", docker, 0), run("cri", cri, 0), run("exits", exits)]
    runs += [
        run("docker", docker if later is None else later, 1),
        run("cri", cri if cri_later is None else cri_later, 1),
    ]
    return parse(Outputs(*runs))


def test_socket_without_a_client_is_unread() -> None:
    with pytest.raises(CannotRead, match="no client to ask"):
        read(docker="-- no client --")


def test_runtime_that_refuses_beside_one_that_tells_is_named() -> None:
    reading = read(docker="-- no client --", cri='{"containers": []}\n' + END)
    assert reading.runtimes == ("cri",)
    assert list(reading.refused) == ["docker"]
    assert "no client" in reading.refused["docker"]


def test_docker_without_containers_is_a_reading() -> None:
    reading = read(docker=f"\n{END}", exits=END)
    assert (reading.runtimes, reading.count, reading.exits_over) == (("docker",), 0, EXITS_OVER)


def test_both_runtimes_are_read() -> None:
    cri = '{"containers": [{"id": "x", "metadata": {"name": "n"}, "image": {"image": "i"}}]}\n' + END
    reading = read(docker=row("a") + END, cri=cri)
    assert (reading.runtimes, [container.id for container in reading.containers]) == (("docker", "cri"), ["a", "x"])


def test_container_of_the_second_look_alone_took_anothers_place() -> None:
    reading = read(docker=row("a") + row("job") + END, later=row("b") + row("job") + END)
    assert [container.id for container in reading.replaced] == ["b"]


def test_second_look_without_one_of_the_runtimes_is_no_look() -> None:
    cri = '{"containers": []}\n' + END
    assert read(docker=row("a") + END, cri=cri, cri_later="").containers_later is None


def test_list_at_its_cap_counts_at_least() -> None:
    many = "".join(row(str(number)) for number in range(MOST_CONTAINERS))
    assert read(docker=many + END).count_is_at_least
    assert not read(docker=row("a") + END).count_is_at_least


@pytest.mark.parametrize("cut", ["a|amazon", row("a"), row("a") + "b|c\n" + END, row("a") + "-- end"])
def test_docker_list_that_is_cut_short_is_unread(cut: str) -> None:
    with pytest.raises(CannotRead, match="cut short"):
        read(docker=cut)


@pytest.mark.parametrize(
    "cut", ['{"containers": [', "[]", '{"containers": 5}', '{"containers": [{}]}', '{"containers": [7]}']
)
def test_crictl_list_that_is_malformed_is_unread(cut: str) -> None:
    with pytest.raises(CannotRead, match="cut short or malformed"):
        read(cri=f"{cut}\n{END}")


def test_ctr_list_without_its_heading_is_unread() -> None:
    with pytest.raises(CannotRead):
        list(ctr_rows(["abc image"], ["TASK PID STATUS"]))


def test_exits_that_were_not_told_are_not_zero() -> None:
    assert read(docker=row("a") + END, exits="agent|1\nagen").exits_over is None
    told = read(docker=row("a") + END, exits=f"a|b:1|1\na|b:1|2\n{END}")
    assert told.exits_by_image == {"a|b:1": 2}


def test_strings_out_of_json_are_made_safe() -> None:
    text = '{"containers": [{"id": "x", "metadata": {"name": "\\u001b[2J\\u202e"}, "image": {"image": "a\\nb"}}]}'
    container = next(crictl_rows(text, AT))
    assert (container.name, container.image) == ("\\x1b[2J\\u202e", "a b")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2025-02-28 23:59:49 +0000 UTC", 11),
        ("2025-03-01 01:59:49 +0200 CEST", 11),
        ("2025-02-28T23:59:49.123456789Z", 11),
        ("2025-03-01 00:00:01 +0000 UTC", 0),  # rounded: made just now, not in the future
        ("2025-03-01 08:00:00 +0000 UTC", None),  # the clock was set back, and tells no age
        ("11 seconds ago", 11),
        ("Less than a second ago", 0),
        ("About a minute ago", 60),
        ("About an hour ago", 3600),
        ("2 weeks ago", 1209600),
    ],
)
def test_ages(text: str, seconds: int | None) -> None:
    assert created_age(text, AT) == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2025-02-31 25:61:61 +0000 UTC", "٣ seconds ago", "0001-01-01 00:00:00 +9999 X"]
)
def test_age_that_cannot_be_told_is_none(text: str) -> None:
    assert created_age(text, AT) is None


@given(st.text() | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}", fullmatch=True))
def test_any_text_is_an_age_or_none(text: str) -> None:
    age = created_age(text, AT)
    assert age is None or age >= timedelta(0)
