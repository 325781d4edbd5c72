/* What each step wanted when it was last in the state it wanted, to tell drift from intent: when a
 * step finds something to change although it wants what it wanted then, the machine has moved;
 * when it wants something else, the site has.
 *
 * One small file for each site, read and written as a whole: a thousand steps take well under a
 * millisecond. Loop thread only. */
#pragma once

#include "base/str_map.h"
#include "lang/value.h"
#include "run/report.h"
#include "sys/directory.h"

/* 128 bits that tell one value from another; not against intent. Zero: none. */
typedef struct Digest {
    uint64_t high, low;
} Digest;

/* The same for the same value on every machine and in every version that keeps the format. */
Digest digest_value(Value v);
Digest digest_values(const Value *values, uint32_t count);
static inline bool digest_equal(Digest a, Digest b)
{
    return a.high == b.high && a.low == b.low;
}

typedef struct LastApplied {
    Arena *arena;
    const char *file;   /* its name in the state directory */
    const char *former; /* the same by the place of the site, as earlier versions had it; or NULL */
    StrMap steps;       /* id to LastEntry */
    bool changed;       /* differs from the file */
} LastApplied;

typedef struct LastEntry {
    Str step;
    Digest wanted;
    bool seen; /* looked up or set since loading */
} LastEntry;

/* With nothing in it. `site` is the name of the site; empty: it has none, and `home`, where it lies,
 * stands for it. */
void last_applied_init(LastApplied *last, Arena *arena, Str site, Str home);
/* An absent file is empty. A damaged one too, with a warning (E0705). */
MUST_CHECK bool last_applied_load(LastApplied *last, const Directory *state, Problems *problems,
                                  Error *err);
/* Writes it when it has changed. Files of sites that were not applied for long make room. */
MUST_CHECK bool last_applied_save(LastApplied *last, const Directory *state, Error *err);

/* Why a step that found something to change did: CAUSE_NEW, CAUSE_INTENT or CAUSE_DRIFT. */
Cause last_applied_cause(LastApplied *last, Str step, Digest wanted);
/* The step is in the state it wants: after ok or changed, not after a failure. */
void last_applied_set(LastApplied *last, Str step, Digest wanted);
/* Forgets steps that are gone; those that were looked up or set meanwhile are not asked about. */
void last_applied_drop(LastApplied *last, bool (*is_gone)(void *context, Str step), void *context);
