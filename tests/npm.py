"""The npm packages of foreign clients."""

import fcntl
import filecmp
import pathlib
import shutil
import subprocess


def node_modules(build, named):
    """What package-lock.json in the folder `named` names, installed below the build folder when it is
    not there yet: once, whichever tests run at the same time."""
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
