/* The clusters that a user works with, as text and as a file, and errors in either. */
#include "cli/contexts.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

#define HEAD "{\"format\":\"eden.contexts/1\",\"current\":null,\"contexts\":{"

static void reads(Arena *arena, const char *text, Contexts *out)
{
    Error err;
    bool ok = contexts_read(arena, str_from_c(text), out, &err);
    if (!ok) {
        fail_msg("%s", err.text);
    }
}

static void refuses(const char *text, const char *why)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Contexts contexts;
    Error err;
    assert_false(contexts_read(&arena, str_from_c(text), &contexts, &err));
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' says '%s', not '%s'", text, err.text, why);
    }
}

static void a_file_survives_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Contexts first, second;
    reads(&arena,
          "{\"format\":\"eden.contexts/1\",\"current\":\"b\",\"contexts\":{"
          "\"a\":{\"server\":\"eden1\",\"servers\":[\"https://eden1:1338/\",\"[::1]:7\"],"
          "\"ca\":\"x.pem\",\"token\":\"t\",\"expires\":\"soon\"},"
          "\"b\":{\"server\":\"https://10.0.0.1:9\",\"servers\":[\"unix\"],"
          "\"certificate\":\"c\",\"key\":\"k\"}}}",
          &first);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    contexts_print(&first, &text);
    reads(&arena, buf_c(&text), &second);
    const Contexts *both[] = { &first, &second };
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        const Context *a = contexts_find(both[i], STR("a")), *b = contexts_find(both[i], STR("b"));
        assert_non_null(a);
        assert_non_null(b);
        assert_str(both[i]->current, "b");
        assert_int_equal(a->server_count, 2); /* the first one is named twice */
        assert_str(a->servers[0], "https://eden1:1338");
        assert_str(a->servers[1], "https://[::1]:7");
        assert_str(a->ca, "x.pem");
        assert_str(a->token, "t");
        assert_str(a->expires, "soon");
        assert_str(b->servers[0], "https://10.0.0.1:9");
        assert_str(b->servers[1], "https://unix:1338"); /* a valid host name */
        assert_str(b->certificate, "c");
        assert_str(b->key, "k");
    }
}

static void invalid_contexts_are_rejected(void **state)
{
    refuses("", "");
    refuses("[]", "must be an object");
    refuses("{\"format\":\"eden.contexts/2\",\"contexts\":{}}", "expected 'eden.contexts/1'");
    refuses("{\"format\":\"eden.contexts/1\"}", "contexts");
    refuses("{\"format\":\"eden.contexts/1\",\"curent\":\"a\",\"contexts\":{}}",
            "did you mean 'current'");
    refuses(HEAD "\"a\":7}}", "'contexts/a': must be an object");
    refuses(HEAD "\"a\":{}}}", "server: is required");
    refuses(HEAD "\"a\":{\"server\":\"http://x\"}}}", "https");
    refuses(HEAD "\"a\":{\"server\":\"https://x/y\"}}}", "https://NAME:PORT");
    refuses(HEAD "\"a\":{\"server\":\"unix:/run/x\"}}}", "https://NAME:PORT");
    refuses(HEAD "\"a\":{\"server\":\"x\",\"key\":\"k\"}}}", "must be given together");
    refuses(HEAD "\"a\":{\"server\":\"x\",\"token\":\"k\",\"token_file\":\"f\"}}}",
            "mutually exclusive");
    refuses(HEAD "\"a\":{\"server\":\"x\",\"token\":7}}}", "'contexts/a/token': must be a string");
    refuses(HEAD "\"a\":{\"server\":\"x\",\"tokens\":\"k\"}}}", "did you mean 'token'");
    refuses("{\n\"format\":\"eden.contexts/"
            "1\",\n\"contexts\":{\"a\":{\"server\":\"x\",\n\"token\":7}}}",
            "line 4");
    refuses(HEAD "\"a\":{\"server\":\"x\",\"token\":\"\"}}}", "must not be empty");
    refuses("{\"format\":\"eden.contexts/1\",\"current\":\"b\",\"contexts\":{}}",
            "no such context");
    refuses(HEAD "\"local\":{\"server\":\"x\"}}}", "this machine");
    refuses(HEAD "\"-a\":{\"server\":\"x\"}}}", "the name of a context");
    refuses(HEAD "\"a\\u0000\":{\"server\":\"x\"}}}", "the name of a context");
    refuses(HEAD "\"a\":{\"servers\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]}}}",
            "more than 8");
}

static void one_is_added_replaced_and_removed(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Contexts contexts = { 0 };
    for (int i = 0; i < 9; i++) {
        Context context = { .name = arena_format(&arena, "c%d", i) };
        contexts_put(&arena, &contexts, &context);
    }
    contexts_put(&arena, &contexts, &(Context){ .name = STR("c4"), .token = STR("new") });
    assert_int_equal(contexts.count, 9);
    assert_str(contexts_find(&contexts, STR("c4"))->token, "new");
    contexts.current = STR("c4");
    contexts_remove(&contexts, STR("c3"));
    assert_str(contexts.current, "c4");
    contexts_remove(&contexts, STR("c4"));
    contexts_remove(&contexts, STR("c4"));
    assert_str(contexts.current, "");
    assert_int_equal(contexts.count, 7);
    assert_null(contexts_find(&contexts, STR("c4")));
    assert_non_null(contexts_find(&contexts, STR("c8")));
    assert_str(contexts_suggest(&contexts, STR("loacl")), "local");
}

