/* Resource limits for cluster runs on a node: options of `eden agent`. */
#pragma once

#include "cli/invocation.h"
#include "sys/cgroup.h"

#define RUN_LIMIT_OPTIONS                                                                       \
    { .name = "run-memory-max",                                                                 \
      .argument = "SIZE",                                                                       \
      .fallback = "75%",                                                                        \
      .help =                                                                                   \
          "memory limit for a run: a size (bytes, or with K, M, G), a percentage, or 'none'" }, \
    {                                                                                           \
        .name = "run-tasks-max", .argument = "COUNT", .fallback = "4096",                       \
        .help = "maximum number of processes and threads in a run, or 'none'"                   \
    }

/* Parses a limit. `memory` is the machine's memory in bytes. Fails with ERROR_INVALID. */
MUST_CHECK bool run_memory_parse(Str text, int64_t memory, int64_t *out, Error *err);
MUST_CHECK bool run_tasks_parse(Str text, int64_t *out, Error *err);

/* Returns false after reporting an invalid option. */
MUST_CHECK bool run_limits_get(Invocation *invocation, CgroupLimits *out);
