"""Local repositories for apt, dnf and zypper, and pacman, with the packages of packages.py.

They are created once and kept next to the root file systems. A host created with `repos=True` has
them under /srv/lab:

    apt           flat, with an unsigned Release file
    apt-signed    the same, signed with the key keys/lab.asc (keys/lab.gpg: not armored)
    rpm           for dnf and zypper; packages and repomd.xml are signed with the same key
    pacman        the repository "lab"; older versions lie beside its database
    keys          other.asc and other.gpg: a key that signed nothing

`use(host, manager)` makes a package manager in a host use its repository, and no other one.
"""

import email.utils
import fcntl
import gzip
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

from . import packages, roots

HERE = pathlib.Path(__file__).resolve().parent
PLACE = "/srv/lab"
NEEDS = {"dpkg-scanpackages": "dpkg-dev", "gpg": "gnupg", "rpmbuild": "rpm", "rpmsign": "rpm",
         "createrepo_c": "createrepo-c"}  # fmt: skip


class RepoError(Exception):
    """A repository could not be created."""


def layer():
    """The folder whose files hosts get; created if missing, which takes seconds."""
    digest = hashlib.sha256()
    for name in ("packages.py", "repos.py"):
        digest.update((HERE / name).read_bytes())
    folder = roots.cache() / "repos"
    final = folder / digest.hexdigest()[:12]
    if final.is_dir():
        return final
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{final.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not final.is_dir():
            for program, package in NEEDS.items():
                if shutil.which(program, path="/usr/bin") is None:
                    raise RepoError(f"{program} is missing: tools/install-packages lab ({package})")
            draft = folder / f"{final.name}.new"
            shutil.rmtree(draft, ignore_errors=True)
            try:
                _make(draft / PLACE.lstrip("/"))
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise
            draft.rename(final)
    return final


def _make(place):
    # gpg's sockets only allow short paths.
    with tempfile.TemporaryDirectory(prefix="lab-") as scratch:
        work = Workshop(pathlib.Path(scratch))
        try:
            keys = place / "keys"
            keys.mkdir(parents=True)
            for name in ("lab", "other"):
                work.make_key(name, keys)
            make_apt(work, place / "apt", place / "apt-signed")
            make_rpm(work, place / "rpm")
            make_pacman(work, place / "pacman")
        finally:
            work.close()


class Workshop:
    """Runs the programs that build packages, isolated from the files of the user who runs the
    tests.
    """

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.gpg_home = folder / "gpg"
        self.gpg_home.mkdir(mode=0o700)

    def run(self, *argv, cwd=None, input=None):
        done = subprocess.run(
            [str(word) for word in argv], cwd=cwd or self.folder, input=input,
            capture_output=True, text=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.home),
                 "GNUPGHOME": str(self.gpg_home), "LC_ALL": "C.UTF-8", "TZ": "UTC",
                 "SOURCE_DATE_EPOCH": "1700000000"},
        )  # fmt: skip
        if done.returncode != 0:
            raise RepoError(f"{argv[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def gpg(self, *args):
        return self.run("gpg", "--batch", "--quiet", "--yes", *args)

    def make_key(self, name, folder):
        user = f"{name} <{name}@lab.example>"
        # Old rpm cannot verify newer algorithms.
        self.gpg("--passphrase", "", "--quick-generate-key", user, "rsa3072", "sign", "never")
        self.gpg("--armor", "--output", folder / f"{name}.asc", "--export", user)
        self.gpg("--output", folder / f"{name}.gpg", "--export", user)

    def lay_out(self, package, folder):
        """The files of a package under `folder`."""
        for path, text in package.files.items():
            target = folder / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            target.chmod(0o755 if text.startswith("#!") else 0o644)
        for path, size in package.zeros.items():
            target = folder / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "wb") as file:
                file.truncate(size)

    def close(self):
        subprocess.run(
            ["gpgconf", "--homedir", self.gpg_home, "--kill", "all"], capture_output=True
        )


# --- apt -----------------------------------------------------------------------------------------

