"""The reader of PromQL refuses what Prometheus would, else the tests that lean on it prove nothing."""

import pytest

from tests.monitoring.promql import NotPromql, Selector, selectors


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('max by (instance) (rate(node_cpu_seconds_total{mode="system"}[1m])) > 0.9', ["node_cpu_seconds_total"]),
        ('a{x="1"} - on (instance) b{x=~"p.*",} > 1000', ["a", "b"]),
        ("sum(rate(a[5m])) by (le) / sum(rate(b[1h30m] offset 1w))", ["a", "b"]),
        ("absent(a == 1) or (b unless on () c) # what it is for", ["a", "b", "c"]),
        ("a * on (instance) group_left (nodename) b", ["a", "b"]),
    ],
)
def test_query_is_read(query: str, names: list[str]) -> None:
    assert [one.name for one in selectors(query)] == names


def test_matchers_are_told() -> None:
    assert selectors('a{b="c",d!~"e|f"}') == (Selector("a", (("b", "=", "c"), ("d", "!~", "e|f"))),)


@pytest.mark.parametrize(
    "query",
    [
        *(
            "",
            "a >",
            "(a",
            "a b",
            "rate(a)",
            "rate(a[5])",
            "a[5m]",
            "rate(sum(a)[5m])",
            "rat(a[5m])",
        ),
        *(
            "sum by instance (a)",
            "a{b=c}",
            "{}",
            "a and 1",
            "1 > 2",
        ),
        *("clamp_min(a)", "topk(a, a)", "a ! b", "5m"),
    ],
)
def test_what_prometheus_would_refuse_is_refused(query: str) -> None:
    with pytest.raises(NotPromql):
        selectors(query)
