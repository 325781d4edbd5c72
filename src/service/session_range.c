/* The ranges that nodes may watch, by name. */
#include "service/session_range.h"

#include "cluster/cluster_keys.h"
#include "store/store.h"

typedef struct RangeRow {
    const char *name;
    KeyKind kind;
    bool of_node;  /* the first part of the key is the node's name */
    bool is_range; /* all keys of the kind; otherwise a single one */
} RangeRow;

static const RangeRow rows[] = {
    { "node", KEY_NODE, true, false },
    { "orders", KEY_ORDER, true, true },
    { "version", KEY_CURRENT_VERSION, false, false },
    { "servers", KEY_SERVER, false, true },
    { "trust", KEY_INTERNAL, false, false }, /* the only internal record that nodes may read */
};

bool session_range(Arena *arena, Str prefix, Str node, Str name, SessionRange *out, Error *err)
{
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        const RangeRow *row = &rows[i];
        if (!str_eq_c(name, row->name)) {
            continue;
        }
        uint32_t count = row->of_node ? 1 : 0;
        *out = (SessionRange){ .is_known = !row->is_range };
        if (row->kind == KEY_INTERNAL) {
            out->key = cluster_key_trust(arena, prefix);
        } else if (row->is_range) {
            out->key = key_make_prefix(arena, prefix, row->kind, &node, count);
            out->end = store_prefix_end(arena, out->key);
        } else {
            out->key = key_make(arena, prefix, row->kind, &node, count);
        }
        return true;
    }
    return error_set(err, ERROR_DENIED,
                     "this server does not offer the range '%" STR_FMT "' to nodes", STR_ARG(name));
}
