/* A queue of unwritten results. The first one is retried until it is written or its claim has
 * expired; then the next follows. */
#include "cluster/idempotency_debts.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"

typedef struct Debt Debt;
struct Debt {
    Debt *next;
    Arena arena;
    IdempotentRequest request;
    bool has_answer; /* false: the claim is to be deleted */
    bool holds_secret;
    IdempotencyAnswer answer;
    int64_t until_ms; /* loop time at which the claim expires */
};

struct IdempotencyRetries {
    ClusterStore cluster_store;
    Arena arena;
    LoopTimer timer;
    Debt *first, *last;
    uint32_t count;
    size_t bytes;
    bool is_busy; /* the first entry is being written */
    bool is_freed;
};

static void drop_first(IdempotencyRetries *debts)
{
    Debt *debt = debts->first;
    debts->first = debt->next;
    debts->last = debts->first == NULL ? NULL : debts->last;
    debts->count--;
    debts->bytes -= debt->answer.body.len;
    arena_clear(&debt->arena);
    free(debt);
}

static void destroy(IdempotencyRetries *debts)
{
    while (debts->first != NULL) {
        drop_first(debts);
    }
    arena_clear(&debts->arena);
    free(debts);
}

static void finish_next(IdempotencyRetries *debts);

static void debt_finished(void *context, const Error *err)
{
    IdempotencyRetries *debts = context;
    debts->is_busy = false;
    if (debts->is_freed) {
        destroy(debts);
    } else if (err != NULL) {
        log_debug("cannot save the result of a request yet", LOG_C("error", err->text));
        loop_timer_start(&debts->timer, IDEMPOTENCY_RETRIES_MS);
    } else {
        drop_first(debts);
        finish_next(debts);
    }
}

static void finish_next(IdempotencyRetries *debts)
{
    int64_t now_ms = loop_now_ms(debts->cluster_store.loop);
    if (debts->is_busy) {
        return;
    }
    while (debts->first != NULL && debts->first->until_ms <= now_ms) {
        drop_first(debts);
    }
    const Debt *debt = debts->first;
    if (debt == NULL) {
        return;
    }
    debts->is_busy = true;
    if (debt->has_answer) {
        idempotency_finish(&debts->cluster_store, &debt->request, &debt->answer, debt->holds_secret,
                           debt_finished, debts);
    } else {
        idempotency_forget(&debts->cluster_store, &debt->request, debt_finished, debts);
    }
}

static void timer_expired(void *context)
{
    finish_next(context);
}

IdempotencyRetries *idempotency_debts_new(const ClusterStore *cluster_store)
{
    IdempotencyRetries *debts = memory_new(sizeof *debts);
    arena_init(&debts->arena, ARENA_UNLIMITED);
    debts->cluster_store = *cluster_store;
    debts->cluster_store.prefix = arena_copy(&debts->arena, cluster_store->prefix);
    loop_timer_init(&debts->timer, cluster_store->loop, timer_expired, debts);
    return debts;
}

void idempotency_debts_free(IdempotencyRetries *debts)
{
    if (debts == NULL) {
        return;
    }
    loop_timer_stop(&debts->timer);
    debts->is_freed = true;
    if (!debts->is_busy) {
        destroy(debts);
    }
}

void idempotency_debts_add(IdempotencyRetries *debts, const IdempotentRequest *request,
                           const IdempotencyAnswer *answer, bool holds_secret)
{
    size_t bytes = answer == NULL || holds_secret ? 0 : answer->body.len;
    if (debts->count >= IDEMPOTENCY_RETRIES_MAX ||
        debts->bytes + bytes > IDEMPOTENCY_RETRIES_BYTES) {
        log_warning("result of a request not recorded; a client that retries it must wait");
        return;
    }
    Debt *debt = memory_new(sizeof *debt);
    arena_init(&debt->arena, ARENA_UNLIMITED);
    debt->request = *request;
    debt->holds_secret = holds_secret;
    debt->until_ms = loop_now_ms(debts->cluster_store.loop) + (int64_t)IDEMPOTENCY_PENDING_S * 1000;
    if (answer != NULL) {
        debt->has_answer = true;
        debt->answer = (IdempotencyAnswer){
            .status = answer->status,
            .body = holds_secret ? STR_EMPTY : arena_copy(&debt->arena, answer->body),
            .etag = arena_copy(&debt->arena, answer->etag),
            .location = arena_copy(&debt->arena, answer->location),
        };
    }
    if (debts->last == NULL) {
        debts->first = debt;
    } else {
        debts->last->next = debt;
    }
    debts->last = debt;
    debts->count++;
    debts->bytes += bytes;
    if (!loop_timer_started(&debts->timer)) {
        finish_next(debts);
    }
}

uint32_t idempotency_debts_count(const IdempotencyRetries *debts)
{
    return debts->count;
}
