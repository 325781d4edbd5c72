/* Fetches the key of a CA that the store names and that is missing here, because another server has
 * begun a rotation: from the other servers, over mutual TLS. Loop thread only. */
#pragma once

#include "membership/authority.h"
#include "server/peers.h"

typedef struct CaFetch CaFetch;

/* All of them must outlive it. */
CaFetch *ca_fetch_new(const Directory *directory, Authority *authority, Peers *peers);
/* Must be called before the peers are freed. NULL is allowed. */
void ca_fetch_free(CaFetch *fetch);
DEFINE_AUTO(CaFetch, ca_fetch_free)

/* Starts fetching if a key is missing and no attempt is in progress. NULL is allowed. */
void ca_fetch_check(CaFetch *fetch);
