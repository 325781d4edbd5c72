"""What a server says of itself to those who watch over it."""

import signal

from cluster_server import ClusterServer


def test_a_server_that_runs_is_ready(build, tmp_path):
    with ClusterServer(build, tmp_path) as server:
        ready = {"format": "eden.ready/1", "ready": True, "problems": []}
        alive = {"format": "eden.alive/1", "alive": True, "writable": True}
        assert server.ask("/readyz") == (200, ready)
        assert server.ask("/healthz") == (200, alive)


def test_a_server_that_is_going_to_stop_says_so_and_goes_on(build, tmp_path):
    with ClusterServer(build, tmp_path, options=["--drain", "1h"]) as server:
        assert server.ask("/readyz")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        while server.ask("/readyz")[0] == 200:
            pass
        for status, answer in (server.ask("/readyz"), server.api("GET", "/readyz")):
            assert status == 503
            assert answer["problems"] == [{"what": "server", "why": "stopping"}]
        assert server.ask("/healthz")[0] == 200
        assert server.api("PUT", "/v1/store?key=/x", {"value": "y"})[0] == 200
        # Who asks twice does not want to wait.
        assert server.stop() == 0
