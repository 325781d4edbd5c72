#!/usr/bin/python3
"""Downloads Swagger UI into a folder:

    fetch.py swagger-ui.json FOLDER STAMP

npm determines the registry of this machine; the download must have the digest recorded in swagger-ui.json.
None of it is executed.
"""

import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

WANTED = (
    "LICENSE", "NOTICE", "swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt",
)  # fmt: skip


def get_archive(package, folder):
    """The package as downloaded by npm."""
    named = f"{package['name']}@{package['version']}"
    done = subprocess.run(
        ["npm", "pack", "--loglevel=error", "--prefer-offline", "--ignore-scripts",
         "--pack-destination", folder, named],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    found = list(folder.glob("*.tgz"))
    if done.returncode != 0 or len(found) != 1:
        reason = (done.stderr + done.stdout).strip() or f"npm exited with {done.returncode}"
        sys.exit(
            f"npm could not download {named}:\n{reason}\n"
            "To build without it: meson configure -Dswagger_ui=false"
        )
    return found[0].read_bytes()


def main(description, folder, stamp):
    package = json.loads(pathlib.Path(description).read_text())
    folder, stamp = pathlib.Path(folder), pathlib.Path(stamp)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = get_archive(package, folder)
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if digest != package["integrity"]:
        sys.exit(f"{package['name']} has the digest {digest}, not {package['integrity']}")
    for path in folder.glob("*.tgz"):
        with tarfile.open(path) as unpacked:
            for name in WANTED:
                (folder / name).write_bytes(unpacked.extractfile("package/" + name).read())
        path.unlink()
    stamp.write_text(package["integrity"] + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
