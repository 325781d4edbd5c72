/* What package managers that are programs have in common: how they are run, how they are told which
 * packages, and who has their lock. */
#pragma once

#include "modules/pkg/backend.h"
#include "sys/lock_holder.h"

/* To its end; `result->out` is all that it said. `env` as in Tool. */
MUST_CHECK bool package_program_run(Call *call, ToolArgs *args, const char *const *env,
                                    int64_t timeout_ms, ProcessResult *result, Error *err);
bool package_program_is_done(
    const ProcessResult *result); /* it ended by itself and says that all is well */

/* "--" and the packages of the change; a version follows its name behind `between`. NULL: no
 * version can be told. */
void package_program_add_items(Call *call, ToolArgs *args, const PackageChange *change,
                               const char *between);
/* "--" and the names of the offers. */
void package_program_add_offers(Call *call, ToolArgs *args, const PackageOffer *offers,
                                uint32_t count);
/* The names alone. */
void package_program_add_names(Call *call, ToolArgs *args, const Str *names, uint32_t count);

/* How a refresh ended; ERROR_CONFLICT when another process had the lock. */
MUST_CHECK bool package_refresh_result(Call *call, const PackageBackend *backend,
                                       const ProcessResult *result, int64_t timeout_ms, Error *err);
/* Runs a refresh with these arguments, to its result. */
MUST_CHECK bool package_program_refresh(Call *call, const PackageBackend *backend, ToolArgs *args,
                                        int64_t timeout_ms, Error *err);

typedef bool LockHolderFind(Host *host, Arena *arena, Str path, LockHolder *out);
/* The process that has the first of the locks that is taken, as `find` of lock_holder.h tells. */
bool package_holder_find(Call *call, const Str *paths, size_t count, LockHolderFind *find,
                         PackageHolder *out);
