#include "cli/synonyms.h"

#include "unit.h"

static void a_word_of_others_is_found_by_what_it_means(void **state)
{
    static const struct {
        const char *word, *choices, *meant;
    } rows[] = {
        { "get", "list|show|create|delete", "show" },
        { "GET", "list|show", "show" },
        { "ls", "list|show", "list" },
        { "add", "list|create", "create" },
        { "rm", "list|show|remove|ping", "remove" },
        { "rm", "list|show|delete", "delete" },
        { "delete", "list|create|revoke", "revoke" },
        { "log", "tail|verify", "tail" },
        { "lsit", "list|show", "list" },
        { "fly", "list|show", "" },
        { "", "list|show", "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_str(synonym_or_near(str_from_c(rows[i].word), rows[i].choices), rows[i].meant);
    }
    assert_str(synonym_among(STR("lsit"), "list|show"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_of_others_is_found_by_what_it_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
