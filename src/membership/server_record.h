/* The stored record of a server: "eden.server-record/1" under servers/<node>. Nodes receive all of
 * them, and connect to any. Pure. */
#pragma once

#include "base/enum_names.h"
#include "membership/node_record.h"

enum {
    SERVER_ADDRESSES_MAX = 100,
    SERVER_CAS_MAX = 2,
    SERVER_RECORD_MAX = 64 << 10, /* maximum size in bytes */
    SERVER_VERSION_MAX = 128,     /* maximum length in bytes */
    SERVER_MEMBER_ID = 16,        /* digits */
};

/* The member of the datastore that a server runs. */
typedef enum EtcdRole {
    ETCD_ROLE_UNKNOWN, /* the server does not know, or has no datastore of its own */
    ETCD_ROLE_NONE,
    ETCD_ROLE_DOWN, /* it is not responding */
    ETCD_ROLE_LEARNER,
    ETCD_ROLE_VOTER,
} EtcdRole;
DECLARE_ENUM_NAMES(EtcdRole, etcd_role)

typedef struct ServerRecord {
    char name[NODE_NAME_MAX + 1];
    int64_t added_ms;
    /* The following fields are set by the server itself when it starts. */
    int64_t started_ms; /* 0: it has never served */
    const Str *rpc;     /* addresses for nodes: "10.0.0.1:1337"; the first is preferred */
    uint32_t rpc_count;
    const Str *api; /* the same for the API, in the same order */
    uint32_t api_count;
    Pin cas[SERVER_CAS_MAX]; /* the CAs that it trusts and whose keys it has */
    uint32_t ca_count;
    Pin issuer;  /* the CA that has issued its own certificates; zero: unknown */
    Str version; /* of eden */
    /* IP address of the member of the datastore that it runs, if servers run the datastore. */
    Str etcd;
    EtcdRole etcd_role;
    char etcd_member[SERVER_MEMBER_ID + 1]; /* the member whose data it has; empty: none */
    Value unknown;                          /* fields that a newer server wrote */
} ServerRecord;

void server_record_print(const ServerRecord *record, Buf *out);
/* Strings are allocated in the arena or refer to the text. Fails with ERROR_INVALID. */
MUST_CHECK bool server_record_read(Arena *arena, Str text, ServerRecord *out, Error *err);
/* Whether it has the key of this CA. */
bool server_record_has_ca(const ServerRecord *record, const Pin *ca);
