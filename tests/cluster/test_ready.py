"""What a server reports about itself to monitoring."""

import signal

from cluster_server import ClusterServer


def test_a_server_that_runs_is_ready(build, tmp_path):
    with ClusterServer(build, tmp_path) as server:
        ready = {"format": "eden.ready/1", "ready": True, "problems": []}
        alive = {"format": "eden.alive/1", "alive": True, "writable": True}
        assert server.ask("/readyz") == (200, ready)
        assert server.ask("/healthz") == (200, alive)


def test_a_draining_server_reports_it_and_keeps_serving(build, tmp_path):
    with ClusterServer(build, tmp_path, options=["--drain", "1h"]) as server:
        assert server.ask("/readyz")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        while server.ask("/readyz")[0] == 200:
            pass
        for status, response in (server.ask("/readyz"), server.api("GET", "/readyz")):
            assert status == 503
            assert response["problems"] == [{"what": "server", "why": "stopping"}]
        assert server.ask("/healthz")[0] == 200
        assert server.api("PUT", "/v1/store?key=/x", {"value": "y"})[0] == 200
        # A second signal stops it immediately.
        assert server.stop() == 0
