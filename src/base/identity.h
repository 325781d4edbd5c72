/* What clusters and nodes are called, and the one way in which a certificate says whose it is:
 *
 *     eden://CLUSTER/node/NAME
 *     eden://CLUSTER/user/NAME
 *
 * Nodes and users have types of their own, so that nobody takes one for the other.
 * There is exactly one spelling for each identity. Names are lower case and plain ASCII, so that
 * two names which look the same are the same, and safe as they are in keys, files, arguments and
 * URIs: no "/", no "..", nothing that starts with "-", nothing to escape. */
#pragma once

#include "base/error.h"
#include "base/str.h"

enum {
    NODE_NAME_MAX = 63,
    CLUSTER_NAME_MAX = 40, /* it is part of the CA's name, and X.520 allows 64 there */
    USER_NAME_MAX = NODE_NAME_MAX,
    IDENTITY_URI_MAX = 7 + CLUSTER_NAME_MAX + 6 + NODE_NAME_MAX,
};

/* Of a node: 1 to 63 bytes, labels of a-z, 0-9 and "-" with single dots between them; a label
 * starts and ends with a letter or digit. Fails with ERROR_INVALID and the reason. */
MUST_CHECK bool node_name_check(Str name, Error *err);
/* Of a cluster: one label of at most 40 bytes, so without dots. */
MUST_CHECK bool cluster_name_check(Str name, Error *err);

typedef struct Identity {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
} Identity;

/* From names that are checked here again. Fails with ERROR_INVALID. */
MUST_CHECK bool identity_make(Str cluster, Str node, Identity *out, Error *err);
/* Takes what identity_uri gives and nothing else: no other case, no port, query, escape or slash
 * more. Fails with ERROR_INVALID. */
MUST_CHECK bool identity_parse(Str uri, Identity *out, Error *err);
/* Writes the URI and a NUL. */
void identity_uri(const Identity *identity, char out[IDENTITY_URI_MAX + 1]);
bool identity_equal(const Identity *a, const Identity *b);

/* Of a user: as of a node. */
MUST_CHECK bool user_name_check(Str name, Error *err);

typedef struct UserIdentity {
    char cluster[CLUSTER_NAME_MAX + 1];
    char user[USER_NAME_MAX + 1];
} UserIdentity;

/* As those above. */
MUST_CHECK bool user_identity_make(Str cluster, Str user, UserIdentity *out, Error *err);
MUST_CHECK bool user_identity_parse(Str uri, UserIdentity *out, Error *err);
void user_identity_uri(const UserIdentity *identity, char out[IDENTITY_URI_MAX + 1]);
