/* Whether a server is ready, and if not, the reasons. Pure. */
#pragma once

#include "base/buf.h"

typedef struct ReadyCertificate {
    const char *name; /* "serving" */
    int64_t not_before_ms, not_after_ms;
} ReadyCertificate;

typedef struct ReadyState {
    bool stops;
    bool is_writable;        /* the store */
    const char *condition;   /* when it is not: "damaged" */
    const char *why_not;     /* for operators */
    const char *stale_since; /* what the server knows may be out of date; NULL: it is not */
    const char *stale_why;   /* for operators */
    bool admits_nobody;      /* the list of revocations cannot be read */
    const char *leader;      /* name of the server that leads, for operators; NULL: none does */
    int64_t now_ms;
    const ReadyCertificate *certificates;
    uint32_t certificate_count;
} ReadyState;

/* {"format":"eden.ready/1","ready":false,"problems":[{"what":"store","why":"it cannot be written",
 * "condition":"damaged"}],"stale_since":"2026-11-16T19:00:00Z"}, and whether it is. `in_detail`: for operators, who may know of files and disks. */
bool readiness_put(Buf *out, const ReadyState *state, bool in_detail);