static void only_the_owner_can_read_the_file(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str dir = arena_format(&arena, "%s/settings/eden", scratch->path);
    const char *file = arena_format(&arena, "%" STR_FMT "/contexts.json", STR_ARG(dir)).data;
    Contexts contexts = { 0 };
    struct stat seen;
    Error err;
    assert_true(contexts_load(&arena, dir, &contexts, &err)); /* it does not exist: none */
    assert_int_equal(contexts.count, 0);
    Context context = { .name = STR("a"), .servers = { STR("https://x:1") }, .server_count = 1 };
    contexts_put(&arena, &contexts, &context);
    assert_true(contexts_save(&arena, dir, &contexts, &err));
    assert_int_equal(stat(file, &seen), 0);
    assert_int_equal(seen.st_mode & 0777, 0600);
    assert_int_equal(stat(dir.data, &seen), 0);
    assert_int_equal(seen.st_mode & 0777, 0700);
    assert_true(contexts_load(&arena, dir, &contexts, &err));
    assert_int_equal(contexts.count, 1);
    assert_int_equal(chmod(file, 0640), 0);
    assert_false(contexts_load(&arena, dir, &contexts, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_false(contexts_save(&arena, STR_EMPTY, &contexts, &err));
}

static void contexts_of_another_user_are_not_used(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str dir = arena_format(&arena, "%s/settings/eden", scratch->path);
    Contexts contexts = { 0 };
    Error err;
    if (geteuid() != 0) {
        fail_msg("this test gives a directory to another user, which takes root privileges");
    }
    Context context = { .name = STR("a"), .servers = { STR("https://x:1") }, .server_count = 1 };
    contexts_put(&arena, &contexts, &context);
    assert_true(contexts_save(&arena, dir, &contexts, &err));
    assert_int_equal(chown(dir.data, 1234, 1234), 0);
    assert_false(contexts_load(&arena, dir, &contexts, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "belongs to user 1234"));
}

static void contexts_too_large_to_read_back_are_not_written(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str dir = arena_format(&arena, "%s/eden", scratch->path);
    Contexts contexts = { 0 }, read;
    Error err;
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        Context context = { .name = arena_format(&arena, "c%d", i),
                            .servers = { STR("https://x:1") },
                            .server_count = 1 };
        contexts_put(&arena, &contexts, &context);
    }
    assert_true(contexts_save(&arena, dir, &contexts, &err));
    contexts_put(
        &arena, &contexts,
        &(Context){ .name = STR("more"), .servers = { STR("https://x:1") }, .server_count = 1 });
    assert_false(contexts_save(&arena, dir, &contexts, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    contexts_remove(&contexts, STR("more"));
    char *large = arena_alloc(&arena, CONTEXTS_BYTES_MAX);
    memset(large, 'x', CONTEXTS_BYTES_MAX);
    contexts.items[0].ca = str_from(large, CONTEXTS_BYTES_MAX);
    assert_false(contexts_save(&arena, dir, &contexts, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_true(contexts_load(&arena, dir, &read, &err));
    assert_int_equal(read.count, CONTEXTS_MAX);
}

static void referenced_files_are_read(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str dir = str_from_c(scratch->path);
    ContextCredentials has;
    Error err;
    scratch_put(scratch, "token", " eden_x \n");
    scratch_put(scratch, "ca.pem", "-----BEGIN CERTIFICATE-----\n");
    Context context = { .name = STR("a"), .ca = STR("ca.pem"), .token_file = STR("token") };
    assert_true(context_credentials(&arena, dir, &context, &has, &err));
    assert_str(has.token, "eden_x");
    assert_str(has.ca, "-----BEGIN CERTIFICATE-----\n");
    scratch_put(scratch, "token", "two\nlines");
    assert_false(context_credentials(&arena, dir, &context, &has, &err));
    context.token_file = STR("gone");
    assert_false(context_credentials(&arena, dir, &context, &has, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    context.token_file = STR_EMPTY;
    context.ca = STR_EMPTY;
    assert_false(context_credentials(&arena, dir, &context, &has, &err));
}

/* Like `eden login` once it has the token. */
static bool add_one(Str directory, int number)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Contexts contexts;
    Error err;
    Context one = { .name = arena_format(&arena, "c%d", number),
                    .servers = { STR("https://eden1:1338") },
                    .server_count = 1 };
    if (!contexts_lock(&arena, directory, &lock, &err) ||
        !contexts_load(&arena, directory, &contexts, &err)) {
        return false;
    }
    contexts_put(&arena, &contexts, &one);
    return contexts_save(&arena, directory, &contexts, &err);
}

static void concurrent_changes_lose_nothing(void **state)
{
    enum {
        AT_ONCE = 12,
        EACH = 5
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str directory = arena_format(&arena, "%s/eden", ((const Scratch *)*state)->path);
    pid_t children[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            bool fine = true;
            for (int k = 0; fine && k < EACH; k++) {
                fine = add_one(directory, i * EACH + k);
            }
            _exit(fine ? 0 : 1);
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    Contexts contexts;
    Error err;
    assert_true(contexts_load(&arena, directory, &contexts, &err));
    assert_int_equal(contexts.count, AT_ONCE * EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_survives_a_round_trip),
        cmocka_unit_test(invalid_contexts_are_rejected),
        cmocka_unit_test(one_is_added_replaced_and_removed),
        cmocka_unit_test_setup_teardown(only_the_owner_can_read_the_file, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(contexts_of_another_user_are_not_used, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(contexts_too_large_to_read_back_are_not_written,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(concurrent_changes_lose_nothing, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(referenced_files_are_read, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
