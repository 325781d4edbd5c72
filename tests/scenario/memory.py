"""How much memory a program takes at most."""

import os
import subprocess

# A process counts as its own what the one was that it came from: so that one is small, and waits.
STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak_kib(command, **more):
    """Runs it; gives its exit code and its peak."""
    # What the sanitizer keeps of freed memory is not the program's.
    options = [os.environ.get("ASAN_OPTIONS", ""), "quarantine_size_mb=1"]
    env = {**os.environ, "ASAN_OPTIONS": ":".join(filter(None, options))}
    done = subprocess.run(["/usr/bin/python3", "-c", STARTER, *map(str, command)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                          check=True, **more)
    code, peak = map(int, done.stdout.split())
    return code, peak
