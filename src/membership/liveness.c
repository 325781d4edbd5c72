/* The formats of liveness records; the code that writes them is in service/presence.c and
 * nodes_silent.c. */
#include "membership/liveness.h"

#include "membership/roster.h"

enum {
    LIVENESS_MAX = 16 << 10, /* maximum size in bytes */
};

static const RecordField liveness_fields[] = {
    { "server", RECORD_TEXT, RECORD_STR_AT(Liveness, server), .help = "name of the server" },
    { "boot_id", RECORD_TEXT, RECORD_STR_AT(Liveness, boot_id), .help = "boot ID of the node" },
    { "version", RECORD_TEXT, RECORD_STR_AT(Liveness, version), .max = NODE_VERSION_MAX,
      .help = "eden version of the node" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(Liveness, since_ms), .is_printed = true,
      .help = "start of the current state" },
    { 0 },
};

const RecordFormat alive_format = {
    .format = "eden.alive/1",
    .what = "the liveness of a node",
    .fields = liveness_fields,
    .size = sizeof(Liveness),
    .text_max = LIVENESS_MAX,
};

const RecordFormat silent_format = {
    .format = "eden.silent/1",
    .what = "the liveness of a node",
    .fields = liveness_fields,
    .size = sizeof(Liveness),
    .text_max = LIVENESS_MAX,
};
