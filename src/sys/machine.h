/* What the kernel says of the machine it runs on, where no file says it. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

Str machine_arch(Arena *arena); /* "x86_64", "aarch64" */
Str machine_host_name(Arena *arena);
