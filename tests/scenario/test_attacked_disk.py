"""What other users can do to the disk and memory of a machine: links in their directories, damaged
bytes, core dumps."""

import json
import os
import pathlib
import re
import subprocess
import tarfile

from cluster_world import is_alive, join
from events import wait_until

OTHER_USER = 12345


def test_root_does_not_follow_links_of_other_users(cluster, eden, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    for name in ("server", "agent"):
        theirs = tmp_path / f"theirs-{name}"
        theirs.mkdir()
        (theirs / name).symlink_to(target)
        os.chown(theirs, OTHER_USER, OTHER_USER)
        done = eden("init", "--cluster", "red", "--user", "nobody", "--state-dir", theirs)
        assert done.returncode == 4, done.stderr
        assert f"'{name}' is a symbolic link that user {OTHER_USER} controls" in done.stderr
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "server").symlink_to(target)
    os.chown(runs, OTHER_USER, OTHER_USER)
    done = eden("serve", "--state-dir", cluster.state, "--run-dir", runs)
    assert done.returncode == 4 and "is a symbolic link" in done.stderr
    assert target.stat().st_uid == 0 and list(target.iterdir()) == []


STEPS_IN_A_HOME = """\
steps:
- name: settings
  file.managed: {name: /home/ann/conf/app.conf, content: x, owner: "12345"}
- name: cache
  file.directory: {name: /home/ann/conf/cache, owner: "12345"}
- name: line
  file.line: {name: /home/ann/conf/private, line: x}
- name: old
  file.absent: {name: /home/ann/conf/old}
- name: copy
  file.copy: {name: /srv/report, source: /home/ann/conf/private}
"""


def test_no_step_follows_a_link_of_another_user(eden, tmp_path):
    """Files of a user in places of root, and world-readable files of root."""
    root = tmp_path / "root"
    for name in ("etc", "srv", "home/ann"):
        (root / name).mkdir(parents=True)
    for name in ("private", "old"):
        (root / "etc" / name).write_text("precious")
        (root / "etc" / name).chmod(0o600)
    (root / "home/ann/conf").symlink_to("/etc")
    for name in ("home/ann", "home/ann/conf"):
        os.chown(root / name, OTHER_USER, OTHER_USER, follow_symlinks=False)
    steps = tmp_path / "steps.yaml"
    steps.write_text(STEPS_IN_A_HOME)
    for command in ("plan", "apply"):
        done = eden(command, steps, "--root", root, "--state-dir", tmp_path / "state")
        assert done.returncode == 1, done.stdout
        output = [line for line in done.stdout.splitlines() if "error[E0601]: /home/ann/conf" in line]
        assert len(output) == 5
        assert all(f"'/home/ann/conf' is a symbolic link owned by user {OTHER_USER}" in line
                   and f"run 'chown -h root {root}/home/ann/conf'" in line for line in output)
    assert sorted(os.listdir(root / "etc")) == ["old", "private"]
    assert (root / "etc/private").read_text() == "precious"
    assert os.listdir(root / "srv") == []
    # Links to their own files are followed.
    (root / "home/ann/conf").unlink()
    (root / "home/ann/conf").symlink_to("real")
    (root / "home/ann/real").mkdir()
    for name in ("conf", "real"):
        os.chown(root / "home/ann" / name, OTHER_USER, OTHER_USER, follow_symlinks=False)
    done = eden("apply", steps, "--root", root, "--state-dir", tmp_path / "state")
    assert (root / "home/ann/real/app.conf").read_text() == "x", done.stdout


def test_no_step_changes_the_owner_of_a_linked_file(eden, tmp_path):
    """A user can create a hard link to a file of root among their own, where the kernel permits it.
    """
    root = tmp_path / "root"
    for name in ("etc", "home/ann/app/deep", "srv/tree"):
        (root / name).mkdir(parents=True)
    for name in ("etc/private", "home/ann/app/first", "home/ann/app/own", "srv/tree/one"):
        (root / name).write_text("precious")
        (root / name).chmod(0o600)
    os.link(root / "etc/private", root / "home/ann/app/deep/planted")
    os.link(root / "etc/private", root / "home/ann/conf")
    os.link(root / "home/ann/app/own", root / "home/ann/app/deep/own")
    os.link(root / "srv/tree/one", root / "srv/tree/two")
    for name in ("home/ann", "home/ann/app", "home/ann/app/deep", "home/ann/app/own"):
        os.chown(root / name, OTHER_USER, OTHER_USER)
    steps = tmp_path / "steps.yaml"
    steps.write_text("""\
steps:
- name: tree
  file.directory: {name: /home/ann/app, owner: "12345", recurse: true}
- name: modes
  file.directory: {name: /home/ann/app/deep, recurse: true, file_mode: 0644}
- name: file
  file.managed: {name: /home/ann/conf, content: precious, owner: "12345"}
- name: root
  file.directory: {name: /srv/tree, owner: "12345", recurse: true}
""")
    words = ("--root", root, "--state-dir", tmp_path / "state", "-o", "json")
    for command in ("plan", "apply"):
        done = eden(command, steps, *words)
        output = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
        for name, file in (("tree", "/deep/planted"), ("modes", "/planted"), ("file", "/conf")):
            message = output[name]["error"]["message"]
            assert f"{file}: this file is owned by user 0 and has other hard links" in message, (command, name)
        assert output["root"]["result"] == "changed"
    private = (root / "etc/private").stat()
    assert (private.st_uid, private.st_mode & 0o777) == (0, 0o600)
    assert (root / "home/ann/app/first").stat().st_uid == 0, "nothing is done by halves"
    assert (root / "srv/tree/two").stat().st_uid == OTHER_USER
    (root / "home/ann/app/deep/planted").unlink()
    (root / "home/ann/conf").unlink()
    done = eden("apply", steps, *words)
    assert done.returncode == 0, done.stdout
    assert (root / "home/ann/app/first").stat().st_uid == OTHER_USER


