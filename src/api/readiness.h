/* Whether a server is ready, and if not, the reasons. Pure. */
#pragma once

#include "base/buf.h"

typedef struct ReadyCertificate {
    const char *name; /* "serving" */
    int64_t not_before_ms, not_after_ms;
} ReadyCertificate;

typedef struct ReadyState {
    bool is_stopping;
    bool is_writable;                /* whether the store is writable */
    const char *condition;           /* why not: "damaged" */
    const char *store_error;         /* details for operators */
    const char *stale_since;         /* data may be out of date since then; NULL: current */
    const char *stale_error;         /* details for operators */
    bool has_unreadable_revocations; /* the revocation list is unreadable */
    const char *leader;              /* name of the leading server, for operators; may be NULL */
    int64_t now_ms;
    const ReadyCertificate *certificates;
    uint32_t certificate_count;
} ReadyState;

/* Appends {"format":"eden.ready/1","ready":false,"problems":[{"what":"store","why":"not writable",
 * "condition":"damaged"}],"stale_since":"2026-11-16T19:00:00Z"} and returns whether the server is
 * ready. `in_detail`: for operators, who may see files and disks. */
bool readiness_put(Buf *out, const ReadyState *state, bool in_detail);
