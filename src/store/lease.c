/* Leases. Their remaining time is only tracked by the loop thread; the file just lists them. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "store/local_store.h"

enum {
    LEASES_FIRST = 64,
    RETRY_MS = 1000, /* delay before a failed deletion of the keys of an expired lease is retried */
};

struct Lease {
    LocalStore *store;
    Lease *next; /* next lease with the same hash */
    int64_t id, ttl_s;
    int64_t due_ms;
    LoopTimer timer;
    bool is_ended; /* the lease has expired or was revoked */
};

static Lease **slot_of(Leases *leases, int64_t id)
{
    return &leases->slots[hash_u64((uint64_t)id + hash_seed()) & (leases->cap - 1)];
}

static Lease *find(LocalStore *store, int64_t id)
{
    if (store->leases.cap == 0) {
        return NULL;
    }
    Lease *lease = *slot_of(&store->leases, id);
    while (lease != NULL && lease->id != id) {
        lease = lease->next;
    }
    return lease;
}

static void grow(Leases *leases)
{
    Leases grown = { .cap = leases->cap == 0 ? LEASES_FIRST : leases->cap * 2 };
    grown.slots = calloc(grown.cap, sizeof(Lease *));
    if (grown.slots == NULL) {
        memory_exhausted(grown.cap * sizeof(Lease *));
    }
    for (uint32_t i = 0; i < leases->cap; i++) {
        for (Lease *lease = leases->slots[i]; lease != NULL;) {
            Lease *next = lease->next;
            Lease **slot = slot_of(&grown, lease->id);
            lease->next = *slot;
            *slot = lease;
            lease = next;
        }
    }
    free(leases->slots);
    leases->slots = grown.slots;
    leases->cap = grown.cap;
}

/* --- Expiration ------------------------------------------------------------------------------ */

/* The running timer is not restarted: most leases are renewed many times before it fires, and then
 * it checks the remaining time. */
static void renew(Lease *lease)
{
    lease->due_ms = loop_now_ms(lease->store->base.loop) + lease->ttl_s * 1000;
    if (!loop_timer_started(&lease->timer)) {
        loop_timer_start(&lease->timer, lease->ttl_s * 1000);
    }
}

static void expire(void *context)
{
    Lease *lease = context;
    int64_t remaining = lease->due_ms - loop_now_ms(lease->store->base.loop);
    if (remaining > 0) {
        loop_timer_start(&lease->timer, remaining);
        return;
    }
    lease->is_ended = true;
    Job *job = job_new(JOB_REVOKE);
    job->lease = lease->id;
    store_start_write(lease->store, job);
}

static void add(LocalStore *store, int64_t id, int64_t ttl_s)
{
    Leases *leases = &store->leases;
    if (leases->count == leases->cap) {
        grow(leases);
    }
    Lease *lease = memory_new(sizeof *lease);
    Lease **slot = slot_of(leases, id);
    *lease = (Lease){ .store = store, .next = *slot, .id = id, .ttl_s = ttl_s };
    *slot = lease;
    leases->count++;
    loop_timer_init(&lease->timer, store->base.loop, expire, lease);
    renew(lease);
}

static void drop(LocalStore *store, int64_t id)
{
    if (find(store, id) == NULL) {
        return;
    }
    Lease **slot = slot_of(&store->leases, id);
    while ((*slot)->id != id) {
        slot = &(*slot)->next;
    }
    Lease *lease = *slot;
    *slot = lease->next;
    store->leases.count--;
    loop_timer_stop(&lease->timer);
    free(lease);
}

static int64_t remaining_s(const Lease *lease)
{
    int64_t remaining = lease->due_ms - loop_now_ms(lease->store->base.loop);
    return lease->is_ended || remaining <= 0 ? 0 : (remaining + 999) / 1000;
}

void leases_job_done(LocalStore *store, Job *job)
{
    Lease *lease;
    switch (job->kind) {
    case JOB_GRANT:
        store->leases.granting--;
        if (job->ok) {
            add(store, job->lease, job->ttl_s);
            job->remaining_s = job->ttl_s;
        }
        break;
    case JOB_REVOKE:
        lease = find(store, job->lease);
        job->ttl_s = lease == NULL ? 0 : lease->ttl_s;
        if (job->ok || job->err.kind == ERROR_NOT_FOUND) {
            drop(store, job->lease);
        } else if (lease != NULL && lease->is_ended && !loop_timer_started(&lease->timer)) {
            /* Called for an expired lease; the writer has already logged the reason for the
             * failure. */
            loop_timer_start(&lease->timer, RETRY_MS);
        }
        break;
    case JOB_LEASE_KEYS:
        lease = find(store, job->lease);
        if (lease == NULL && job->ok) {
            job->ok = error_set(&job->err, ERROR_NOT_FOUND, "lease %lld not found",
                                (long long)job->lease);
        }
        if (lease != NULL) {
            job->ttl_s = lease->ttl_s;
            job->remaining_s = remaining_s(lease);
        }
        break;
    default: break;
    }
}

