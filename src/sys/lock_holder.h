/* Finds the process that has locked a file of the host, or has it open. */
#pragma once

#include <sys/types.h>

#include "sys/host.h"

typedef struct LockHolder {
    pid_t pid;   /* 0: not visible from here, as in another container */
    Str command; /* its command line, truncated; empty: unknown */
} LockHolder;

/* Finds the process that holds an fcntl lock on the file or a part of it. False if there is none or
 * it is unknown. */
bool lock_holder_find(Host *host, Arena *arena, Str path, LockHolder *out);
/* Finds the process that has the file open, for locks that consist of the file itself. False if
 * there is none. */
bool lock_holder_find_user(Host *host, Arena *arena, Str path, LockHolder *out);
/* Finds the process whose PID is in the file. False if there is no such file or process. */
bool lock_holder_read(Host *host, Arena *arena, Str path, LockHolder *out);
