"""Measures the peak memory of a program."""

import os
import subprocess

# The peak of a process includes that of the process it was forked from: so use a small one, which
# waits.
STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak_kib(command, **more):
    """Runs it; returns its exit code and its peak."""
    # Freed memory retained by the sanitizer is not the program's.
    options = [os.environ.get("ASAN_OPTIONS", ""), "quarantine_size_mb=1"]
    env = {**os.environ, "ASAN_OPTIONS": ":".join(filter(None, options))}
    done = subprocess.run(["/usr/bin/python3", "-c", STARTER, *map(str, command)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                          check=True, **more)
    code, peak = map(int, done.stdout.split())
    return code, peak