static void load_visit(void *context, int64_t id, int64_t ttl_s)
{
    add(context, id, ttl_s);
}

bool leases_load(LocalStore *store, Error *err)
{
    return store->reader->kind->walk_leases(store->reader, load_visit, store, err);
}

void leases_clear(LocalStore *store)
{
    Leases *leases = &store->leases;
    for (uint32_t i = 0; i < leases->cap; i++) {
        while (leases->slots[i] != NULL) {
            drop(store, leases->slots[i]->id);
        }
    }
    free(leases->slots);
    *leases = (Leases){ 0 };
}

/* --- Calls ----------------------------------------------------------------------------------- */

static Job *lease_job(JobKind kind, int64_t id, StoreLeaseDone *done, void *context)
{
    Job *job = job_new(kind);
    job->bytes = sizeof *job;
    job->lease = id;
    job->lease_done = done;
    job->context = context;
    return job;
}

bool local_lease_grant(Store *base, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                       void *context, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    uint32_t max = grant->is_reserved ? STORE_LEASES_MAX : STORE_LEASES_MAX - STORE_LEASES_RESERVED;
    if (store->leases.count + store->leases.granting >= max) {
        return error_set(err, ERROR_LIMIT, "there are already %u leases", max);
    }
    if (!job_admit(store, sizeof(Job), err)) {
        return false;
    }
    /* A collision with an existing ID is detected when the lease is written. */
    int64_t id = grant->id;
    while (id == 0) {
        id = (int64_t)(loop_random(store->base.loop) >> 1);
    }
    Job *job = lease_job(JOB_GRANT, id, done, context);
    job->ttl_s = grant->ttl_s;
    job->txn.urgent = grant->is_reserved;
    store->leases.granting++;
    store_start_write(store, job);
    return true;
}

bool local_lease_revoke(Store *base, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    if (!job_admit(store, sizeof(Job), err)) {
        return false;
    }
    store_start_write(store, lease_job(JOB_REVOKE, id, done, context));
    return true;
}

/* Completes requests that only need the loop thread's data. */
static void answer_lease(LocalStore *store, Job *job, const Lease *lease)
{
    job->ok = lease != NULL;
    if (lease == NULL) {
        error_set(&job->err, ERROR_NOT_FOUND, "lease %lld not found", (long long)job->lease);
    } else {
        job->ttl_s = lease->ttl_s;
        job->remaining_s = remaining_s(lease);
        job->reply.revision = store->state.revision;
    }
    store_start_completion(store, job);
}

bool local_lease_keep_alive(Store *base, int64_t id, StoreLeaseDone *done, void *context,
                            Error *err)
{
    LocalStore *store = (LocalStore *)base;
    if (!job_admit(store, sizeof(Job), err)) {
        return false;
    }
    Lease *lease = find(store, id);
    if (lease != NULL && lease->is_ended) {
        lease = NULL;
    }
    if (lease != NULL) {
        renew(lease);
    }
    answer_lease(store, lease_job(JOB_LEASE, id, done, context), lease);
    return true;
}

bool local_lease_time_to_live(Store *base, int64_t id, bool keys, StoreLeaseDone *done,
                              void *context, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    if (!job_admit(store, sizeof(Job), err)) {
        return false;
    }
    if (!keys) {
        answer_lease(store, lease_job(JOB_LEASE, id, done, context), find(store, id));
        return true;
    }
    Job *job = lease_job(JOB_LEASE_KEYS, id, done, context);
    job->after = store->writes_called;
    store_start_read(store, job);
    return true;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

bool local_lease_list(Store *base, StoreLeasesDone *done, void *context, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    if (!job_admit(store, sizeof(Job), err)) {
        return false;
    }
    Job *job = lease_job(JOB_LEASES, 0, NULL, context);
    job->leases_done = done;
    job->ok = true;
    int64_t *ids = ARENA_ARRAY(&job->arena, int64_t, store->leases.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->leases.cap; i++) {
        for (const Lease *lease = store->leases.slots[i]; lease != NULL; lease = lease->next) {
            ids[count++] = lease->id;
        }
    }
    qsort(ids, count, sizeof *ids, by_number);
    job->ids = ids;
    job->id_count = count;
    store_start_completion(store, job);
    return true;
}
