/* A chain of entries for tests. */
#pragma once

#include <stdlib.h>

#include "audit/audit_entry.h"
#include "unit.h"

#define LINES_TIME_MS ((int64_t)1800000000000)

enum {
    LINES_MAX = 1200
};

typedef struct AuditLines {
    Arena arena;
    AuditHead head;                                  /* of all of them */
    Str lines[LINES_MAX + 1];                        /* from 1 on */
    char hashes[LINES_MAX + 1][AUDIT_HASH_TEXT + 1]; /* from 0 on */
} AuditLines;

/* `count` entries, a second apart. */
static inline AuditLines *audit_lines_new(uint32_t count)
{
    AuditLines *made = calloc(1, sizeof *made);
    arena_init(&made->arena, ARENA_UNLIMITED);
    audit_head_init(&made->head);
    snprintf(made->hashes[0], sizeof made->hashes[0], "%s", AUDIT_GENESIS);
    for (uint32_t i = 1; i <= count; i++) {
        AuditEntry entry = { .sequence = i,
                             .time_ms = LINES_TIME_MS + i * (int64_t)1000,
                             .who = STR("ann"),
                             .verb = STR("delete"),
                             .kind = STR("Node"),
                             .name = STR("web1"),
                             .previous = str_from_c(made->hashes[i - 1]) };
        Buf text = buf_make_in(&made->arena, BUF_UNLIMITED);
        audit_entry_print(&entry, &text, made->hashes[i]);
        made->lines[i] = buf_str(&text);
        made->head.bytes += text.len;
    }
    made->head.sequence = count;
    memcpy(made->head.hash, made->hashes[count], sizeof made->head.hash);
    return made;
}

static inline void audit_lines_free(AuditLines *lines)
{
    arena_clear(&lines->arena);
    free(lines);
}
