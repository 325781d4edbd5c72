#include "cli/doctor_contexts.h"

#include "base/utc.h"
#include "cli/kind_print.h"
#include "sys/clock.h"

enum {
    ASK_MS = 3000,
    PAGES_MAX = 20, /* maximum number of pages of nodes */
};

/* The earliest expiry of the certificates. */
static int64_t ca_until(Arena *arena, Str pem, Error *err)
{
    Certificate *items;
    uint32_t count;
    int64_t until = 0;
    if (certificates_from_pem(arena, pem, &items, &count, err)) {
        for (uint32_t i = 0; i < count; i++) {
            until = until == 0 || items[i].not_after_ms < until ? items[i].not_after_ms : until;
        }
    }
    return until;
}

static void query(const Invocation *invocation, const ClusterEndpoint *endpoint, Str target,
                  DoctorResponse *out)
{
    ClusterResponse response;
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (cluster_exchange_at(
            invocation, endpoint,
            &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = ASK_MS }, NULL,
            &response, &out->err)) {
        out->err = (Error){ 0 };
        (void)!cluster_response_read(invocation->arena, &response, &out->json, &out->err);
    }
}

/* For responses that are not JSON, such as metrics. */
static void query_text(const Invocation *invocation, const ClusterEndpoint *endpoint, Str target,
                       DoctorResponse *out)
{
    ClusterResponse response;
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (!cluster_exchange_at(
            invocation, endpoint,
            &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = ASK_MS }, NULL,
            &response, &out->err)) {
        return;
    }
    out->err = (Error){ 0 };
    if (response.status < 300) {
        out->json = value_string(response.body);
    } else {
        (void)!cluster_response_read(invocation->arena, &response, &out->json, &out->err);
    }
}

static void inspect(const Invocation *invocation, Str directory, const Context *context,
                    DoctorContext *out)
{
    ClusterEndpoint endpoint = { .context = *context };
    DoctorResponse health;
    out->name = context->name;
    out->server = context->servers[0];
    if (!utc_parse(context->expires, &out->expires_ms)) {
        out->expires_ms = 0;
    }
    if (!context_credentials(invocation->arena, directory, context, &endpoint.credentials,
                             &out->err)) {
        return;
    }
    out->ca_until_ms = ca_until(invocation->arena, endpoint.credentials.ca, &out->err);
    if (!out->is_used || out->err.kind != ERROR_NONE) {
        return;
    }
    query(invocation, &endpoint, STR("/v1/health"), &health);
    out->own_ms = clock_now_ms();
    out->time_ms = value_get_int(health.json, "time_ms");
    query(invocation, &endpoint, STR("/v1/session"), &out->session);
}

/* Combines all pages into one response. */
static void ask_nodes(const Invocation *invocation, const ClusterEndpoint *endpoint,
                      DoctorResponse *out)
{
    Arena *arena = invocation->arena;
    List *nodes = list_new(arena, 0);
    query(invocation, endpoint, STR("/v1/nodes"), out);
    DoctorResponse page = *out;
    for (uint32_t i = 0; i < PAGES_MAX && page.err.kind == ERROR_NONE; i++) {
        const List *some = object_items(page.json);
        for (uint32_t k = 0; k < some->len; k++) {
            list_push(arena, nodes, some->items[k]);
        }
        Str next = value_get_text(value_get_map(page.json, "metadata"), "continue");
        if (next.len == 0) {
            break;
        }
        query(invocation, endpoint, cluster_target(arena, "/v1/nodes?continue=", next), &page);
    }
    if (out->err.kind == ERROR_NONE) {
        map_set_str(arena, out->json.map, STR("items"), value_list(nodes));
    }
}

static void inspect_cluster(const Invocation *invocation, const ClusterEndpoint *endpoint,
                            const DoctorContext *context, DoctorView *out)
{
    bool is_selected = !out->is_server || invocation_flag(invocation, "context");
    if (!context->session.was_queried || !is_selected) {
        return;
    }
    out->queries_remote = true;
    if (context->session.err.kind == ERROR_NONE) {
        ask_nodes(invocation, endpoint, &out->nodes);
        query(invocation, endpoint, STR("/v1/tokens"), &out->tokens);
        query(invocation, endpoint, STR("/v1/pki"), &out->pki);
        query(invocation, endpoint, STR("/v1/audit-entries?limit=1"), &out->audit);
        query_text(invocation, endpoint, STR("/metrics"), &out->metrics);
    }
}

void doctor_inspect_contexts(const Invocation *invocation, const ClusterEndpoint *endpoint,
                             DoctorView *out)
{
    Str directory = contexts_directory(invocation->arena);
    Contexts contexts;
    out->contexts_err = (Error){ 0 };
    if (!contexts_load(invocation->arena, directory, &contexts, &out->contexts_err)) {
        return;
    }
    out->contexts_err = (Error){ 0 };
    for (uint32_t i = 0; i < contexts.count && i < DOCTOR_CONTEXTS_MAX; i++) {
        DoctorContext *context = &out->contexts[out->context_count++];
        context->is_used =
            !endpoint->is_local && str_eq(contexts.items[i].name, endpoint->context.name);
        inspect(invocation, directory, &contexts.items[i], context);
        if (context->is_used) {
            inspect_cluster(invocation, endpoint, context, out);
        }
    }
}
