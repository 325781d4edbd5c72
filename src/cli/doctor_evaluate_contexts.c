/* Evaluators of contexts. */
#include "cli/cluster_client.h"
#include "cli/doctor_evaluators.h"
#include "pki/ca.h"

#define CA_EXPIRY_WARNING_MS ((int64_t)30 * PKI_DAY_MS)

static DoctorResult skip_without_contexts(Arena *arena)
{
    return doctor_result(arena, DOCTOR_SKIPPED, "you are not logged in to any cluster");
}

DoctorResult evaluate_contexts(Arena *arena, const DoctorView *view)
{
    const DoctorContext *used = NULL;
    if (view->contexts_err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", view->contexts_err.text);
    }
    if (view->context_count == 0) {
        return skip_without_contexts(arena);
    }
    for (uint32_t i = 0; i < view->context_count; i++) {
        const DoctorContext *context = &view->contexts[i];
        used = context->is_current ? context : used;
        if (context->err.kind != ERROR_NONE) {
            return doctor_result(arena, context->is_current ? DOCTOR_FAILED : DOCTOR_WARNING,
                                 "'%" STR_FMT "': %s", STR_ARG(context->name), context->err.text);
        }
    }
    return used == NULL ? doctor_result(arena, DOCTOR_OK, "%u; none is in use", view->context_count)
                        : doctor_result(arena, DOCTOR_OK, "%u; '%" STR_FMT "' is in use",
                                        view->context_count, STR_ARG(used->name));
}

/* Reports contexts whose CA or token has expired or will soon. */
static DoctorResult evaluate_times(Arena *arena, const DoctorView *view, bool of_ca,
                                   int64_t soon_ms)
{
    Buf wrong = buf_make_in(arena, BUF_UNLIMITED);
    DoctorState state = DOCTOR_WARNING;
    uint32_t known = 0;
    for (uint32_t i = 0; i < view->context_count; i++) {
        const DoctorContext *context = &view->contexts[i];
        int64_t until = of_ca ? context->ca_expires_ms : context->expires_ms;
        known += until > 0;
        if (until > 0 && until - view->now_ms <= soon_ms) {
            bool is_over = until <= view->now_ms;
            state = is_over && context->is_current ? DOCTOR_FAILED : state;
            buf_put_format(&wrong, "%s'%" STR_FMT "' %s on %" STR_FMT, wrong.len > 0 ? ", " : "",
                           STR_ARG(context->name), is_over ? "has expired" : "expires",
                           STR_ARG(utc_text(arena, until)));
        }
    }
    if (wrong.len > 0) {
        return doctor_result(arena, state, "%" STR_FMT, STR_ARG(buf_str(&wrong)));
    }
    return known > 0 ? doctor_result(arena, DOCTOR_OK, "%u valid", known)
                     : skip_without_contexts(arena);
}

DoctorResult evaluate_context_cas(Arena *arena, const DoctorView *view)
{
    return evaluate_times(arena, view, true, CA_EXPIRY_WARNING_MS);
}

DoctorResult evaluate_context_tokens(Arena *arena, const DoctorView *view)
{
    return evaluate_times(arena, view, false, 0);
}

DoctorResult evaluate_context_server(Arena *arena, const DoctorView *view)
{
    for (uint32_t i = 0; i < view->context_count; i++) {
        const DoctorContext *context = &view->contexts[i];
        if (!context->is_current || !context->session.was_queried) {
            continue;
        }
        if (context->session.err.kind != ERROR_NONE) {
            return doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT ": %s", STR_ARG(context->server),
                                 context->session.err.text);
        }
        return doctor_result(arena, DOCTOR_OK, "%" STR_FMT " recognizes '%" STR_FMT "'",
                             STR_ARG(context->server),
                             STR_ARG(value_get_text(context->session.json, "name")));
    }
    return doctor_result(arena, DOCTOR_SKIPPED, "no context is in use");
}
