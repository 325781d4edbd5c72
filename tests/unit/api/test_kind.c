#include "api/kind.h"

#include "api/kind_rows.h"
#include "scratch.h"

/* "SIZE=spec.size STATE=status.state" */
static void expect_columns(Arena *arena, const Kind *kind, bool wide, const char *expected)
{
    KindColumn columns[KIND_COLUMNS_MAX];
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t count = kind_columns(arena, kind, wide, columns);
    for (uint32_t i = 0; i < count; i++) {
        buf_put_format(&text, "%s%s=%s", i > 0 ? " " : "", columns[i].title, columns[i].path);
    }
    assert_str(buf_str(&text), expected);
}

static const RecordField spec[] = {
    { .name = "size", .type = RECORD_INT, .column = { "SIZE" }, .help = "h" },
    { .name = "note", .column = { "NOTE", .after_status = true }, .help = "h" },
    { .name = "hidden", .help = "h" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "state", .column = { "STATE", "good" }, .help = "h" },
    { .name = "by", .column = { "BY", .is_wide = true }, .help = "h" },
    { 0 },
};

static void columns_are_derived_from_fields(void **state)
{
    Scratch *scratch = *state;
    static const KindColumn more[] = { { "LABELS", "metadata.labels", false, NULL }, { 0 } };
    Kind kind = { .spec = spec, .status = status, .columns = more };
    expect_columns(&scratch->arena, &kind, false,
                   "SIZE=spec.size STATE=status.state NOTE=spec.note LABELS=metadata.labels");
    expect_columns(&scratch->arena, &kind, true,
                   "SIZE=spec.size STATE=status.state BY=status.by NOTE=spec.note "
                   "LABELS=metadata.labels");
    expect_columns(&scratch->arena, &(Kind){ .name = "Empty" }, true, "");
}

static void a_field_defines_its_placeholder(void **state)
{
    Scratch *scratch = *state;
    KindColumn columns[KIND_COLUMNS_MAX];
    Kind kind = { .status = status };
    assert_int_equal(kind_columns(&scratch->arena, &kind, true, columns), 2);
    assert_string_equal(columns[0].placeholder, "good");
    assert_null(columns[1].placeholder);
}

/* routes.def generates the endpoints from the table, everything else uses the row. */
static void rows_are_named_like_the_table(void **state)
{
    static const struct {
        const char *name, *plural;
        const Kind *row;
    } table[] = {
#define KIND(constant, name, plural, row) { name, plural, &(row) },
#include "api/kinds.def"
#undef KIND
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_string_equal(table[i].row->name, table[i].name);
        assert_string_equal(table[i].row->plural, table[i].plural);
    }
}

static void every_kind_has_unique_titles(void **state)
{
    Scratch *scratch = *state;
    for (size_t k = 0; kinds[k] != NULL; k++) {
        KindColumn columns[KIND_COLUMNS_MAX];
        uint32_t count = kind_columns(&scratch->arena, kinds[k], true, columns);
        assert_true(count > 0);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < i; j++) {
                assert_string_not_equal(columns[i].title, columns[j].title);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_derived_from_fields, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_field_defines_its_placeholder, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test(rows_are_named_like_the_table),
        cmocka_unit_test_setup_teardown(every_kind_has_unique_titles, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
