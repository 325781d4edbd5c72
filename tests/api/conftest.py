import pytest

from served import Server


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.stop()
