/* Opening a path with the kernel watching its way; nobody outside of sys/ includes this. */
#pragma once

#include <linux/openat2.h>
#include <stdint.h>

/* openat2: `flags` as for open (O_CLOEXEC comes by itself), `resolve` of RESOLVE_*. Returns -1 and
 * sets errno. With EAGAIN the kernel says that it is not sure, because somebody renamed or mounted
 * something meanwhile: it is asked again. */
int open_within(int directory, const char *path, uint64_t flags, uint64_t resolve);
