#include "sys/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bug.h"
#include "sys/file_io.h"

static void clear_capabilities(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
    (void)syscall(SYS_capset, &head, none);
}

/* Verifies afterwards that everything was dropped. */
static bool has_capabilities(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { 0 };
    if (syscall(SYS_capget, &head, have) != 0) {
        return true;
    }
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        if (have[i].effective != 0 || have[i].permitted != 0 || have[i].inheritable != 0) {
            return true;
        }
    }
    return false;
}

bool privileges_drop(uid_t user, gid_t group, Error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return file_error(err, errno, "PR_SET_NO_NEW_PRIVS");
    }
    if (geteuid() != 0) {
        return geteuid() == user ||
               error_set(err, ERROR_DENIED, "only root can switch to another user");
    }
    if (user == 0) {
        return true;
    }
    for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++) {
    }
    if (setgroups(1, &group) != 0 || setresgid(group, group, group) != 0 ||
        setresuid(user, user, user) != 0) {
        return file_error(err, errno, "cannot switch to another user");
    }
    clear_capabilities();
    uid_t real, effective, saved;
    if (getresuid(&real, &effective, &saved) != 0 || real != user || effective != user ||
        saved != user || has_capabilities()) {
        return error_set(err, ERROR_OS, "cannot drop root privileges");
    }
    return true;
}

bool privileges_lend(uid_t user, gid_t group, Error *err)
{
    if (geteuid() == user) {
        return true;
    }
    if (setegid(group) != 0) {
        return file_error(err, errno, "cannot switch to another group");
    }
    if (seteuid(user) != 0) {
        file_error(err, errno, "cannot switch to another user");
        privileges_return();
        return false;
    }
    return true;
}

void privileges_return(void)
{
    if (seteuid(getuid()) != 0 || setegid(getgid()) != 0) {
        BUG("cannot restore privileges");
    }
}

bool running_as_root(void)
{
    return geteuid() == 0;
}

uid_t privileges_user(void)
{
    return geteuid();
}

bool privileges_end_with_parent(pid_t parent)
{
    return prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && getppid() == parent;
}

void privileges_forbid_dumps(void)
{
    /* A pipe in core_pattern ignores the limit, but not PR_SET_DUMPABLE. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0; /* soft limit only: programs started from here may raise it */
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
