#include "server/founding.h"

#include <stdio.h>

#include "cluster/cluster_keys.h"
#include "cluster/node_record.h"
#include "pki/ca.h"
#include "store/store.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct Work {
    const Founding *founding;
    Arena arena;
    Directory server, agent;
    Credential ca;
    NodeRecord node;
} Work;

/* --- Certificates ---------------------------------------------------------------------------- */

static bool make_node(Work *work, Error *err)
{
    const ServerSettings *settings = &work->founding->settings;
    AUTO(P256Private) *key = NULL;
    Certificate certificate;
    NodeGrant grant = { .now_ms = work->founding->now_ms };
    NodeRecord *node = &work->node;
    *node = (NodeRecord){ .is_server = true,
                          .joined_ms = work->founding->now_ms,
                          .labels = value_missing() };
    snprintf(node->name, sizeof node->name, "%s", settings->node);
    if (!p256_private_make(&key, err) || !p256_public_of(key, &grant.key, err) ||
        !enrolment_make(node->enrolment, err) ||
        !identity_make(str_from_c(settings->cluster), str_from_c(settings->node), &grant.identity,
                       err)) {
        return false;
    }
    grant.enrolment = str_from_c(node->enrolment);
    if (!ca_issue_node(&work->arena, &work->ca, &grant, &certificate, err)) {
        return false;
    }
    p256_public_pin(&grant.key, &node->key);
    snprintf(node->serial, sizeof node->serial, "%s", certificate.serial);
    node->not_after_ms = certificate.not_after_ms;
    return credential_save(&work->agent, AGENT_CREDENTIAL, key, (CertificateSet){ &certificate, 1 },
                           err) &&
           directory_write(&work->agent, AGENT_BUNDLE,
                           certificate_pem(&work->arena, &work->ca.chain.items[0]), true, err);
}

static bool make_serving(Work *work, Error *err)
{
    const ServerSettings *settings = &work->founding->settings;
    AUTO(P256Private) *key = NULL;
    Certificate certificate;
    ServingGrant grant = { .names = settings->names,
                           .name_count = settings->name_count,
                           .now_ms = work->founding->now_ms };
    return p256_private_make(&key, err) && p256_public_of(key, &grant.key, err) &&
           ca_issue_serving(&work->arena, &work->ca, &grant, &certificate, err) &&
           credential_save(&work->server, SERVER_SERVING, key, (CertificateSet){ &certificate, 1 },
                           err);
}

static bool make_certificates(Work *work, Error *err)
{
    return ca_make(&work->arena, str_from_c(work->founding->settings.cluster),
                   work->founding->now_ms, &work->ca, err) &&
           credential_save(&work->server, SERVER_CA, work->ca.key, work->ca.chain, err) &&
           make_node(work, err) && make_serving(work, err);
}

/* --- The store ------------------------------------------------------------------------------- */

typedef struct Write {
    Loop *loop;
    bool ok;
    Error err;
} Write;

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Write *write = context;
    write->ok = err == NULL;
    write->err = err == NULL ? write->err : *err;
    loop_stop(write->loop);
}

/* What an earlier founding left there is of no cluster. */
static bool write_store(Work *work, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    Arena *arena = &work->arena;
    const char *path =
        arena_format(arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE, work->founding->state_dir)
            .data;
    Str all = STORE_KEYS_PREFIX, name = str_from_c(work->node.name);
    Buf record = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(&work->node, &record);
    if (!store_open_sqlite(loop, path, NULL, &store, err)) {
        return false;
    }
    Write write = { .loop = loop };
    StoreOp clear = { .kind = STORE_DELETE, .key = all, .end = store_prefix_end(arena, all) };
    if (!store_op(store, &clear, written, &write, err)) {
        return false;
    }
    loop_run(loop);
    if (write.ok) {
        write.ok = false;
        if (!store_put(store, cluster_key_node(arena, STORE_KEYS_PREFIX, name), buf_str(&record), 0,
                       written, &write, err)) {
            return false;
        }
        loop_run(loop);
    }
    *err = write.err;
    return write.ok;
}

/* --- All of it ------------------------------------------------------------------------------- */

static bool open_directories(Work *work, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    return directory_make(work->founding->state_dir, &state, err) &&
           directory_make_child(&state, SERVER_DIRECTORY, &work->server, err) &&
           directory_make_child(&state, AGENT_DIRECTORY, &work->agent, err);
}

static bool refuse_second(const Work *work, Error *err)
{
    if (directory_has(&work->server, SERVER_SETTINGS_FILE)) {
        return error_set(err, ERROR_CONFLICT, "there is a cluster already, in %s",
                         work->server.path);
    }
    if (directory_has(&work->agent, AGENT_CREDENTIAL) && !directory_has(&work->server, SERVER_CA)) {
        return error_set(err, ERROR_CONFLICT,
                         "this machine belongs to a cluster already; 'eden leave' takes it out");
    }
    return true;
}

static bool write_settings(Work *work, Error *err)
{
    Buf text = buf_make_in(&work->arena, BUF_UNLIMITED);
    server_settings_print(&work->founding->settings, &text);
    return directory_write(&work->server, SERVER_SETTINGS_FILE, buf_str(&text), true, err);
}

bool cluster_found(const Founding *founding, Pin *ca, Error *err)
{
    Work work = { .founding = founding,
                  .server = { .descriptor = -1 },
                  .agent = { .descriptor = -1 } };
    arena_init(&work.arena, ARENA_UNLIMITED);
    bool ok = open_directories(&work, err) && refuse_second(&work, err) &&
              make_certificates(&work, err) && write_store(&work, err) &&
              write_settings(&work, err);
    if (ok) {
        *ca = work.ca.chain.items[0].pin;
    }
    credential_clear(&work.ca);
    directory_close(&work.server);
    directory_close(&work.agent);
    arena_clear(&work.arena);
    return ok;
}
