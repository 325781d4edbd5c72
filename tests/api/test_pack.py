"""How pages are packed into the program: src/ui/pack.py and fetch.py."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

UI = pathlib.Path(__file__).resolve().parents[2] / "src" / "ui"
OUTPUTS = ("ui_files.bin", "ui_files.S", "ui_files.c")
ROW = re.compile(r'\{ "([^"]+)", "[^"]+", "[^}]+?, (true|false), (\d+), (\d+), (\d+) \}')


def pack(out, swagger="none"):
    out.mkdir()
    subprocess.run([UI / "pack.py", UI / "files.txt", UI / "pages", swagger, out], check=True)
    return [(out / name).read_bytes().replace(bytes(out), b"") for name in OUTPUTS]


def swagger(folder):
    """Replaces the npm package."""
    folder.mkdir()
    for name in re.findall(r"swagger-ui/([\w.-]+)", (UI / "files.txt").read_text()):
        (folder / name).write_text(f"/* {name} */")
    return folder


def read_rows(out):
    """Contents by path."""
    block = (out / "ui_files.bin").read_bytes()
    found = {}
    for address, _, at, packed, size in ROW.findall((out / "ui_files.c").read_text()):
        found[address] = gzip.decompress(block[int(at) : int(at) + int(packed)])
        assert len(found[address]) == int(size)
    return found


def test_packing_is_reproducible(tmp_path):
    assert pack(tmp_path / "one") == pack(tmp_path / "two")
    with_swagger = swagger(tmp_path / "swagger")
    assert pack(tmp_path / "three", with_swagger) == pack(tmp_path / "four", with_swagger)


def test_every_page_refers_to_existing_files(tmp_path):
    for number, where in enumerate(("none", swagger(tmp_path / "swagger"))):
        out = tmp_path / str(number)
        pack(out, where)
        rows = read_rows(out)
        assert len(rows) == (7, 10)[number]
        for address in ("/", "/docs/"):
            text = rows[address].decode()
            assert "@" not in text
            assert set(re.findall(r'"(/assets/[^"]+)"', text)) <= set(rows)


def test_without_swagger_ui_the_page_is_our_own(tmp_path):
    pack(tmp_path / "out")
    assert re.search(rb'src="/assets/api\.[0-9a-f]{16}\.js"', read_rows(tmp_path / "out")["/docs/"])
    assert not [address for address in read_rows(tmp_path / "out") if "swagger" in address]
    assert "ui_has_swagger = false" in (tmp_path / "out" / "ui_files.c").read_text()


def fetch(folder, npm, integrity):
    """Runs fetch.py with a fake npm."""
    (folder / "bin").mkdir()
    (folder / "bin" / "npm").write_text(npm)
    (folder / "bin" / "npm").chmod(0o755)
    package = {"name": "swagger-ui-dist", "version": "1.2.3", "integrity": integrity}
    (folder / "package.json").write_text(json.dumps(package))
    return subprocess.run(
        [sys.executable, "-B", UI / "fetch.py", folder / "package.json", folder / "got", folder / "stamp"],
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_package_with_another_digest_is_rejected(tmp_path):
    done = fetch(tmp_path, "#!/bin/sh\necho other >swagger-ui-dist-1.2.3.tgz\n", "sha512-AAAA")
    assert done.returncode != 0
    assert "not sha512-AAAA" in done.stderr
    assert not (tmp_path / "stamp").exists()


def test_npm_errors_are_shown_with_a_workaround(tmp_path):
    npm = "#!/bin/sh\ncase $* in *--silent*) ;; *) echo no network >&2;; esac\nexit 1\n"
    done = fetch(tmp_path, npm, "sha512-AAAA")
    assert done.returncode != 0
    assert "no network" in done.stderr and "-Dswagger_ui=false" in done.stderr


def test_silent_npm_failures_show_the_exit_code(tmp_path):
    done = fetch(tmp_path, "#!/bin/sh\nexit 7\n", "sha512-AAAA")
    assert "npm exited with 7" in done.stderr
