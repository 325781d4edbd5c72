#include "cluster/liveness.h"

#include "cluster/roster.h"

enum {
    LIVENESS_MAX = 16 << 10, /* bytes */
};

static const RecordField liveness_fields[] = {
    { "server", RECORD_TEXT, RECORD_STR_AT(Liveness, server), .help = "name of the server" },
    { "boot_id", RECORD_TEXT, RECORD_STR_AT(Liveness, boot_id), .help = "boot ID of the node" },
    { "version", RECORD_TEXT, RECORD_STR_AT(Liveness, version), .max = NODE_VERSION_MAX,
      .help = "eden version of the node" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(Liveness, since_ms), .is_printed = true,
      .help = "since when" },
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

typedef struct Grants {
    Str last;
} Grants;

static const RecordField grants_fields[] = {
    { "last", RECORD_TEXT, RECORD_STR_AT(Grants, last), .help = "ID of the last credential" },
    { 0 },
};

static const RecordFormat grants_format = { .format = "eden.grants/1", .fields = grants_fields };
static const RecordFormat without_format = { .format = "eden.without/1",
                                             .fields = &(const RecordField){ 0 } };

static Str print(Arena *arena, const RecordFormat *format, const void *record)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    record_print(format, record, &text);
    return buf_str(&text);
}

Str grants_record(Arena *arena, Str last)
{
    return print(arena, &grants_format, &(Grants){ .last = last });
}

Str without_record(Arena *arena)
{
    return print(arena, &without_format, NULL);
}
