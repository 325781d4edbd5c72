/* The spelling of all keys, which no other file contains. Pure.
 *
 * A key is the store's prefix followed by the pattern of its kind, whose parts vary. A part may
 * contain any byte; special ones are written as %2F and so on, so that every key can be parsed into
 * its parts, and no part can reach into another key. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* X(constant, pattern) */
#define KEY_KINDS(X)                                           \
    X(KEY_CURRENT_VERSION, "current_version")                  \
    X(KEY_RUNNING_VERSION, "running_version/<version>/<node>") \
    X(KEY_STATUS, "status/<category>/<state>/<node>")          \
    X(KEY_NODE, "nodes/<node>")                                \
    X(KEY_NODE_ALIVE, "nodes/<node>/alive")                    \
    X(KEY_NODE_SILENT, "nodes/<node>/silent")                  \
    X(KEY_REMOVED, "removed/<node>")                           \
    X(KEY_SERVER, "servers/<node>")                            \
    X(KEY_SERVER_ALIVE, "serving/<node>")                      \
    X(KEY_ORDER, "orders/<node>/<run>")                        \
    X(KEY_SESSION, "sessions/<node>")                          \
    X(KEY_LOG, "logs/<node>/<slot>")                           \
    X(KEY_FACTS, "facts/<node>")                               \
    X(KEY_TRUST, "trust/<node>")                               \
    X(KEY_MACHINE, "machines/<id>")                            \
    X(KEY_SERVICE, "services/<service>/<node>/<id>")           \
    X(KEY_RUN, "runs/<id>")                                    \
    X(KEY_RUN_NODE, "runs/<id>/nodes/<node>")                  \
    X(KEY_RUN_STEP, "runs/<id>/steps/<step>/<node>")           \
    X(KEY_RUN_BARRIER, "runs/<id>/barrier/<name>/<node>")      \
    X(KEY_RUN_SLOT, "runs/<id>/slots/<name>/<node>")           \
    X(KEY_RUN_PUBLISHED, "runs/<id>/published/<name>/<node>")  \
    X(KEY_EVENT, "events/<sequence>")                          \
    X(KEY_REACTION, "reactions/<name>/<group>")                \
    X(KEY_LOCK, "locks/<group>")                               \
    X(KEY_WAIT, "waits/<node>/<id>")                           \
    X(KEY_LEADER, "leader/<role>")                             \
    X(KEY_OBJECT, "objects/<kind>/<name>")                     \
    X(KEY_INTERNAL, "internal/<kind>/<name>")                  \
    X(KEY_AUDIT, "audit/<sequence>")                           \
    X(KEY_AUDIT_HEAD, "audit_head")                            \
    X(KEY_BROWSER, "browser/<credential>/<hash>")              \
    X(KEY_IDEMPOTENCY, "idempotency/<request>")                \
    X(KEY_PROBE, "probe/<node>")                               \
    X(KEY_CURSOR_KEY, "cursor_key")                            \
    X(KEY_STORE_ID, "store_id")                                \
    X(KEY_SECRET, "secrets/<name>")                            \
    X(KEY_BLOB, "blobs/<sha256>")

typedef enum KeyKind {
#define KEY_KIND_CONSTANT(constant, pattern) constant,
    KEY_KINDS(KEY_KIND_CONSTANT)
#undef KEY_KIND_CONSTANT
    KEY_KIND_COUNT
} KeyKind;

#define KEYS_PREFIX STR("/eden")

enum {
    KEYS_PARTS_MAX = 3
};

uint32_t key_part_count(KeyKind kind);
/* The index of the part that is a node name; false if there is none. */
bool key_node_part(KeyKind kind, uint32_t *part);

/* All parts are required and must not be empty: anything else is a bug of the caller. */
Str key_make(Arena *arena, Str prefix, KeyKind kind, const Str *parts, uint32_t count);
/* The common prefix of all keys of this kind with these first parts, for ranges and watches. */
Str key_make_prefix(Arena *arena, Str prefix, KeyKind kind, const Str *parts, uint32_t count);
/* Returns false if it is not one of our keys. `parts` must have space for KEYS_PARTS_MAX. */
bool key_parse(Arena *arena, Str prefix, Str key, KeyKind *kind, Str *parts);

/* An integer as a part, so that keys are in numeric order. */
Str key_sequence(Arena *arena, uint64_t number);
