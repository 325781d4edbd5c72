"""The npm packages of a foreign gRPC client."""

import fcntl
import filecmp
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def node_modules(build):
    """What package-lock.json names, installed below the build folder when it is not there yet: once,
    whichever tests run at the same time."""
    folder = pathlib.Path(build) / "npm"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install(folder)
    return str(folder / "node_modules")


def install(folder):
    stamp = folder / "installed.json"
    wanted = HERE / "package-lock.json"
    if stamp.exists() and filecmp.cmp(wanted, stamp, shallow=False):
        return
    assert shutil.which("npm"), "npm is not installed; see tools/install-packages"
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder / name)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    shutil.copy(wanted, stamp)
