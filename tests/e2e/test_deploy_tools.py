"""`deploy/` as its own schemas take it: Kubernetes' by kubernetes-validate, compose's and GitHub's by check-jsonschema.

The chart is rendered by Helm's own library; no cluster takes it here. What the workflows may do is read by zizmor; they
run nowhere here. All are put into an environment of their own from requirements-deploy.lock, with the schemas.
"""

from __future__ import annotations

import gzip
import json
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.codecs import load_all_yaml

from bot.app.new_site import NewSite
from bot.settings import Settings
from tests.image import instructions
from tests.tool_environment import programs_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
ROOT = Path(__file__).parents[2]
CHART, ROLE = ROOT / "deploy/chart", ROOT / "docs/kubernetes-role.yaml"
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


# Renders the chart with each of several sets of values: Helm's own words where it refuses them.
RENDER = """
import json, sys
import helm_python
said = []
with helm_python.Chart.load(sys.argv[1]) as chart:
    for values in json.load(sys.stdin):
        try:
            chart.validate_schema(values)
            said.append(chart.render(values, name="zombie", namespace="ops"))
        except helm_python.HelmError as no:
            said.append(str(no))
json.dump(said, sys.stdout)
"""
INVENTORY = '[ssh]\nuser = "zombie"\nkey = "zombie_key"\n[nodes.node-1]\naddress = "10.0.0.7"\n'
LEAST: dict[str, Any] = {"image": {"tag": "0.2.0"}, "files": {"inventory.toml": INVENTORY}}
POSTGRESQL = {"replicas": 2, "database": {"existingSecret": "zombie-app", "key": "uri", "port": 6432}}
IN_CLUSTER = '[ssh]\nuser = "zombie"\n[kubernetes]\ncontext = "in-cluster"\n'
SETS: dict[str, dict[str, Any]] = {
    "everything off": {"networkPolicy": {"enabled": False}},
    "Teams, as zombie init writes them": yaml.safe_load(
        NewSite(chat="teams", teams_app="0a1b", teams_tenant="9f8e", pagerduty=True, service="kubernetes").files()[
            "values.yaml"
        ]
    ),
    "no chat, as zombie init writes them": yaml.safe_load(NewSite(service="kubernetes").files()["values.yaml"]),
    "to begin with": yaml.safe_load((ROOT / "deploy/values.yaml").read_text()),
    "PostgreSQL, two replicas": {**POSTGRESQL, "tokens": {"existingSecret": "t"}, "ssh": {"existingSecret": "s"}},
    "Teams": {
        "tokens": {"existingSecret": "teams"},
        "environment": {"TEAMS_APP_ID": "0a1b", "TEAMS_TENANT": "9f8e"},
        "ingress": {"host": "zombie.example.com", "tlsSecret": "tls"},
    },
    "PagerDuty": {
        "tokens": {"existingSecret": "t"},
        "environment": {"PAGERDUTY_FROM": "bot@example.com"},
        "ingress": {"host": "a.example.com", "className": "nginx", "annotations": {"example.com/issuer": "ours"}},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    },
    "nodes of the cluster": {
        "files": {"inventory.toml": IN_CLUSTER, "zombie.toml": "[kubernetes]\nin_cluster = true\n"},
        "kubernetes": {"inventory": True, "drain": True, "apiPort": 8443},
        "networkPolicy": {"ports": [22, 443, 9090]},
        "persistence": {"size": "20Gi", "storageClass": "gp3"},
        "image": {"repository": "registry.example.com:5000/zombie", "pullSecret": "registry"},
    },
}
# A set of values that is wrong, and what Helm's refusal names: its schema's words, or a sentence of the chart.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"replicas": "two"}, "at '/replicas': got string, want integer"),
    ({"replicas": 0}, "at '/replicas': minimum: got 0, want 1"),
    ({"replica": 2}, "additional properties 'replica' not allowed"),
    ({"files": {"inventry.toml": "x"}}, "at '/files': additional properties 'inventry.toml' not allowed"),
    ({"environment": {"GPUS": 8}}, "at '/environment/GPUS': got number, want string"),
    ({"networkPolicy": {"ports": ["22"]}}, "at '/networkPolicy/ports/0': got string, want integer"),
    ({"kubernetes": {"apiPort": 0}}, "at '/kubernetes/apiPort': minimum: got 0, want 1"),
    ({"tokens": {"existingSecret": "No_Name"}}, "at '/tokens/existingSecret': 'No_Name' does not match pattern"),
    ({"tokens": {"SLACK_BOT_TOKEN": "xoxb-1"}}, "at '/tokens': additional properties 'SLACK_BOT_TOKEN' not allowed"),
    ({"persistence": {"size": "5 GB"}}, "at '/persistence/size': '5 GB' does not match pattern"),
    ({"replicas": 2}, "replicas is 2, but the record is in a volume that only one bot can have"),
    ({"files": {"inventory.toml": ""}}, "files.inventory.toml is empty: it says which nodes there are"),
    (
        {"environment": {"SLACK_BOT_TOKEN": "xoxb-1"}},
        "environment.SLACK_BOT_TOKEN is a secret, and values are no place",
    ),
    ({"image": {"tag": ""}}, "image.tag is empty, and this chart is of no release"),
    ({"serviceMonitor": {"enabled": True}}, "serviceMonitor.enabled is true, but /metrics answers other machines by a"),
    ({"ingress": {"tlsSecret": "tls"}}, "ingress.host is empty, so there would be no Ingress"),
]


