"""The fleet's files are those of an ordinary inventory, and its names those of a real fleet."""

from bot.demo.faults import Fault
from bot.demo.fleet import FLEET, healthy_nodes


def test_every_node_has_its_own_labels() -> None:
    for label in ("instance_id", "private_dns"):
        assert len({member.labels[label] for member in FLEET}) == len(FLEET)
    assert {member.labels["az"] for member in FLEET} == {"us-east-1a", "us-east-1b", "us-east-1c"}


def test_fleet_has_the_founding_case_in_three_faces_and_a_node_that_never_answers() -> None:
    assert len(FLEET) >= 8
    assert sum(any(unit.name == "ecs.service" for unit in member.state.units) for member in FLEET) == 9
    broken = (Fault.SILENT, Fault.OTHER_HOST_KEY)
    assert [member.name for member in FLEET if member.fault in broken] == ["ray-gpu-1c-0290", "web-1b-0044"]
    assert all(member.description for member in FLEET)


def test_many_alike_have_names_of_their_own() -> None:
    members = healthy_nodes(200)
    assert len({member.name for member in members}) == 200
    assert (members[0].name, members[-1].name) == ("node-001", "node-200")
