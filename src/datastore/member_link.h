/* Calls to one particular member of an etcd cluster, over a connection that is opened when it is
 * needed. Unlike EtcdClient (etcd/client.h), it asks no other member instead and repeats nothing.
 * Loop thread. */
#pragma once

#include "etcd/message.h"
#include "net/address.h"
#include "net/tls.h"

typedef struct MemberLink MemberLink;

/* The member's certificate must contain the host of the address. `tls` is of a client, for "h2";
 * borrowed. */
MemberLink *member_link_new(Loop *loop, const Address *address, TlsContext *tls);
/* Drops pending calls: their `done` is not called. NULL is allowed. Not allowed within `done`. */
void member_link_free(MemberLink *link);
DEFINE_AUTO(MemberLink, member_link_free)

const Address *member_link_address(const MemberLink *link);

/* `err` is NULL on success, and `response` is valid during the call. */
typedef void MemberLinkDone(void *context, Str response, const Error *err);
/* `path` is a literal. `done` follows in a later iteration. Only one call at a time. */
void member_link_call(MemberLink *link, const char *path, Str request, int64_t timeout_ms,
                      MemberLinkDone *done, void *context);

/* Where a member listens for clients: the address of "https://HOST:PORT". Fails with
 * ERROR_INVALID. */
MUST_CHECK bool member_url_parse(Str url, Address *out, Error *err);