def values_of(given: dict[str, Any]) -> dict[str, Any]:
    return {**LEAST, **given, "image": {**LEAST["image"], **given.get("image", {})}}


def helm(programs: Path, chart: Path, *sets: dict[str, Any]) -> list[Any]:
    command = [str(programs / "python"), "-c", RENDER, str(chart)]
    done = subprocess.run(command, input=json.dumps(sets), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said: list[Any] = json.loads(done.stdout)
    return said


@pytest.fixture(scope="module")
def rendered(programs: Path) -> dict[str, dict[str, str]]:
    """The chart's files by their names, for each set of values."""
    said = helm(programs, CHART, *map(values_of, SETS.values()))
    assert [text for text in said if isinstance(text, str)] == []
    return {
        name: {path.rpartition("/")[2]: text for path, text in files.items()}
        for name, files in zip(SETS, said, strict=True)
    }


def objects(files: dict[str, str]) -> list[dict[str, Any]]:
    texts = (text for name, text in files.items() if name.endswith(".yaml"))
    return [found for text in texts for found in yaml.safe_load_all(text) if found]


@pytest.fixture
def objects_of(rendered: dict[str, dict[str, str]]) -> Callable[[str], dict[str, dict[str, Any]]]:
    """The one object of each kind, for a set of values."""

    def found(name: str) -> dict[str, dict[str, Any]]:
        every = objects(rendered[name])
        by_kind = {each["kind"]: each for each in every}
        assert len(by_kind) == len(every)
        return by_kind

    return found


def validated(programs: Path, *files: Path) -> tuple[int, str]:
    return says(programs / "kubernetes-validate", "--strict", *files)


def test_kubernetes_takes_every_object_of_the_chart(
    programs: Path, rendered: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    files, count = [ROLE], ROLE.read_text().count("\nkind:")
    for number, texts in enumerate(rendered.values()):
        # An operator's own kind: Kubernetes has no schema of it.
        known = [each for each in objects(texts) if each["kind"] != "ServiceMonitor"]
        count += len(known)
        files.append(tmp_path / f"{number}.yaml")
        files[-1].write_text(yaml.safe_dump_all(known))
        read: list[Any] = list(load_all_yaml(files[-1].read_text()))
        assert [each.to_dict() for each in read] == known, "what is misspelt is lost on the way through the models"
    code, said = validated(programs, *files)
    assert code == 0, said
    assert said.count(" passed ") == count, f"a kind of which there is no schema is only a warning:\n{said}"


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("replicas: 2", "replicas: two", "replicas"),
        ("readOnlyRootFilesystem", "readonlyRootFilesystem", "readonlyRootFilesystem"),
        ("minAvailable: 1", "minAvailable: [1]", "minAvailable"),
    ],
)
def test_object_that_is_wrong_is_caught(
    programs: Path, rendered: dict[str, dict[str, str]], tmp_path: Path, before: str, after: str, names: str
) -> None:
    (text,) = (text for text in rendered["PostgreSQL, two replicas"].values() if before in text)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text.replace(before, after, 1))
    code, said = validated(programs, wrong)
    assert (code != 0, names in said) == (True, True), said
    if before.startswith("readOnly"):
        read: list[Any] = list(load_all_yaml(wrong.read_text()))
        assert [each.to_dict() for each in read] != list(yaml.safe_load_all(wrong.read_text()))


