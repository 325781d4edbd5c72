/* Decides which callers may call which method. Pure. */
#pragma once

#include "base/identity.h"
#include "rpc/methods.h"

/* What is known about the caller, from the kernel or a verified certificate, and from the node's
 * record. Nothing in it comes from a message. */
typedef struct Caller {
    bool is_local;    /* connected through the Unix socket */
    bool is_operator; /* if local: root, or a member of the operators' group */

    bool has_identity; /* has the certificate of a node */
    Identity identity;
    bool is_member;   /* the node belongs to this cluster */
    bool is_approved; /* by the node's record, for the enrollment of this certificate */
    bool is_revoked;
    bool is_server;
} Caller;

/* `row` is NULL for a method that does not exist; the decision is then whether the caller may
 * learn that. Fails with ERROR_DENIED and the reason. `only_self`: the request must be about the
 * caller. */
MUST_CHECK bool access_check(const MethodRow *row, const Caller *caller, bool *only_self,
                             Error *err);
/* Checks that a request is about this node: every field 1, if present, is its name or empty. Fails
 * with ERROR_DENIED, or with ERROR_INVALID if the message is invalid. */
MUST_CHECK bool access_check_self(Str message, const char *node, Error *err);

/* Checks the header field "eden-protocol". Fails with ERROR_INVALID and a message that names both
 * protocols. */
MUST_CHECK bool access_check_protocol(Str header, Error *err);
#define PROTOCOL_HEADER "eden-protocol"
