/* Who keeps others waiting: the process that has locked a file of the host, or has it open. */
#pragma once

#include <sys/types.h>

#include "sys/host.h"

typedef struct LockHolder {
    pid_t pid;   /* 0: one that cannot be seen from here, as in another container */
    Str command; /* its words, cut where they get long; empty: not known */
} LockHolder;

/* Who has locked the file or a part of it (fcntl). False when nobody has, or it cannot be told. */
bool lock_holder_find(Host *host, Arena *arena, Str path, LockHolder *out);
/* Who has the file open: for locks that are just there. False when nobody has. */
bool lock_holder_find_user(Host *host, Arena *arena, Str path, LockHolder *out);
/* The process whose number is in the file. False when there is no such file or process. */
bool lock_holder_read(Host *host, Arena *arena, Str path, LockHolder *out);
