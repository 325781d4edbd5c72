/* Names of clusters and nodes, and the URI that identifies the owner of a certificate:
 *
 *     eden://CLUSTER/node/NAME
 *     eden://CLUSTER/user/NAME
 *
 * Nodes and users have separate types, so that they cannot be confused. Every identity has exactly
 * one spelling. Names are lowercase ASCII, so that names that look alike are equal, and safe
 * without escaping in keys, files, arguments and URIs: no "/", no "..", and no leading "-". */
#pragma once

#include "base/error.h"
#include "base/str.h"

enum {
    NODE_NAME_MAX = 63,
    CLUSTER_NAME_MAX = 40, /* it is part of the CA's name, where X.520 allows 64 */
    USER_NAME_MAX = NODE_NAME_MAX,
    IDENTITY_URI_MAX = 7 + CLUSTER_NAME_MAX + 6 + NODE_NAME_MAX,
};

/* A node name is 1 to 63 bytes long: labels of a-z, 0-9 and "-" separated by single dots; a label
 * starts and ends with a letter or digit. Fails with ERROR_INVALID and the reason. */
MUST_CHECK bool node_name_check(Str name, Error *err);
/* A cluster name is a single label of at most 40 bytes, without dots. */
MUST_CHECK bool cluster_name_check(Str name, Error *err);

typedef struct Identity {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
} Identity;

/* Checks both names. Fails with ERROR_INVALID. */
MUST_CHECK bool identity_make(Str cluster, Str node, Identity *out, Error *err);
/* Accepts only what identity_uri produces: no uppercase, port, query, escape or extra slash. Fails
 * with ERROR_INVALID. */
MUST_CHECK bool identity_parse(Str uri, Identity *out, Error *err);
/* Writes the URI and a NUL. */
void identity_uri(const Identity *identity, char out[IDENTITY_URI_MAX + 1]);
bool identity_equal(const Identity *a, const Identity *b);

/* Same rules as for a node. */
MUST_CHECK bool user_name_check(Str name, Error *err);

typedef struct UserIdentity {
    char cluster[CLUSTER_NAME_MAX + 1];
    char user[USER_NAME_MAX + 1];
} UserIdentity;

/* Like those above. */
MUST_CHECK bool user_identity_make(Str cluster, Str user, UserIdentity *out, Error *err);
MUST_CHECK bool user_identity_parse(Str uri, UserIdentity *out, Error *err);
void user_identity_uri(const UserIdentity *identity, char out[IDENTITY_URI_MAX + 1]);
