"""A kubelet that was stopped and forgotten, from check to resolved, the whole program over SSH."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo.fleet_other_faults import KUBELET_STOPPED
from tests.nodes.acting_fleet import POLICY, site

STARTS = POLICY.replace("[act]", '[act]\nstart_units = ["kubelet.service"]')
START = "start kubelet.service"


async def test_kubelet_is_started_after_a_yes_and_proved_and_the_start_is_not_taken_back(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (KUBELET_STOPPED, None)}, STARTS) as here:
        incident = (await here.opened("node"))["node"]
        shown = await here.zombie("incidents", "show", incident)
        assert "sudo -n systemctl start -- kubelet.service" in shown.out, shown.out
        assert "Somebody may have stopped it on purpose." in " ".join(shown.out.split())
        done = await here.remediate(incident, reason="nobody needs it stopped")
        assert done.status == 0, done
        assert here.machine("node").done == [START]
        kubelet = next(unit for unit in here.machine("node").state.units if unit.name == "kubelet.service")
        assert (kubelet.active, kubelet.enabled) == ("active", "enabled")
        undone = await here.zombie("undo", incident, "--approve-as", "bob", "--reason", "stop it again")
        assert undone.status == 1
        assert "NothingToUndo" in undone.err
        assert here.machine("node").done == [START]


@pytest.mark.parametrize("policy", [POLICY, POLICY.replace("ecs.service", "kubelet.service")])
async def test_unit_that_is_not_in_the_list_has_no_button_and_the_line_to_add_is_told(
    tmp_path: Path, policy: str
) -> None:
    async with site(tmp_path, {"node": (KUBELET_STOPPED, None)}, policy) as here:
        incident = (await here.opened("node"))["node"]
        last = (await here.told(incident))["entries"][-1]
        assert last["kind"] == "PlanWithheld"
        assert "kubelet.service is not among the units that may be started." in last["body"]["because"]
        assert '[act] start_units = ["kubelet.service"]' in last["body"]["because"]
        assert (await here.remediate(incident)).status == 1
        assert here.machine("node").done == []
