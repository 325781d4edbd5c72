"""Users and groups while other programs change them too."""


def test_group_added_meanwhile_stays(light):
    """Like the script of a package, between the check and the change."""
    host = light("trixie")
    host.run("useradd web; groupadd one; groupadd two; mv /usr/sbin/usermod /usr/sbin/usermod.real")
    host.write("/usr/sbin/usermod", '#!/bin/sh\ngpasswd -a web two\nexec usermod.real "$@"\n',
               mode=0o755)  # fmt: skip
    done = host.apply([{"name": "user", "user.present": [{"name": "web"}, {"groups": ["one"]}]}])
    assert done.result == "changed", done
    assert set(host.run("id -nG web").out.split()) == {"web", "one", "two"}


def test_user_is_removed_from_other_groups(light):
    host = light("bookworm")
    host.run("useradd web; groupadd one; groupadd two; gpasswd -a web two")
    steps = [{"name": "user", "user.present": [
        {"name": "web"}, {"groups": ["one"]}, {"remove_groups": True}]}]  # fmt: skip
    assert host.apply(steps).result == "changed"
    assert set(host.run("id -nG web").out.split()) == {"web", "one"}
    assert host.apply(steps).result == "ok"


def test_hash_of_a_password_is_set_for_old_and_new_users(light):
    host = light("bookworm")
    host.run("useradd old")
    for name in ("old", "new"):
        for password in ("$6$salt$abc", "!"):
            steps = [{"name": "user", "user.present": [{"name": name}, {"password": password}]}]
            assert host.apply(steps).result == "changed"
            assert host.run(["getent", "shadow", name]).out.split(":")[1] == password
            assert host.apply(steps).result == "ok"
