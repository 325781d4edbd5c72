/* The command line of etcd. Pure. There is no secret in it, and the environment of etcd is fixed,
 * too: etcd would read variables such as ETCD_NAME as settings. */
#pragma once

#include "etcd/message.h"
#include "net/address.h"

enum {
    ETCD_CLIENT_PORT = 2379,
    ETCD_PEER_PORT = 2380,
};

typedef struct EtcdCommand {
    const char *data_dir;
    /* Files; the credential contains key and certificate (pki/credential.h). */
    const char *credential, *ca;
    Str node;
    /* IP addresses to listen on; others connect to the same addresses. */
    Address client, peer;
    const char *token; /* distinguishes new clusters */
    bool creates;      /* a new cluster; otherwise it joins one */
    /* Including this one, `own`; NULL: it has data, or creates a cluster. */
    const EtcdMembers *members;
    uint64_t own;
    int64_t quota_bytes;                /* 0: ETCD_QUOTA_BYTES */
    uint32_t heartbeat_ms, election_ms; /* 0: etcd's defaults */
} EtcdCommand;

#define ETCD_QUOTA_BYTES ((int64_t)4 << 30)

/* "https://10.0.0.1:2380". */
Str etcd_url(Arena *arena, const Address *address);
/* The arguments, starting with "etcd" and ending with NULL, and the environment. */
const char *const *etcd_command_arguments(Arena *arena, const EtcdCommand *command);
const char *const *etcd_command_environment(void);
