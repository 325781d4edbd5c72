/* A list of unexecutable orders. An entry is dropped when the server has deleted its order. */
#include "agent/refused_orders.h"

#include "base/log.h"
#include "base/visible.h"

void refused_orders_init(RefusedOrders *orders)
{
    *orders = (RefusedOrders){ 0 };
    arena_init(&orders->arena, ARENA_UNLIMITED);
}

void refused_orders_clear(RefusedOrders *orders)
{
    arena_clear(&orders->arena);
}

RefusedOrder *refused_orders_find(RefusedOrders *orders, Str id)
{
    for (uint32_t i = 0; i < orders->items.len; i++) {
        RefusedOrder *order = &orders->items.items[i];
        if (str_eq(order->id, id)) {
            order->is_withdrawn = false;
            return order;
        }
    }
    return NULL;
}

RefusedOrder *refused_orders_add(RefusedOrders *orders, Str id, bool is_damaged, const Error *why)
{
    RefusedOrder *found = refused_orders_find(orders, id);
    if (found != NULL) {
        return found;
    }
    AUTO_CLEAR(Buf) reason = buf_make(BUF_UNLIMITED);
    RefusedOrder order = { .id = arena_copy(&orders->arena, id), .is_damaged = is_damaged };
    buf_put_c(&reason, is_damaged ? "the state of the run on this node is damaged: "
                                  : "this agent cannot read the order: ");
    visible_put(&reason, str_from_c(why->text));
    Str text = str_slice(buf_str(&reason), 0, sizeof order.reason - 8);
    memcpy(order.reason, text.data, text.len);
    VEC_PUSH(&orders->arena, &orders->items, order);
    return &orders->items.items[orders->items.len - 1];
}

void refused_orders_withdraw(RefusedOrders *orders)
{
    for (uint32_t i = 0; i < orders->items.len; i++) {
        orders->items.items[i].is_withdrawn = true;
    }
}

void refused_orders_drop(RefusedOrders *orders, const Directory *agent)
{
    for (uint32_t i = orders->items.len; i-- > 0;) {
        RefusedOrder *order = &orders->items.items[i];
        if (order->is_withdrawn) {
            if (order->is_damaged) {
                local_run_remove(agent, order->id);
            }
            *order = orders->items.items[--orders->items.len];
        }
    }
}

bool refused_order_report(RefusedOrder *order, int64_t now_ms, OrderReport *report, void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    NodeResult result = { .outcome = NODE_FAILED,
                          .reason = str_from_c(order->reason),
                          .since_ms = now_ms,
                          .ended_ms = now_ms,
                          .unknown = value_missing() };
    uint64_t sequence;
    Error err;
    if (!order->is_reported) {
        log_error("cannot execute an order", LOG_STR("run", order->id),
                  LOG_C("reason", order->reason));
        node_result_print(&result, &text);
        order->is_reported = report(context, order->id, buf_str(&text), &sequence, &err);
    }
    return order->is_reported;
}
