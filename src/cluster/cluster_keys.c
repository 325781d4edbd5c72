/* Formats the keys of cluster_keys.h. Each function fills in one pattern of store/keys.h. */
#include "cluster/cluster_keys.h"

Str cluster_key_object(Arena *arena, Str prefix, Str kind, Str name)
{
    return key_make(arena, prefix, KEY_OBJECT, (Str[]){ kind, name }, 2);
}

Str cluster_key_object_all(Arena *arena, Str prefix, Str kind)
{
    return key_make_prefix(arena, prefix, KEY_OBJECT, &kind, 1);
}

const char *const cluster_internal_kinds[] = {
    "access-token", "grants", "join-nonce",       "joining", "pki",
    "pki-without",  "token",  "user-certificate", NULL,
};

static Str internal(Arena *arena, Str prefix, Str kind, Str name)
{
    return key_make(arena, prefix, KEY_INTERNAL, (Str[]){ kind, name }, 2);
}

static Str internal_all(Arena *arena, Str prefix, Str kind)
{
    return key_make_prefix(arena, prefix, KEY_INTERNAL, &kind, 1);
}

Str cluster_key_internal_all(Arena *arena, Str prefix, const char *kind)
{
    return internal_all(arena, prefix, str_from_c(kind));
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

Str cluster_key_removed(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_REMOVED, &name, 1);
}

Str cluster_key_removed_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_REMOVED, NULL, 0);
}

Str cluster_key_server(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_SERVER, &name, 1);
}

Str cluster_key_server_alive(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_SERVER_ALIVE, &name, 1);
}

Str cluster_key_server_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_SERVER, NULL, 0);
}

Str cluster_key_server_grants(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("grants"), STR("server"));
}

Str cluster_key_facts(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_FACTS, &name, 1);
}

Str cluster_key_trust_of(Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_TRUST, &name, 1);
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
    return internal(arena, prefix, STR("joining"), name);
}

Str cluster_key_joining_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("joining"));
}

Str cluster_key_token(Arena *arena, Str prefix, Str id)
{
    return internal(arena, prefix, STR("token"), id);
}

Str cluster_key_token_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("token"));
}

Str cluster_key_nonce(Arena *arena, Str prefix, Str nonce)
{
    return internal(arena, prefix, STR("join-nonce"), nonce);
}

Str cluster_key_revocations(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("pki"), STR("revocations"));
}

Str cluster_key_moved(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("store"), STR("moved"));
}

Str cluster_key_trust(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("pki"), STR("trust"));
}

Str cluster_key_rotation(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("pki"), STR("rotation"));
}

Str cluster_key_rotation_excluded(Arena *arena, Str prefix, Str name)
{
    return internal(arena, prefix, STR("pki-without"), name);
}

Str cluster_key_rotation_excluded_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("pki-without"));
}

Str cluster_key_version(Arena *arena, Str prefix, Str name)
{
    return cluster_key_object(arena, prefix, STR("version"), name);
}

Str cluster_key_version_all(Arena *arena, Str prefix)
{
    return cluster_key_object_all(arena, prefix, STR("version"));
}

Str cluster_key_current_version(Arena *arena, Str prefix)
{
    return key_make(arena, prefix, KEY_CURRENT_VERSION, NULL, 0);
}

Str cluster_key_source(Arena *arena, Str prefix, Str name)
{
    return cluster_key_object(arena, prefix, STR("source"), name);
}

Str cluster_key_source_all(Arena *arena, Str prefix)
{
    return cluster_key_object_all(arena, prefix, STR("source"));
}

Str cluster_key_source_status(Arena *arena, Str prefix, Str name)
{
    return internal(arena, prefix, STR("source-status"), name);
}

Str cluster_key_source_status_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("source-status"));
}

Str cluster_key_source_request(Arena *arena, Str prefix, Str name)
{
    return internal(arena, prefix, STR("source-request"), name);
}

Str cluster_key_source_proposal(Arena *arena, Str prefix, Str name)
{
    return internal(arena, prefix, STR("source-proposal"), name);
}

Str cluster_key_source_proposal_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("source-proposal"));
}

Str cluster_key_source_secrets(Arena *arena, Str prefix, Str name)
{
    return internal(arena, prefix, STR("source-secret"), name);
}

Str cluster_key_source_secrets_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("source-secret"));
}

Str cluster_key_source_parts(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("source-parts"), STR("current"));
}

Str cluster_key_role(Arena *arena, Str prefix, Str name)
{
    return cluster_key_object(arena, prefix, STR("role"), name);
}

Str cluster_key_role_all(Arena *arena, Str prefix)
{
    return cluster_key_object_all(arena, prefix, STR("role"));
}

Str cluster_key_access_token(Arena *arena, Str prefix, Str id)
{
    return internal(arena, prefix, STR("access-token"), id);
}

Str cluster_key_access_token_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("access-token"));
}

Str cluster_key_user_certificate(Arena *arena, Str prefix, Str serial)
{
    return internal(arena, prefix, STR("user-certificate"), serial);
}

Str cluster_key_user_certificate_all(Arena *arena, Str prefix)
{
    return internal_all(arena, prefix, STR("user-certificate"));
}

Str cluster_key_access_token_grants(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("grants"), STR("access-token"));
}

Str cluster_key_user_certificate_grants(Arena *arena, Str prefix)
{
    return internal(arena, prefix, STR("grants"), STR("user-certificate"));
}

Str cluster_key_browser(Arena *arena, Str prefix, Str credential, Str hash)
{
    Str parts[] = { credential, hash };
    return key_make(arena, prefix, KEY_BROWSER, parts, 2);
}

Str cluster_key_browser_of(Arena *arena, Str prefix, Str credential)
{
    return key_make_prefix(arena, prefix, KEY_BROWSER, &credential, 1);
}

Str cluster_key_browser_grants(Arena *arena, Str prefix, Str credential)
{
    Str name = arena_format(arena, "browser of %" STR_FMT, STR_ARG(credential));
    return internal(arena, prefix, STR("grants"), name);
}

Str cluster_key_browser_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_BROWSER, NULL, 0);
}

Str cluster_key_audit(Arena *arena, Str prefix, uint64_t sequence)
{
    Str part = key_sequence(arena, sequence);
    return key_make(arena, prefix, KEY_AUDIT, &part, 1);
}

Str cluster_key_audit_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_AUDIT, NULL, 0);
}

Str cluster_key_audit_head(Arena *arena, Str prefix)
{
    return key_make(arena, prefix, KEY_AUDIT_HEAD, NULL, 0);
}

Str cluster_key_idempotency(Arena *arena, Str prefix, Str request)
{
    return key_make(arena, prefix, KEY_IDEMPOTENCY, &request, 1);
}

Str cluster_key_idempotency_all(Arena *arena, Str prefix)
{
    return key_make_prefix(arena, prefix, KEY_IDEMPOTENCY, NULL, 0);
}

Str cluster_key_probe(Arena *arena, Str prefix, Str server)
{
    return key_make(arena, prefix, KEY_PROBE, &server, 1);
}

Str cluster_key_leader(Arena *arena, Str prefix)
{
    return key_make(arena, prefix, KEY_LEADER, &STR("controllers"), 1);
}

Str cluster_key_cursor_key(Arena *arena, Str prefix)
{
    return key_make(arena, prefix, KEY_CURSOR_KEY, NULL, 0);
}

Str cluster_key_store_id(Arena *arena, Str prefix)
{
    return key_make(arena, prefix, KEY_STORE_ID, NULL, 0);
}
