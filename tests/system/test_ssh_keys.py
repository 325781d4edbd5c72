"""Login keys: they work with the real sshd, and a user cannot abuse them."""

import pytest

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"


def authorized(**params):
    return [{"name": "key", "ssh.authorized_key": [{key: value} for key, value in params.items()]}]


def test_owner_of_the_key_logs_in_to_a_known_host(systemd):
    server, client = systemd("trixie"), systemd("trixie")
    client.run("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519")
    public = client.read("/root/.ssh/id_ed25519.pub")
    host_key = server.read("/etc/ssh/ssh_host_ed25519_key.pub")
    done = server.apply([
        {"name": "key", "ssh.authorized_key": [{"user": "web"}, {"key": public}]},
        {"name": "user", "user.present": [{"name": "web"}]},
    ])  # fmt: skip
    assert done.result == "changed", done
    done = client.apply([{"name": "host", "ssh.known_host": [
        {"name": server.address}, {"key": " ".join(host_key.split()[:2])}]}])  # fmt: skip
    assert done.result == "changed", done
    login = f"ssh -o BatchMode=yes web@{server.address} id -un"
    assert client.run(login).out == "web"
    # Another host key means another host.
    client.run("sed -i 's/AAAAI.*/AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX/' /etc/ssh/ssh_known_hosts")
    assert client.run(login, check=False).returncode != 0
    server.apply(authorized(user="web", key=public, state="absent"))
    assert client.run(login, check=False).returncode != 0


HOSTILE = {
    "a folder that is a link": "ln -s /root/.ssh .ssh",
    "a file that is a link": "mkdir .ssh; ln -s /root/.ssh/authorized_keys .ssh/authorized_keys",
    "a link to nothing": "mkdir .ssh; ln -s /root/new .ssh/authorized_keys",
    "a fifo": "mkdir .ssh; mkfifo .ssh/authorized_keys",
    "a folder of another user": None,
}


@pytest.mark.parametrize("trick", HOSTILE)
def test_links_of_a_user_are_not_followed(light, trick):
    host = light("trixie")
    host.run("useradd -m web; useradd db; mkdir -p /root/.ssh; echo precious > /root/.ssh/authorized_keys")
    if "another" in trick:
        host.run("install -d -o db ~web/.ssh")
    else:
        host.run(["su", "web", "-s", "/bin/sh", "-c", f"cd; {HOSTILE[trick]}"])
    before = host.snapshot(without=("/var/lib/eden",))
    for state in ("present", "absent"):
        done = host.apply(authorized(user="web", key=KEY, state=state))
        assert done.steps["key"].result == "failed", (state, done)
        assert "refusing to use it" in done.steps["key"].error.message
    assert host.snapshot(without=("/var/lib/eden",)) == before


def test_private_file_of_root_in_a_home_keeps_its_owner(light):
    host = light("trixie")
    host.run("useradd -m web; install -d -o web ~web/.ssh; echo secret > ~web/.ssh/x; chmod 600 ~web/.ssh/x")
    host.run(["su", "web", "-c", "mv ~/.ssh/x ~/.ssh/authorized_keys"])
    done = host.apply(authorized(user="web", key=KEY))
    assert "private file of another user" in done.steps["key"].error.message
    assert host.run("stat -c %U ~web/.ssh/authorized_keys").out == "root"


def test_private_directory_of_root_in_a_home_keeps_its_owner(light):
    """The user may name it freely, in their own home."""
    host = light("trixie")
    host.run("useradd -m web; install -d -m 700 ~web/backup; echo secret > ~web/backup/x")
    host.run(["su", "web", "-c", "mv ~/backup ~/.ssh"])
    done = host.apply(authorized(user="web", key=KEY))
    assert "private directory of another user" in done.steps["key"].error.message
    assert host.run("stat -c %U ~web/.ssh").out == "root"
    # An empty one, as left by an omitted chown, is given to the user.
    host.run("rm ~web/.ssh/x")
    assert host.apply(authorized(user="web", key=KEY)).result == "changed"
    assert host.run("stat -c %U ~web/.ssh").out == "web"


def test_other_keys_stay_and_loose_files_become_private(light):
    host = light("trixie")
    other = KEY.replace("FxcX", "GBgY")
    host.run("useradd -m web; install -d -o web -m 777 ~web/.ssh")
    host.write("/home/web/.ssh/authorized_keys", f"# mine\n{other} o\nno-pty {KEY} a\n{KEY} b", mode=0o644)
    done = host.apply(authorized(user="web", key=KEY))
    assert done.result == "changed", done
    assert host.read("/home/web/.ssh/authorized_keys") == f"# mine\n{other} o\nno-pty {KEY} a\n"
    assert host.run("stat -c %U%a ~web/.ssh ~web/.ssh/authorized_keys").out.split() == ["web700", "web600"]
    assert host.apply(authorized(user="web", key=KEY)).result == "ok"
    assert host.apply(authorized(user="web", key=KEY, options=[])).result == "changed"
    assert host.read("/home/web/.ssh/authorized_keys") == f"# mine\n{other} o\n{KEY} a\n"
