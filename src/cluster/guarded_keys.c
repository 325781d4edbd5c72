#include "cluster/guarded_keys.h"

#include "cluster/cluster_keys.h"
#include "store/store.h"

/* Whether the range has a key in [first, last). */
static bool meets(Str key, Str end, Str first, Str last)
{
    if (end.len == 0) {
        return str_compare(key, first) >= 0 && str_compare(key, last) < 0;
    }
    bool begins_before = str_compare(key, last) < 0;
    bool ends_behind = str_eq(end, STORE_ALL) || str_compare(end, first) > 0;
    return begins_before && ends_behind;
}

bool guarded_keys_check(Str prefix, Str key, Str end, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Str guarded[] = {
        cluster_key_audit_all(&arena, prefix),
        cluster_key_audit_head(&arena, prefix),
        cluster_key_access_token_all(&arena, prefix),
        cluster_key_user_certificate_all(&arena, prefix),
        cluster_key_role_all(&arena, prefix),
        cluster_key_grants_all(&arena, prefix),
        cluster_key_browser_all(&arena, prefix),
        cluster_key_idempotency_all(&arena, prefix),
        cluster_key_cursor_key(&arena, prefix),
        cluster_key_store_id(&arena, prefix),
        cluster_key_object_all(&arena, prefix, STR("pki")),
        cluster_key_token_all(&arena, prefix),
    };
    for (size_t i = 0; i < COUNT_OF(guarded); i++) {
        if (meets(key, end, guarded[i], store_prefix_end(&arena, guarded[i]))) {
            return error_set(err, ERROR_DENIED,
                             "keys below %" STR_FMT
                             " cannot be changed as keys: they record who may do what, and who did",
                             STR_ARG(guarded[i]));
        }
    }
    return true;
}
