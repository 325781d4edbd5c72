#include "datastore/etcd_command.h"

#include <inttypes.h>

#include "base/vec.h"
#include "pki/ca.h"

typedef VEC(const char *) Words;

static void put(Arena *arena, Words *words, const char *option, const char *value)
{
    VEC_PUSH(arena, words, option);
    VEC_PUSH(arena, words, value);
}

static void put_number(Arena *arena, Words *words, const char *option, int64_t number)
{
    put(arena, words, option, arena_copy_c(arena, arena_format(arena, "%" PRId64, number)));
}

Str etcd_url(Arena *arena, const Address *address)
{
    Buf url = buf_make_in(arena, BUF_UNLIMITED);
    buf_put(&url, STR("https://"));
    address_format(address, &url);
    return buf_str(&url);
}

/* All members, with unique names: those of others do not matter, but must not be the own one, nor
 * contain what separates members. */
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
        if (member->id == command->own) {
            buf_put(&list, command->node);
        } else {
            buf_put_format(&list, "_%" PRIx64, member->id);
        }
        buf_put_format(&list, "=%" STR_FMT, STR_ARG(member->peer_url));
    }
    return arena_copy_c(arena, buf_str(&list));
}

static void put_addresses(Arena *arena, Words *words, const EtcdCommand *command)
{
    const char *client = arena_copy_c(arena, etcd_url(arena, &command->client));
    const char *peer = arena_copy_c(arena, etcd_url(arena, &command->peer));
    put(arena, words, "--listen-client-urls", client);
    put(arena, words, "--advertise-client-urls", client);
    put(arena, words, "--listen-peer-urls", peer);
    put(arena, words, "--initial-advertise-peer-urls", peer);
}

/* Only members have the name that other members accept, so clients cannot act as one. */
static void put_tls(Arena *arena, Words *words, const EtcdCommand *command)
{
    put(arena, words, "--cert-file", command->credential);
    put(arena, words, "--key-file", command->credential);
    put(arena, words, "--trusted-ca-file", command->ca);
    VEC_PUSH(arena, words, "--client-cert-auth");
    put(arena, words, "--peer-cert-file", command->credential);
    put(arena, words, "--peer-key-file", command->credential);
    put(arena, words, "--peer-trusted-ca-file", command->ca);
    VEC_PUSH(arena, words, "--peer-client-cert-auth");
    put(arena, words, "--peer-cert-allowed-cn", DATASTORE_MEMBER_NAME);
}

const char *const *etcd_command_arguments(Arena *arena, const EtcdCommand *command)
{
    Words words = { 0 };
    VEC_PUSH(arena, &words, "etcd");
    put(arena, &words, "--name", arena_copy_c(arena, command->node));
    put(arena, &words, "--data-dir", command->data_dir);
    put_addresses(arena, &words, command);
    put_tls(arena, &words, command);
    put(arena, &words, "--initial-cluster", initial_cluster(arena, command));
    put(arena, &words, "--initial-cluster-state", command->creates ? "new" : "existing");
    put(arena, &words, "--initial-cluster-token", command->token);
    /* What store.h allows. */
    put(arena, &words, "--max-request-bytes", "4194304");
    put(arena, &words, "--max-txn-ops", "512");
    put_number(arena, &words, "--quota-backend-bytes",
               command->quota_bytes == 0 ? ETCD_QUOTA_BYTES : command->quota_bytes);
    put(arena, &words, "--auto-compaction-retention", "0"); /* servers compact */
    VEC_PUSH(arena, &words, "--pre-vote"); /* a member that returns does not cause an election */
    VEC_PUSH(arena, &words, "--strict-reconfig-check");
    VEC_PUSH(arena, &words, "--enable-grpc-gateway=false");
    put(arena, &words, "--logger", "zap");
    put(arena, &words, "--log-level", "warn");
    put(arena, &words, "--log-outputs", "stderr");
    if (command->heartbeat_ms > 0) {
        put_number(arena, &words, "--heartbeat-interval", command->heartbeat_ms);
        put_number(arena, &words, "--election-timeout", command->election_ms);
    }
    VEC_PUSH(arena, &words, NULL);
    return words.items;
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
