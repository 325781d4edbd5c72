/* Wrapper of openat2. Private to sys/. */
#pragma once

#include <linux/openat2.h>
#include <stdint.h>

/* `flags` as for open (O_CLOEXEC is implied), `resolve` is a set of RESOLVE_*. Returns -1 and sets
 * errno. Retries on EAGAIN, which the kernel returns if a concurrent rename or mount may have
 * changed the path. */
int open_within(int directory, const char *path, uint64_t flags, uint64_t resolve);
