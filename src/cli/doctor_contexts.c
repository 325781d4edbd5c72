#include "cli/doctor_contexts.h"

#include <stdlib.h>

#include "base/utc.h"
#include "cli/cluster_client.h"
#include "sys/clock.h"

enum {
    ASK_MS = 3000
};

/* The first that ends counts. */
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

static void ask(const Invocation *invocation, const ClusterEnd *end, Str target, DoctorAnswer *out)
{
    ClusterAnswer got;
    *out = (DoctorAnswer){ .asked = true, .json = value_null() };
    if (cluster_exchange_at(
            invocation, end,
            &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = ASK_MS }, NULL,
            &got, &out->err)) {
        out->err = (Error){ 0 };
        (void)!cluster_answer_read(invocation->arena, &got, &out->json, &out->err);
    }
}

static void look_at(const Invocation *invocation, Str directory, const Context *context,
                    DoctorContext *out)
{
    ClusterEnd end = { .context = *context };
    DoctorAnswer health;
    out->name = context->name;
    out->server = context->servers[0];
    if (!utc_parse(context->expires, &out->expires_ms)) {
        out->expires_ms = 0;
    }
    if (!context_material(invocation->arena, directory, context, &end.has, &out->err)) {
        return;
    }
    out->ca_until_ms = ca_until(invocation->arena, end.has.ca, &out->err);
    if (!out->is_used || out->err.kind != ERROR_NONE) {
        return;
    }
    ask(invocation, &end, STR("/v1/health"), &health);
    out->own_ms = clock_now_ms();
    out->time_ms = cluster_int(health.json, "time_ms");
    ask(invocation, &end, STR("/v1/session"), &out->session);
}

void doctor_look_contexts(const Invocation *invocation, DoctorView *out)
{
    const char *given = invocation_text(invocation, "context"), *set = getenv("EDEN_CONTEXT");
    Str directory = contexts_directory(invocation->arena);
    Contexts contexts;
    out->contexts_err = (Error){ 0 };
    if (!contexts_load(invocation->arena, directory, &contexts, &out->contexts_err)) {
        return;
    }
    out->contexts_err = (Error){ 0 };
    Str used = given != NULL                   ? str_from_c(given)
               : set != NULL && set[0] != '\0' ? str_from_c(set)
                                               : contexts.current;
    for (uint32_t i = 0; i < contexts.count && i < DOCTOR_CONTEXTS_MAX; i++) {
        DoctorContext *context = &out->contexts[out->context_count++];
        context->is_used = str_eq(contexts.items[i].name, used);
        look_at(invocation, directory, &contexts.items[i], context);
    }
}
