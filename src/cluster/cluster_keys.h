/* The keys that the server's own objects have, by store/keys.h. Pure. */
#pragma once

#include "store/keys.h"

Str cluster_key_node(Arena *arena, Str prefix, Str name);
Str cluster_key_node_all(Arena *arena,
                         Str prefix); /* of these and of those that tell who is alive */
/* There with the lease of the node's session. */
Str cluster_key_alive(Arena *arena, Str prefix, Str name);
Str cluster_key_facts(Arena *arena, Str prefix, Str name);
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
