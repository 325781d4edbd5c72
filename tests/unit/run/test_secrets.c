#include "run/secrets.h"

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    Secrets *secrets;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    arena_init(&fixture.arena, ARENA_UNLIMITED);
    fixture.secrets = secrets_new();
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    secrets_free(fixture->secrets);
    arena_clear(&fixture->arena);
    return 0;
}

static Value marked(const char *text)
{
    return value_with_secret(value_string(str_from_c(text)));
}

static void assert_shown(Fixture *fixture, const char *text, const char *expected)
{
    assert_str(secrets_scrub(fixture->secrets, str_from_c(text), &fixture->arena), expected);
}

static void only_marked_values_are_hidden(void **state)
{
    Fixture *fixture = *state;
    assert_shown(fixture, "user and s3cr3t-hunter2", "user and s3cr3t-hunter2");
    Map *map = map_new(&fixture->arena, 2);
    map_set_str(&fixture->arena, map, STR("name"), value_string(STR("user")));
    map_set_str(&fixture->arena, map, STR("password"), marked("s3cr3t-hunter2"));
    secrets_add(fixture->secrets, value_map(map));
    assert_shown(fixture, "user and s3cr3t-hunter2", "user and (secret)");
}

/* Text around a secret is not secret, however it was assembled. */
static void a_computed_text_hides_only_the_secret_in_it(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    secrets_add_computed(fixture->secrets, marked("echo s3cr3t-hunter2\nexit 3\n"));
    secrets_add_computed(fixture->secrets, marked("postgres://app:s3cr3t-hunter2@db/app"));
    assert_shown(fixture, "echo s3cr3t-hunter2", "echo (secret)");
    assert_shown(fixture, "exit 3", "exit 3");
    assert_shown(fixture, "postgres://app:@db/app", "postgres://app:@db/app");
}

static void a_computed_text_without_a_known_secret_is_hidden(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    secrets_add_computed(fixture->secrets, marked("2retnuh-t3rc3s"));
    secrets_add_computed(fixture->secrets, marked("first-half\nother-half"));
    assert_shown(fixture, "x2retnuh-t3rc3s, other-half", "x(secret), (secret)");
}

/* A program may escape again what a template has escaped, whatever surrounds it. */
static void a_spelling_in_a_computed_text_is_hidden_too(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("s3cr3t \"hunter2\""));
    secrets_add(fixture->secrets, marked("plain-hunter3"));
    secrets_add_computed(fixture->secrets,
                         marked("{\"k\": \"s3cr3t \\\"hunter2\\\"\", \"l\": \"plain-hunter3\"}"));
    assert_shown(fixture, "\"{\\\"k\\\": \\\"s3cr3t \\\\\\\"hunter2\\\\\\\"\\\"",
                 "\"{\\\"k\\\": \\\"(secret)\\\"");
    assert_shown(fixture, "czNjcjN0IFwiaHVudGVyMlwi", "(secret)");
}

/* A hash may contain a short secret by coincidence: it is hidden as a whole. */
static void a_short_secret_does_not_reveal_the_surrounding_text(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("beef"));
    secrets_add_computed(fixture->secrets, marked("0123beef4567"));
    assert_shown(fixture, "0123beef4567", "(secret)");
    assert_shown(fixture, "0123 4567", "0123 4567");
}

static void computed_texts_can_be_added_between_two_texts(void **state)
{
    Fixture *fixture = *state;
    char text[32];
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "computed-%d-%d", i, i * 7919);
        secrets_add_computed(fixture->secrets, marked(text));
        secrets_add_computed(fixture->secrets, marked(i % 2 == 0 ? "always-there" : "sometimes"));
        assert_shown(fixture, text, "(secret)");
    }
}

/* The secret in a computed text may become known after the text. */
static void computed_texts_wait_for_the_secrets_in_them(void **state)
{
    Fixture *fixture = *state;
    secrets_add_computed(fixture->secrets, marked("echo s3cr3t-hunter2"));
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    assert_shown(fixture, "echo s3cr3t-hunter2", "echo (secret)");
}

/* So that they do not fill the memory. */
static void only_a_limited_amount_of_computed_texts_waits(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("known-secret"));
    secrets_add_computed(fixture->secrets, marked("echo s3cr3t-hunter2"));
    char *large = ARENA_ARRAY(&fixture->arena, char, SCRUB_BYTES_MAX + 1);
    memset(large, 'x', SCRUB_BYTES_MAX);
    memcpy(large, "known-secret", 12);
    large[SCRUB_BYTES_MAX] = '\0';
    secrets_add_computed(fixture->secrets, marked(large));
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    assert_shown(fixture, "echo s3cr3t-hunter2", "(secret)");
    assert_shown(fixture, "echo xxxx", "echo xxxx");
}

static void secrets_can_be_added_between_two_texts(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("first-one"));
    assert_shown(fixture, "first-one second-one", "(secret) second-one");
    secrets_add(fixture->secrets, marked("second-one"));
    assert_shown(fixture, "first-one second-one", "(secret) (secret)");
}

