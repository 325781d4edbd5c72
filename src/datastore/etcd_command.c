#include "datastore/etcd_command.h"

#include <inttypes.h>

#include "base/vec.h"
#include "pki/ca.h"

typedef VEC(const char *) Arguments;

static void put_option(Arena *arena, Arguments *arguments, const char *option, const char *value)
{
    VEC_PUSH(arena, arguments, option);
    VEC_PUSH(arena, arguments, value);
}

static void put_number(Arena *arena, Arguments *arguments, const char *option, int64_t number)
{
    put_option(arena, arguments, option,
               arena_copy_c(arena, arena_format(arena, "%" PRId64, number)));
}

Str etcd_url(Arena *arena, const Address *address)
{
    Buf url = buf_make_in(arena, BUF_UNLIMITED);
    buf_put(&url, STR("https://"));
    address_format(address, &url);
    return buf_str(&url);
}

/* Lists all members under unique names. The names given to other members are arbitrary; they must
 * only differ from this member's name and contain no separators. */
static const char *initial_cluster(Arena *arena, const EtcdCommand *command)
{
    Buf list = buf_make_in(arena, BUF_UNLIMITED);
    if (command->members == NULL) {
        Str url = etcd_url(arena, &command->peer);
        buf_put_format(&list, "%" STR_FMT "=%" STR_FMT, STR_ARG(command->node), STR_ARG(url));
    }
    for (uint32_t i = 0; command->members != NULL && i < command->members->count; i++) {
        const EtcdMember *member = &command->members->items[i];
        if (i > 0) {
            buf_put(&list, STR(","));
        }
        if (member->id == command->own_id) {
            buf_put(&list, command->node);
        } else {
            buf_put_format(&list, "_%" PRIx64, member->id);
        }
        buf_put_format(&list, "=%" STR_FMT, STR_ARG(member->peer_url));
    }
    return arena_copy_c(arena, buf_str(&list));
}

static void put_addresses(Arena *arena, Arguments *arguments, const EtcdCommand *command)
{
    const char *client = arena_copy_c(arena, etcd_url(arena, &command->client));
    const char *peer = arena_copy_c(arena, etcd_url(arena, &command->peer));
    put_option(arena, arguments, "--listen-client-urls", client);
    put_option(arena, arguments, "--advertise-client-urls", client);
    put_option(arena, arguments, "--listen-peer-urls", peer);
    put_option(arena, arguments, "--initial-advertise-peer-urls", peer);
}

/* Peers must present the common name of member certificates, so a client certificate cannot be used
 * to act as a member. */
static void put_tls(Arena *arena, Arguments *arguments, const EtcdCommand *command)
{
    put_option(arena, arguments, "--cert-file", command->credential);
    put_option(arena, arguments, "--key-file", command->credential);
    put_option(arena, arguments, "--trusted-ca-file", command->ca);
    VEC_PUSH(arena, arguments, "--client-cert-auth");
    put_option(arena, arguments, "--peer-cert-file", command->credential);
    put_option(arena, arguments, "--peer-key-file", command->credential);
    put_option(arena, arguments, "--peer-trusted-ca-file", command->ca);
    VEC_PUSH(arena, arguments, "--peer-client-cert-auth");
    put_option(arena, arguments, "--peer-cert-allowed-cn", DATASTORE_MEMBER_NAME);
}

const char *const *etcd_command_arguments(Arena *arena, const EtcdCommand *command)
{
    Arguments arguments = { 0 };
    VEC_PUSH(arena, &arguments, "etcd");
    put_option(arena, &arguments, "--name", arena_copy_c(arena, command->node));
    put_option(arena, &arguments, "--data-dir", command->data_dir);
    put_addresses(arena, &arguments, command);
    put_tls(arena, &arguments, command);
    put_option(arena, &arguments, "--initial-cluster", initial_cluster(arena, command));
    put_option(arena, &arguments, "--initial-cluster-state",
               command->is_new_cluster ? "new" : "existing");
    put_option(arena, &arguments, "--initial-cluster-token", command->token);
    /* The limits of store.h. */
    put_option(arena, &arguments, "--max-request-bytes", "4194304");
    put_option(arena, &arguments, "--max-txn-ops", "512");
    put_number(arena, &arguments, "--quota-backend-bytes",
               command->quota_bytes == 0 ? ETCD_QUOTA_BYTES : command->quota_bytes);
    put_option(arena, &arguments, "--auto-compaction-retention",
               "0");                           /* compaction is done by eden's servers */
    VEC_PUSH(arena, &arguments, "--pre-vote"); /* a member that rejoins causes no election */
    VEC_PUSH(arena, &arguments, "--strict-reconfig-check");
    VEC_PUSH(arena, &arguments, "--enable-grpc-gateway=false");
    put_option(arena, &arguments, "--logger", "zap");
    put_option(arena, &arguments, "--log-level", "warn");
    put_option(arena, &arguments, "--log-outputs", "stderr");
    if (command->heartbeat_ms > 0) {
        put_number(arena, &arguments, "--heartbeat-interval", command->heartbeat_ms);
        put_number(arena, &arguments, "--election-timeout", command->election_ms);
    }
    VEC_PUSH(arena, &arguments, NULL);
    return arguments.items;
}

const char *const *etcd_command_environment(void)
{
    /* etcd 3.4 starts on arm64 only with this variable; elsewhere it is ignored with a warning. */
    static const char *const variables[] = {
#ifdef __aarch64__
        "ETCD_UNSUPPORTED_ARCH=arm64",
#endif
        "PATH=/usr/bin:/bin", NULL
    };
    return variables;
}
