"""The portable program on a machine with only busybox: no C library, no init, no getent."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSYBOX = ROOT / "build" / "unpacked" / "busybox-static" / "bin" / "busybox"
# In separate namespaces that end with the first process, which is a shell.
INSIDE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--net", "--uts", "--ipc",
          "--fork", "--kill-child", "/bin/sh", "-c",
          'cd "$0" && mount -t proc proc proc && mount -t tmpfs run run && '
          'exec chroot . /bin/busybox sh -c "$1"']  # fmt: skip


def c_library():
    """Files of the C library that a dynamically linked program would look for."""
    listed = subprocess.run(["dpkg-query", "-L", "libc6"], check=True, capture_output=True, text=True)
    return [path for path in map(pathlib.Path, listed.stdout.splitlines())
            if ".so" in path.name and path.is_file()]  # fmt: skip


@pytest.fixture(params=["without a C library", "with the C library"])
def run(request, static_program, tmp_path):
    """`run(script)` in the root of such a machine; returns its output."""
    if not BUSYBOX.is_file():
        pytest.fail(f"there is no {BUSYBOX}: tools/install-packages lab")
    tmp_path.chmod(0o755)  # it is a root, also for the server's user
    for folder in ("bin", "etc", "proc", "run", "tmp", "dev", "root", "var/lib"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, tmp_path / "bin")
    shutil.copy(static_program, tmp_path / "bin" / "eden")
    shutil.copytree(ROOT / "examples" / "shop", tmp_path / "root" / "shop")
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\neden:x:990:990::/:/bin/false\n")
    (tmp_path / "etc/group").write_text("root:x:0:\neden:x:990:\n")
    (tmp_path / "etc/hostname").write_text("box\n")
    os.mknod(tmp_path / "dev/null", 0o666 | 0o020000, os.makedev(1, 3))
    (tmp_path / "dev/null").chmod(0o666)
    subprocess.run([BUSYBOX, "--install", "-s", tmp_path / "bin"], check=True)
    for link in (tmp_path / "bin").iterdir():
        if link.is_symlink():
            link.unlink()
            link.symlink_to("busybox")
    if request.param == "with the C library":
        for path in c_library():
            target = tmp_path / str(path).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def run(script, check=True):
        done = subprocess.run(
            [*INSIDE, tmp_path, f"export PATH=/bin HOME=/root\nip link set lo up\n{script}"],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return run


def test_it_runs_and_applies_an_example(run):
    assert run("eden version").stdout.startswith("eden ")
    apply = "eden apply /root/shop --root /tmp/machine --node web1 --label role=web -o json"
    done = json.loads(run(f"mkdir /tmp/machine; {apply}").stdout)
    assert done["result"] == "changed"
    assert "web1" in run("cat /tmp/machine/etc/motd").stdout
    assert json.loads(run(apply).stdout)["result"] == "ok"
    assert json.loads(run("hostname box; eden facts name -o json").stdout)["name"] == "box"


def test_agent_and_server_run_there(run):
    output = run("""
        hostname box
        eden init --cluster blue --name box --address 127.0.0.1 >/dev/null || exit 1
        mkfifo /tmp/told
        eden agent 2>/tmp/told &
        exec 3</tmp/told
        while read -r line <&3; do
            echo "$line" >>/tmp/log
            case $line in *"session established"*) break ;; esac
        done
        # The server tells others of it once that is on its disk.
        until eden nodes ping box >/tmp/ping; do kill -0 %1 || { cat /tmp/log; exit 1; }; done
        eden put /a b >/dev/null && eden get /a && ps -o user,args | grep '[e]den serve'
        kill %1; cat <&3 >>/tmp/log; wait; cat /tmp/log
    """)
    value, server, *log = output.stdout.splitlines()
    assert value == "b" and server.startswith("eden ") and "eden serve" in server
    assert any("server stopped" in line for line in log), log
