"""The dashboard and the alert rules, in a Prometheus that scrapes the service."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from pgrecall.testing import new_database
from tests.integration.serving import started, stop
from tests.unit.test_layers import ROOT

RULES = ROOT / "docs/service/alerts.yml"
CASES = ROOT / "tests/integration/alerts_test.yml"
WAIT = 60.0
Ask = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="Prometheus is not installed",
)


def queries_of_dashboard() -> list[str]:
    dashboard = json.loads((ROOT / "docs/service/grafana.json").read_text(encoding="utf-8"))
    return [
        target["expr"].replace("$__rate_interval", "1m")
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]


def test_each_rule_alerts_of_its_cause_and_of_nothing_else() -> None:
    told = subprocess.run(
        ["promtool", "test", "rules", str(CASES)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr
    fired = CASES.read_text(encoding="utf-8").split("all is well")[1].split("- name:")[1:]
    for alert in re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8")):
        assert any(f"alertname: {alert}\n" in case for case in fired), alert


def test_queries_of_the_dashboard_and_of_the_rules_find_what_the_service_shows(
    server_url: str, local_template: str, tmp_path: Path
) -> None:
    with new_database(server_url, local_template) as url:
        service, address = started("--database-url", url)
        try:
            assert httpx.post(f"http://{address}/search?owner=zoe", json={"query": 7}).is_error
            with prometheus(address, tmp_path) as ask:
                for query in queries_of_dashboard():
                    if not re.search("refused|maintenance", query):  # none yet
                        until(partial(found, ask, query))
                until(lambda: all(rule["health"] == "ok" for rule in evaluated(ask)))
                assert {
                    rule["name"] for rule in evaluated(ask) if rule["state"] == "firing"
                } == set()
        finally:
            stop(service)


def found(ask: Ask, query: str) -> list[Any]:
    """What a query finds."""
    values: list[Any] = ask("query", query=query)["result"]
    return values


def evaluated(ask: Ask) -> list[dict[str, Any]]:
    """The rules, as they were evaluated last."""
    [group] = ask("rules")["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def until(condition: Callable[[], Any]) -> None:
    """Waits for a condition."""
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


@contextmanager
def prometheus(address: str, folder: Path) -> Iterator[Ask]:
    """Scrapes the service at this address; yields a function that asks its API."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scrape = {"job_name": "pgrecall", "static_configs": [{"targets": [address]}]}
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [scrape],
    }
    file = folder / "prometheus.yml"
    file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    listening = f"--web.listen-address=127.0.0.1:{port}"
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={file}",
            f"--storage.tsdb.path={folder / 'data'}",
            listening,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def ask(path: str, **given: str) -> dict[str, Any]:
        answer = client.get(f"/api/v1/{path}", params=given).json()
        assert answer["status"] == "success", (given, answer)
        data: dict[str, Any] = answer["data"]
        return data

    def is_ready() -> bool:
        assert server.poll() is None, "Prometheus has ended"
        try:
            return client.get("/-/ready").is_success
        except httpx.TransportError:
            return False

    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            until(is_ready)
            yield ask
    finally:
        server.terminate()
        server.wait(30)
