{{- define "zombie.name" -}}
{{- if contains "zombie" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-zombie" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "zombie.selector" -}}
app.kubernetes.io/name: zombie
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "zombie.metadata" -}}
name: {{ include "zombie.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "zombie.selector" . | nindent 2 }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "zombie-%s" .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "zombie.account" -}}
{{- if or .Values.kubernetes.inventory .Values.kubernetes.drain }}true{{ end }}
{{- end }}

{{- /* What no schema can say: values that do not fit together. */ -}}
{{- define "zombie.refuse" -}}
{{- $v := .Values }}
{{- if not (index $v.files "inventory.toml") }}
{{- fail "files.inventory.toml is empty: it says which nodes there are. Take the file that `zombie init` wrote, with --set-file 'files.inventory\\.toml=inventory.toml'." }}
{{- end }}
{{- if and (gt (int $v.replicas) 1) (not $v.database.existingSecret) }}
{{- fail (printf "replicas is %d, but the record is in a volume that only one bot can have: name the Secret with a PostgreSQL's address in database.existingSecret, or set replicas to 1." (int $v.replicas)) }}
{{- end }}
{{- range $name := splitList " " "ALERTMANAGER_TOKEN GRAFANA_WEBHOOK_SECRET PAGERDUTY_API_TOKEN PAGERDUTY_ROUTING_KEY PAGERDUTY_WEBHOOK_SECRETS PROMETHEUS_URL PYROSCOPE_URL SLACK_APP_TOKEN SLACK_BOT_TOKEN SLACK_SIGNING_SECRET TEAMS_APP_SECRET ZOMBIE_DATABASE_PASSWORD ZOMBIE_DATABASE_URL ZOMBIE_MCP_TOKEN ZOMBIE_METRICS_TOKEN" }}
{{- if hasKey $v.environment $name }}
{{- fail (printf "environment.%s is a secret, and values are no place for it: make it a key of the Secret that tokens.existingSecret names." $name) }}
{{- end }}
{{- end }}
{{- if and (not $v.image.tag) (contains "+" .Chart.AppVersion) }}
{{- fail "image.tag is empty, and this chart is of no release: set image.tag to the image that you built." }}
{{- end }}
{{- if and $v.serviceMonitor.enabled (not $v.tokens.existingSecret) }}
{{- fail "serviceMonitor.enabled is true, but /metrics answers other machines by a token only: put ZOMBIE_METRICS_TOKEN into a Secret and name it in tokens.existingSecret." }}
{{- end }}
{{- if and (not $v.ingress.host) (or $v.ingress.tlsSecret $v.ingress.className $v.ingress.annotations) }}
{{- fail "ingress.host is empty, so there would be no Ingress: set it to the name that webhooks are sent to, or leave out the rest of ingress." }}
{{- end }}
{{- end }}
