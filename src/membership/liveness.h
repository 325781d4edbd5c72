/* Liveness records. Their main information is that a key exists, or has changed. */
#pragma once

#include "lang/record.h"

/* Fields of nodes/<node>/alive and nodes/<node>/silent. Records are always written from scratch, so
 * unknown fields are not preserved. */
typedef struct Liveness {
    Str server; /* that its session is with */
    Str boot_id;
    Str version; /* of its eden, at most NODE_VERSION_MAX */
    int64_t since_ms;
} Liveness;

extern const RecordFormat alive_format;  /* "eden.alive/1" */
extern const RecordFormat silent_format; /* "eden.silent/1": only the time */
