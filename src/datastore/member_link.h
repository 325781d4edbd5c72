/* Calls to one particular member of an etcd cluster, over a connection that is opened on demand.
 * Unlike EtcdClient (etcd/client.h), it does not fail over to other members and does not retry.
 * Loop thread. */
#pragma once

#include "etcd/message.h"
#include "net/address.h"
#include "net/tls.h"

typedef struct MemberLink MemberLink;

/* The member's certificate must be valid for the host of the address. `tls` is a client context for
 * protocol "h2"; borrowed. */
MemberLink *member_link_new(Loop *loop, const Address *address, TlsContext *tls);
/* Drops a pending call without calling its `done`. NULL is allowed. Must not be called from
 * `done`. */
void member_link_free(MemberLink *link);
DEFINE_AUTO(MemberLink, member_link_free)

const Address *member_link_address(const MemberLink *link);

/* `err` is NULL on success; `response` is valid during the call. */
typedef void MemberLinkDone(void *context, Str response, const Error *err);
/* `path` must be a string literal. `done` is called in a later loop iteration. Only one call at a
 * time is allowed. */
void member_link_call(MemberLink *link, const char *path, Str request, int64_t timeout_ms,
                      MemberLinkDone *done, void *context);

/* Parses a client URL of the form "https://HOST:PORT". Fails with ERROR_INVALID. */
MUST_CHECK bool member_url_parse(Str url, Address *out, Error *err);
