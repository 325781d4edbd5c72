/* Keys that cannot be written as raw keys: the audit log, everything that defines permissions
 * (roles, all internal records), and what controllers rely on (the leader, locks, runs, versions
 * and the repositories they are from). They have dedicated functions, which validate and audit.
 * Pure. */
#pragma once

#include "base/error.h"
#include "store/keys.h"

/* Whether the keys from `key` up to, but excluding, `end` (see StoreOp) may be put or deleted.
 * Fails with ERROR_DENIED, naming the first that must not. */
MUST_CHECK bool guarded_keys_check(Str prefix, Str key, Str end, Error *err);
