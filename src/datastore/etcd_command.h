/* The command line and environment of etcd. Pure. The command line contains no secrets. The
 * environment is fixed because etcd reads settings from variables such as ETCD_NAME. */
#pragma once

#include "etcd/message.h"
#include "net/address.h"

enum {
    ETCD_CLIENT_PORT = 2379,
    ETCD_PEER_PORT = 2380,
};

typedef struct EtcdCommand {
    const char *data_dir;
    /* Paths; the credential file contains the key and the certificate (pki/credential.h). */
    const char *credential, *ca;
    Str node;
    /* IP addresses to listen on; they are also the advertised addresses. */
    Address client, peer;
    const char *token;   /* etcd's initial cluster token */
    bool is_new_cluster; /* create a cluster instead of joining one */
    /* All members, including `own_id`. NULL if the member already has data or creates the
     * cluster. */
    const EtcdMembers *members;
    uint64_t own_id;
    int64_t quota_bytes;                /* 0: ETCD_QUOTA_BYTES */
    uint32_t heartbeat_ms, election_ms; /* 0: etcd's defaults */
} EtcdCommand;

#define ETCD_QUOTA_BYTES ((int64_t)4 << 30)

/* Returns a URL such as "https://10.0.0.1:2380". */
Str etcd_url(Arena *arena, const Address *address);
/* The arguments begin with "etcd". Both lists end with NULL. */
const char *const *etcd_command_arguments(Arena *arena, const EtcdCommand *command);
const char *const *etcd_command_environment(void);
