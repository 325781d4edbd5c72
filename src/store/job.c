/* Calls on their way through the store: counted, queued, completed. */
#include <stdlib.h>

#include "base/memory.h"
#include "store/local_store.h"

void job_list_add(JobList *list, Job *job)
{
    job->next = NULL;
    *(list->last == NULL ? &list->first : &list->last->next) = job;
    list->last = job;
}

Job *job_list_take(JobList *list)
{
    Job *job = list->first;
    if (job != NULL) {
        list->first = job->next;
        list->last = list->first == NULL ? NULL : list->last;
        job->next = NULL;
    }
    return job;
}

Job *job_new(JobKind kind)
{
    Job *job = memory_new(sizeof *job);
    job->kind = kind;
    arena_init(&job->arena, ARENA_UNLIMITED);
    return job;
}

void job_free(Job *job)
{
    arena_clear(&job->arena);
    free(job);
}

void job_complete(Job *job)
{
    const Error *err = job->ok ? NULL : &job->err;
    StoreLease lease = {
        .id = job->lease,
        .ttl_s = job->ttl_s,
        .remaining_s = job->remaining_s,
        .keys = job->keys,
        .key_count = job->key_count,
        .revision = job->reply.revision,
    };
    if (job->done != NULL) {
        job->done(job->context, job->ok ? &job->reply : NULL, err);
    } else if (job->lease_done != NULL) {
        job->lease_done(job->context, job->ok ? &lease : NULL, err);
    } else if (job->leases_done != NULL) {
        job->leases_done(job->context, job->ids, job->id_count, err);
    }
}

bool job_admit(LocalStore *store, size_t bytes, Error *err)
{
    if (store->closing) { /* only set by this thread */
        return error_set(err, ERROR_UNAVAILABLE, "the store is closing");
    }
    if (store->pending >= STORE_PENDING_MAX ||
        (store->pending > 0 && store->pending_bytes + bytes > STORE_PENDING_BYTES)) {
        return error_set(err, ERROR_LIMIT, "%u calls are already waiting for the store",
                         store->pending);
    }
    return true;
}

static void job_count(LocalStore *store, Job *job)
{
    if (job->bytes > 0) {
        store->pending++;
        store->pending_bytes += job->bytes;
    }
}

void job_uncount(LocalStore *store, const Job *job)
{
    if (job->bytes > 0) {
        store->pending--;
        store->pending_bytes -= job->bytes;
    }
}

static void enqueue(LocalStore *store, JobList *list, Job *job, Worker *worker)
{
    pthread_mutex_lock(&store->mutex);
    job_list_add(list, job);
    pthread_mutex_unlock(&store->mutex);
    if (store->threaded) {
        worker_wake(worker);
    } else {
        loop_defer(store->base.loop, &store->deliver_task);
    }
}

void store_start_write(LocalStore *store, Job *job)
{
    job_count(store, job);
    store->writes_called++;
    if (!store->threaded) {
        enqueue(store, &store->writes, job, NULL);
        return;
    }
    pthread_mutex_lock(&store->mutex);
    job_list_add(&store->writes, job);
    bool wake = ++store->write_count >= store->wake_count;
    pthread_mutex_unlock(&store->mutex);
    if (wake) {
        worker_wake(store->write_worker);
    }
}

void store_start_read(LocalStore *store, Job *job)
{
    job_count(store, job);
    if (job->after > store->writes_completed) {
        job_list_add(&store->held, job);
    } else {
        enqueue(store, &store->reads, job, store->read_worker);
    }
}

void store_release_reads(LocalStore *store)
{
    while (store->held.first != NULL && store->held.first->after <= store->writes_completed) {
        enqueue(store, &store->reads, job_list_take(&store->held), store->read_worker);
    }
}

void store_start_verify(LocalStore *store, Job *job)
{
    job_count(store, job);
    if (store->threaded && store->verify_worker == NULL) {
        store->verify_worker = worker_new(work_verify, store);
    }
    enqueue(store, &store->checks, job, store->verify_worker);
}

void store_start_completion(LocalStore *store, Job *job)
{
    job_count(store, job);
    job_list_add(&store->completed, job);
    loop_defer(store->base.loop, &store->completion_task);
}
