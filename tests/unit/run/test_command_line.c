#include "run/command_line.h"

#include "run/folder.h"

static void a_definition_is_named_by_what_precedes_the_equals_sign(void **state)
{
    assert_str(define_name(STR("name=text")), "name");
    assert_str(define_name(STR("name=a=b:")), "name");
    assert_str(define_name(STR("name:={\"a\":1}")), "name");
    assert_str(define_name(STR("name=")), "name");
    assert_str(define_name(STR("name")), "name");
}

static Str words_of(Folder *folder, const RunConfig *config)
{
    CommandWords words = { 0 };
    Buf text = buf_make_in(&folder->arena, BUF_UNLIMITED);
    command_line_put(&folder->arena, config, &words);
    for (uint32_t i = 0; i < words.len; i++) {
        const char *option = words.items[i].option;
        buf_put_format(&text, "%s%s%s=%" STR_FMT, i > 0 ? " " : "", option == NULL ? "" : "--",
                       option == NULL ? "" : option, STR_ARG(words.items[i].value));
    }
    return buf_str(&text);
}

static void defaults_are_omitted(void **state)
{
    Folder *folder = *state;
    RunConfig config = {
        .path = "/srv/site", .root = "/", .state = "/var/lib/eden", .etc = "/etc/eden"
    };
    assert_str(words_of(folder, &config), "=/srv/site");
    config.state = "/srv/state";
    config.etc = "/srv/etc";
    assert_str(words_of(folder, &config),
               "--state-dir=/srv/state --config-dir=/srv/etc =/srv/site");
}

/* Also if there is no such directory. */
static void the_defaults_are_below_the_root(void **state)
{
    Folder *folder = *state;
    RunConfig config = { .path = "/srv/site",
                         .root = "/nowhere",
                         .state = "/nowhere/var/lib/eden",
                         .etc = "/etc/eden" };
    assert_str(words_of(folder, &config), "--root=/nowhere --config-dir=/etc/eden =/srv/site");
    config.root = folder->path;
    config.state = folder_path(folder, "var/lib/eden");
    config.etc = folder_path(folder, "etc/eden");
    Str root = arena_format(&folder->arena, "--root=%s =/srv/site", folder->path);
    assert_str(words_of(folder, &config), root.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_definition_is_named_by_what_precedes_the_equals_sign),
        FOLDER_TEST(defaults_are_omitted),
        FOLDER_TEST(the_defaults_are_below_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
