"""The packages of the lab behave as described in packages.py, with every package manager."""

import pytest

from lab import hosts, repos

QUIET = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y"


@pytest.mark.parametrize("root", ["bookworm", "trixie"])
@pytest.mark.parametrize("source", ["apt", "apt-signed"])
def test_apt_installs_versions_with_their_dependencies(light, root, source):
    host = light(root, repos=True)
    repos.use(host, source)
    host.run(f"{QUIET} install lab-hello=1.0")
    assert host.run("lab-hello").out == "hello 1.0"
    host.run(f"{QUIET} install lab-greets")
    assert host.run("lab-greets").out == "hello 2.0"
    host.run(f"{QUIET} install lab-alone")
    assert host.run("dpkg-query -W -f '${db:Status-Status}' lab-greets", check=False).out != "installed"
    assert host.run(f"{QUIET} install lab-impossible", check=False).returncode == 100


def test_http_repository_signed_by_another_key_is_rejected(light):
    server, host = light(repos=True), light(repos=True)
    server.serve(f"{repos.PLACE}/apt-signed", 80, log="/tmp/requests")
    repos.use(host, "apt-signed", f"http://{server.address}/")
    host.run(f"{QUIET} install lab-hello")
    assert "GET /./lab-hello_2.0_all.deb 200\n" in server.read("/tmp/requests")
    host.run(f"cp {repos.PLACE}/keys/other.asc {repos.PLACE}/keys/lab.asc; rm -r /var/lib/apt/lists")
    done = host.run("apt-get update", check=False)
    assert done.returncode != 0 and "NO_PUBKEY" in done.stderr


def test_daemon_starts_with_its_package_and_can_be_made_to_fail(systemd):
    host = systemd(repos=True)
    repos.use(host, "apt")
    host.run(f"{QUIET} install vnstat")
    assert host.run("systemctl is-active vnstat; systemctl is-enabled vnstat").out == "active\nenabled"
    host.run("echo 'Fail yes' >> /etc/vnstat.conf")
    host.run("systemctl restart vnstat")
    host.wait_for("test $(systemctl is-active vnstat) = failed")
    assert 'Error: the database' in host.run("journalctl -u vnstat -o cat").stdout
    host.run(f"{QUIET} purge vnstat")
    assert host.run("systemctl is-enabled vnstat", check=False).returncode != 0


def test_changed_conffile_is_kept(light):
    host = light(repos=True)
    repos.use(host, "apt")
    host.run(f"{QUIET} install lab-config=1.0")
    host.write("/etc/lab-config.conf", "color = mine\n")
    host.run(f"{QUIET} -o Dpkg::Options::=--force-confold install lab-config=2.0")
    assert host.read("/etc/lab-config.conf") == "color = mine\n"
    assert "version 2.0" in host.read("/etc/lab-config.conf.dpkg-dist")


def test_broken_package_until_it_is_repaired(light):
    host = light(repos=True)
    repos.use(host, "apt")
    done = host.run(f"{QUIET} install lab-broken", check=False)
    assert done.returncode == 100 and "wrong phase" in done.stdout
    host.write("/etc/lab-broken-repaired", "")
    host.run("dpkg --configure -a")
    assert host.run("dpkg-query -W -f '${db:Status-Status}' lab-broken").out == "installed"


def test_debconf_question_can_be_answered(light):
    host = light(repos=True)
    repos.use(host, "apt")
    host.run("echo 'lab-asks lab-asks/answer string green' | debconf-set-selections")
    host.run(f"{QUIET} install lab-asks")
    assert host.read("/etc/lab-asks.answer") == "green\n"


def test_large_package_fills_a_small_disk(light):
    host = light(repos=True, disk="40M")
    repos.use(host, "apt")
    done = host.run(f"{QUIET} install lab-large", check=False)
    assert done.returncode != 0 and "No space left" in done.stdout
    assert int(host.run(f"stat -c %s {repos.PLACE}/apt/lab-large_1.0_all.deb").out) < 1_000_000


def test_slow_package_holds_the_lock_until_released(light):
    host = light(repos=True)
    repos.use(host, "apt")
    installing = host.popen(f"{QUIET} install lab-slow")
    host.wait_for("test -e /run/lab-slow-waits")
    assert "lock" in host.run(f"{QUIET} install lab-hello", check=False).stderr
    host.write("/run/lab-slow-go", "")
    assert installing.wait(30) == 0
    host.run(f"{QUIET} install lab-hello")


COMMANDS = {
    "dnf": ("dnf -q -y install {}", "rpm -q {}", "dnf -q -y remove {}"),
    "zypper": ("zypper -q -n install {}", "rpm -q {}", "zypper -q -n remove {}"),
    "pacman": ("pacman -S --noconfirm {}", "pacman -Q {}", "pacman -R --noconfirm {}"),
}


@pytest.mark.parametrize("manager", COMMANDS)
def test_other_package_managers(light, manager):
    host = light("foreign", repos=True)
    repos.only(host, manager)
    install, query, remove = COMMANDS[manager]
    host.run(install.format("lab-greets lab-config"))
    assert host.run("lab-greets").out == "hello 2.0"
    assert "2.0" in host.run(query.format("lab-hello")).out
    host.run(remove.format("lab-greets"))
    assert host.run(query.format("lab-greets"), check=False).returncode != 0
    assert host.run("command -v apt-get", check=False).returncode != 0
    assert host.eden("version").returncode == 0


def test_dnf_checks_signatures(light):
    host = light("foreign", repos=True)
    repos.use(host, "dnf")
    host.run("sed -i s/gpgcheck=0/gpgcheck=1/ /etc/yum.repos.d/lab.repo")
    key = f"gpgkey=file://{repos.PLACE}/keys"
    install = "dnf -q -y install lab-hello"
    host.run(f"echo {key}/other.asc >> /etc/yum.repos.d/lab.repo")
    assert host.run(install, check=False).returncode != 0
    host.run(f"sed -i s/other.asc/lab.asc/ /etc/yum.repos.d/lab.repo && {install}")


@pytest.mark.parametrize("make", ["light", "systemd"])
@pytest.mark.parametrize("root", ["bookworm", "trixie"])
def test_packagekit_answers(request, make, root):
    host = request.getfixturevalue(make)(root, repos=True)
    if make == "light":
        host.run("mkdir -p /run/dbus && dbus-daemon --system --fork")
    name = host.run("busctl get-property org.freedesktop.PackageKit /org/freedesktop/PackageKit"
                    " org.freedesktop.PackageKit BackendName").out  # fmt: skip
    assert name == 's "apt"'


def test_unknown_package_manager_is_named(light):
    with pytest.raises(repos.RepoError, match="'apk'"):
        repos.use(light(), "apk")
    with pytest.raises(hosts.CommandFailed):
        repos.use(light(), "apt")  # made without repos=True
