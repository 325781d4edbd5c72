#include "cli/far_hint.h"

#include <string.h>

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

Str far_hint(Arena *arena, Str server, Str name, const Error *err)
{
    switch (err->kind) {
    case ERROR_DENIED: return distrust_hint(arena, server, name, err);
    case ERROR_UNAVAILABLE:
    case ERROR_NOT_FOUND:
    case ERROR_TIMEOUT:
        return server.len > 0
                   ? STR("is the address right, does the server run ('eden doctor' there tells), "
                         "do "
                         "firewalls let port 1338 through?")
                   : STR("is the address right, does the server run, do firewalls let port 1338 "
                         "through? 'eden doctor' tells more, --context asks another one");
    default: return STR_EMPTY;
    }
}
