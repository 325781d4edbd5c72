/* Orders that this node does not execute because the orders, or local files about them, cannot be
 * read. Each is reported as failed, once. Loop thread. */
#pragma once

#include "agent/local_run.h"
#include "base/vec.h"

typedef struct RefusedOrder {
    Str id;
    char reason[FLEET_REASON_MAX];
    bool is_damaged; /* the run was accepted, but its progress is unknown */
    bool is_reported, is_withdrawn;
} RefusedOrder;

typedef struct RefusedOrders {
    Arena arena;
    VEC(RefusedOrder) items;
} RefusedOrders;

void refused_orders_init(RefusedOrders *orders);
void refused_orders_clear(RefusedOrders *orders);
/* NULL if there is none; valid until the next change. */
RefusedOrder *refused_orders_find(RefusedOrders *orders, Str id);
/* Adds an entry, or returns the existing one. */
RefusedOrder *refused_orders_add(RefusedOrders *orders, Str id, bool is_damaged, const Error *why);
/* Marks all entries as withdrawn until they are found or added again; those that are still marked
 * can then be dropped, with the directories of damaged runs. */
void refused_orders_withdraw(RefusedOrders *orders);
void refused_orders_drop(RefusedOrders *orders, const Directory *agent);
/* Adds a result to the outbox. */
typedef bool OrderReport(void *context, Str run, Str result, uint64_t *sequence, Error *err);
/* Does nothing once it has succeeded. Returns false if the outbox is full. */
bool refused_order_report(RefusedOrder *order, int64_t now_ms, OrderReport *report, void *context);
