"""Platform agents that base images install: their units and container images, and what shows that they are used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent. Its own unit runs the first image; images are named without registry and tag."""

    name: str
    units: tuple[str, ...]
    images: tuple[str, ...] = ()
    shows_used: str = ""  # what shows a person whether anybody needs it


KNOWN_AGENTS: tuple[KnownAgent, ...] = (
    KnownAgent(
        "ecs",
        ("ecs.service", "amazon-ecs.service"),
        ("amazon/amazon-ecs-agent",),
        "ECS_CLUSTER in /etc/ecs/ecs.config, and a registration in /var/log/ecs/ecs-agent.log",
    ),
    KnownAgent(
        "amazon-ssm-agent",
        ("amazon-ssm-agent.service", "snap.amazon-ssm-agent.amazon-ssm-agent.service"),
        ("amazon-ssm-agent/amazon-ssm-agent",),
        "the instance is listed under managed nodes in Systems Manager",
    ),
    KnownAgent(
        "amazon-cloudwatch-agent",
        ("amazon-cloudwatch-agent.service",),
        ("cloudwatch-agent/cloudwatch-agent", "amazon/cloudwatch-agent"),
        "a configuration under /opt/aws/amazon-cloudwatch-agent/etc",
    ),
    KnownAgent("awslogs", ("awslogsd.service", "awslogs.service"), (), "a log group in /etc/awslogs/awslogs.conf"),
    KnownAgent("xray", ("xray.service",), ("amazon/aws-xray-daemon", "xray/aws-xray-daemon"), "traces in X-Ray"),
    KnownAgent("codedeploy-agent", ("codedeploy-agent.service",), (), "the instance is in a deployment group"),
    KnownAgent(
        "datadog-agent",
        ("datadog-agent.service",),
        ("datadog/agent", "datadoghq/agent"),
        "an api_key in /etc/datadog-agent/datadog.yaml",
    ),
    KnownAgent(
        "fluentd", ("td-agent.service", "fluentd.service"), ("fluent/fluentd",), "a match section in its configuration"
    ),
    KnownAgent(
        "fluent-bit",
        ("fluent-bit.service", "td-agent-bit.service"),
        ("fluent/fluent-bit", "aws-observability/aws-for-fluent-bit", "amazon/aws-for-fluent-bit"),
        "an OUTPUT section in its configuration",
    ),
    KnownAgent("vector", ("vector.service",), ("timberio/vector",), "a sink in /etc/vector"),
    KnownAgent("promtail", ("promtail.service",), ("grafana/promtail",), "a client url in its configuration"),
    KnownAgent(
        "node_exporter",
        ("node_exporter.service", "prometheus-node-exporter.service", "node-exporter.service"),
        ("prom/node-exporter", "prometheus/node-exporter"),
        "a scrape job that lists the node",
    ),
    KnownAgent("grafana-agent", ("grafana-agent.service", "alloy.service"), ("grafana/agent", "grafana/alloy")),
    KnownAgent(
        "opentelemetry-collector",
        ("otelcol.service", "otelcol-contrib.service"),
        ("otel/opentelemetry-collector", "otel/opentelemetry-collector-contrib"),
    ),
    KnownAgent(
        "newrelic-infra",
        ("newrelic-infra.service",),
        ("newrelic/infrastructure", "newrelic/infrastructure-k8s"),
        "a license_key in /etc/newrelic-infra.yml",
    ),
    KnownAgent("telegraf", ("telegraf.service",), ("telegraf", "library/telegraf"), "an output in /etc/telegraf"),
    KnownAgent("collectd", ("collectd.service",), ("collectd",), "a write plugin in its configuration"),
    KnownAgent("filebeat", ("filebeat.service",), ("beats/filebeat",), "an output in /etc/filebeat/filebeat.yml"),
    KnownAgent("metricbeat", ("metricbeat.service",), ("beats/metricbeat",), "an output in its configuration"),
    KnownAgent("elastic-agent", ("elastic-agent.service",), ("beats/elastic-agent",), "an enrolment with Fleet"),
    KnownAgent("splunk-forwarder", ("SplunkForwarder.service",), ("splunk/universalforwarder",)),
    KnownAgent("dynatrace-oneagent", ("oneagent.service",), ("dynatrace/oneagent",)),
    KnownAgent("zabbix-agent", ("zabbix-agent.service", "zabbix-agent2.service"), ("zabbix/zabbix-agent",)),
    KnownAgent("sensu-agent", ("sensu-agent.service",), ("sensu/sensu",)),
    KnownAgent(
        "consul", ("consul.service",), ("hashicorp/consul", "consul"), "retry_join in /etc/consul.d, `consul members`"
    ),
    KnownAgent("nomad", ("nomad.service",), ("hashicorp/nomad",), "a client section in /etc/nomad.d"),
    KnownAgent("salt-minion", ("salt-minion.service",), (), "a master in /etc/salt/minion"),
    KnownAgent("puppet", ("puppet.service",), (), "a server in puppet.conf"),
    KnownAgent("chef-client", ("chef-client.service",), (), "chef_server_url in /etc/chef/client.rb"),
)
