"""/metrics of a real server, parsed as Prometheus does."""

import os
import pathlib
import subprocess
import time

import prometheus_text
import pytest
from cluster_server import UnixConnection

ROOT = pathlib.Path(__file__).resolve().parents[2]


def fetch(server):
    connection = UnixConnection(server.socket)
    connection.request("GET", "/metrics")
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return response.read().decode()


def read(server):
    return prometheus_text.read(fetch(server))


def test_a_server_reports_metrics(server):
    found = read(server)
    assert found["eden_build_info"].samples
    assert found["eden_ready"].value() == 1
    assert found["eden_nodes"].value(state="waiting") == 0
    assert found["eden_store_writable"].value() == 1
    assert found["eden_store_bytes"].value() > 0
    for name in ("ca", "server", "serving"):
        expiry = found["eden_cert_expiry_timestamp_seconds"].value(certificate=name)
        assert expiry > time.time() + 24 * 3600
    assert found["eden_connections"].value(listener="local") >= 1
    resident = found["process_resident_memory_bytes"].value()
    assert resident == pytest.approx(server.memory(), rel=0.2)
    descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    assert abs(found["process_open_fds"].value() - descriptors) <= 2
    assert abs(found["process_start_time_seconds"].value() - time.time()) < 3600


def test_events_are_counted(server):
    before = read(server)
    for _ in range(3):
        assert server.api("PUT", "/v1/store?key=/x", {"value": "y"})[0] == 200
    assert server.api("GET", "/v1/nodes/nobody")[0] == 404
    assert server.ask("/v1/health")[0] == 200
    server.join("web1")
    after = read(server)
    requests = after["eden_http_requests_total"]
    assert requests.value(method="PUT", route="/v1/store", status="2xx") == 3
    assert requests.value(method="GET", route="/v1/nodes/<name>", status="4xx") == 1
    durations = after["eden_http_request_duration_seconds"].samples
    labels = (("method", "PUT"), ("route", "/v1/store"))
    assert durations["eden_http_request_duration_seconds_count", labels] == 3
    for name in ("eden_store_revision", "eden_store_writes_total", "eden_store_commits_total",
                 "process_cpu_seconds_total"):  # fmt: skip
        assert after[name].value() >= before[name].value(), name
    assert after["eden_store_writes_total"].value() >= before["eden_store_writes_total"].value() + 3
    accepted = "eden_connections_accepted_total"
    assert after[accepted].value(listener="api") > before[accepted].value(listener="api")
    silent = {"state": "silent"}
    assert after["eden_nodes"].value(**silent) == before["eden_nodes"].value(**silent) + 1


def test_nodes_are_targets(server):
    server.join("web1")
    labels = {"metadata": {"labels": {"role": "web"}}}
    status, changed = server.api("PATCH", "/v1/nodes/web1", labels)
    assert status == 200, changed
    status, found = server.api("GET", "/v1/prometheus-targets?port=9200&selector=role%3Dweb")
    assert status == 200
    assert [target["targets"] for target in found] == [["127.0.0.1:9200"]]
    assert found[0]["labels"]["__meta_eden_node"] == "web1"
    assert found[0]["labels"]["__meta_eden_label_role"] == "web"
    assert len(server.api("GET", "/v1/prometheus-targets")[1]) == 2
    for wrong in ("port=0", "port=65536", "selector=%28", "selector=a%20==%201"):
        assert server.api("GET", "/v1/prometheus-targets?" + wrong)[0] == 400, wrong


def test_metrics_require_permission(server):
    status, response = server.ask("/metrics")
    assert status == 401, response


def test_promtool_accepts_the_metrics(server):
    promtool = ROOT / "build" / "unpacked" / "prometheus" / "usr" / "bin" / "promtool"
    assert promtool.exists(), "promtool is not there; see tools/install-packages"
    done = subprocess.run([promtool, "check", "metrics"], input=fetch(server), capture_output=True,
                          text=True)  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
