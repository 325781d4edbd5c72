/* Guesses for a word that is not a command or verb. */
#include "cli/command_guess.h"

#include "cli/command.h"
#include "unit.h"

static void a_synonym_suggests_its_command(void **state)
{
    static const struct {
        const char *word, *meant;
    } rows[] = {
        { "ping", "nodes ping" },
        { "codes", "help codes" },
        { "exit-codes", "help exit-codes" },
        { "status", "doctor" },
        { "ls", "nodes list" },
        { "list", "nodes list" },
        { "lint", "validate" },
        { "diff", "plan" },
        { "NODES", "nodes" },
        { "tokens-create", "tokens create" },
        { "nodes.list", "nodes list" },
        { "token_revoke", "tokens revoke" },
        { "plam", "plan" },
        { "create", "" }, /* of tokens, roles or backups */
        { "xyzzy", "" },
        { "", "" },
        { "-", "" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_str(command_guess(&arena, str_from_c(rows[i].word)), rows[i].meant);
    }
}

/* Following the hint must not give the same hint again. */
static void suggested_commands_exist(void **state)
{
    static const char *const words[] = { "ls",    "status", "check", "diff",   "install", "logs",
                                         "users", "certs",  "setup", "pillar", "server",  "demo" };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        Str meant = command_guess(&arena, str_from_c(words[i])), name;
        assert_true(str_split_next(&meant, ' ', &name));
        assert_non_null(command_find(name));
    }
}

static void a_synonym_suggests_its_verb(void **state)
{
    static const struct {
        const char *command, *word, *meant;
    } rows[] = {
        { "roles", "get", "show" },   { "roles", "GET", "show" },  { "roles", "ls", "list" },
        { "roles", "add", "create" }, { "nodes", "rm", "remove" }, { "roles", "rm", "delete" },
        { "tokens", "rm", "revoke" }, { "audit", "log", "tail" },  { "nodes", "lsit", "list" },
        { "nodes", "fly", "" },       { "nodes", "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const Command *command = command_find(str_from_c(rows[i].command));
        assert_str(verb_guess(command, str_from_c(rows[i].word)), rows[i].meant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_synonym_suggests_its_command),
        cmocka_unit_test(suggested_commands_exist),
        cmocka_unit_test(a_synonym_suggests_its_verb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
