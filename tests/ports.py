"""Ports for servers that must know theirs before they listen."""

import pathlib
import random
import socket

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
given = set()


def free_port():
    """A port that is not in use, and a different one each time. It is outside RANGE, so the kernel does not
    assign it to anything that connects or binds to port 0."""
    low, high = map(int, RANGE.read_text().split())
    ports = [port for port in (*range(10000, low), *range(high + 1, 65536)) if port not in given]
    random.SystemRandom().shuffle(ports)
    for port in ports:
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        given.add(port)
        return port
    raise OSError("no free port")