DEB_SERVICE_AFTER = """
if [ "$1" = configure ]; then
    deb-systemd-helper enable {0} >/dev/null
    if [ -d /run/systemd/system ]; then
        systemctl --system daemon-reload >/dev/null || true
        deb-systemd-invoke start {0} >/dev/null || true
    fi
fi
"""
DEB_SERVICE_REMOVE = """
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop {0} >/dev/null || true
fi
"""
DEB_SERVICE_REMOVED = """
if [ "$1" = remove ] || [ "$1" = purge ]; then
    deb-systemd-helper "$1" {0} >/dev/null || true
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
"""
DEB_ASK = """
. /usr/share/debconf/confmodule
db_input critical {0}/answer || true
db_go
"""
DEB_ANSWER = """
. /usr/share/debconf/confmodule
db_get {0}/answer
echo "$RET" > /etc/{0}.answer
db_stop
"""
DEB_TEMPLATE = """Template: {0}/answer
Type: string
Default: blue
Description: {1}
"""


def _deb_scripts(package):
    scripts = {"preinst": package.before, "postinst": package.after, "prerm": "", "postrm": "",
               "config": ""}  # fmt: skip
    if package.service:
        scripts["postinst"] += DEB_SERVICE_AFTER.format(package.service)
        scripts["prerm"] += DEB_SERVICE_REMOVE.format(package.service)
        scripts["postrm"] += DEB_SERVICE_REMOVED.format(package.service)
    if package.question:
        scripts["config"] += DEB_ASK.format(package.name)
        scripts["postinst"] += DEB_ANSWER.format(package.name)
    return {name: text for name, text in scripts.items() if text}


def _deb_control(package):
    fields = {
        "Package": package.name, "Version": package.version, "Architecture": "all",
        "Maintainer": "lab <lab@lab.example>", "Section": "misc", "Priority": "optional",
        "Installed-Size": str(1 + sum(package.zeros.values()) // 1024),
        "Depends": ", ".join(
            name if least is None else f"{name} (>= {least})" for name, least in package.depends
        ) or ("debconf" if package.question else ""),
        "Conflicts": ", ".join(package.conflicts), "Description": f"{package.name} of the lab",
    }  # fmt: skip
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def _deb_build(work, package, target):
    tree = work.folder / f"deb-{package.name}-{package.version}"
    control = tree / "DEBIAN"
    control.mkdir(parents=True)
    control.chmod(0o755)
    work.lay_out(package, tree)
    (control / "control").write_text(_deb_control(package))
    if package.conffiles:
        (control / "conffiles").write_text("".join(f"{path}\n" for path in package.conffiles))
    if package.question:
        template = DEB_TEMPLATE.format(package.name, package.question)
        (control / "templates").write_text(template)
    for name, text in _deb_scripts(package).items():
        (control / name).write_text(f"#!/bin/sh\nset -e\n{text}")
        (control / name).chmod(0o755)
    work.run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, target)


def make_apt(work, plain, signed):
    plain.mkdir()
    for package in packages.PACKAGES:
        _deb_build(work, package, plain)
    index_apt(plain, work.run("dpkg-scanpackages", "--multiversion", ".", cwd=plain))
    shutil.copytree(plain, signed, copy_function=os.link)
    release = signed / "Release"
    signer = ("--local-user", "lab@lab.example", "--digest-algo", "SHA256")
    work.gpg(*signer, "--output", signed / "InRelease", "--clearsign", release)
    work.gpg(*signer, "--armor", "--output", signed / "Release.gpg", "--detach-sign", release)


def index_apt(folder, listed):
    """Writes the index of a flat repository; `listed`: the output of dpkg-scanpackages for it."""
    (folder / "Packages").write_text(listed)
    (folder / "Packages.gz").write_bytes(gzip.compress(listed.encode(), mtime=0))
    lines = ["Origin: lab", "Label: lab", "Suite: lab", "Codename: lab", "Architectures: all",
             f"Date: {email.utils.formatdate(usegmt=True)}", "SHA256:"]  # fmt: skip
    for name in ("Packages", "Packages.gz"):
        content = (folder / name).read_bytes()
        lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}")
    (folder / "Release").write_text("\n".join(lines) + "\n")


# --- dnf and zypper ------------------------------------------------------------------------------

RPM_SERVICE_AFTER = """
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl enable --now {0}
fi
"""
RPM_SERVICE_REMOVE = """
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
    systemctl disable --now {0}
fi
"""


