#include "cluster/state_keeps.h"

enum {
    VALUE_MAX = 256 << 10, /* bytes: no record that is read here is larger */
};

static const StateKeep keeps[KEY_KIND_COUNT] = {
    [KEY_CURRENT_VERSION] = KEEP_VALUE,
    [KEY_RUNNING_VERSION] = KEEP_VALUE,
    [KEY_STATUS] = KEEP_KEY,
    [KEY_NODE] = KEEP_VALUE,
    [KEY_NODE_ALIVE] = KEEP_VALUE,
    [KEY_NODE_SILENT] = KEEP_VALUE,
    [KEY_REMOVED] = KEEP_VALUE,
    [KEY_SESSION] = KEEP_VALUE,
    [KEY_FACTS] = KEEP_DIGEST,
    [KEY_TRUST] = KEEP_VALUE,
    [KEY_SERVICE] = KEEP_VALUE,
    [KEY_LOCK] = KEEP_VALUE,
    [KEY_LEADER] = KEEP_VALUE,
    [KEY_OBJECT] = KEEP_VALUE,
    [KEY_INTERNAL] = KEEP_VALUE,
    [KEY_BROWSER] = KEEP_VALUE,
    [KEY_CURSOR_KEY] = KEEP_VALUE,
    [KEY_AUDIT] = KEEP_TELLING,
};

/* The internal records that somebody reads here. */
static bool keeps_internal(Str kind)
{
    static const char *const read[] = { "access-token", "joining", "pki", "token",
                                        "user-certificate" };
    for (size_t i = 0; i < COUNT_OF(read); i++) {
        if (str_eq_c(kind, read[i])) {
            return true;
        }
    }
    return false;
}

/* Of objects, the kinds that somebody reads. Anybody who may write keys can make up others, and give them
 * values of any size. */
static bool keeps_object(const StateEvents *events, Str kind)
{
    return str_eq(kind, STR("role")) || (events->keeps != NULL && events->keeps(kind));
}

StateKeep state_keep_of(KeyKind kind)
{
    return keeps[kind];
}

/* The list of revocations may be larger, and is nobody's to write. */
bool state_keeps_value(const StateEvents *events, const StoreKv *kv, KeyKind kind, const Str *parts)
{
    bool is_pki = kind == KEY_INTERNAL && str_eq(parts[0], STR("pki"));
    bool is_read = kind == KEY_OBJECT     ? keeps_object(events, parts[0])
                   : kind == KEY_INTERNAL ? keeps_internal(parts[0])
                                          : true;
    return keeps[kind] == KEEP_VALUE && is_read && (kv->value.len <= VALUE_MAX || is_pki);
}
