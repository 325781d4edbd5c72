#!/usr/bin/python3
"""Root file systems for hosts, created once by mmdebstrap and kept.

    tests/lab/roots.py [NAME]...     creates those, or all that tests use, in parallel

They are in $EDEN_LAB_CACHE, or below the build directory, under a name that depends on their
contents. Packages come from the sources configured for apt on this machine.
"""

import concurrent.futures
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
MACHINE = pathlib.Path("/")
KEYRINGS = pathlib.Path("/usr/share/keyrings")
DEFAULT_MIRROR = "http://deb.debian.org/debian"
# Increment it when adjust() changes, to rebuild the roots.
EDITION = 2

# Shared libraries of eden.
LIBRARIES = ["libyaml-0-2", "libpcre2-8-0", "openssl", "libuv1", "libnghttp2-14", "libsqlite3-0",
             "libprotobuf-c1"]  # fmt: skip
BARE = [*LIBRARIES, "iproute2", "procps", "curl", "ca-certificates", "python3"]
SYSTEM = [*BARE, "systemd", "systemd-sysv", "dbus", "polkitd", "packagekit", "openssh-server",
          "nftables", "kmod", "cron", "git", "locales", "tzdata", "netbase", "logrotate",
          "e2fsprogs", "zip", "unzip", "bzip2", "xz-utils", "zstd", "gpgv"]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Root:
    """`files`: path and text of additional files. `ahead`: created before the tests that use it."""

    release: str
    packages: tuple
    files: tuple = ()
    ahead: bool = True


ROOTS = {
    "bookworm": Root("bookworm", tuple(SYSTEM)),
    "trixie": Root("trixie", tuple(SYSTEM)),
    # Package managers of other distributions, packaged in Debian; configured as on those
    # distributions.
    "foreign": Root("bookworm", (*BARE, "dnf", "zypper", "pacman-package-manager", "rpm",
                                 "libarchive-tools"),
                    files=(("/etc/rpm/macros", "%_dbpath /var/lib/rpm\n"),
                           ("/etc/dnf/vars/releasever", "1\n"))),
}  # fmt: skip


class RootError(Exception):
    """A root could not be created."""


def cache():
    build = os.environ.get("EDEN_BUILD", PROJECT / "build")
    return pathlib.Path(os.environ.get("EDEN_LAB_CACHE") or pathlib.Path(build) / "lab").resolve()


def key(name):
    root = ROOTS[name]
    text = json.dumps([EDITION, root.release, sorted(root.packages), *root.files])
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def path(name):
    """The directory of a root; created if missing, which takes a minute."""
    if name not in ROOTS:
        raise RootError(f"there is no root '{name}'; there are: {', '.join(ROOTS)}, machine")
    folder = cache() / "roots"
    final = folder / key(name)
    if final.is_dir():
        return final
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{key(name)}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not final.is_dir():
            draft = folder / f"{key(name)}.new"
            _remove(draft)
            try:
                _make(ROOTS[name], draft, lock)
                adjust(draft, ROOTS[name].files)
            except BaseException:
                _remove(draft)
                raise
            draft.rename(final)
    return final


def _remove(folder):
    for left in (folder, _scratch(folder)):
        if left.exists():
            shutil.rmtree(left)


def _scratch(folder):
    return folder.with_name(folder.name + ".tmp")


# --- This machine's apt configuration ------------------------------------------------------------


def _output(*argv):
    return subprocess.run(argv, capture_output=True, text=True).stdout


def mirror():
    """The URL of Debian's package archive, and whether apt trusts it without a signature."""
    for target in _output("apt-get", "indextargets", "Created-By: Packages").split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", target, re.M))
        if (fields.get("Origin"), fields.get("Label")) == ("Debian", "Debian"):
            source = pathlib.Path(fields["Sourcesentry"].rpartition(":")[0])
            text = source.read_text() if source.is_file() else ""
            trusted = re.search(r"^[^#\n]*\btrusted *[=:] *yes", text, re.I | re.M)
            return fields["Repo-URI"].rstrip("/"), trusted is not None
    return DEFAULT_MIRROR, False


def transport_options():
    """Options for how apt on this machine reaches its servers, such as proxies."""
    wanted = re.compile(r"Acquire::(https?(::| )|Check-Valid-Until |Retries |ForceIPv[46] )")
    lines = _output("apt-config", "dump", "--no-empty").splitlines()
    return [line for line in lines if wanted.match(line)]


