#include "cli/far_hint.h"

#include <string.h>

#include "net/resolve.h"
#include "net/tls.h"

/* "eden login https://eden1:1338 --name prod" */
static Str login_words(Arena *arena, Str server, Str name)
{
    return arena_format(arena, "eden login%s%" STR_FMT "%s%" STR_FMT, server.len > 0 ? " " : "",
                        STR_ARG(server), name.len > 0 ? " --name " : "", STR_ARG(name));
}

static Str distrust_hint(Arena *arena, Str server, Str name, const Error *err)
{
    if (strstr(err->text, TLS_IS_FOR) != NULL) {
        return arena_format(arena,
                            "take one of these names: '%" STR_FMT
                            "'; for another one put it into 'names' of "
                            "server.json on the server, restart it, and 'eden pki renew --serving'",
                            STR_ARG(login_words(arena, STR("https://NAME:PORT"), name)));
    }
    if (strstr(err->text, TLS_IS_GOOD) != NULL) {
        return STR("'timedatectl' here and on the server tells whose clock is wrong: set it, "
                   "'timedatectl set-ntp true' keeps it right");
    }
    if (strstr(err->text, TLS_OTHER_USE) != NULL) {
        return arena_format(arena,
                            "that is the port for nodes, 1337 unless server.json says so; the API "
                            "is on another one, "
                            "1338 or what 'api' in server.json on the server says: '%" STR_FMT "'",
                            STR_ARG(login_words(arena, STR("https://NAME:1338"), name)));
    }
    if (strstr(err->text, TLS_NOT_LET_IN) != NULL) {
        return arena_format(arena, "'%" STR_FMT "' takes a new token, which opens the server again",
                            STR_ARG(login_words(arena, server, name)));
    }
    return arena_format(
        arena,
        "the pin of the CA may have changed: compare it on the server ('eden pki rotate "
        "--status'), then '%" STR_FMT " --ca-pin sha256:...'",
        STR_ARG(login_words(arena, server, name)));
}

/* "port 1338", "ports 1338, 4444": of all servers that were tried. */
static Str ports_text(Arena *arena, const Context *context)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    uint16_t ports[CONTEXT_SERVERS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->server_count; i++) {
        Address server;
        Error ignored;
        bool is_new = context_server_parse(context->servers[i], &server, &ignored);
        for (uint32_t k = 0; k < count; k++) {
            is_new = is_new && ports[k] != server.port;
        }
        if (is_new) {
            buf_put_format(&text, "%s%u", count == 0 ? "" : ", ", server.port);
            ports[count++] = server.port;
        }
    }
    return arena_format(arena, "%s %" STR_FMT, count == 1 ? "port" : "ports",
                        STR_ARG(buf_str(&text)));
}

static Str silence_hint(Arena *arena, const Context *context, bool is_login, const Error *err)
{
    if (strstr(err->text, RESOLVE_UNKNOWN) != NULL) {
        return arena_format(
            arena,
            "is the name right? 'getent ahosts NAME' here asks the same; an address does too%s",
            is_login ? "" : ": 'eden login https://ADDRESS:PORT'");
    }
    Str ports = ports_text(arena, context);
    return is_login ? arena_format(arena,
                                   "is the address right, does the server run ('eden doctor' there "
                                   "tells), do firewalls let %" STR_FMT " through?",
                                   STR_ARG(ports))
                    : arena_format(arena,
                                   "is the address right, does the server run, do firewalls let "
                                   "%" STR_FMT
                                   " through? 'eden doctor' tells more, --context asks another one",
                                   STR_ARG(ports));
}

Str far_hint(Arena *arena, const Context *context, bool is_login, const Error *err)
{
    switch (err->kind) {
    case ERROR_DENIED:
        return distrust_hint(arena, is_login ? context->servers[0] : STR_EMPTY, context->name, err);
    case ERROR_UNAVAILABLE:
    case ERROR_NOT_FOUND:
    case ERROR_TIMEOUT: return silence_hint(arena, context, is_login, err);
    default: return STR_EMPTY;
    }
}
