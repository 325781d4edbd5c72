/* Liveness records. Their main information is that a key exists, or has changed. */
#pragma once

#include "lang/record.h"

/* nodes/<node>/alive and nodes/<node>/silent: the fields of both. Each is written anew, never from one
 * that was read, so unknown fields have nowhere to go. */
typedef struct Liveness {
    Str server; /* with which it has its session */
    Str boot_id;
    Str version; /* of its eden, at most NODE_VERSION_MAX */
    int64_t since_ms;
} Liveness;

extern const RecordFormat alive_format;  /* "eden.alive/1" */
extern const RecordFormat silent_format; /* "eden.silent/1": only since when */
