"""`deploy/` as its own schemas take it: Kubernetes' by kubernetes-validate, compose's and GitHub's by check-jsonschema.

What the workflows may do is read by zizmor. All are put into an environment of their own from requirements-deploy.lock,
and bring the schemas along. The workflows themselves run nowhere here.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.tool_environment import programs_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
ROOT = Path(__file__).parents[2]
MANIFESTS = ("deploy/kubernetes.yaml", "docs/kubernetes-role.yaml")
COMPOSE = ("deploy/compose.yaml", "deploy/workers.yaml")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs_of("requirements-deploy.lock", tmp_path_factory.mktemp("deploy-tools"))


def says(*command: str | Path) -> tuple[int, str]:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def spoiled(file: str, before: str, after: str, folder: Path) -> Path:
    """A copy of a file with one thing wrong in it."""
    text = (ROOT / file).read_text()
    assert before in text
    copy = folder / Path(file).name
    copy.write_text(text.replace(before, after, 1))
    return copy


def test_kubernetes_takes_every_manifest(programs: Path) -> None:
    code, said = says(programs / "kubernetes-validate", "--strict", *(ROOT / file for file in MANIFESTS))
    assert code == 0, said
    kinds = sum((ROOT / file).read_text().count("\nkind:") for file in MANIFESTS)
    assert said.count(" passed ") == kinds, f"a kind of which there is no schema is only a warning:\n{said}"


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("replicas: 2", "replicas: two", "replicas"),
        ("readOnlyRootFilesystem", "readonlyRootFilesystem", "readonlyRootFilesystem"),
        ("minAvailable: 1", "minAvailable: [1]", "minAvailable"),
    ],
)
def test_manifest_that_is_wrong_is_caught(programs: Path, tmp_path: Path, before: str, after: str, names: str) -> None:
    wrong = spoiled(MANIFESTS[0], before, after, tmp_path)
    code, said = says(programs / "kubernetes-validate", "--strict", wrong)
    assert (code != 0, names in said) == (True, True), said


def test_compose_takes_its_files(programs: Path) -> None:
    tool, schema = programs / "check-jsonschema", ("--builtin-schema", "vendor.compose-spec")
    code, said = says(tool, *schema, *(ROOT / file for file in COMPOSE))
    assert code == 0, said


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("read_only: true", "readonly: true", "readonly"),
        ("condition: service_healthy", "condition: healthy", "healthy"),
        ("tmpfs: [/tmp]", "tmpfs: {at: /tmp}", "tmpfs"),
    ],
)
def test_compose_file_that_is_wrong_is_caught(
    programs: Path, tmp_path: Path, before: str, after: str, names: str
) -> None:
    wrong = spoiled(COMPOSE[0], before, after, tmp_path)
    code, said = says(programs / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", wrong)
    assert (code != 0, names in said) == (True, True), said


def test_github_takes_the_forms_for_issues(programs: Path) -> None:
    assert FORMS
    code, said = says(programs / "check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *FORMS)
    assert code == 0, said
    config = ROOT / ".github/ISSUE_TEMPLATE/config.yml"
    code, said = says(programs / "check-jsonschema", "--builtin-schema", "vendor.github-issue-config", config)
    assert code == 0, said


def test_workflows_are_as_github_reads_them_and_grant_no_more_than_each_step_needs(programs: Path) -> None:
    assert [path.name for path in WORKFLOWS] == ["gate.yml", "release.yml"]
    code, said = says(programs / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    assert code == 0, said
    code, said = says(programs / "zizmor", "--offline", "--no-progress", "--min-severity", "medium", *WORKFLOWS)
    assert code == 0, said


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("permissions: {}", "permissions: write-all", "excessive-permissions"),
        ("@11bd71901bbe5b1630ceea73d27597364c9af683 #", "@v4 #", "unpinned-uses"),
        ("persist-credentials: false", "persist-credentials: true", "artipacked"),
        ("run: sudo", "run: echo ${{ github.head_ref }} && sudo", "template-injection"),
    ],
)
def test_workflow_that_grants_too_much_is_caught(
    programs: Path, tmp_path: Path, before: str, after: str, names: str
) -> None:
    wrong = spoiled(".github/workflows/gate.yml", before, after, tmp_path)
    code, said = says(
        programs / "zizmor", "--offline", "--no-progress", "--min-severity", "low", "--persona", "auditor", wrong
    )
    assert (code != 0, names in said) == (True, True), said
