#include "cli/login_certificate.h"

#include "pki/csr.h"

static Str make_body(Arena *arena, Value session, Str csr)
{
    Map *spec = map_new(arena, 3), *body = map_new(arena, 1);
    const Value *roles = value_get(session, STR("roles"));
    map_set_str(arena, spec, STR("user"), value_string(value_get_text(session, "name")));
    map_set_str(arena, spec, STR("roles"), roles != NULL ? *roles : value_list(list_new(arena, 0)));
    map_set_str(arena, spec, STR("csr"), value_string(csr));
    map_set_str(arena, body, STR("spec"), value_map(spec));
    return cluster_body(arena, value_map(body));
}

bool login_certificate(const Invocation *invocation, const ClusterEnd *end, Value session,
                       int64_t timeout_ms, Context *context, Error *err)
{
    Arena *arena = invocation->arena;
    AUTO(P256Private) *key = NULL;
    AUTO_CLEAR(KeyText) text = { .len = 0 };
    ClusterAnswer got;
    Value made;
    Str csr, user = value_get_text(session, "name");
    if (!user_name_check(user, err)) {
        return error_set(err, ERROR_OS,
                         "the token is for '%" STR_FMT "', which cannot stand in a certificate; "
                         "'eden tokens create --role ROLE --label NAME' makes one for a name of "
                         "a-z, 0-9, '-' and '.'",
                         STR_ARG(user));
    }
    if (!p256_private_make(&key, err) || !csr_make(arena, key, &csr, err) ||
        !p256_private_text(key, &text, err)) {
        return false;
    }
    if (!cluster_exchange_at(invocation, end,
                             &(ClusterRequest){ .method = "POST",
                                                .target = STR("/v1/certificates"),
                                                .body = make_body(arena, session, csr),
                                                .timeout_ms = timeout_ms },
                             NULL, &got, err)) {
        return false;
    }
    if (!cluster_answer_read(arena, &got, &made, err)) {
        /* What it refuses was made here: the command line is not to blame. */
        err->kind = err->kind == ERROR_INVALID ? ERROR_OS : err->kind;
        return error_wrap(err, "the server makes no certificate");
    }
    Value status = value_get_map(made, "status");
    Str certificate = value_get_text(status, "certificate");
    if (certificate.len == 0) {
        return error_set(err, ERROR_OS, "the server's answer has no certificate");
    }
    context->certificate = certificate;
    context->key = arena_copy(arena, str_from(text.text, text.len));
    context->expires = value_get_text(status, "expires");
    context->token = context->token_file = STR_EMPTY;
    return true;
}
