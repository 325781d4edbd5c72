/* Facts that only system calls report about this machine and program. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

Str machine_arch(Arena *arena); /* "x86_64", "aarch64" */
Str machine_host_name(Arena *arena);
Str machine_kernel(Arena *arena); /* its release: "6.1.0-25-amd64" */
/* The path of the running program, even if its file has since been replaced. */
MUST_CHECK bool machine_own_program(Arena *arena, Str *out, Error *err);
/* Physical memory in bytes; 0: unknown. */
int64_t machine_memory(void);
/* Returns freed memory to the kernel; for daemons, after infrequent work. */
void machine_return_memory(void);
