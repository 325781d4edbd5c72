"""The few system calls that the lab needs and Python lacks."""

import ctypes
import errno
import fcntl
import os

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

# These calls are newer than the per-architecture tables: the same number everywhere. pivot_root is
# older, and its number depends on the architecture.
SYS_OPEN_TREE = 428
SYS_MOVE_MOUNT = 429
SYS_MOUNT_SETATTR = 442
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 4
MOUNT_ATTR_RDONLY = 1

PR_SET_NAME = 15
PR_CAPBSET_DROP = 24
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
LINUX_CAPABILITY_VERSION_3 = 0x20080522

# Capabilities that a host must not have because they affect the machine: set the clock, load
# modules, access hardware, read the kernel's log, wake it, change its security policy. Numbers from
# linux/capability.h, names as in setpriv(1).
FORBIDDEN_CAPABILITIES = {
    "sys_module": 16,
    "sys_rawio": 17,
    "sys_time": 25,
    "mac_override": 32,
    "mac_admin": 33,
    "syslog": 34,
    "wake_alarm": 35,
    "block_suspend": 36,
}


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags):
    _check(libc.unshare(flags), "unshare")


def setns(fd, kind):
    _check(libc.setns(fd, kind), "setns")


def mount(source, target, kind=None, flags=0, data=""):
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    done = libc.mount(*encoded, ctypes.c_ulong(flags), os.fsencode(data))
    _check(done, f"mount {kind or source} on {target}")


def unmount(target, flags=MNT_DETACH):
    _check(libc.umount2(os.fsencode(target), flags), f"unmount {target}")


def bind(source, target, read_only=False):
    mount(source, target, flags=MS_BIND)
    if read_only:
        mount(None, target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)


def pivot_root():
    """Makes the current directory the root, and detaches the old root."""
    number = SYS_PIVOT_ROOT[os.uname().machine]
    _check(libc.syscall(number, b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def clone_tree(path):
    """A copy of all mounts from `path` on, not attached yet, as a file descriptor."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    return _check(libc.syscall(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(path), flags), "open_tree")


def attach_tree(fd, path):
    done = libc.syscall(
        SYS_MOVE_MOUNT, fd, b"", AT_FDCWD, os.fsencode(path), MOVE_MOUNT_F_EMPTY_PATH
    )
    _check(done, f"move_mount {path}")


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def protect_tree(path):
    """Makes everything below `path` read-only, in this mount namespace."""
    attr = _MountAttr(set=MOUNT_ATTR_RDONLY)
    done = libc.syscall(
        SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), AT_RECURSIVE, ctypes.byref(attr),
        ctypes.sizeof(attr),
    )  # fmt: skip
    _check(done, f"mount_setattr {path}")


def swap_off(path):
    """Whether it was in use as swap."""
    return libc.swapoff(os.fsencode(path)) == 0


LOOP_CLR_FD = 0x4C01
LOOP_CTL_ADD = 0x4C80
LOOP_CTL_REMOVE = 0x4C81


def add_loop(first):
    """A new loop device, whose number is `first` or the next unused one."""
    with open("/dev/loop-control") as control:
        number = first
        while True:
            try:
                return fcntl.ioctl(control, LOOP_CTL_ADD, number)
            except FileExistsError:
                number += 1


def remove_loop(number):
    """Also if it still has a backing file."""
    with open(f"/dev/loop{number}") as device:
        try:
            fcntl.ioctl(device, LOOP_CLR_FD)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no backing file
                raise
    with open("/dev/loop-control") as control:
        fcntl.ioctl(control, LOOP_CTL_REMOVE, number)


def name_process(name):
    libc.prctl(PR_SET_NAME, os.fsencode(name), 0, 0, 0)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilitySets(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


def drop_capabilities():
    """Drops the forbidden capabilities for this process and everything it executes. The bounding
    set is not enough: at exec, root also gets what is in the inheritable set."""
    header = _CapabilityHeader(LINUX_CAPABILITY_VERSION_3, 0)
    halves = (_CapabilitySets * 2)()
    for number in FORBIDDEN_CAPABILITIES.values():
        _check(libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), "drop capability")
    _check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear ambient set")
    _check(libc.capget(ctypes.byref(header), halves), "capget")
    for number in FORBIDDEN_CAPABILITIES.values():
        halves[number // 32].effective &= ~(1 << number % 32)
        halves[number // 32].permitted &= ~(1 << number % 32)
    for half in halves:
        half.inheritable = 0
    _check(libc.capset(ctypes.byref(header), halves), "capset")


# For setpriv(1): what drop_capabilities() does, for one command.
DROP_CAPABILITIES = [
    "setpriv", "--bounding-set", "-" + ",-".join(FORBIDDEN_CAPABILITIES),
    "--inh-caps=-all", "--ambient-caps=-all",
]  # fmt: skip


def read_capabilities(status):
    """The sets in the text of /proc/PID/status: from "Inh", "Prm", "Eff", "Bnd" and "Amb" to the
    set of numbers."""
    sets = {}
    for line in status.splitlines():
        if line.startswith("Cap"):
            name, bits = line.removeprefix("Cap").split(":")
            sets[name] = {number for number in range(64) if int(bits, 16) >> number & 1}
    return sets
