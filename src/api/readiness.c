#include "api/readiness.h"

#include <stdio.h>

#include "base/json_out.h"

static void put_problem(Buf *out, const char *what, const char *why, const char *condition)
{
    json_out_open(out, NULL, '{');
    json_out_text(out, "what", str_from_c(what));
    json_out_text(out, "why", str_from_c(why));
    if (condition != NULL) {
        json_out_text(out, "condition", str_from_c(condition));
    }
    json_out_close(out, '}');
}

static const char *validity_problem(const ReadyCertificate *certificate, int64_t now_ms)
{
    return now_ms >= certificate->not_after_ms   ? "expired"
           : now_ms < certificate->not_before_ms ? "not valid yet; the system clock may be slow"
                                                 : NULL;
}

static bool put_problems(Buf *out, const ReadyState *state, bool in_detail)
{
    bool is_stale = state->stale_since != NULL;
    bool is_ready = state->is_writable && !is_stale && !state->is_stopping &&
                    !state->has_unreadable_revocations;
    if (state->is_stopping) {
        put_problem(out, "server", "stopping", NULL);
    }
    if (!state->is_writable) {
        put_problem(out, "store", in_detail ? state->store_error : "not writable",
                    state->condition);
    } else if (is_stale) {
        put_problem(out, "store", in_detail ? state->stale_error : "not responding", "unavailable");
    }
    if (state->has_unreadable_revocations) {
        put_problem(out, "revocations", "the list cannot be read; no certificate is accepted",
                    NULL);
    }
    for (uint32_t i = 0; i < state->certificate_count; i++) {
        const ReadyCertificate *certificate = &state->certificates[i];
        const char *why = validity_problem(certificate, state->now_ms);
        char what[64];
        if (why != NULL) {
            snprintf(what, sizeof what, "certificate %s", certificate->name);
            put_problem(out, what, why, NULL);
            is_ready = false;
        }
    }
    return is_ready;
}

bool readiness_put(Buf *out, const ReadyState *state, bool in_detail)
{
    AUTO_CLEAR(Buf) problems = buf_make(BUF_UNLIMITED);
    buf_put_char(&problems, '[');
    bool is_ready = put_problems(&problems, state, in_detail);
    buf_put_char(&problems, ']');
    json_out_start(out, "eden.ready/1");
    json_out_bool(out, "ready", is_ready);
    json_out_name(out, "problems");
    buf_put(out, buf_str(&problems));
    if (state->stale_since != NULL) {
        json_out_text(out, "stale_since", str_from_c(state->stale_since));
    }
    if (in_detail && state->leader != NULL) {
        json_out_text(out, "leader", str_from_c(state->leader));
    }
    json_out_close(out, '}');
    return is_ready;
}
