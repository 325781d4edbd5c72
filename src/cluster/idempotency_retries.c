/* A queue of unwritten results. The first one is retried until it is written or its claim has
 * expired; then the next follows. */
#include "cluster/idempotency_retries.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"

typedef struct PendingResult PendingResult;
struct PendingResult {
    PendingResult *next;
    Arena arena;
    IdempotentRequest request;
    bool has_answer; /* false: the claim is to be deleted */
    bool holds_secret;
    IdempotentResponse response;
    int64_t until_ms; /* loop time at which the claim expires */
};

struct IdempotencyRetries {
    ClusterStore cluster_store;
    Arena arena;
    LoopTimer timer;
    PendingResult *first, *last;
    uint32_t count;
    size_t bytes;
    bool is_busy; /* the first entry is being written */
    bool is_freed;
};

static void drop_first(IdempotencyRetries *retries)
{
    PendingResult *result = retries->first;
    retries->first = result->next;
    retries->last = retries->first == NULL ? NULL : retries->last;
    retries->count--;
    retries->bytes -= result->response.body.len;
    arena_clear(&result->arena);
    free(result);
}

static void destroy(IdempotencyRetries *retries)
{
    while (retries->first != NULL) {
        drop_first(retries);
    }
    arena_clear(&retries->arena);
    free(retries);
}

static void finish_next(IdempotencyRetries *retries);

static void result_finished(void *context, const Error *err)
{
    IdempotencyRetries *retries = context;
    retries->is_busy = false;
    if (retries->is_freed) {
        destroy(retries);
    } else if (err != NULL) {
        log_debug("cannot save the result of a request yet", LOG_C("error", err->text));
        loop_timer_start(&retries->timer, IDEMPOTENCY_RETRIES_MS);
    } else {
        drop_first(retries);
        finish_next(retries);
    }
}

static void finish_next(IdempotencyRetries *retries)
{
    int64_t now_ms = loop_now_ms(retries->cluster_store.loop);
    if (retries->is_busy) {
        return;
    }
    while (retries->first != NULL && retries->first->until_ms <= now_ms) {
        drop_first(retries);
    }
    const PendingResult *result = retries->first;
    if (result == NULL) {
        return;
    }
    retries->is_busy = true;
    if (result->has_answer) {
        idempotency_finish(&retries->cluster_store, &result->request, &result->response,
                           result->holds_secret, result_finished, retries);
    } else {
        idempotency_forget(&retries->cluster_store, &result->request, result_finished, retries);
    }
}

static void timer_expired(void *context)
{
    finish_next(context);
}

IdempotencyRetries *idempotency_retries_new(const ClusterStore *cluster_store)
{
    IdempotencyRetries *retries = memory_new(sizeof *retries);
    arena_init(&retries->arena, ARENA_UNLIMITED);
    retries->cluster_store = *cluster_store;
    retries->cluster_store.prefix = arena_copy(&retries->arena, cluster_store->prefix);
    loop_timer_init(&retries->timer, cluster_store->loop, timer_expired, retries);
    return retries;
}

void idempotency_retries_free(IdempotencyRetries *retries)
{
    if (retries == NULL) {
        return;
    }
    loop_timer_stop(&retries->timer);
    retries->is_freed = true;
    if (!retries->is_busy) {
        destroy(retries);
    }
}

void idempotency_retries_add(IdempotencyRetries *retries, const IdempotentRequest *request,
                             const IdempotentResponse *response, bool holds_secret)
{
    size_t bytes = response == NULL || holds_secret ? 0 : response->body.len;
    if (retries->count >= IDEMPOTENCY_RETRIES_MAX ||
        retries->bytes + bytes > IDEMPOTENCY_RETRIES_BYTES) {
        log_warning("result of a request not recorded; a client that retries it must wait");
        return;
    }
    PendingResult *result = memory_new(sizeof *result);
    arena_init(&result->arena, ARENA_UNLIMITED);
    result->request = *request;
    result->holds_secret = holds_secret;
    result->until_ms =
        loop_now_ms(retries->cluster_store.loop) + (int64_t)IDEMPOTENCY_PENDING_S * 1000;
    if (response != NULL) {
        result->has_answer = true;
        result->response = (IdempotentResponse){
            .status = response->status,
            .body = holds_secret ? STR_EMPTY : arena_copy(&result->arena, response->body),
            .etag = arena_copy(&result->arena, response->etag),
            .location = arena_copy(&result->arena, response->location),
        };
    }
    if (retries->last == NULL) {
        retries->first = result;
    } else {
        retries->last->next = result;
    }
    retries->last = result;
    retries->count++;
    retries->bytes += bytes;
    if (!loop_timer_started(&retries->timer)) {
        finish_next(retries);
    }
}

uint32_t idempotency_retries_count(const IdempotencyRetries *retries)
{
    return retries->count;
}
