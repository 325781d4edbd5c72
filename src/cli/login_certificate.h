/* A certificate of one's own in place of a token, for who has logged in with one. */
#pragma once

#include "cli/cluster_client.h"

/* Makes a key here and asks for a certificate with the roles that `session` says, as the context
 * proves; then the context has both, and no token. The key leaves this machine never. Fails as the
 * server refuses. */
MUST_CHECK bool login_certificate(const Invocation *invocation, const ClusterEnd *end,
                                  Value session, int64_t timeout_ms, Context *context, Error *err);
