#include "sys/container_init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/container.h"
#include "sys/file_io.h"
#include "sys/kernel_guard.h"

enum {
    BOOT_MS = 90 * 1000,
    POLL_MS = 200, /* interval between checks that it is still running */
    NOTIFICATION_MAX = 4096,
    TTY_GROUP = 5 /* same on all distributions */
};

#define NOTIFY_NAME "@eden-init"
#define UNITS       "/run/systemd/system"
#define TARGET      "eden-dev.target"

const char *container_init_program(void)
{
    static const char *const binds[] = { "/lib/systemd/systemd", "/usr/lib/systemd/systemd" };
    for (size_t i = 0; i < COUNT_OF(binds); i++) {
        if (access(binds[i], X_OK) == 0) {
            return binds[i];
        }
    }
    return NULL;
}

/* --- Mounts ---------------------------------------------------------------------------------- */

static bool set_read_only(const char *path, bool read_only)
{
    struct mount_attr change = { .attr_set = read_only ? MOUNT_ATTR_RDONLY : 0,
                                 .attr_clr = read_only ? 0 : MOUNT_ATTR_RDONLY };
    return mount_setattr(AT_FDCWD, path, 0, &change, sizeof change) == 0;
}

/* Makes `path` a separate mount, so that its flags can differ from its parent's; does nothing if it
 * does not exist. */
static bool make_separate_mount(const char *path, bool read_only, Error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return true;
    }
    return (mount(path, path, NULL, MS_BIND, NULL) == 0 && set_read_only(path, read_only)) ||
           file_error(err, errno, path);
}

void container_open_settings(void)
{
    static const char *const settings[] = {
        "/proc/sys/net",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/domainname",
        "/proc/sys/kernel/msgmax",
        "/proc/sys/kernel/msgmnb",
        "/proc/sys/kernel/msgmni",
        "/proc/sys/kernel/sem",
        "/proc/sys/kernel/shmall",
        "/proc/sys/kernel/shmmax",
        "/proc/sys/kernel/shmmni",
        "/proc/sys/kernel/shm_rmid_forced",
        "/proc/sys/fs/mqueue",
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        Error refused;
        (void)make_separate_mount(settings[i], false, &refused);
    }
}

/* Mounts /proc for this PID namespace, with everything read-only that does not belong to the
 * node. */
static bool mount_proc(Error *err)
{
    static const char *const shared[] = { "/proc/sys", "/proc/sysrq-trigger",
                                          "/proc/irq", "/proc/bus",
                                          "/proc/fs",  "/proc/acpi",
                                          "/proc/scsi" };
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
        return file_error(err, errno, "/proc");
    }
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        if (!make_separate_mount(shared[i], true, err)) {
            return false;
        }
    }
    container_open_settings();
    return true;
}

static bool make_device(const char *path, unsigned major, unsigned minor, Error *err)
{
    return (mknod(path, S_IFCHR | 0666, makedev(major, minor)) == 0 && chmod(path, 0666) == 0) ||
           file_error(err, errno, path);
}

/* Leaves out the machine's terminals and disks: a getty or a mount unit would use them. Console
 * output is discarded. */
static bool mount_devices(Error *err)
{
    static const struct {
        const char *path;
        unsigned major, minor;
    } devices[] = { { "/dev/null", 1, 3 },    { "/dev/zero", 1, 5 },    { "/dev/full", 1, 7 },
                    { "/dev/random", 1, 8 },  { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 },
                    { "/dev/console", 1, 3 }, { "/dev/fuse", 10, 229 } };
    static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
                                            { "fd/0", "/dev/stdin" },
                                            { "fd/1", "/dev/stdout" },
                                            { "fd/2", "/dev/stderr" },
                                            { "pts/ptmx", "/dev/ptmx" } };
    char terminals[64];
    snprintf(terminals, sizeof terminals, "newinstance,ptmxmode=0666,mode=620,gid=%d", TTY_GROUP);
    if (mount("eden-dev", "/dev", "tmpfs", MS_NOSUID, "mode=0755") != 0 ||
        mkdir("/dev/pts", 0755) != 0 || mkdir("/dev/shm", 01777) != 0 ||
        mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals) != 0 ||
        mount("eden-dev", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
        return file_error(err, errno, "/dev");
    }
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        if (!make_device(devices[i].path, devices[i].major, devices[i].minor, err)) {
            return false;
        }
    }
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        if (symlink(links[i][0], links[i][1]) != 0) {
            return file_error(err, errno, links[i][1]);
        }
    }
    return true;
}

/* Mounts a new /run, because sockets and locks in the machine's belong to its own services. One
 * directory is preserved. */
