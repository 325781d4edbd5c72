"""Actions on whole systems fulfill the contract, in containers: one file in system/ per module."""

import importlib.util
import json
import pathlib
import subprocess

import pytest

from lab import contract

HERE = pathlib.Path(__file__).resolve().parent


def load_cases():
    cases = []
    for path in sorted((HERE / "system").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"system_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return cases


CASES = load_cases()
TRIALS = {
    "-".join(filter(None, [case.action, case.name, case.host, release])): (case, release)
    for case in CASES
    for release in case.releases()
}


@pytest.mark.parametrize("trial", TRIALS)
def test_action_fulfills_the_contract(request, trial):
    case, release = TRIALS[trial]
    host = request.getfixturevalue(case.host)(release, **case.options)
    contract.Trial(case, host).keep()


def test_every_action_that_needs_a_host_has_a_case(lab):
    rows = subprocess.run(
        [lab.eden_path, "explain", "-o", "json"], capture_output=True, text=True, check=True
    ).stdout
    missing = set(contract.actions_in_need(rows)) - {case.action for case in CASES}
    assert missing == set(), "write cases in tests/contract/system"


def test_cases_have_unique_names():
    assert len(TRIALS) == sum(len(case.releases()) for case in CASES)


# --- The contract itself can fail ----------------------------------------------------------------

# Actions that each break the contract in one way, implemented as commands.
BREACHES = {
    "never unchanged": (
        contract.Case("cmd.run", {"cmd": "touch /srv/x"}), "again"),
    "writes outside of the root": (
        contract.Case("cmd.run", {"cmd": "touch /srv/x", "creates": "/srv/x"},
                      look=lambda host: next(host.counter)), "the system changed"),
    "not refused": (
        contract.Case("file.directory", {"name": "/srv/x"}, below=False), "is not refused"),
    "nothing to do": (
        contract.Case("file.directory", {"name": "/etc"}), "plan: "),
    "fails": (
        contract.Case("cmd.run", {"cmd": "exit 3", "creates": "/srv/x"}), "apply"),
    "does not do it": (
        contract.Case("file.directory", {"name": "/srv/x"}, after="test -d /srv/y"), "srv/y"),
}  # fmt: skip


@pytest.mark.parametrize("breach", BREACHES)
def test_violation_is_found(light, breach):
    case, output = BREACHES[breach]
    host = light()
    host.counter = iter(range(100))
    with pytest.raises(AssertionError, match=output):
        contract.Trial(case, host).keep()


def test_change_by_a_plan_is_found(light):
    """The program under test writes a file whatever it is asked to do."""
    host = light()
    host.run("mv /usr/local/bin/eden /usr/local/bin/eden.real")
    host.write("/usr/local/bin/eden", '#!/bin/sh\ntouch /etc/x; rm /etc/x\nexec eden.real "$@"\n',
               mode=0o755)  # fmt: skip
    case = contract.Case("file.directory", {"name": "/srv/x"})
    with pytest.raises(AssertionError, match="in a plan, the disk changed"):
        contract.Trial(case, host).keep()


def test_new_module_needs_cases():
    rows = [{"kind": "action", "name": "pkg.installed"}, {"kind": "action", "name": "file.managed"},
            {"kind": "filter", "name": "upper"}]  # fmt: skip
    assert contract.actions_in_need(json.dumps(rows)) == ["pkg.installed"]
