/* The retention of each kind of key. Values that only a few requests need, or that clients can make
 * large, are read from the store instead. */
#include "cluster/state_filter.h"

enum {
    VALUE_MAX = 256 << 10, /* no record that is read here is larger than this */
};

static const StateRetention retentions[KEY_KIND_COUNT] = {
    [KEY_CURRENT_VERSION] = RETAIN_VALUE,
    [KEY_RUNNING_VERSION] = RETAIN_VALUE,
    [KEY_STATUS] = RETAIN_KEY,
    [KEY_NODE] = RETAIN_VALUE,
    [KEY_NODE_ALIVE] = RETAIN_VALUE,
    [KEY_NODE_SILENT] = RETAIN_VALUE,
    [KEY_REMOVED] = RETAIN_VALUE,
    [KEY_SERVER] = RETAIN_VALUE,
    [KEY_SERVER_ALIVE] = RETAIN_VALUE,
    [KEY_ORDER] = RETAIN_KEY,
    [KEY_SESSION] = RETAIN_VALUE,
    [KEY_FACTS] = RETAIN_DIGEST,
    [KEY_TRUST] = RETAIN_VALUE,
    [KEY_SERVICE] = RETAIN_VALUE,
    [KEY_RUN] = RETAIN_VALUE,
    [KEY_RUN_NODE] = RETAIN_VALUE,
    [KEY_LOCK] = RETAIN_VALUE,
    [KEY_LEADER] = RETAIN_VALUE,
    [KEY_OBJECT] = RETAIN_VALUE,
    [KEY_INTERNAL] = RETAIN_VALUE,
    [KEY_BROWSER] = RETAIN_VALUE,
    [KEY_CURSOR_KEY] = RETAIN_VALUE,
    [KEY_AUDIT] = RETAIN_EVENTS,
    [KEY_AUDIT_HEAD] = RETAIN_VALUE,
};

/* Internal records that are read from the state. */
static bool retains_internal(Str kind)
{
    static const char *const read[] = {
        "access-token",   "joining",       "pki",           "source-parts", "source-proposal",
        "source-request", "source-secret", "source-status", "token",        "user-certificate",
    };
    for (size_t i = 0; i < COUNT_OF(read); i++) {
        if (str_eq_c(kind, read[i])) {
            return true;
        }
    }
    return false;
}

/* Kinds of objects that are read from the state. Clients that may write raw keys can create other
 * kinds, with values of any size. */
static bool retains_object(const StateEvents *events, Str kind)
{
    return str_eq(kind, STR("config")) || str_eq(kind, STR("role")) ||
           str_eq(kind, STR("source")) || str_eq(kind, STR("version")) ||
           (events->stores_values != NULL && events->stores_values(kind));
}

StateRetention state_retention(KeyKind kind)
{
    return retentions[kind];
}

/* The list of revocations and the targets of a run may be larger; clients cannot write them. */
bool state_retains_value(const StateEvents *events, const StoreKv *kv, KeyKind kind,
                         const Str *parts)
{
    bool is_pki = kind == KEY_INTERNAL && str_eq(parts[0], STR("pki"));
    bool is_read = kind == KEY_OBJECT     ? retains_object(events, parts[0])
                   : kind == KEY_INTERNAL ? retains_internal(parts[0])
                                          : true;
    bool may_be_large = is_pki || kind == KEY_RUN;
    return retentions[kind] == RETAIN_VALUE && is_read &&
           (kv->value.len <= VALUE_MAX || may_be_large);
}
