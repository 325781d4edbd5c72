#include "cluster/guarded_keys.h"

#include "cluster/cluster_keys.h"
#include "store/store.h"

/* All keys of these kinds are guarded. */
static const KeyKind kinds[] = {
    KEY_INTERNAL,
    KEY_AUDIT,
    KEY_AUDIT_HEAD,
    KEY_BROWSER,
    KEY_IDEMPOTENCY,
    KEY_CURSOR_KEY,
    KEY_STORE_ID,
    KEY_SECRET,
    KEY_SERVER, /* nodes connect to the addresses in these records */
    /* Controllers rely on these keys: a client could forge a leader or a lock. */
    KEY_LEADER,
    KEY_LOCK,
    KEY_RUN,
    KEY_CURRENT_VERSION,
    KEY_RUNNING_VERSION,
};

/* Whether the range contains a key in [first, last). */
static bool overlaps(Str key, Str end, Str first, Str last)
{
    if (end.len == 0) {
        return str_compare(key, first) >= 0 && str_compare(key, last) < 0;
    }
    bool begins_before_last = str_compare(key, last) < 0;
    bool ends_after_first = str_eq(end, STORE_ALL) || str_compare(end, first) > 0;
    return begins_before_last && ends_after_first;
}

static bool check_range(Arena *arena, Str key, Str end, Str guarded, Error *err)
{
    return !overlaps(key, end, guarded, store_prefix_end(arena, guarded)) ||
           error_set(err, ERROR_DENIED,
                     "keys under %" STR_FMT
                     " cannot be changed directly: only the server writes them",
                     STR_ARG(guarded));
}

bool guarded_keys_check(Str prefix, Str key, Str end, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        Str guarded = key_make_prefix(&arena, prefix, kinds[i], NULL, 0);
        if (!check_range(&arena, key, end, guarded, err)) {
            return false;
        }
    }
    return check_range(&arena, key, end, cluster_key_role_all(&arena, prefix), err) &&
           check_range(&arena, key, end, cluster_key_source_all(&arena, prefix), err) &&
           check_range(&arena, key, end, cluster_key_version_all(&arena, prefix), err);
}
