/* Finds the process that has locked a file of the host, or has it open. */
#pragma once

#include <sys/types.h>

#include "sys/host.h"

typedef struct LockHolder {
    pid_t pid;   /* 0: not visible from here, as in another container */
    Str command; /* its command line, truncated; empty: unknown */
} LockHolder;

/* The process that has locked the file or a part of it (fcntl). False if none has, or it is
 * unknown. */
bool lock_holder_find(Host *host, Arena *arena, Str path, LockHolder *out);
/* The process that has the file open, for locks that consist of the file itself. False if none
 * has. */
bool lock_holder_find_user(Host *host, Arena *arena, Str path, LockHolder *out);
/* The process whose PID is in the file. False if there is no such file or process. */
bool lock_holder_read(Host *host, Arena *arena, Str path, LockHolder *out);
