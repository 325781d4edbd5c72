/* The keys of the server's own records, on top of store/keys.h. Pure. */
#pragma once

#include "store/keys.h"

/* Servers' own records are under internal/<kind>: these kinds, terminated by NULL. Objects of the
 * API are never there, whatever the name of their kind. */
extern const char *const cluster_internal_kinds[];
Str cluster_key_internal_all(Arena *arena, Str prefix, const char *kind); /* their common prefix */

Str cluster_key_node(Arena *arena, Str prefix, Str name);
Str cluster_key_node_all(Arena *arena,
                         Str prefix); /* common prefix of these and of liveness keys */
/* Exists as long as the node has a session: it is attached to the lease of the session. */
Str cluster_key_alive(Arena *arena, Str prefix, Str name);
/* Records since when the node has had no session. It remains when the node reconnects, and is then
 * ignored. */
Str cluster_key_silent(Arena *arena, Str prefix, Str name);
/* Exists until all data of a removed node is deleted; then the common prefix. */
Str cluster_key_removed(Arena *arena, Str prefix, Str name);
Str cluster_key_removed_all(Arena *arena, Str prefix);
/* The record of a server; then the common prefix. */
Str cluster_key_server(Arena *arena, Str prefix, Str name);
Str cluster_key_server_all(Arena *arena, Str prefix);
/* Exists while the server runs: it is attached to a lease. */
Str cluster_key_server_alive(Arena *arena, Str prefix, Str name);
/* Written whenever a server is added or removed, and compared, so that concurrent removals
 * conflict. */
Str cluster_key_server_grants(Arena *arena, Str prefix);
Str cluster_key_facts(Arena *arena, Str prefix, Str name);
/* The trust status that the node reported. */
Str cluster_key_trust_of(Arena *arena, Str prefix, Str name);
/* Position of its session; and the common prefixes of its logs and orders. */
Str cluster_key_session(Arena *arena, Str prefix, Str name);
Str cluster_key_logs(Arena *arena, Str prefix, Str name);
Str cluster_key_orders(Arena *arena, Str prefix, Str name);
Str cluster_key_joining(Arena *arena, Str prefix, Str name);
Str cluster_key_joining_all(Arena *arena, Str prefix); /* their common prefix */
Str cluster_key_token(Arena *arena, Str prefix, Str id);
Str cluster_key_token_all(Arena *arena, Str prefix);
Str cluster_key_nonce(Arena *arena, Str prefix, Str nonce);
Str cluster_key_revocations(Arena *arena, Str prefix);
/* Exists once internal records are where this version stores them (cluster/key_migration.h). */
Str cluster_key_moved(Arena *arena, Str prefix);
/* The key with which servers seal page tokens. */
Str cluster_key_cursor_key(Arena *arena, Str prefix);
/* Identifies the store: compared with the server's settings to detect a foreign one. */
Str cluster_key_store_id(Arena *arena, Str prefix);
/* Exists with the lease of the leading server. */
Str cluster_key_leader(Arena *arena, Str prefix);
/* Written by a server to test whether it can write. */
Str cluster_key_probe(Arena *arena, Str prefix, Str server);
/* The trust notice for nodes, the state of a CA rotation, and the nodes that the rotation does not
 * wait for. */
Str cluster_key_trust(Arena *arena, Str prefix);
Str cluster_key_rotation(Arena *arena, Str prefix);
Str cluster_key_rotation_excluded(Arena *arena, Str prefix, Str name);
Str cluster_key_rotation_excluded_all(Arena *arena, Str prefix);

/* --- API ------------------------------------------------------------------------------------- */

/* A plain object. The kind is in lowercase: "role". */
Str cluster_key_object(Arena *arena, Str prefix, Str kind, Str name);
Str cluster_key_object_all(Arena *arena, Str prefix, Str kind);
/* Versions of the site, and the record of the current one. */
Str cluster_key_version(Arena *arena, Str prefix, Str name);
Str cluster_key_version_all(Arena *arena, Str prefix);
Str cluster_key_current_version(Arena *arena, Str prefix);
/* Git repositories of the site; what the leader reports about each, the last request to synchronize
 * it, its secrets, and which commits the newest version from git has. */
Str cluster_key_source(Arena *arena, Str prefix, Str name);
Str cluster_key_source_all(Arena *arena, Str prefix);
Str cluster_key_source_status(Arena *arena, Str prefix, Str name);
Str cluster_key_source_status_all(Arena *arena, Str prefix);
Str cluster_key_source_request(Arena *arena, Str prefix, Str name);
Str cluster_key_source_proposal(Arena *arena, Str prefix, Str name);
Str cluster_key_source_proposal_all(Arena *arena, Str prefix);
Str cluster_key_source_secrets(Arena *arena, Str prefix, Str name);
Str cluster_key_source_secrets_all(Arena *arena, Str prefix);
Str cluster_key_source_parts(Arena *arena, Str prefix);
Str cluster_key_role(Arena *arena, Str prefix, Str name);
Str cluster_key_role_all(Arena *arena, Str prefix);
Str cluster_key_access_token(Arena *arena, Str prefix, Str id);
Str cluster_key_access_token_all(Arena *arena, Str prefix);
Str cluster_key_user_certificate(Arena *arena, Str prefix, Str serial);
Str cluster_key_user_certificate_all(Arena *arena, Str prefix);
/* Written with every such record that names roles, so that the deletion of a role can compare
 * it. */
Str cluster_key_access_token_grants(Arena *arena, Str prefix);
Str cluster_key_user_certificate_grants(Arena *arena, Str prefix);
/* A browser session, by its credential and the hash of its secret. */
Str cluster_key_browser(Arena *arena, Str prefix, Str credential, Str hash);
/* all sessions of one credential */
Str cluster_key_browser_of(Arena *arena, Str prefix, Str credential);
Str cluster_key_browser_all(Arena *arena, Str prefix);
/* Written with every session created from the credential, so that the next one can compare it. */
Str cluster_key_browser_grants(Arena *arena, Str prefix, Str credential);
Str cluster_key_audit(Arena *arena, Str prefix, uint64_t sequence);
Str cluster_key_audit_all(Arena *arena, Str prefix);
Str cluster_key_audit_head(Arena *arena, Str prefix);
Str cluster_key_idempotency(Arena *arena, Str prefix, Str request);
Str cluster_key_idempotency_all(Arena *arena, Str prefix);
