"""What Prometheus and Pyroscope stored of a node before its check, beside the verdict; it never judges."""

from __future__ import annotations

from bot.extras.history.settings import PrometheusSettings, PyroscopeSettings
from bot.seats import Extra

EXTRA = Extra(
    "history",
    "the past of a node, from Prometheus and Pyroscope",
    settings={"prometheus": PrometheusSettings, "pyroscope": PyroscopeSettings},
    reads_more="bot.extras.history.history:reads_more",
    looks="bot.extras.history.history:looks",
)
