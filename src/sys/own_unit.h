/* The systemd unit of this process: whether systemd restarts it, which processes are killed with
 * it, and whether its program file has been replaced. */
#pragma once

#include "sys/tree.h"

/* Whether this is the main process of a systemd unit, which systemd started itself and restarts if
 * the unit is configured so. */
bool own_unit_is_main_process(void);

/* Whether the program of this process has been replaced or removed since it was started. `kernel`
 * is the root of proc and sys: "/" except in tests. */
bool own_unit_is_outdated(const Tree *kernel);

/* Counts the other processes in the cgroup of this one, except those in `excluded` (0: none):
 * stopping the unit may kill them. Processes in child cgroups are not counted: they belong to runs,
 * or are etcd, and survive
 * (sys/detached_process.h). Fails if the kernel does not provide the list. */
MUST_CHECK bool own_unit_count_others(const Tree *kernel, const int64_t *excluded, uint32_t count,
                                      uint32_t *out, Error *err);