def _rpm_part(package, tree, main):
    """The part of a spec file for one package."""
    head = f"Name: {package.name}\n" if main else f"%package -n {package.name}\n"
    head += f"Version: {package.version}\nRelease: 1\nSummary: {package.name} of the lab\n"
    head += "License: MIT\nBuildArch: noarch\nAutoReqProv: no\n"
    for name, least in package.depends:
        head += f"Requires: {name}{'' if least is None else f' >= {least}'}\n"
    for name in package.conflicts:
        head += f"Conflicts: {name}\n"
    # Scripts require their shell, which no package in this list provides.
    head += "Provides: /bin/sh\n"
    select = "" if main else f" -n {package.name}"
    head += f"%description{select}\n{package.name} of the lab.\n"
    after, remove = package.after, ""
    if package.service:
        after += RPM_SERVICE_AFTER.format(package.service)
        remove = RPM_SERVICE_REMOVE.format(package.service)
    for name, text in (("pre", package.before), ("post", after), ("preun", remove)):
        if text:
            head += f"%{name}{select}\n{text}\n"
    head += f"%files{select}\n"
    for path in [*package.files, *package.zeros]:
        mode = oct((tree / path.lstrip("/")).stat().st_mode & 0o777)[2:]
        owned = "%config(noreplace) " if path in package.conffiles else ""
        head += f"%attr({mode},root,root) {owned}{path}\n"
    return head


def _rpm_batches():
    """One build creates several packages, but each name only once."""
    batches = []
    for package in packages.PACKAGES:
        for batch in batches:
            if package.name not in {other.name for other in batch}:
                batch.append(package)
                break
        else:
            batches.append([package])
    return batches


def make_rpm(work, folder):
    folder.mkdir()
    for number, batch in enumerate(_rpm_batches()):
        tree = work.folder / f"rpm-{number}"
        for package in batch:
            work.lay_out(package, tree)
        parts = [_rpm_part(package, tree, package is batch[0]) for package in batch]
        spec = work.folder / f"{number}.spec"
        # The main package comes first; its %install section must precede any %files.
        first, rest = parts[0].split("%description", 1)
        spec.write_text(
            f"{first}%description{rest}\n" + "".join(parts[1:])
            + f"%install\nmkdir -p %{{buildroot}}\ncp -a {tree}/. %{{buildroot}}\n"
        )  # fmt: skip
        work.run(
            "rpmbuild", "-bb", "--quiet", "--define", f"_topdir {work.folder}/build",
            "--define", f"_rpmdir {folder}", "--define", "_build_name_fmt %%{NAME}-%%{VERSION}.rpm",
            "--define", f"_dbpath {work.folder}/rpmdb", "--define", "_binary_payload w1.gzdio",
            "--define", "__os_install_post %{nil}", spec,
        )  # fmt: skip
    work.run("rpmsign", "--define", "_gpg_name lab@lab.example", "--define",
             "__gpg /usr/bin/gpg", "--addsign",
             *sorted(folder.glob("*.rpm")))  # fmt: skip
    work.run("createrepo_c", "--quiet", folder)
    index = folder / "repodata" / "repomd.xml"
    work.gpg("--local-user", "lab@lab.example", "--armor", "--output", f"{index}.asc",
             "--detach-sign", index)  # fmt: skip


# --- pacman --------------------------------------------------------------------------------------

PACMAN_SERVICE_AFTER = """
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        systemctl enable --now {0}
    fi
"""


def _pacman_build(work, package, folder):
    tree = work.folder / f"pacman-{package.name}-{package.version}"
    tree.mkdir()
    work.lay_out(package, tree)
    after = package.after
    if package.service:
        after += PACMAN_SERVICE_AFTER.format(package.service)
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    info = [("pkgname", package.name), ("pkgver", f"{package.version}-1"),
            ("pkgdesc", f"{package.name} of the lab"), ("arch", "any"), ("size", size),
            ("builddate", 1700000000), ("packager", "lab <lab@lab.example>")]  # fmt: skip
    info += [("depend", name if least is None else f"{name}>={least}")
             for name, least in package.depends]  # fmt: skip
    info += [("conflict", name) for name in package.conflicts]
    info += [("backup", path.lstrip("/")) for path in package.conffiles]
    (tree / ".PKGINFO").write_text("".join(f"{name} = {value}\n" for name, value in info))
    scripts = {"pre_install": package.before, "post_install": after, "post_upgrade": package.after}
    text = "".join(f"{name}() {{\n{body}\n}}\n" for name, body in scripts.items() if body)
    if text:
        (tree / ".INSTALL").write_text(text)
    target = folder / f"{package.name}-{package.version}-1-any.pkg.tar.gz"
    with tarfile.open(target, "w:gz", compresslevel=1) as tar:
        for name in sorted(os.listdir(tree)):  # .PKGINFO comes first
            tar.add(tree / name, name, filter=_owned_by_root)
    return target, info


