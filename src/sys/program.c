#include "sys/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/file.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

/* Newer kernels require MFD_EXEC for executable memory; older ones reject the flag. The descriptor
 * is above the three standard ones. */
static int open_memory(const char *name)
{
    int memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (memory < 0 && errno == EINVAL) {
        memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if (memory < 0 || memory > 2) {
        return memory;
    }
    int lifted = fcntl(memory, F_DUPFD_CLOEXEC, 3);
    close(memory);
    return lifted;
}

bool program_seal(const char *name, Str bytes, int *out, Error *err)
{
    int memory = open_memory(name);
    if (memory < 0) {
        return error_set(err, ERROR_OS, "cannot allocate memory to run '%s' from: %s", name,
                         strerror(errno));
    }
    bool ok = file_write_all(memory, bytes, err);
    if (ok &&
        fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
        ok = error_set(err, ERROR_OS, "cannot seal '%s': %s", name, strerror(errno));
    }
    if (!ok) {
        close(memory);
        return false;
    }
    *out = memory;
    return true;
}

void program_close(int program)
{
    close(program);
}