static bool mount_run(const char *kept, Error *err)
{
    int tree = open_tree(AT_FDCWD, kept, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    bool ok = tree >= 0 &&
              mount("eden-dev", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0 &&
              mkdir(kept, 0755) == 0 &&
              move_mount(tree, "", AT_FDCWD, kept, MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
              mkdir("/run/systemd", 0755) == 0 && mkdir(UNITS, 0755) == 0;
    int number = errno;
    if (tree >= 0) {
        close(tree);
    }
    return ok || file_error(err, number, "/run");
}

/* Masks units that would change state shared with the machine, or that belong to its hardware. */
static bool mask_units(Error *err)
{
    static const char *const units[] = {
        "dev-hugepages.mount",           "proc-sys-fs-binfmt_misc.automount",
        "proc-sys-fs-binfmt_misc.mount", "sys-fs-fuse-connections.mount",
        "sys-kernel-config.mount",       "sys-kernel-debug.mount",
        "sys-kernel-tracing.mount",      "systemd-binfmt.service",
        "systemd-journald-audit.socket", "systemd-modules-load.service",
        "systemd-udevd.service",         "systemd-udev-trigger.service"
    };
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        char path[128];
        snprintf(path, sizeof path, UNITS "/%s", units[i]);
        if (symlink("/dev/null", path) != 0) {
            return file_error(err, errno, path);
        }
    }
    return true;
}

/* /tmp belongs to the processes of the node: entries are created as at every boot, but nothing is
 * cleared. */
static bool write_settings(Error *err)
{
    static const char tmpfiles[] = UNITS "/systemd-tmpfiles-setup.service.d";
    if (mkdir(tmpfiles, 0755) != 0) {
        return file_error(err, errno, tmpfiles);
    }
    return container_write_file(
               UNITS "/systemd-tmpfiles-setup.service.d/eden.conf",
               STR("[Service]\n"
                   "ExecStart=\n"
                   "ExecStart=systemd-tmpfiles --create --boot --exclude-prefix=/dev\n"),
               err) &&
           mask_units(err) &&
           container_write_file(UNITS "/" TARGET,
                                STR("[Unit]\n"
                                    "Description=Node of eden dev\n"
                                    "Requires=sysinit.target\n"
                                    "Wants=dbus.socket\n"
                                    "After=sysinit.target\n"
                                    "AllowIsolate=yes\n"),
                                err) &&
           container_write_file("/etc/fstab",
                                STR("# file systems of this node; the machine's are not listed\n"),
                                err);
}

/* --- Booting --------------------------------------------------------------------------------- */

_Noreturn static void become_init(const ContainerInit *init, int report)
{
    static const char *const environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=eden",
        "NOTIFY_SOCKET=" NOTIFY_NAME, NULL
    };
    const char *const words[] = { init->program, "--system", "--unit=" TARGET, NULL };
    sigset_t none;
    Error err;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    (void)dup2(init->log, STDOUT_FILENO);
    (void)dup2(init->log, STDERR_FILENO);
    if (cgroup_enter(init->group, &err) && mount_proc(&err) && kernel_guard_raise_for_init(&err)) {
        if (unshare(CLONE_NEWCGROUP) != 0 || mount("cgroup2", "/sys/fs/cgroup", "cgroup2",
                                                   MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
            file_error(&err, errno, "/sys/fs/cgroup");
        } else {
            execve(init->program, (char *const *)words, (char *const *)environment);
            file_error(&err, errno, init->program);
        }
    }
    (void)!write(report, &err, sizeof err);
    _exit(1);
}

/* Looks for "READY=1" among the lines of a notification. */
static bool is_ready(int notifications)
{
    char notification[NOTIFICATION_MAX + 1];
    bool ready = false;
    for (ssize_t len; (len = recv(notifications, notification, NOTIFICATION_MAX, 0)) > 0;) {
        notification[len] = '\0';
        ready = ready || strncmp(notification, "READY=1", 7) == 0 ||
                strstr(notification, "\nREADY=1") != NULL;
    }
    return ready;
}

static bool wait_ready(pid_t init, int notifications, Error *err)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)BOOT_MS * 1000;
    while (clock_monotonic_us() < until_us) {
        struct pollfd polled = { .fd = notifications, .events = POLLIN };
        if (poll(&polled, 1, POLL_MS) > 0 && is_ready(notifications)) {
            return true;
        }
        if (waitpid(init, NULL, WNOHANG) == init) {
            return error_set(err, ERROR_UNAVAILABLE, "systemd exited while booting");
        }
    }
    return error_set(err, ERROR_TIMEOUT, "systemd has not finished booting after %d s",
                     BOOT_MS / 1000);
}

static bool boot(const ContainerInit *init, int notifications, int report[2], Error *err)
{
    if (unshare(CLONE_NEWPID) != 0) {
        return file_error(err, errno, "cannot create a PID namespace");
    }
    /* Like fork, but without fork handlers of libraries: libuv's would close descriptors that now
     * belong to us. */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        become_init(init, report[1]);
    }
    int number = errno;
    close(report[1]);
    report[1] = -1;
    if (child < 0) {
        return file_error(err, number, "cannot create a process for systemd");
    }
    return read(report[0], err, sizeof *err) != sizeof *err &&
           wait_ready(child, notifications, err);
}

bool container_init_boot(const ContainerInit *init, Error *err)
{
    int report[2];
    if (!mount_devices(err) || !mount_run(init->run, err) || !write_settings(err)) {
        return false;
    }
    int notifications;
    if (!container_open_notify_socket(NOTIFY_NAME, &notifications, err)) {
        return false;
    }
    if (pipe2(report, O_CLOEXEC) != 0) {
        file_error(err, errno, "cannot create a socket for systemd");
        close(notifications);
        return false;
    }
    bool ok = boot(init, notifications, report, err);
    close(notifications);
    close(report[0]);
    if (report[1] >= 0) {
        close(report[1]);
    }
    return ok;
}
