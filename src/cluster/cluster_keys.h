/* The keys that the server's own objects have, by store/keys.h. Pure. */
#pragma once

#include "store/keys.h"

/* Records of the servers' own are below internal/<kind>: these kinds, ended by NULL. No object of the API
 * is there, whatever its kind is called. */
extern const char *const cluster_internal_kinds[];
Str cluster_key_internal_all(Arena *arena, Str prefix, const char *kind); /* what they start with */

Str cluster_key_node(Arena *arena, Str prefix, Str name);
Str cluster_key_node_all(Arena *arena,
                         Str prefix); /* of these and of those that tell who is alive */
/* There with the lease of the node's session. */
Str cluster_key_alive(Arena *arena, Str prefix, Str name);
/* Since when it has none; it stays when the node comes back, and means nothing then. */
Str cluster_key_silent(Arena *arena, Str prefix, Str name);
/* There while something is left of a node that was removed; what all of these start with. */
Str cluster_key_removed(Arena *arena, Str prefix, Str name);
Str cluster_key_removed_all(Arena *arena, Str prefix);
Str cluster_key_facts(Arena *arena, Str prefix, Str name);
/* What it has said about its trust; what all of these start with. */
Str cluster_key_trust_of(Arena *arena, Str prefix, Str name);
Str cluster_key_trust_all(Arena *arena, Str prefix);
/* How far its session is; what all of its logs and orders start with. */
Str cluster_key_session(Arena *arena, Str prefix, Str name);
Str cluster_key_logs(Arena *arena, Str prefix, Str name);
Str cluster_key_orders(Arena *arena, Str prefix, Str name);
Str cluster_key_joining(Arena *arena, Str prefix, Str name);
Str cluster_key_joining_all(Arena *arena, Str prefix); /* what all of them start with */
Str cluster_key_token(Arena *arena, Str prefix, Str id);
Str cluster_key_token_all(Arena *arena, Str prefix);
Str cluster_key_nonce(Arena *arena, Str prefix, Str nonce);
Str cluster_key_revocations(Arena *arena, Str prefix);
/* There when internal records are where this version keeps them (cluster/key_moves.h). */
Str cluster_key_moved(Arena *arena, Str prefix);
/* By which servers seal the places in lists. */
Str cluster_key_cursor_key(Arena *arena, Str prefix);
/* Which store this is, as the settings of its server have it: a foreign one is noticed. */
Str cluster_key_store_id(Arena *arena, Str prefix);
/* There with the lease of the server that leads. */
Str cluster_key_leader(Arena *arena, Str prefix);
/* What a server writes to see whether it can. */
Str cluster_key_probe(Arena *arena, Str prefix, Str server);
/* What nodes are told about trust; how far the rotation of the CA is; for whom that does not wait. */
Str cluster_key_trust(Arena *arena, Str prefix);
Str cluster_key_rotation(Arena *arena, Str prefix);
Str cluster_key_without(Arena *arena, Str prefix, Str name);
Str cluster_key_without_all(Arena *arena, Str prefix);

/* --- Of the API ------------------------------------------------------------------------------ */

/* A plain object of a kind, which is written in small letters: "role". */
Str cluster_key_object(Arena *arena, Str prefix, Str kind, Str name);
Str cluster_key_object_all(Arena *arena, Str prefix, Str kind);
Str cluster_key_role(Arena *arena, Str prefix, Str name);
Str cluster_key_role_all(Arena *arena, Str prefix);
Str cluster_key_access_token(Arena *arena, Str prefix, Str id);
Str cluster_key_access_token_all(Arena *arena, Str prefix);
Str cluster_key_user_certificate(Arena *arena, Str prefix, Str serial);
Str cluster_key_user_certificate_all(Arena *arena, Str prefix);
/* Changed with every such record that names roles: what a role's deletion is compared with. */
Str cluster_key_access_token_grants(Arena *arena, Str prefix);
Str cluster_key_user_certificate_grants(Arena *arena, Str prefix);
Str cluster_key_grants_all(Arena *arena, Str prefix);
/* Of a session of a browser, by what it was made from and the hash of its secret. */
Str cluster_key_browser(Arena *arena, Str prefix, Str credential, Str hash);
Str cluster_key_browser_of(Arena *arena, Str prefix, Str credential); /* all of one credential */
Str cluster_key_browser_all(Arena *arena, Str prefix);
/* Changed with every session that is made from the credential: what its next one is compared with. */
Str cluster_key_browser_grants(Arena *arena, Str prefix, Str credential);
Str cluster_key_audit(Arena *arena, Str prefix, uint64_t sequence);
Str cluster_key_audit_all(Arena *arena, Str prefix);
Str cluster_key_audit_head(Arena *arena, Str prefix);
Str cluster_key_idempotency(Arena *arena, Str prefix, Str request);
Str cluster_key_idempotency_all(Arena *arena, Str prefix);
