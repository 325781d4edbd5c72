"""Gives a test process a separate network with only loopback, if it runs as root.

A restarted server needs its former port. On the machine's network another process may have been
given that port meanwhile; here only this process allocates ports.
"""

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def enter():
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"cannot create a network namespace: {os.strerror(error)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        fcntl.ioctl(door, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