COPIES = """\
steps:
- name: line
  file.line: {name: /home/ann/conf, line: x, owner: "12345"}
- name: mode
  file.line: {name: /home/ann/conf, line: y, mode: 0644}
- name: block
  file.block: {name: /home/ann/conf, content: x, owner: "12345", backup: true}
- name: ini
  ini.option: {name: /home/ann/conf, section: s, option: o, value: v, owner: "12345"}
- name: copy
  file.copy: {name: /home/ann/copy, source: /home/ann/conf, owner: "12345"}
- name: publish
  file.content: {name: /home/ann/app, recursive: true}
- name: read
  file.contents: {name: /home/ann/conf}
"""


def test_no_step_copies_a_linked_private_file(eden, tmp_path):
    """Editing a file writes a new one, with all content of the old one, for its new owner."""
    root = tmp_path / "root"
    for name in ("etc", "home/ann/app"):
        (root / name).mkdir(parents=True)
        os.chown(root / name, *(2 * [0 if name == "etc" else OTHER_USER]))
    os.chown(root / "home/ann", OTHER_USER, OTHER_USER)
    (root / "etc/private").write_text("precious\n")
    (root / "etc/private").chmod(0o600)
    for name in ("conf", "app/planted"):
        os.link(root / "etc/private", root / "home/ann" / name)
    steps = tmp_path / "steps.yaml"
    steps.write_text(COPIES)
    words = ("--root", root, "--state-dir", tmp_path / "state", "-o", "json")
    for command in ("plan", "apply"):
        output = json.loads(eden(command, steps, *words).stdout)["steps"]
        assert len(output) == 7
        for step in output:
            assert "has other hard links" in step["error"]["message"], (command, step)
    for path in (root / "home/ann").rglob("*"):
        status = path.stat()
        assert path.is_dir() or (status.st_uid, status.st_mode & 0o777) == (0, 0o600), path


FOR_EVERYBODY = """\
steps:
- name: other
  file.managed: {name: /tmp/other, content: new OWNER}
- name: same
  file.managed: {name: /tmp/same, content: same OWNER}
- name: secret
  file.managed: {name: /tmp/secret, content: !secret hunter2-hunter2 OWNER}
- name: copy
  file.copy: {name: /tmp/copy, source: /etc/source OWNER}
- name: line
  file.line: {name: /tmp/line, line: !secret hunter2-hunter2 OWNER}
- name: folder
  file.directory: {name: /tmp/folder OWNER}
- name: archive
  archive.extracted: {name: /tmp/folder/, source: /etc/archive OWNER}
"""


