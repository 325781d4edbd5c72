"""Ports for servers that must know theirs before they listen."""

import pathlib
import random
import socket

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port():
    """One that nobody has, and that the kernel gives to nobody until it is used: whoever connects, or
    binds to port 0, gets one out of RANGE."""
    low, high = map(int, RANGE.read_text().split())
    ports = [*range(10000, low), *range(high + 1, 65536)]
    while True:
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", random.SystemRandom().choice(ports)))
            except OSError:
                continue
            return one.getsockname()[1]