def test_values_that_are_wrong_are_refused_with_a_sentence(programs: Path) -> None:
    said = helm(programs, CHART, *(values_of(given) for given, _ in REFUSED))
    assert [
        (given, text)
        for (given, names), text in zip(REFUSED, said, strict=True)
        if not isinstance(text, str) or names not in text
    ] == []


def test_objects_fit_together_and_fit_the_image(
    objects_of: Callable[[str], dict[str, dict[str, Any]]], rendered: dict[str, dict[str, str]]
) -> None:
    stages = dict(instructions((ROOT / "Dockerfile").read_text()))
    labels = {"app.kubernetes.io/name": "zombie", "app.kubernetes.io/instance": "zombie"}
    for name in rendered:
        by_kind = objects_of(name)
        spec = by_kind["Deployment"]["spec"]
        pod = spec["template"]["spec"]
        assert spec["template"]["metadata"]["labels"] == spec["selector"]["matchLabels"] == labels
        assert by_kind["Service"]["spec"]["selector"] == labels
        for kind, key in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
            assert kind not in by_kind or by_kind[kind]["spec"][key]["matchLabels"] == labels
        (container,) = pod["containers"]
        assert [port["containerPort"] for port in container["ports"]] == [int(stages["EXPOSE"])]
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == stages["USER"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
        assert {stages["VOLUME"], stages["WORKDIR"], "/tmp"} <= set(mounts.values())
        handed = {each["name"]: each["value"] for each in container.get("env", ())}
        assert handed == ({"CREDENTIALS_DIRECTORY": mounts["secrets"]} if "secrets" in mounts else {}) | SETS[name].get(
            "environment", {}
        )
        assert {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} == {
            "/healthz",
            "/readyz",
        }
        # Pod Security Standard "restricted", and what it leaves open.
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {kind for volume in pod["volumes"] for kind in volume} <= {
            *("name", "projected", "emptyDir", "persistentVolumeClaim")
        }


def test_one_bot_has_a_volume_that_stays_and_several_have_a_database(
    objects_of: Callable[[str], dict[str, dict[str, Any]]],
) -> None:
    alone, several = objects_of("to begin with"), objects_of("PostgreSQL, two replicas")
    assert alone["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert alone["PersistentVolumeClaim"]["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert "PodDisruptionBudget" not in alone
    assert "PersistentVolumeClaim" not in several
    assert several["Deployment"]["spec"]["replicas"] > several["PodDisruptionBudget"]["spec"]["minAvailable"]
    volumes = {volume["name"]: volume for volume in several["Deployment"]["spec"]["template"]["spec"]["volumes"]}
    of_database = {"name": "zombie-app", "items": [{"key": "uri", "path": "ZOMBIE_DATABASE_URL"}]}
    assert volumes["secrets"]["projected"]["sources"] == [{"secret": {"name": "t"}}, {"secret": of_database}]
    assert volumes["files"]["projected"]["sources"] == [{"configMap": {"name": "zombie"}}, {"secret": {"name": "s"}}]


def test_chart_leaves_out_what_is_off(objects_of: Callable[[str], dict[str, dict[str, Any]]]) -> None:
    assert set(objects_of("everything off")) == {"ConfigMap", "Deployment", "Service", "PersistentVolumeClaim"}
    (container,) = objects_of("everything off")["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert "env" not in container


def test_network_policy_opens_what_the_values_use(objects_of: Callable[[str], dict[str, dict[str, Any]]]) -> None:
    def ports(name: str) -> list[tuple[str, int]]:
        spec = objects_of(name)["NetworkPolicy"]["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert spec["ingress"] == [{"ports": [{"protocol": "TCP", "port": "http"}]}]
        (rule,) = spec["egress"]
        return [(each["protocol"], each["port"]) for each in rule["ports"]]

    names = [("UDP", 53), ("TCP", 53)]
    assert ports("to begin with") == [*names, ("TCP", 22), ("TCP", 443)]
    assert ports("PostgreSQL, two replicas") == [*names, ("TCP", 22), ("TCP", 443), ("TCP", 6432)]
    assert ports("nodes of the cluster") == [*names, ("TCP", 22), ("TCP", 443), ("TCP", 9090), ("TCP", 8443)]


def test_pod_has_an_account_only_where_it_asks_the_cluster(
    objects_of: Callable[[str], dict[str, dict[str, Any]]], rendered: dict[str, dict[str, str]]
) -> None:
    for name in rendered:
        pod = objects_of(name)["Deployment"]["spec"]["template"]["spec"]
        asks = name == "nodes of the cluster"
        assert pod["automountServiceAccountToken"] is asks
        assert ("serviceAccountName" in pod, "ClusterRole" in objects_of(name)) == (asks, asks)
    by_kind = objects_of("nodes of the cluster")
    drains = next(each for each in yaml.safe_load_all(ROLE.read_text()) if each["kind"] == "ClusterRole")["rules"]
    assert by_kind["ClusterRole"]["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}, *drains]
    binding, account = by_kind["ClusterRoleBinding"], by_kind["ServiceAccount"]["metadata"]
    assert binding["roleRef"]["name"] == by_kind["ClusterRole"]["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["name"], "namespace": "ops"}]


def test_ingress_and_monitor_lead_to_the_service_and_metrics_are_not_passed_on(
    objects_of: Callable[[str], dict[str, dict[str, Any]]],
) -> None:
    by_kind = objects_of("PagerDuty")
    service = by_kind["Service"]
    (rule,) = by_kind["Ingress"]["spec"]["rules"]
    assert {path["pathType"] for path in rule["http"]["paths"]} == {"Exact"}
    assert [path["path"] for path in rule["http"]["paths"]] == [
        *("/pagerduty", "/alertmanager", "/grafana", "/slack/events", "/teams/messages", "/mcp")
    ]
    to = {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}
    assert all(path["backend"]["service"] == to for path in rule["http"]["paths"])
    monitor = by_kind["ServiceMonitor"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint == {
        "port": to["port"]["name"],
        "authorization": {"credentials": {"name": "t", "key": "ZOMBIE_METRICS_TOKEN"}},
    }
    (tls,) = objects_of("Teams")["Ingress"]["spec"]["tls"]
    assert tls == {"hosts": ["zombie.example.com"], "secretName": "tls"}


def test_files_of_the_values_are_read_as_they_were_written(
    objects_of: Callable[[str], dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    for name, text in objects_of("nodes of the cluster")["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    assert (tmp_path / "inventory.toml").read_text() == IN_CLUSTER
    assert Settings.load({}, {}, tmp_path).kubernetes.in_cluster


def test_release_packs_a_chart_that_helm_takes(programs: Path, tmp_path: Path) -> None:
    chart = runpy.run_path(str(ROOT / "deploy/release.py"))["chart"]
    for version, semantic in (("0.2.0", "0.2.0"), ("0.3.0.dev7+gabcdef123", "0.3.0-dev7+gabcdef123")):
        name, packed = chart(version, 1_800_000_000)
        assert name == f"zombie-{semantic}.tgz"
        assert (name, packed) == chart(version, 1_800_000_000)
        (tmp_path / name).write_bytes(packed)
        assert b"+clone\n" not in gzip.decompress(packed)
        with_tag, without = helm(programs, tmp_path / name, values_of({}), {**LEAST, "image": {}})
        (container,) = yaml.safe_load(with_tag["zombie/templates/deployment.yaml"])["spec"]["template"]["spec"][
            "containers"
        ]
        assert container["image"] == "zombie:0.2.0"
        if semantic == version:
            assert f"image: zombie:{version}\n" in without["zombie/templates/deployment.yaml"]
        else:
            assert "image.tag is empty" in without


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
