/* Limits on what the server writes for each node: sessions, bytes and records per second, with a
 * burst, and bytes of stored results. Loop thread only.
 *
 * A budget belongs to the name in the certificate: consecutive sessions share it. A node that sends
 * faster is not disconnected: its records are delayed, and so is the node. Sessions and results
 * beyond the limit are rejected with the reason. */
#pragma once

#include "base/rate.h"
#include "base/str.h"
#include "store/store.h"

enum {
    NODE_RECORD_COST = 256 /* overhead of a record in bytes */
};

/* Limits per node; zero: no limit. */
typedef struct NodeLimits {
    RateLimit sessions, bytes, records;
    RateLimit events; /* bytes of run events */
    int64_t results_bytes;
} NodeLimits;

#define NODE_LIMITS_DEFAULT                                                \
    ((NodeLimits){ .sessions = { .per_second = 1, .burst = 100 },          \
                   .bytes = { .per_second = 16 << 10, .burst = 32 << 20 }, \
                   .records = { .per_second = 10, .burst = 10000 },        \
                   .events = { .per_second = 1 << 20, .burst = 64 << 20 }, \
                   .results_bytes = 64 << 20 })

typedef struct NodeBudgets NodeBudgets;
typedef struct NodeBudget NodeBudget;

/* `prefix` must outlive the result. */
NodeBudgets *node_budgets_new(Loop *loop, Store *store, Str prefix, const NodeLimits *limits);
/* Must be called before the store is closed. NULL is allowed. */
void node_budgets_free(NodeBudgets *budgets);
DEFINE_AUTO(NodeBudgets, node_budgets_free)

/* Valid as long as the NodeBudgets. */
NodeBudget *node_budget_of(NodeBudgets *budgets, Str node);

/* Whether the node may open a session: each costs a write and a log line. */
bool node_budget_allows_session(NodeBudget *budget);

/* Charges the cost of these records. Returns the milliseconds to wait if that exceeds the limit; 0:
 * charged. */
int64_t node_budget_charge(NodeBudget *budget, int64_t bytes, uint32_t records);

/* Charges bytes of events. Returns whether that is within the limit. */
bool node_budget_allows_events(NodeBudget *budget, int64_t bytes);

/* Whether to log that the node was delayed or rejected: once per minute. */
bool node_budget_allows_log(NodeBudget *budget);

/* Bytes of results that may still be stored, given that `stored` are; INT64_MAX: no limit. */
int64_t node_budget_results_left(const NodeBudget *budget, int64_t stored);
/* Call it when results are rejected. The stored size is only incremented while writing, so it is
 * counted in the store now, unless that was done recently. */
void node_budget_count(NodeBudget *budget);
/* Returns the result of a count, once. */
bool node_budget_is_counted(NodeBudget *budget, int64_t *stored);
