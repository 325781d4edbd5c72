/* Keys that cannot be changed as keys: the audit log, what says who may do what (roles, and all internal
 * records), and what controllers rest on (the leader, locks, runs, versions). They have their own ways, which check and record. Pure. */
#pragma once

#include "base/error.h"
#include "store/keys.h"

/* Whether the keys from `key` up to and without `end` (as of a StoreOp: empty is `key` alone,
 * STORE_ALL no end) may be put or deleted. Fails with ERROR_DENIED and which must not. */
MUST_CHECK bool guarded_keys_check(Str prefix, Str key, Str end, Error *err);
