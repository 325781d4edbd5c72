/* Limits on what the server writes for each node: sessions, bytes and records per
 * second, with a burst, and bytes of results that are kept. Loop thread.
 *
 * A budget belongs to the name in the certificate: consecutive sessions share it.
 * A node that sends faster is not disconnected: its records are delayed, and so is
 * the node. Sessions and results beyond the limit are rejected with the reason. */
#pragma once

#include "base/rate.h"
#include "base/str.h"
#include "store/store.h"

enum {
    NODE_RECORD_COST = 256 /* bytes that a record costs beside those in it */
};

/* Zero: no limit. */
typedef struct NodeLimits {
    RateLimit sessions, bytes, records;
    int64_t results_bytes;
} NodeLimits;

#define NODE_LIMITS_DEFAULT                                                \
    ((NodeLimits){ .sessions = { .per_second = 1, .burst = 100 },          \
                   .bytes = { .per_second = 16 << 10, .burst = 32 << 20 }, \
                   .records = { .per_second = 10, .burst = 10000 },        \
                   .results_bytes = 64 << 20 })

typedef struct NodeBudgets NodeBudgets;
typedef struct NodeBudget NodeBudget;

/* `prefix` is borrowed. */
NodeBudgets *node_budgets_new(Loop *loop, Store *store, Str prefix, const NodeLimits *limits);
/* Before the store is closed. NULL is allowed. */
void node_budgets_free(NodeBudgets *budgets);
DEFINE_AUTO(NodeBudgets, node_budgets_free)

/* Lives as long as all of them. */
NodeBudget *node_budget_of(NodeBudgets *budgets, Str node);

/* Whether it may begin a session: each is a write of the store and a line of the log. */
bool node_budget_may_open(NodeBudget *budget);

/* Takes what these records cost, or tells how many milliseconds that has to wait; 0: it is taken. */
int64_t node_budget_take(NodeBudget *budget, int64_t bytes, uint32_t records);

/* Whether it is worth a line of the log that it had to wait or was refused: one a minute. */
bool node_budget_may_log(NodeBudget *budget);

/* Bytes of results that may still be stored when `stored` are; INT64_MAX: no limit. */
int64_t node_budget_results_left(const NodeBudget *budget, int64_t stored);
/* Results are refused. What is stored is only counted up while it is written, so it is counted in the
 * store now, unless that was done a short while ago. */
void node_budget_recount(NodeBudget *budget);
/* What that has found, once. */
bool node_budget_recounted(NodeBudget *budget, int64_t *stored);
