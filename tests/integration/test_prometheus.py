"""The dashboard and the alert rules: what they ask for is what the service shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from tests.integration.serving import Service
from tests.unit.test_layers import ROOT

RULES = ROOT / "docs/service/alerts.yml"
CASES = ROOT / "tests/integration/alerts_test.yml"


@pytest.mark.skipif(not shutil.which("promtool"), reason="Prometheus is not installed")
def test_each_rule_alerts_of_its_cause_and_of_nothing_else() -> None:
    told = subprocess.run(
        ["promtool", "test", "rules", str(CASES)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr
    fired = CASES.read_text(encoding="utf-8").split("all is well")[1].split("- name:")[1:]
    for alert in re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8")):
        assert any(f"alertname: {alert}\n" in case for case in fired), alert


def test_metrics_of_the_dashboard_and_of_the_rules_are_those_of_the_service(
    service: Service, agent: str
) -> None:
    dashboard = json.loads((ROOT / "docs/service/grafana.json").read_text(encoding="utf-8"))
    queries = [one["expr"] for panel in dashboard["panels"] for one in panel["targets"]]
    queries += re.findall("expr: (.*)", RULES.read_text(encoding="utf-8"))
    client = service.client(agent, scope="maintain")
    client.post("/search", json={"query": 7})
    shown = {*re.findall(r"\bpgrecall_\w+", client.get("/metrics").text)}

    asked = {name for query in queries for name in re.findall(r"\bpgrecall_\w+", query)}
    assert len(asked) > 5
    assert asked - shown == set()
