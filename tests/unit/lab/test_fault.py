"""Faults: every script is whole, and its words mean what `Fault` takes them for."""

import subprocess

import pytest

from bot.causes import CAUSES
from bot.domain.errors import UsageError
from bot.lab.fault import FAULTS, Fault, find
from bot.lab.trial import TRIALS, Trial


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_script_is_a_shell_script_with_the_three_verbs(fault: Fault) -> None:
    script = fault._script(":")
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    for verb in ("make", "undo", "look"):
        assert f"\n{verb}() {{" in script, verb


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.fault)
def test_fault_begins_with_the_name_of_the_cause_it_brings(trial: Trial) -> None:
    assert trial.cause in CAUSES
    assert trial.fault == "leak-without-harm" or trial.fault.startswith(trial.cause)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_perl_programs_compile(fault: Fault) -> None:
    from bot.lab.fault import _SCRIPTS

    for name in fault.needs:
        if name.endswith(".pl"):
            done = subprocess.run(["perl", "-c", _SCRIPTS / name], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def test_unknown_fault_names_near_ones() -> None:
    with pytest.raises(UsageError, match="failed-units"):
        find("failed-unit")
