#include "server/registration.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/servers.h"

enum {
    RENEW_MS = REGISTRATION_LEASE_S * 1000 / 3,
    RETRY_MS = 1000,
};

struct Registration {
    RegistrationOptions options;
    Arena arena;
    Str server, alive_key;
    StateView view;
    bool is_writing, is_outdated; /* the record; it must be written again afterward */
    bool is_removed;
    int64_t lease;  /* 0: none */
    bool is_alive;  /* the key was put with this lease */
    bool is_asking; /* a request about the lease is in progress */
    bool is_ended;
    LoopTimer timer;
    uint32_t calls; /* callbacks that will still run */
    bool is_freed;
};

static void release(Registration *registration)
{
    if (registration->is_freed && registration->calls == 0) {
        arena_clear(&registration->arena);
        free(registration);
    }
}

/* --- Record ---------------------------------------------------------------------------------- */

static void on_registered(void *context, const Error *err)
{
    Registration *registration = context;
    registration->calls--;
    registration->is_writing = false;
    if (registration->is_freed) {
        release(registration);
        return;
    }
    if (err != NULL && err->kind == ERROR_DENIED) {
        if (!registration->is_removed) {
            registration->is_removed = true;
            registration->options.removed(registration->options.context, err);
        }
        return;
    }
    if (err != NULL) {
        log_warning("cannot announce this server", LOG_C("error", err->text));
        loop_timer_start(&registration->timer, RETRY_MS);
        registration->is_outdated = true;
    } else if (registration->is_outdated) {
        registration_update(registration);
    }
}

void registration_update(Registration *registration)
{
    if (registration == NULL || registration->is_removed || registration->is_ended) {
        return;
    }
    registration->is_outdated = registration->is_writing;
    if (registration->is_writing) {
        return;
    }
    AUTO_CLEAR(Arena) arena;
    ServerRecord record = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    registration->options.describe(registration->options.context, &arena, &record);
    registration->is_writing = true;
    registration->calls++;
    servers_register(&registration->options.cluster_store, &record, registration->options.is_shared,
                     on_registered, registration);
}

/* The record of this server was deleted: it was removed, or the record must be written again. */
static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    Registration *registration = context;
    if (now == NULL && before->kind == KEY_SERVER &&
        str_eq(before->parts[0], registration->server)) {
        registration_update(registration);
    }
}

/* --- Lease ----------------------------------------------------------------------------------- */

static void step(void *context);

static void next_step(Registration *registration, const Error *err)
{
    registration->calls--;
    registration->is_asking = false;
    if (registration->is_freed || registration->is_ended) {
        release(registration);
        return;
    }
    if (err != NULL && err->kind == ERROR_NOT_FOUND) {
        registration->lease = 0;
        registration->is_alive = false;
    }
    loop_timer_start(&registration->timer, err != NULL              ? RETRY_MS
                                           : registration->is_alive ? RENEW_MS
                                                                    : 0);
}

static void on_lease(void *context, const StoreLease *lease, const Error *err)
{
    Registration *registration = context;
    if (err == NULL) {
        registration->is_alive = registration->is_alive && registration->lease == lease->id;
        registration->lease = lease->id;
    }
    next_step(registration, err);
}

static void on_put(void *context, const StoreReply *reply, const Error *err)
{
    Registration *registration = context;
    registration->is_alive = err == NULL;
    next_step(registration, err);
}

/* Grants the lease, then puts the key, then renews the lease from time to time. */
static void step(void *context)
{
    Registration *registration = context;
    Store *store = registration->options.cluster_store.store;
    Error err;
    if (registration->is_outdated && !registration->is_writing) {
        registration_update(registration);
    }
    if (registration->is_asking || !registration->options.is_shared || registration->is_removed) {
        return;
    }
    bool ok =
        registration->lease == 0
            ? store_lease_grant_reserved(store, REGISTRATION_LEASE_S, on_lease, registration, &err)
        : !registration->is_alive
            ? store_put(store, registration->alive_key, STR("{}"), registration->lease, on_put,
                        registration, &err)
            : store_lease_keep_alive(store, registration->lease, on_lease, registration, &err);
    registration->is_asking = ok;
    registration->calls += ok;
    if (!ok) {
        loop_timer_start(&registration->timer, RETRY_MS);
    }
}

static void on_revoked(void *context, const StoreLease *lease, const Error *err)
{
    Registration *registration = context;
    registration->calls--;
    release(registration);
}

void registration_end(Registration *registration)
{
    Error err;
    if (registration == NULL || registration->is_ended) {
        return;
    }
    registration->is_ended = true;
    loop_timer_stop(&registration->timer);
    if (registration->lease != 0 &&
        store_lease_revoke(registration->options.cluster_store.store, registration->lease,
                           on_revoked, registration, &err)) {
        registration->calls++;
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

Registration *registration_new(const RegistrationOptions *options, Str server)
{
    Registration *registration = memory_new(sizeof *registration);
    registration->options = *options;
    arena_init(&registration->arena, ARENA_UNLIMITED);
    registration->server = arena_copy(&registration->arena, server);
    registration->alive_key =
        cluster_key_server_alive(&registration->arena, options->cluster_store.prefix, server);
    loop_timer_init(&registration->timer, options->cluster_store.loop, step, registration);
    registration->view =
        (StateView){ .kinds = STATE_KIND(KEY_SERVER), .changed = changed, .context = registration };
    registration_update(registration);
    state_attach(options->cluster_store.state, &registration->view);
    loop_timer_start(&registration->timer, 0);
    return registration;
}

void registration_free(Registration *registration)
{
    if (registration == NULL) {
        return;
    }
    loop_timer_stop(&registration->timer);
    state_detach(registration->options.cluster_store.state, &registration->view);
    registration->is_freed = true;
    release(registration);
}
