"""The contents of a host's disk beyond the installed system, to compare before and after."""

import errno
import hashlib
import os
import stat
from typing import NamedTuple


class Entry(NamedTuple):
    """`type`: file, dir, link, fifo, socket, device, or gone for something installed that was
    removed. `content`: the SHA-256 of a file, the target of a link. `time`: the mtime in ns; None
    unless requested."""

    type: str
    mode: int = 0
    owner: str = ""
    size: int = 0
    content: str = ""
    time: int | None = None


TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}  # fmt: skip


def _digest(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _is_opaque(path):
    """A directory that was removed and recreated hides the contents of the installed one."""
    try:
        return os.getxattr(path, "trusted.overlay.opaque", follow_symlinks=False) == b"y"
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.EOPNOTSUPP):
            raise
        return False


def _entry(path, status, times):
    kind = TYPES[stat.S_IFMT(status.st_mode)]
    if kind == "device" and status.st_rdev == 0:
        return Entry("gone")
    content = ""
    size = 0
    if kind == "file":
        size = status.st_size
        content = _digest(path)
    elif kind == "link":
        content = os.readlink(path)
    elif kind == "device":
        content = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    elif kind == "dir" and _is_opaque(path):
        content = "anew"
    return Entry(
        kind, stat.S_IMODE(status.st_mode), f"{status.st_uid}:{status.st_gid}", size, content,
        status.st_mtime_ns if times else None,
    )  # fmt: skip


def _hides(lower, path):
    """Whether a layer hides the ones beneath it at `path`."""
    while path := path.rpartition("/")[0]:
        if os.path.isdir(lower + path) and _is_opaque(lower + path):
            return True
    return False


def _same_directory(status, entry, lowers, path):
    """Whether the directory only exists to hold its contents."""
    for lower in lowers:
        try:
            below = os.lstat(lower + path)
        except OSError:
            if _hides(lower, path):
                return False
            continue
        return (
            stat.S_ISDIR(below.st_mode) and entry.content == ""
            and (below.st_mode, below.st_uid, below.st_gid)
            == (status.st_mode, status.st_uid, status.st_gid)
        )  # fmt: skip
    return False


def take(upper, lowers, without=(), times=False):
    """Path to Entry of everything that the folder `upper` of an overlay adds to its `lowers`.

    Left out are the paths `without`, with everything below them, and directories that only exist to
    hold their contents; except with `times`, where they reveal files that came and went."""
    found = {}

    def visit(path):
        if path in without:
            return
        status = os.lstat(upper + path)
        entry = _entry(upper + path, status, times)
        if entry.type == "dir":
            for name in sorted(os.listdir(upper + path)):
                visit(f"{path}/{name}")
            if not times and _same_directory(status, entry, lowers, path):
                return
        found[path or "/"] = entry

    for name in sorted(os.listdir(upper)):
        visit(f"/{name}")
    return found


def differences(before, after):
    """One line for each path that differs, such as "added /etc/motd"; sorted by path."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if old is None:
            word = "removed" if new.type == "gone" else "added"
        elif new is None:
            word = "taken back"
        else:
            fields = [name for name in Entry._fields if getattr(old, name) != getattr(new, name)]
            word = f"changed ({', '.join(fields)})"
        lines.append(f"{word} {path}")
    return lines
