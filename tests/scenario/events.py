"""Waiting for a condition, triggered by events: files that change (a store writes each of its
changes to one), log lines, notifications of daemons to systemd."""

import ctypes
import os
import select
import time

LIMIT = 60  # maximum wait in seconds
# Conditions without events, such as the end of a certificate's life, are polled at this interval.
UNANNOUNCED = 0.5
CHANGES = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200  # modify, attrib, moved, create, delete

libc = ctypes.CDLL(None, use_errno=True)
# Event sources that can wake a waiting test: each has `folder`, `descriptors` to select on, and
# `take`, which reads pending events.
sources = []


class Changes:
    """Events of all files below some folders."""

    def __init__(self):
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.descriptor >= 0, os.strerror(ctypes.get_errno())

    def watch(self, folder):
        """Adds new subfolders; folders already watched are kept."""
        for path, _, _ in os.walk(folder):
            libc.inotify_add_watch(self.descriptor, os.fsencode(path), CHANGES)

    def take(self):
        try:
            while os.read(self.descriptor, 1 << 16):
                pass
        except BlockingIOError:
            pass

    def close(self):
        os.close(self.descriptor)


def wait_until(condition, what, folder=None):
    """Returns the result of `condition` as soon as it is true."""
    end = time.monotonic() + LIMIT
    changes = Changes()
    try:
        while True:
            # Start watching before checking: events in between wake the test.
            for place in {folder, *(source.folder for source in sources)} - {None}:
                changes.watch(place)
            if found := condition():
                return found
            assert time.monotonic() < end, f"this never came: {what}"
            own = [each for source in sources for each in source.descriptors()]
            select.select([changes.descriptor, *own], [], [], UNANNOUNCED)
            changes.take()
            for source in sources:
                source.take()
    finally:
        changes.close()
