/* The settings of a server's own member of the datastore, and the names of its files. The server
 * writes them, the agent reads them: it runs etcd. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/identity.h"
#include "net/address.h"

/* In the state directory; belongs to the agent, except for etcd's data in it. */
#define DATASTORE_DIRECTORY "datastore"
/* In the server's directory: these settings; the CA with its key; a directory for the certificate
 * of the member (certificate.h). */
#define DATASTORE_SETTINGS     "datastore.json"
#define DATASTORE_CA_KEY       "datastore-ca.pem"
#define DATASTORE_CERTIFICATES "datastore"

enum {
    MEMBER_SETTINGS_MAX = 64 << 10, /* bytes */
};

typedef struct MemberSettings {
    char cluster[CLUSTER_NAME_MAX + 1]; /* name of the eden cluster, not of etcd's */
    char node[NODE_NAME_MAX + 1];
    Str address; /* IP address that the member listens on, for clients and for other members */
    /* Where members listen for clients, this one included: "10.0.0.5:2379". */
    const Str *endpoints;
    uint32_t endpoint_count;
} MemberSettings;

/* "eden.datastore-settings/1". */
void member_settings_print(const MemberSettings *settings, Buf *out);
/* Strings are in the arena or refer to the text. Fails with ERROR_INVALID. */
MUST_CHECK bool member_settings_read(Arena *arena, Str text, MemberSettings *out, Error *err);

/* Parses the IP address of a member, without a port. Fails with ERROR_INVALID. */
MUST_CHECK bool member_address_parse(Str text, Address *client, Address *peer, Error *err);
