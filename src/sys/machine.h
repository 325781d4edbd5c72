/* What the kernel says of the machine it runs on, where no file says it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

Str machine_arch(Arena *arena); /* "x86_64", "aarch64" */
Str machine_host_name(Arena *arena);
Str machine_kernel(Arena *arena); /* its release: "6.1.0-25-amd64" */
/* The path of the program that runs, also when it was replaced meanwhile. */
MUST_CHECK bool machine_own_program(Arena *arena, Str *out, Error *err);
/* Gives the kernel back what this process has freed; for daemons, after work that comes seldom. */
void machine_return_memory(void);
