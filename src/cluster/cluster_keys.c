#include "cluster/cluster_keys.h"

static Str object(Arena *arena, Str prefix, Str kind, Str name)
{
    return key_make(arena, prefix, KEY_OBJECT, (Str[]){ kind, name }, 2);
}

Str cluster_key_node(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_NODE, &name, 1);
}

Str cluster_key_node_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_NODE, NULL, 0);
}

Str cluster_key_alive(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_NODE_ALIVE, &name, 1);
}

Str cluster_key_silent(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_NODE_SILENT, &name, 1);
}

Str cluster_key_facts(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_FACTS, &name, 1);
}

Str cluster_key_trust_of(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_TRUST, &name, 1);
}

Str cluster_key_trust_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_TRUST, NULL, 0);
}

Str cluster_key_session(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_SESSION, &name, 1);
}

Str cluster_key_logs(Arena *arena, Str prefix, Str name)
{
    return key_make_prefix(arena, prefix, KEY_LOG, &name, 1);
}

Str cluster_key_orders(Arena *arena, Str prefix, Str name)
{
    return key_make_prefix(arena, prefix, KEY_ORDER, &name, 1);
}

Str cluster_key_joining(Arena *arena, Str prefix, Str name)
{
    return object(arena, prefix, STR("joining"), name);
}

Str cluster_key_joining_all(Arena *arena, Str prefix)
{
    Str kind = STR("joining");
    return key_make_prefix(arena, prefix, KEY_OBJECT, &kind, 1);
}

Str cluster_key_token(Arena *arena, Str prefix, Str id)
{
    return object(arena, prefix, STR("token"), id);
}

Str cluster_key_token_all(Arena *arena, Str prefix)
{
    Str kind = STR("token");
    return key_make_prefix(arena, prefix, KEY_OBJECT, &kind, 1);
}

Str cluster_key_nonce(Arena *arena, Str prefix, Str nonce)
{
    return object(arena, prefix, STR("join-nonce"), nonce);
}

Str cluster_key_revocations(Arena *arena, Str prefix)
{
    return object(arena, prefix, STR("pki"), STR("revocations"));
}

Str cluster_key_trust(Arena *arena, Str prefix)
{
    return object(arena, prefix, STR("pki"), STR("trust"));
}

Str cluster_key_rotation(Arena *arena, Str prefix)
{
    return object(arena, prefix, STR("pki"), STR("rotation"));
}

Str cluster_key_without(Arena *arena, Str prefix, Str name)
{
    return object(arena, prefix, STR("pki-without"), name);
}

Str cluster_key_without_all(Arena *arena, Str prefix)
{
    Str kind = STR("pki-without");
    return key_make_prefix(arena, prefix, KEY_OBJECT, &kind, 1);
}