def _owned_by_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _pacman_record(target, info):
    """The entry of a package in a repository's database."""
    content = target.read_bytes()
    names = {"pkgname": "NAME", "pkgver": "VERSION", "pkgdesc": "DESC", "size": "ISIZE",
             "arch": "ARCH", "builddate": "BUILDDATE", "packager": "PACKAGER",
             "depend": "DEPENDS", "conflict": "CONFLICTS"}  # fmt: skip
    fields = {"FILENAME": [target.name], "CSIZE": [len(content)],
              "SHA256SUM": [hashlib.sha256(content).hexdigest()]}  # fmt: skip
    for name, value in info:
        if name in names:
            fields.setdefault(names[name], []).append(value)
    lines = []
    for name, values in fields.items():
        lines += [f"%{name}%", *map(str, values), ""]
    return "\n".join(lines) + "\n"


def make_pacman(work, folder):
    folder.mkdir()
    newest = {}
    for package in packages.PACKAGES:
        newest[package.name] = (package, *_pacman_build(work, package, folder))
    tree = work.folder / "pacman-db"
    for package, target, info in newest.values():
        entry = tree / f"{package.name}-{package.version}-1"
        entry.mkdir(parents=True)
        (entry / "desc").write_text(_pacman_record(target, info))
    with tarfile.open(folder / "lab.db", "w:gz") as tar:
        for name in sorted(os.listdir(tree)):
            tar.add(tree / name, name, filter=_owned_by_root)


# --- In a host -----------------------------------------------------------------------------------

DNF_REPO = """[lab]
name=lab
baseurl={0}
enabled=1
gpgcheck=0
"""
PACMAN_CONF = """[options]
Architecture = auto
SigLevel = Never
[lab]
Server = {0}
"""


def use(host, manager, url=None):
    """`manager`: apt, apt-signed, dnf, zypper or pacman. `url`: an alternative location of the
    repository, such as HTTP on another host. Also fetches the index, like a first refresh."""
    folder = {"dnf": "rpm", "zypper": "rpm"}.get(manager, manager)
    url = url or f"file:{'' if manager.startswith('apt') else '//'}{PLACE}/{folder}"
    if manager == "apt":
        host.write("/etc/apt/sources.list", f"deb [trusted=yes] {url} ./\n")
        host.run("apt-get -qq update")
    elif manager == "apt-signed":
        key = f"{PLACE}/keys/lab.asc"
        host.write("/etc/apt/sources.list", f"deb [signed-by={key}] {url} ./\n")
        host.run("apt-get -qq update")
    elif manager == "dnf":
        host.write("/etc/yum.repos.d/lab.repo", DNF_REPO.format(url))
        host.run("dnf -q makecache")
    elif manager == "zypper":
        host.write("/etc/zypp/repos.d/lab.repo", DNF_REPO.format(url))
        host.run("zypper -q --non-interactive refresh")
    elif manager == "pacman":
        host.write("/etc/pacman.conf", PACMAN_CONF.format(url))
        host.run("pacman -Sy --noconfirm")
    else:
        raise RepoError(f"there is no package manager '{manager}' here")


# Which package manager each one builds on, and which others share it.
PROGRAMS = {
    "apt": ["apt", "apt-cache", "apt-get", "apt-mark", "dpkg", "dpkg-query", "dpkg-deb"],
    "dnf": ["dnf", "dnf-3"],
    "zypper": ["zypper"],
    "pacman": ["pacman"],
}
SYSTEMS = {"dnf": "fedora", "zypper": "opensuse-leap", "pacman": "arch"}


def only(host, manager):
    """Makes a host of the root "foreign" look like a system with that package manager: it has no
    other one, and /etc/os-release matches."""
    for other, programs in PROGRAMS.items():
        if other != manager:
            host.run(["rm", "-f", *(f"/usr/bin/{program}" for program in programs)])
    if manager not in ("dnf", "zypper"):
        host.run(["rm", "-f", "/usr/bin/rpm"])
    system = SYSTEMS[manager]
    host.run(["rm", "-f", "/etc/os-release", "/etc/debian_version"])
    host.write("/etc/os-release", f'ID={system}\nNAME="{system}"\nVERSION_ID=1\n')
    use(host, manager)