static void a_long_text_can_end_within_a_secret(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    Buf text = buf_make_in(&fixture->arena, BUF_UNLIMITED);
    for (int i = 0; i < 80; i++) {
        buf_put_char(&text, 'x');
    }
    buf_put_c(&text, " s3cr3t-hun");
    Str clean = secrets_scrub(fixture->secrets, buf_str(&text), &fixture->arena);
    assert_true(str_ends(clean, STR("x (secret)")));
    assert_shown(fixture, "user s3cr3t", "user s3cr3t");
}

static void too_many_secrets_leave_nothing_to_show(void **state)
{
    Fixture *fixture = *state;
    char *bytes = arena_alloc(&fixture->arena, SCRUB_BYTES_MAX + 1);
    memset(bytes, 'x', SCRUB_BYTES_MAX + 1);
    secrets_add(fixture->secrets,
                value_with_secret(value_string(str_from(bytes, SCRUB_BYTES_MAX + 1))));
    assert_shown(fixture, "anything", "(not shown: too many secrets to search for)");
}

static void strings_keys_and_numbers_of_a_value_are_searched(void **state)
{
    Fixture *fixture = *state;
    Arena *arena = &fixture->arena;
    List *list = list_new(arena, 2);
    list_push(arena, list, value_string(STR("a s3cr3t-hunter2 b")));
    list_push(arena, list, value_int(48151623));
    Map *map = map_new(arena, 3);
    map_set_str(arena, map, STR("s3cr3t-hunter2"), value_list(list));
    map_set_str(arena, map, STR("own"), marked("abc"));
    map_set_str(arena, map, STR("plain"), value_int(42));
    Value hidden = secrets_scrub_value(fixture->secrets, value_map(map), arena);
    assert_str(value_get_text(hidden, "own"), "(secret)");
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    secrets_add(fixture->secrets, value_with_secret(value_int(48151623)));
    Value shown = secrets_scrub_value(fixture->secrets, value_map(map), arena);
    const MapEntry *found = map_find_str(shown.map, STR("(secret)"));
    assert_non_null(found);
    assert_str(value_str(found->value.list->items[0]), "a (secret) b");
    assert_str(value_str(found->value.list->items[1]), "(secret)");
    assert_int_equal(map_find_str(shown.map, STR("plain"))->value.integer, 42);
}

static void a_text_truncated_before_an_ellipsis_is_hidden(void **state)
{
    Fixture *fixture = *state;
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    assert_shown(fixture, "echo s3cr3t-hun ...", "echo (secret) ...");
    assert_shown(fixture, "echo s3cr3t-hun is another word", "echo s3cr3t-hun is another word");
}

/* Message, hint, fix, excerpt and notes: each may quote the source. */
static void problems_show_no_secret(void **state)
{
    Fixture *fixture = *state;
    ProblemNote second = { .message = STR("again s3cr3t-hunter2") };
    ProblemNote first = { .message = STR("here s3cr3t-hunter2"), .next = &second };
    Problem problem = { .message = STR("no such s3cr3t-hunter2"),
                        .hint = STR("or 's3cr3t-hunter2'?"),
                        .fix = { .line = 1, .text = STR("s3cr3t-hunter2") },
                        .excerpt = STR("password: s3cr3t-hunter2"),
                        .notes = &first };
    Problem plain = { .message = STR("no such user"),
                      .fix = { .line = 1, .text = STR("users") },
                      .excerpt = STR("user: you") };
    secrets_add(fixture->secrets, marked("s3cr3t-hunter2"));
    secrets_scrub_problem(fixture->secrets, &problem, &fixture->arena);
    assert_str(problem.message, "no such (secret)");
    assert_str(problem.hint, "or '(secret)'?");
    assert_int_equal(problem.fix.line, 0);
    assert_str(problem.fix.text, "");
    assert_str(problem.excerpt, "");
    assert_str(first.message, "here (secret)");
    assert_str(second.message, "again (secret)");
    secrets_scrub_problem(fixture->secrets, &plain, &fixture->arena);
    assert_str(plain.fix.text, "users");
    assert_str(plain.excerpt, "user: you");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(only_marked_values_are_hidden),
        TEST(a_computed_text_hides_only_the_secret_in_it),
        TEST(a_computed_text_without_a_known_secret_is_hidden),
        TEST(a_spelling_in_a_computed_text_is_hidden_too),
        TEST(a_short_secret_does_not_reveal_the_surrounding_text),
        TEST(secrets_can_be_added_between_two_texts),
        TEST(computed_texts_can_be_added_between_two_texts),
        TEST(computed_texts_wait_for_the_secrets_in_them),
        TEST(only_a_limited_amount_of_computed_texts_waits),
        TEST(a_long_text_can_end_within_a_secret),
        TEST(too_many_secrets_leave_nothing_to_show),
        TEST(strings_keys_and_numbers_of_a_value_are_searched),
        TEST(a_text_truncated_before_an_ellipsis_is_hidden),
        TEST(problems_show_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
