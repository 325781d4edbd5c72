#include "cli/remote_hint.h"

#include <string.h>

#include "net/resolve.h"
#include "net/tls.h"

/* Returns "eden login https://eden1:1338 --name prod". */
static Str login_command(Arena *arena, Str server, Str name)
{
    return arena_format(arena, "eden login%s%" STR_FMT "%s%" STR_FMT, server.len > 0 ? " " : "",
                        STR_ARG(server), name.len > 0 ? " --name " : "", STR_ARG(name));
}

static Str distrust_hint(Arena *arena, Str server, Str name, const Error *err)
{
    if (strstr(err->text, TLS_TEXT_NAMES) != NULL) {
        return arena_format(
            arena,
            "use one of these names: '%" STR_FMT "'; to add another name, add it to 'names' in "
            "server.json on the server, restart the server, and run 'eden pki renew --serving'",
            STR_ARG(login_command(arena, STR("https://NAME:PORT"), name)));
    }
    if (strstr(err->text, TLS_TEXT_VALIDITY) != NULL) {
        return STR("compare the clocks with 'timedatectl' here and on the server, and correct the "
                   "wrong one; 'timedatectl set-ntp true' keeps it in sync");
    }
    if (strstr(err->text, TLS_TEXT_PROTOCOL) != NULL) {
        return arena_format(
            arena,
            "this is the port for nodes (default: 1337); the API uses a different port: 1338, "
            "or the one set by 'api' in server.json on the server: '%" STR_FMT "'",
            STR_ARG(login_command(arena, STR("https://NAME:1338"), name)));
    }
    if (strstr(err->text, TLS_TEXT_REJECTED) != NULL) {
        return arena_format(arena, "'%" STR_FMT "' with a new token restores access",
                            STR_ARG(login_command(arena, server, name)));
    }
    return arena_format(arena,
                        "the CA may have changed: compare its pin on the server ('eden pki rotate "
                        "--status'), then run '%" STR_FMT " --ca-pin sha256:...'",
                        STR_ARG(login_command(arena, server, name)));
}

/* Returns "port 1338" or "ports 1338, 4444", the ports of all servers that were tried. */
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

static Str unreachable_hint(Arena *arena, const Context *context, bool is_login, const Error *err)
{
    if (strstr(err->text, RESOLVE_UNKNOWN) != NULL) {
        return arena_format(arena, "check the name with 'getent ahosts NAME', or use an address%s",
                            is_login ? "" : ": 'eden login https://ADDRESS:PORT'");
    }
    Str ports = ports_text(arena, context);
    return is_login ? arena_format(arena,
                                   "check that the address is correct, that the server is running "
                                   "('eden doctor' there), and that firewalls allow %" STR_FMT,
                                   STR_ARG(ports))
                    : arena_format(
                          arena,
                          "check that the address is correct, that the server is running, and that "
                          "firewalls allow %" STR_FMT
                          "; 'eden doctor' shows more, --context selects another server",
                          STR_ARG(ports));
}

Str remote_hint(Arena *arena, const Context *context, bool is_login, const Error *err)
{
    switch (err->kind) {
    case ERROR_DENIED:
        return distrust_hint(arena, is_login ? context->servers[0] : STR_EMPTY, context->name, err);
    case ERROR_UNAVAILABLE:
    case ERROR_NOT_FOUND:
    case ERROR_TIMEOUT: return unreachable_hint(arena, context, is_login, err);
    default: return STR_EMPTY;
    }
}
