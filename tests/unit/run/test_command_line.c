#include "run/command_line.h"

#include "run/test_dir.h"

static void a_definition_is_named_by_what_precedes_the_equals_sign(void **state)
{
    assert_str(define_name(STR("name=text")), "name");
    assert_str(define_name(STR("name=a=b:")), "name");
    assert_str(define_name(STR("name:={\"a\":1}")), "name");
    assert_str(define_name(STR("name=")), "name");
    assert_str(define_name(STR("name")), "name");
}

static Str words_of(TestDir *dir, const RunConfig *config)
{
    CommandWords words = { 0 };
    Buf text = buf_make_in(&dir->arena, BUF_UNLIMITED);
    command_line_put(&dir->arena, config, &words);
    for (uint32_t i = 0; i < words.len; i++) {
        const char *option = words.items[i].option;
        buf_put_format(&text, "%s%s%s=%" STR_FMT, i > 0 ? " " : "", option == NULL ? "" : "--",
                       option == NULL ? "" : option, STR_ARG(words.items[i].value));
    }
    return buf_str(&text);
}

static void defaults_are_omitted(void **state)
{
    TestDir *dir = *state;
    RunConfig config = {
        .path = "/srv/site", .root = "/", .state = "/var/lib/eden", .etc = "/etc/eden"
    };
    assert_str(words_of(dir, &config), "=/srv/site");
    config.state = "/srv/state";
    config.etc = "/srv/etc";
    assert_str(words_of(dir, &config), "--state-dir=/srv/state --config-dir=/srv/etc =/srv/site");
}

/* Also if there is no such directory. */
static void the_defaults_are_below_the_root(void **state)
{
    TestDir *dir = *state;
    RunConfig config = { .path = "/srv/site",
                         .root = "/nowhere",
                         .state = "/nowhere/var/lib/eden",
                         .etc = "/etc/eden" };
    assert_str(words_of(dir, &config), "--root=/nowhere --config-dir=/etc/eden =/srv/site");
    config.root = dir->path;
    config.state = test_dir_path(dir, "var/lib/eden");
    config.etc = test_dir_path(dir, "etc/eden");
    Str root = arena_format(&dir->arena, "--root=%s =/srv/site", dir->path);
    assert_str(words_of(dir, &config), root.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(a_definition_is_named_by_what_precedes_the_equals_sign),
        TEST_IN_DIR(defaults_are_omitted),
        TEST_IN_DIR(the_defaults_are_below_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
