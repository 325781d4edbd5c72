/* What package managers that are programs have in common: how they are run, and how they are told
 * which packages. */
#pragma once

#include "modules/pkg/backend.h"

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
