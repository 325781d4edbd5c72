"""The npm packages of third-party clients."""

import fcntl
import filecmp
import pathlib
import shutil
import subprocess


def node_modules(build, named):
    """The packages in package-lock.json of the folder `named`, installed below the build folder if
    missing: once, even if tests run concurrently."""
    folder = pathlib.Path(build) / "npm" / named.name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install(folder, named)
    return str(folder / "node_modules")


def install(folder, named):
    stamp = folder / "installed.json"
    wanted = named / "package-lock.json"
    if stamp.exists() and filecmp.cmp(wanted, stamp, shallow=False):
        return
    assert shutil.which("npm"), "npm is not installed; see tools/install-packages"
    for name in ("package.json", "package-lock.json"):
        shutil.copy(named / name, folder / name)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    shutil.copy(wanted, stamp)
