/* Advice for an unreachable server. */
#include "cli/remote_hint.h"

#include "net/resolve.h"
#include "net/tls.h"
#include "unit.h"

static void hint_is(ErrorKind kind, const char *text, const char *server, const char *name,
                    const char *hint)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    error_set(&err, kind, "%s", text);
    bool is_login = server[0] != '\0';
    Context context = { .name = str_from_c(name),
                        .servers = { str_from_c(is_login ? server : "https://b:4444"),
                                     STR("https://c:4444"), STR("https://d:5555") },
                        .server_count = is_login ? 1 : 3 };
    Str got = remote_hint(&arena, &context, is_login, &err);
    if (hint[0] == '\0' ? got.len > 0 : str_find(got, str_from_c(hint), 0) == STR_NOT_FOUND) {
        fail_msg("'%s' gives '%" STR_FMT "', not '%s'", text, STR_ARG(got), hint);
    }
}

static void each_problem_has_its_own_remedy(void **state)
{
    hint_is(ERROR_DENIED, "mismatch: " TLS_TEXT_NAMES " eden1", "", "prod",
            "'eden login https://NAME:PORT --name prod'");
    hint_is(ERROR_DENIED, "expired: " TLS_TEXT_VALIDITY " 2026", "", "prod", "'timedatectl'");
    hint_is(ERROR_DENIED, TLS_TEXT_REJECTED ": its certificate is revoked", "", "prod",
            "'eden login --name prod' with a new token");
    hint_is(ERROR_DENIED, "untrusted: " TLS_TEXT_CA " the pin", "https://a:1338", "prod",
            "'eden login https://a:1338 --name prod --ca-pin sha256:...'");
    hint_is(ERROR_DENIED, "untrusted", "https://a:1338", "",
            "'eden login https://a:1338 --ca-pin sha256:...'");
    hint_is(ERROR_DENIED, TLS_TEXT_PROTOCOL, "https://a:1337", "prod",
            "this is the port for nodes (default: 1337); the API uses a different port");
    hint_is(ERROR_DENIED, TLS_TEXT_PROTOCOL, "https://a:1337", "prod",
            "'eden login https://NAME:1338 --name prod'");
    hint_is(ERROR_UNAVAILABLE, "connection refused", "", "prod",
            "--context selects another server");
    hint_is(ERROR_TIMEOUT, "timed out", "https://a:1338", "", "firewalls");
    hint_is(ERROR_UNAVAILABLE, "connection refused", "", "prod", "allow ports 4444, 5555");
    hint_is(ERROR_UNAVAILABLE, "connection refused", "https://a:8443", "", "allow port 8443");
    hint_is(ERROR_UNAVAILABLE, "connection refused", "https://a", "", "allow port 1338");
    hint_is(ERROR_UNAVAILABLE, "a:1338: " RESOLVE_UNKNOWN, "https://a", "", "check the name");
    hint_is(ERROR_OS, "no more files", "", "prod", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_problem_has_its_own_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
