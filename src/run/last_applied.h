/* What each step wanted when it was last in the desired state, to distinguish drift from intent: if
 * a step finds something to change although it wants the same state as then, the machine has
 * changed; otherwise the site has.
 *
 * One small file per site, read and written as a whole: a thousand steps take well under a
 * millisecond. For the thread of the executor only. */
#pragma once

#include "base/str_map.h"
#include "lang/value.h"
#include "run/report.h"
#include "sys/directory.h"

/* 128 bits that identify a value; not cryptographically secure. Zero: none. */
typedef struct Digest {
    uint64_t high, low;
} Digest;

/* Equal for equal values on every machine, and in every version that keeps the format. */
Digest digest_value(Value v);
Digest digest_values(const Value *values, uint32_t count);
static inline bool digest_equal(Digest a, Digest b)
{
    return a.high == b.high && a.low == b.low;
}

typedef struct LastApplied {
    Arena *arena;
    const char *file; /* its name in the state directory */
    /* the former name, derived from the path of the site as in earlier versions; may be NULL */
    const char *former;
    StrMap steps; /* from id to LastEntry */
    bool changed; /* differs from the file */
} LastApplied;

typedef struct LastEntry {
    Str step;
    Digest wanted;
    bool seen; /* looked up or set since loading */
} LastEntry;

/* Initializes an empty one. `site` is the name of the site; if it is empty, `home`, its path,
 * identifies it. */
void last_applied_init(LastApplied *last, Arena *arena, Str site, Str home);
/* A missing file counts as empty, and so does a damaged one, with a warning (E0705). */
MUST_CHECK bool last_applied_load(LastApplied *last, const Directory *state, Problems *problems,
                                  Error *err);
/* Writes it if it has changed. Files of sites that were not applied for a long time are removed. */
MUST_CHECK bool last_applied_save(LastApplied *last, const Directory *state, Error *err);

/* Why a step found something to change: CAUSE_NEW, CAUSE_INTENT or CAUSE_DRIFT. */
Cause last_applied_cause(LastApplied *last, Str step, Digest wanted);
/* The step is in its desired state: after ok or changed, not after a failure. */
void last_applied_set(LastApplied *last, Str step, Digest wanted);
/* Drops the entries of steps that `is_gone` reports as removed. It is not called for steps that
 * were looked up or set since loading. */
void last_applied_drop(LastApplied *last, bool (*is_gone)(void *context, Str step), void *context);
