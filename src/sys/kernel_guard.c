#include "sys/kernel_guard.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sys/file_io.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0 /* unknown architecture: nothing is refused */
#endif

static void clear_bit(struct __user_cap_data_struct *data, unsigned capability)
{
    uint32_t keep = ~CAP_TO_MASK(capability);
    data[CAP_TO_INDEX(capability)].effective &= keep;
    data[CAP_TO_INDEX(capability)].permitted &= keep;
    data[CAP_TO_INDEX(capability)].inheritable &= keep;
}

/* From this process, and from the bounding set of programs run by root. */
static bool drop(const unsigned *capabilities, size_t count)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (prctl(PR_CAPBSET_DROP, capabilities[i], 0, 0, 0) != 0) {
            return false;
        }
        clear_bit(data, capabilities[i]);
    }
    return syscall(SYS_capset, &header, data) == 0;
}

/* swapon needs the same capability as mount, so its system calls are filtered with seccomp.
 * Programs of another architecture have other system call numbers and are not filtered. */
static bool refuse_swap(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_swapon, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_swapoff, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = { .len = COUNT_OF(steps), .filter = steps };
    return OWN_ARCHITECTURE == 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool kernel_guard_raise_for_init(Error *err)
{
    static const unsigned capabilities[] = { CAP_SYS_RAWIO,    CAP_SYSLOG,     CAP_MAC_ADMIN,
                                             CAP_MAC_OVERRIDE, CAP_WAKE_ALARM, CAP_BLOCK_SUSPEND };
    return drop(capabilities, COUNT_OF(capabilities)) ||
           file_error(err, errno, "cannot restrict access to the kernel");
}

bool kernel_guard_raise(bool network, Error *err)
{
    static const unsigned capabilities[] = { CAP_SYS_MODULE, CAP_SYS_BOOT, CAP_SYS_TIME,
                                             CAP_NET_ADMIN };
    size_t count = COUNT_OF(capabilities) - (network ? 0 : 1);
    return (refuse_swap() && drop(capabilities, count)) ||
           file_error(err, errno, "cannot restrict access to the kernel");
}