def test_files_in_shared_directories_do_not_belong_to_the_first_creator_of_the_path(eden, tmp_path):
    """The owner of a script in /tmp could change it before root runs it."""
    root = tmp_path / "root"
    for name in ("etc", "tmp/folder", "home/ann"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/source").write_text("source")
    with tarfile.open(root / "etc/archive", "w") as archive:
        archive.add(root / "etc/source", "member")
    for name in ("other", "same", "secret", "copy", "line"):
        (root / "tmp" / name).write_text(name)
        (root / "tmp" / name).chmod(0o600)
    for name in ("other", "same", "secret", "copy", "line", "folder"):
        os.chown(root / "tmp" / name, OTHER_USER, OTHER_USER)
    (root / "home/ann/conf").write_text("old")
    for name in ("home/ann", "home/ann/conf"):
        os.chown(root / name, OTHER_USER, OTHER_USER)
    steps = tmp_path / "steps.yaml"
    steps.write_text(FOR_EVERYBODY.replace(" OWNER", ""))
    words = ("--root", root, "--state-dir", tmp_path / "state", "-o", "json")
    for command in ("plan", "apply"):
        output = json.loads(eden(command, steps, *words).stdout)["steps"]
        assert len(output) == 7
        for step in output:
            assert f"is owned by user '{OTHER_USER}', who could change it" in step["error"]["message"]
    assert (root / "tmp/secret").read_text() == "secret"
    assert (root / "tmp/line").read_text() == "line"
    held = [open(root / "tmp" / name, "r+") for name in ("other", "same", "secret", "copy")]
    steps.write_text(FOR_EVERYBODY.replace(" OWNER", ', owner: "0"'))
    output = json.loads(eden("apply", steps, *words).stdout)["steps"]
    assert [step["name"] for step in output if step["result"] == "failed"] == ["folder", "archive"]
    for file in held:
        file.write("evil")
        file.close()
    for name, content in (("other", "new"), ("same", "same"), ("secret", "hunter2-hunter2"),
                          ("copy", "source")):
        path = root / "tmp" / name
        assert (path.read_text(), path.stat().st_uid) == (content, 0)
    assert (root / "tmp/folder").stat().st_uid == OTHER_USER
    steps.write_text(FOR_EVERYBODY.replace(" OWNER", f', owner: "{OTHER_USER}"'))
    assert eden("apply", steps, *words).returncode == 0
    # Among the files of a user, what is written keeps its owner.
    steps.write_text("steps: [{name: a, file.managed: {name: /home/ann/conf, content: new}}]\n")
    assert eden("apply", steps, *words).returncode == 0
    assert (root / "home/ann/conf").stat().st_uid == OTHER_USER


def temporary_name(name):
    """eden's name for a file until it is complete."""
    number = 0xCBF29CE484222325
    for byte in name.encode():
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return f".eden-{number:016x}"


def test_occupying_the_temporary_name_does_not_block_root(eden, tmp_path):
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "tmp/link").symlink_to("old")
    for name in ("conf", "checked", "link"):
        occupied = root / "tmp" / temporary_name(name)
        occupied.mkdir()
        (occupied / "full").touch()
        os.chown(occupied, OTHER_USER, OTHER_USER)
    (root / "tmp/conf").write_text("old")
    (tmp_path / "steps.yaml").write_text("""\
steps:
- {name: a, file.managed: {name: /tmp/conf, content: new}}
- {name: b, file.symlink: {name: /tmp/link, target: new}}
""")
    done = eden("apply", "steps.yaml", "--root", root, "--state-dir", tmp_path / "state")
    assert done.returncode == 0, done.stdout
    assert (root / "tmp/conf").read_text() == "new"
    assert os.readlink(root / "tmp/link") == "new"
    assert len(os.listdir(root / "tmp")) == 5


def test_one_damaged_byte_in_the_spool_does_not_disable_the_node(cluster):
    cluster.start()
    agent = join(cluster, "web1")
    agent.stop()
    state = cluster.folder / "web1/state"
    spool = state / "agent/spool/spool"
    content = bytearray(spool.read_bytes())
    content[20] ^= 0x10
    spool.write_bytes(content)
    wait_until(lambda: not is_alive(cluster, "web1"), "web1 is gone")
    words = ("--state-dir", state, "--run-dir", cluster.folder / "web1/run")
    agent = cluster.daemon("agent", *words, "--config-dir", cluster.folder / "web1/etc")
    agent.wait_for_log("part of the spool is damaged")
    wait_until(lambda: is_alive(cluster, "web1"), "web1 is alive")
    assert (state / "agent/spool/spool.damaged").exists()
    done = cluster.eden("doctor", *words, "-o", "json", check=False)
    assert "part of the spool was damaged" in done.stdout


def key_of(pem):
    """The number of a private key, as libcrypto has it in memory and as files have it."""
    text = subprocess.run(["openssl", "pkey", "-in", pem, "-noout", "-text"], capture_output=True,
                          text=True, check=True).stdout
    number = bytes.fromhex(re.search(r"priv:\s*([0-9a-f:\s]+?)pub:", text)[1].replace(":", "")
                           .replace("\n", "").replace(" ", ""))
    return number[-32:].rjust(32, b"\0")


def memory_of_core(pid):
    """The contents of a core dump: all writable memory that is not excluded."""
    mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{pid}/smaps").read_text(),
                        flags=re.M)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for mapping in filter(None, mappings):
            span, rights = mapping.split()[:2]
            flags = re.search(r"^VmFlags:(.*)$", mapping, re.M)[1].split()
            if "w" in rights and "dd" not in flags and "[vv" not in mapping:
                first, last = (int(part, 16) for part in span.split("-"))
                memory.seek(first)
                yield memory.read(last - first)


def test_core_dumps_contain_no_private_key(cluster):
    cluster.start()
    agent = join(cluster, "web1")
    server_files = cluster.state / "server"
    keys = {cluster.server: [server_files / name for name in ("ca.pem", "node.pem", "serving.pem")],
            agent: [cluster.folder / "web1/state/agent/node.pem"]}
    for daemon, files in keys.items():
        pid = daemon.process.pid
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        assert re.search(r"^Max core file size +0 ", limits, re.M), limits
        if "libasan" in pathlib.Path(f"/proc/{pid}/maps").read_text():
            continue  # the sanitizer retains freed memory, including keys, without clearing it
        parts = list(memory_of_core(pid))
        assert any(b"eden" in part for part in parts)  # it is the memory of the daemon
        for file in files:
            key = key_of(file)
            body = "".join(file.read_text().splitlines()[1:3]).encode()[:64]
            found = [form for form in (key, key[::-1], body) if any(form in part for part in parts)]
            assert found == [], f"the key of {file} is in the memory of process {pid}"
