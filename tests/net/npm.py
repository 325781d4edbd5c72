"""The npm packages of a foreign gRPC client."""

import filecmp
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def node_modules(build):
    """What package-lock.json names, installed below the build folder when it is not there yet."""
    folder = pathlib.Path(build) / "npm"
    stamp = folder / "installed.json"
    lock = HERE / "package-lock.json"
    if not (stamp.exists() and filecmp.cmp(lock, stamp, shallow=False)):
        assert shutil.which("npm"), "npm is not installed; see tools/install-packages"
        folder.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder / name)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                              cwd=folder, capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        shutil.copy(lock, stamp)
    return str(folder / "node_modules")
