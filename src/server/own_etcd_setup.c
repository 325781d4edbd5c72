#include "server/own_etcd_setup.h"

#include <stdlib.h>

#include "base/memory.h"
#include "datastore/certificate.h"
#include "datastore/member_settings.h"
#include "datastore/server_member.h"

enum {
    START_MS = 60 * 1000, /* until etcd responds */
    STOP_MS = 30 * 1000,
};

/* --- Files ----------------------------------------------------------------------------------- */

bool own_etcd_make_ca(const Directory *server, const ServerSettings *settings, int64_t now_ms,
                      Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) ca = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    return ca_make(&arena, str_from_c(settings->cluster), now_ms, &ca, err) &&
           credential_save(server, DATASTORE_CA_KEY, ca.key, ca.chain, err);
}

static void add_name(Str *names, uint32_t *count, Str name)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (str_eq(names[i], name)) {
            return;
        }
    }
    names[(*count)++] = name;
}

/* The IP addresses that others connect to, and those that its own connections may come from. Names
 * are omitted: etcd would have to resolve them at each connection. */
static uint32_t list_names(Arena *arena, const ServerSettings *settings, Str **out)
{
    Str *names = ARENA_ARRAY(arena, Str, settings->name_count + 2);
    uint32_t count = 0;
    add_name(names, &count, settings->etcd_address);
    for (uint32_t i = 0; i < settings->name_count; i++) {
        Address address;
        Error err;
        if (address_parse(settings->names[i], 0, &address, &err) && address.kind == ADDRESS_IP) {
            add_name(names, &count, settings->names[i]);
        }
    }
    add_name(names, &count, STR("127.0.0.1"));
    *out = names;
    return count;
}

bool own_etcd_issue(const Directory *server, const ServerSettings *settings, int64_t now_ms,
                    Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) ca = { 0 };
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Str *names;
    arena_init(&arena, ARENA_UNLIMITED);
    uint32_t count = list_names(&arena, settings, &names);
    return credential_load(server, DATASTORE_CA_KEY, &arena, &ca, err) &&
           directory_make_child(server, DATASTORE_CERTIFICATES, &directory, err) &&
           datastore_certificate_save(&directory, &ca, names, count, now_ms,
                                      settings->serving_lifetime_ms, err);
}

bool own_etcd_write_settings(const Directory *server, const ServerSettings *settings,
                             const Str *endpoints, uint32_t count, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    MemberSettings member = { .address = settings->etcd_address,
                              .endpoints = endpoints,
                              .endpoint_count = count };
    memcpy(member.cluster, settings->cluster, sizeof member.cluster);
    memcpy(member.node, settings->node, sizeof member.node);
    member_settings_print(&member, &text);
    return directory_write(server, DATASTORE_SETTINGS, buf_str(&text), true, err);
}

bool own_etcd_prepare(const Directory *server, const ServerSettings *settings, const Str *endpoints,
                      uint32_t count, int64_t now_ms, Error *err)
{
    return own_etcd_issue(server, settings, now_ms, err) &&
           own_etcd_write_settings(server, settings, endpoints, count, err);
}

/* --- etcd while a cluster is created --------------------------------------------------------- */

struct OwnEtcdRun {
    Loop *loop;
    ServerMember *member;
    LoopTimer limit;
    bool is_late;
};

static bool is_settled(const OwnEtcdRun *run)
{
    LocalMemberStatus status = server_member_status(run->member);
    return (status.state == LOCAL_RUNNING && status.data_member_id != 0) ||
           status.state == LOCAL_WAITING || status.state == LOCAL_STOPPED;
}

static void changed(void *context)
{
    const OwnEtcdRun *run = context;
    if (run->member != NULL && is_settled(run)) {
        loop_stop(run->loop);
    }
}

static void took_too_long(void *context)
{
    OwnEtcdRun *run = context;
    run->is_late = true;
    loop_stop(run->loop);
}

static LocalMemberStatus wait_for_change(OwnEtcdRun *run, int64_t limit_ms)
{
    run->is_late = false;
    loop_timer_start(&run->limit, limit_ms);
    loop_run(run->loop);
    loop_timer_stop(&run->limit);
    return server_member_status(run->member);
}

bool own_etcd_run_start(const char *state_dir, OwnEtcdRun **out, Error *err)
{
    OwnEtcdRun *run = memory_new(sizeof *run);
    run->loop = loop_new();
    loop_timer_init(&run->limit, run->loop, took_too_long, run);
    *out = run;
    if (!server_member_open(&(ServerMemberOptions){ .loop = run->loop,
                                                    .state_dir = state_dir,
                                                    .is_new_cluster = true,
                                                    .changed = changed,
                                                    .context = run },
                            &run->member, err)) {
        return false;
    }
    LocalMemberStatus status = wait_for_change(run, START_MS);
    return (status.state == LOCAL_RUNNING && !run->is_late) ||
           error_set(err, ERROR_UNAVAILABLE, "etcd did not start: %s",
                     status.why[0] == '\0' ? "it is not responding" : status.why);
}

bool own_etcd_run_stop(OwnEtcdRun *run, Error *err)
{
    server_member_stop(run->member);
    LocalMemberStatus status = server_member_status(run->member);
    if (status.state != LOCAL_STOPPED) {
        status = wait_for_change(run, STOP_MS);
    }
    return status.state == LOCAL_STOPPED || error_set(err, ERROR_UNAVAILABLE, "etcd did not stop");
}

void own_etcd_run_free(OwnEtcdRun *run)
{
    if (run != NULL) {
        loop_timer_stop(&run->limit);
        server_member_free(run->member);
        loop_free(run->loop);
        free(run);
    }
}