def keyring(release, scratch):
    """A keyring with the keys of a release. A machine older than the release may lack them; the
    newest keyring package of its own release then has them, and is signed with known keys."""
    own = KEYRINGS / "debian-archive-keyring.gpg"
    if own.is_file() and (KEYRINGS / f"debian-archive-{release}-stable.gpg").is_file():
        return own
    done = subprocess.run(
        ["apt-get", "download", "-q", "debian-archive-keyring"], cwd=scratch,
        capture_output=True, text=True,
    )  # fmt: skip
    packages = list(scratch.glob("debian-archive-keyring_*.deb"))
    if done.returncode != 0 or not packages:
        raise RootError(f"no keys for {release}: {done.stderr.strip()}")
    subprocess.run(["dpkg-deb", "-x", packages[0], scratch / "keys"], check=True)
    return scratch / "keys" / str(own).lstrip("/")


# --- Creating ------------------------------------------------------------------------------------


def _make(root, folder, lock):
    if os.geteuid() != 0:
        raise RootError("making root file systems needs the rights of root")
    if shutil.which("mmdebstrap", path="/usr/bin") is None:
        raise RootError("mmdebstrap is missing: tools/install-packages lab")
    scratch = _scratch(folder)
    scratch.mkdir()
    address, trusted = mirror()
    how = "trusted=yes" if trusted else f"signed-by={keyring(root.release, scratch)}"
    options = [*transport_options(), 'Acquire::Languages "none"', 'Apt::Install-Recommends "0"']
    left_out = [f"/usr/share/{part}/*" for part in ("doc", "man", "info", "locale", "lintian")]
    # It ends with this process: unshare dies with its parent, and so do its children. They inherit
    # the lock, so that no other process starts over while any of them still runs.
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork",
            "--kill-child", "--mount-proc", "mmdebstrap", "--mode=root", "--variant=minbase",
            "--quiet", f"--include={','.join(root.packages)}", "--dpkgopt=force-unsafe-io",
            *(f"--aptopt={option}" for option in options),
            *(f"--dpkgopt=path-exclude={path}" for path in left_out),
            root.release, folder,
            f"deb [{how}] {address} {root.release} main"]  # fmt: skip
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                   "TMPDIR": str(scratch)}  # fmt: skip
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        if name in os.environ:
            environment[name] = os.environ[name]
    # apt downloads as a separate user, who needs access.
    scratch.chmod(0o755)
    done = subprocess.run(
        argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        pass_fds=[lock.fileno()],
    )  # fmt: skip
    if done.returncode != 0:
        raise RootError(f"mmdebstrap {root.release} from {address} failed:\n{done.stderr[-3000:]}")
    shutil.rmtree(scratch)


def adjust(root, files):
    """What a host must not inherit from its root: foreign package sources, timers, the identity of
    another host."""
    for pattern in [
        "etc/apt/sources.list", "etc/apt/sources.list.d/*", "etc/apt/apt.conf.d/99mmdebstrap",
        "etc/dpkg/dpkg.cfg.d/99mmdebstrap", "etc/systemd/system/*.timer",
        "etc/systemd/system/timers.target.wants/*", "etc/systemd/system/getty.target.wants/*",
        "etc/systemd/system/multi-user.target.wants/e2scrub_reap.service",
        "etc/ssh/ssh_host_*", "var/lib/dbus/machine-id", "etc/machine-id",
    ]:  # fmt: skip
        for found in root.glob(pattern):
            found.unlink()
    # Without the directory the journal stays in memory.
    shutil.rmtree(root / "var/log/journal", ignore_errors=True)
    (root / "etc/apt/sources.list").write_text("")
    (root / "etc/machine-id").write_text("")
    # Prevents updates on first boot.
    os.utime(root / "usr", (0, 0))
    for name in ("etc/.updated", "var/.updated"):
        (root / name).write_text("")
    for name, text in files:
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def main(names):
    def timed(name):
        start = time.monotonic()
        made = path(name)
        return f"{name}: {made}, {time.monotonic() - start:.0f} s"

    wanted = names or [name for name, root in ROOTS.items() if root.ahead]
    try:
        with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:
            for line in pool.map(timed, wanted):
                print(line)
    except RootError as error:
        sys.exit(f"roots: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
