#include "cli/login_print.h"

#include "cli/credential_left.h"
#include "cli/output.h"
#include "pki/certificate.h"

static Str pin(const Invocation *invocation, Str directory, const Context *context)
{
    Arena *arena = invocation->arena;
    ContextCredentials has;
    Certificate *items;
    uint32_t count;
    Error err;
    char text[PIN_TEXT + 1];
    if (!context_credentials(arena, directory, context, &has, &err) ||
        !certificates_from_pem(arena, has.ca, &items, &count, &err)) {
        return STR_EMPTY;
    }
    pin_text(&items[0].pin, text);
    return arena_copy(arena, str_from_c(text));
}

/* --- Previous context ------------------------------------------------------------------------ */

typedef struct Side {
    Str server, user, roles, ca;
} Side;

static Side side_of(const Invocation *invocation, Str directory, const Context *context)
{
    return (Side){ .server = context->servers[0],
                   .user = context->user,
                   .roles = context->roles,
                   .ca = pin(invocation, directory, context) };
}

static bool print_change(const Invocation *invocation, const char *what, Str was, Str now)
{
    if (str_eq(was, now)) {
        return false;
    }
    output_line(invocation->out, "  %-7s %" STR_FMT " -> %" STR_FMT, what,
                STR_ARG(was.len > 0 ? was : STR("unknown")),
                STR_ARG(now.len > 0 ? now : STR("unknown")));
    return true;
}

static bool has_same_credential(Arena *arena, const Context *was, const Context *now)
{
    return str_eq(was->token, now->token) &&
           str_eq(credential_serial(arena, was), credential_serial(arena, now));
}

static void print_replaced(const Invocation *invocation, const LoginResult *result)
{
    Side was = side_of(invocation, result->directory, result->previous),
         now = side_of(invocation, result->directory, result->context);
    output_line(invocation->out,
                "replaces the previous context '%" STR_FMT "':", STR_ARG(result->previous->name));
    bool changed = print_change(invocation, "server", was.server, now.server);
    changed = print_change(invocation, "CA", was.ca, now.ca) || changed;
    changed = print_change(invocation, "user", was.user, now.user) || changed;
    changed = print_change(invocation, "roles", was.roles, now.roles) || changed;
    if (!changed) {
        output_line(invocation->out, "  the same server, CA, user and roles");
    }
    Str left = credential_left(invocation->arena, result->previous);
    if (left.len > 0 &&
        !has_same_credential(invocation->arena, result->previous, result->context)) {
        output_line(invocation->err, "%" STR_FMT, STR_ARG(left));
    }
}

/* --- Output ---------------------------------------------------------------------------------- */

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static Value as_value(const Invocation *invocation, const LoginResult *result)
{
    Arena *arena = invocation->arena;
    Map *map = map_new(arena, 8);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.login/1")));
    map_set_str(arena, map, STR("context"), value_string(result->context->name));
    map_set_str(arena, map, STR("server"), value_string(result->context->servers[0]));
    map_set_str(arena, map, STR("cluster"), value_string(result->cluster));
    map_set_str(arena, map, STR("name"), text_or_null(result->context->user));
    map_set_str(arena, map, STR("roles"), context_roles(arena, result->context));
    map_set_str(arena, map, STR("expires"), text_or_null(result->context->expires));
    if (result->previous == NULL) {
        map_set_str(arena, map, STR("replaced"), value_null());
        return value_map(map);
    }
    Side was = side_of(invocation, result->directory, result->previous);
    Map *replaced = map_new(arena, 4);
    map_set_str(arena, replaced, STR("server"), value_string(was.server));
    map_set_str(arena, replaced, STR("ca_pin"), text_or_null(was.ca));
    map_set_str(arena, replaced, STR("name"), text_or_null(was.user));
    map_set_str(arena, replaced, STR("roles"), context_roles(arena, result->previous));
    map_set_str(arena, map, STR("replaced"), value_map(replaced));
    return value_map(map);
}

int login_print(const Invocation *invocation, const LoginResult *result)
{
    const Context *now = result->context;
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, as_value(invocation, result));
    }
    Buf line = buf_make_in(invocation->arena, BUF_UNLIMITED);
    if (now->user.len > 0) {
        buf_put_format(&line, " as '%" STR_FMT "'", STR_ARG(now->user));
    }
    if (now->roles.len > 0) {
        buf_put_format(&line, " (%" STR_FMT ")", STR_ARG(now->roles));
    }
    if (now->expires.len > 0) {
        buf_put_format(&line, " until %" STR_FMT, STR_ARG(now->expires));
    }
    output_line(invocation->out, "logged in to %" STR_FMT "%" STR_FMT, STR_ARG(now->servers[0]),
                STR_ARG(buf_str(&line)));
    output_line(invocation->out, "switched to context '%" STR_FMT "'", STR_ARG(now->name));
    if (result->previous != NULL) {
        print_replaced(invocation, result);
    }
    return EXIT_OK;
}
