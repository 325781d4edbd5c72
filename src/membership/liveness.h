/* Liveness records. Most readers only use the existence of the key or its changes. */
#pragma once

#include "lang/record.h"

/* Fields of nodes/<node>/alive and nodes/<node>/silent. Records are always written from scratch, so
 * unknown fields are not preserved. */
typedef struct Liveness {
    Str server; /* the server that the session is with */
    Str boot_id;
    Str version; /* version of the node's eden, at most NODE_VERSION_MAX bytes */
    int64_t since_ms;
} Liveness;

extern const RecordFormat alive_format;  /* "eden.alive/1" */
extern const RecordFormat silent_format; /* "eden.silent/1": contains only the time */
