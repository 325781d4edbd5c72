/* Rate limits and quotas by node name. The size of stored results is added up while writing; since
 * deleted results are not subtracted, it is counted in the store when a limit is reached. */
#include "service/node_budget.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/identity.h"
#include "base/memory.h"
#include "base/str_map.h"
#include "store/keys.h"

enum {
    RECOUNT_MS = 10 * 60 * 1000, /* minimum interval per node */
    RECOUNT_PAGE = 200           /* number of keys per read */
};

typedef struct CountScan CountScan;

struct NodeBudget {
    NodeBudgets *budgets;
    NodeBudget *next;
    char node[NODE_NAME_MAX + 1];
    RateBucket sessions, bytes, records, events, log;
    CountScan *count_scan; /* NULL: none is in progress */
    int64_t count_due_ms;
    bool is_counted;
    int64_t stored;
};

struct NodeBudgets {
    Loop *loop;
    Store *store;
    Str prefix;
    NodeLimits limits;
    Arena arena;
    StrMap by_node; /* of NodeBudget */
    NodeBudget *all;
};

/* Counts all results in the store. */
struct CountScan {
    NodeBudget *budget; /* NULL once the budget is freed */
    Arena arena;
    int64_t bytes;
};

NodeBudgets *node_budgets_new(Loop *loop, Store *store, Str prefix, const NodeLimits *limits)
{
    NodeBudgets *budgets = memory_new(sizeof *budgets);
    budgets->loop = loop;
    budgets->store = store;
    budgets->prefix = prefix;
    budgets->limits = *limits;
    arena_init(&budgets->arena, ARENA_UNLIMITED);
    return budgets;
}

void node_budgets_free(NodeBudgets *budgets)
{
    if (budgets == NULL) {
        return;
    }
    for (NodeBudget *budget = budgets->all, *next; budget != NULL; budget = next) {
        next = budget->next;
        if (budget->count_scan != NULL) {
            budget->count_scan->budget = NULL;
        }
        free(budget);
    }
    arena_clear(&budgets->arena);
    free(budgets);
}

NodeBudget *node_budget_of(NodeBudgets *budgets, Str node)
{
    if (budgets->by_node.arena == NULL) {
        str_map_init(&budgets->by_node, &budgets->arena);
    }
    NodeBudget *budget = str_map_find(&budgets->by_node, node);
    if (budget == NULL) {
        BUG_IF(node.len > NODE_NAME_MAX);
        budget = memory_new(sizeof *budget);
        budget->budgets = budgets;
        budget->next = budgets->all;
        budgets->all = budget;
        memcpy(budget->node, node.data, node.len);
        str_map_put(&budgets->by_node, str_from_c(budget->node), budget);
    }
    return budget;
}

bool node_budget_allows_session(NodeBudget *budget)
{
    const NodeLimits *limits = &budget->budgets->limits;
    return rate_take(&budget->sessions, limits->sessions, loop_now_ms(budget->budgets->loop), 1);
}

int64_t node_budget_charge(NodeBudget *budget, int64_t bytes, uint32_t records)
{
    const NodeLimits *limits = &budget->budgets->limits;
    int64_t now = loop_now_ms(budget->budgets->loop);
    int64_t cost = bytes + (int64_t)records * NODE_RECORD_COST;
    int64_t wait = rate_wait_ms(&budget->bytes, limits->bytes, now, cost);
    int64_t other = rate_wait_ms(&budget->records, limits->records, now, records);
    if (wait > 0 || other > 0) {
        return wait > other ? wait : other;
    }
    bool is_charged = rate_take(&budget->bytes, limits->bytes, now, cost) &&
                      rate_take(&budget->records, limits->records, now, records);
    BUG_IF(!is_charged);
    return 0;
}

bool node_budget_allows_events(NodeBudget *budget, int64_t bytes)
{
    const NodeLimits *limits = &budget->budgets->limits;
    return rate_take(&budget->events, limits->events, loop_now_ms(budget->budgets->loop), bytes);
}

bool node_budget_allows_log(NodeBudget *budget)
{
    int64_t minutes = loop_now_ms(budget->budgets->loop) / 60;
    return rate_take(&budget->log, (RateLimit){ .per_second = 1, .burst = 1 }, minutes, 1);
}

/* --- Results --------------------------------------------------------------------------------- */

int64_t node_budget_results_left(const NodeBudget *budget, int64_t stored)
{
    int64_t limit = budget->budgets->limits.results_bytes;
    return limit == 0 ? INT64_MAX : limit > stored ? limit - stored : 0;
}

static void count_scan_end(CountScan *count_scan, bool is_whole)
{
    NodeBudget *budget = count_scan->budget;
    if (budget != NULL) {
        budget->count_scan = NULL;
        budget->is_counted = is_whole;
        budget->stored = count_scan->bytes;
    }
    arena_clear(&count_scan->arena);
    free(count_scan);
}

static void count_result(CountScan *count_scan, const StoreKv *kv)
{
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    if (key_parse(&count_scan->arena, count_scan->budget->budgets->prefix, kv->key, &kind, parts) &&
        (kind == KEY_RUN_NODE || kind == KEY_RUN_STEP) &&
        str_eq_c(parts[kind == KEY_RUN_NODE ? 1 : 2], count_scan->budget->node)) {
        count_scan->bytes += (int64_t)kv->value.len + NODE_RECORD_COST;
    }
}

static void count_from(CountScan *count_scan, Str key);

static void on_page(void *context, const StoreReply *reply, const Error *err)
{
    CountScan *count_scan = context;
    if (err != NULL || count_scan->budget == NULL) {
        count_scan_end(count_scan, false);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    for (uint32_t i = 0; i < range->kv_count; i++) {
        count_result(count_scan, &range->kvs[i]);
    }
    arena_reset(&count_scan->arena);
    if (range->more) {
        count_from(count_scan, arena_join(&count_scan->arena, range->kvs[range->kv_count - 1].key,
                                          STR("\0"), STR_EMPTY));
    } else {
        count_scan_end(count_scan, true);
    }
}

static void count_from(CountScan *count_scan, Str key)
{
    NodeBudgets *budgets = count_scan->budget->budgets;
    Str all = key_make_prefix(&count_scan->arena, budgets->prefix, KEY_RUN, NULL, 0);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = key,
                   .end = store_prefix_end(&count_scan->arena, all),
                   .limit = RECOUNT_PAGE };
    Error err;
    if (!store_op(budgets->store, &op, on_page, count_scan, &err)) {
        count_scan_end(count_scan, false);
    }
}

void node_budget_count(NodeBudget *budget)
{
    NodeBudgets *budgets = budget->budgets;
    int64_t now = loop_now_ms(budgets->loop);
    if (budget->count_scan != NULL || now < budget->count_due_ms) {
        return;
    }
    CountScan *count_scan = memory_new(sizeof *count_scan);
    count_scan->budget = budget;
    arena_init(&count_scan->arena, ARENA_UNLIMITED);
    budget->count_scan = count_scan;
    budget->count_due_ms = now + RECOUNT_MS;
    count_from(count_scan, key_make_prefix(&count_scan->arena, budgets->prefix, KEY_RUN, NULL, 0));
}

bool node_budget_is_counted(NodeBudget *budget, int64_t *stored)
{
    if (!budget->is_counted) {
        return false;
    }
    budget->is_counted = false;
    *stored = budget->stored;
    return true;
}
