/* Rows of rules as text for nft. */
#include "modules/firewall/ruleset.h"

#include <stdlib.h>

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    FirewallSpec request;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    fixture->request = (FirewallSpec){ .family = STR("inet"),
                                       .name = STR("eden"),
                                       .drops = true,
                                       .rules = value_missing(),
                                       .content = STR_EMPTY,
                                       .definitions = STR_EMPTY };
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    arena_clear(&fixture->arena);
    free(fixture);
    return 0;
}

static Value strings(Arena *arena, const char *text)
{
    List *list = list_new(arena, 2);
    Str rest = str_from_c(text), part;
    while (str_split_next(&rest, ' ', &part)) {
        list_push(arena, list, value_string(part));
    }
    return value_list(list);
}

/* "accept port=22 from=10.0.0.0/8" as a row. */
static Value row(Arena *arena, const char *text)
{
    Map *outer = map_new(arena, 1), *inner = map_new(arena, 4);
    Str rest = str_from_c(text), part;
    str_split_next(&rest, ' ', &part);
    map_set_str(arena, outer, part, value_map(inner));
    while (str_split_next(&rest, ' ', &part)) {
        size_t equals = str_find(part, STR("="), 0);
        List *list = list_new(arena, 2);
        Str values = str_from_offset(part, equals + 1), value;
        while (str_split_next(&values, ',', &value)) {
            list_push(arena, list, value_string(value));
        }
        map_set_str(arena, inner, str_slice(part, 0, equals), value_list(list));
    }
    return value_map(outer);
}

static bool format_row(Fixture *fixture, const char *text, Str *out)
{
    List *rules = list_new(&fixture->arena, 1);
    list_push(&fixture->arena, rules, row(&fixture->arena, text));
    fixture->request.rules = value_list(rules);
    return firewall_format(&fixture->arena, &fixture->request, out, &fixture->err);
}

static void a_row_becomes_rules(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *row, *rules;
    } cases[] = {
        { "accept", "        accept\n" },
        { "accept port=22", "        tcp dport 22 accept\n" },
        { "drop ports=22,8000-8010", "        tcp dport { 22, 8000-8010 } drop\n" },
        { "accept port=53 protocol=tcp,udp",
          "        tcp dport 53 accept\n        udp dport 53 accept\n" },
        { "reject protocol=udp", "        meta l4proto udp reject\n" },
        { "accept from=10.0.0.0/8,::1,192.0.2.1 port=1",
          "        ip saddr { 10.0.0.0/8, 192.0.2.1 } tcp dport 1 accept\n"
          "        ip6 saddr ::1 tcp dport 1 accept\n" },
        { "accept interface=eth0,wg*", "        iifname { \"eth0\", \"wg*\" } accept\n" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str text;
        assert_true(format_row(fixture, cases[i].row, &text));
        Str head = STR("table inet eden {\n    chain input {\n"
                       "        type filter hook input priority filter; policy drop;\n");
        assert_true(str_starts(text, head));
        assert_str(str_slice(text, head.len, text.len - strlen("    }\n}\n")), cases[i].rules);
    }
}

static void an_invalid_row_is_rejected(void **state)
{
    Fixture *fixture = *state;
    static const char *const rows[] = {
        "allow",
        "accept port=0",
        "accept port=65536",
        "accept port=",
        "accept port=-1",
        "accept port=2-1",
        "accept port=1-",
        "accept port=+1",
        "accept port=22;drop",
        "accept from=x",
        "accept from=10.0.0.0/33",
        "accept from=::/129",
        "accept from=1",
        "accept from=10.0.0.0/",
        "accept from=10.0.0.0/+8",
        "accept color=1",
        "accept interface=a\"b",
        "accept interface=*",
        "accept from=",
        "accept port=1 ports=2",
        "accept interface=0123456789abcdef",
        "accept protocol=icmp",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str text;
        if (format_row(fixture, rows[i], &text)) {
            fail_msg("%s", rows[i]);
        }
        assert_int_equal(fixture->err.kind, ERROR_INVALID);
        assert_non_null(strstr(fixture->err.text, "rule 1"));
    }
    Str text;
    Value wrong[] = { value_string(STR("accept")), value_int(3),
                      strings(&fixture->arena, "accept drop") };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        fixture->request.rules = wrong[i];
        assert_false(firewall_format(&fixture->arena, &fixture->request, &text, &fixture->err));
    }
}

static void a_family_has_its_own_addresses(void **state)
{
    Fixture *fixture = *state;
    Str text;
    fixture->request.basics = true;
    fixture->request.family = STR("ip");
    assert_false(format_row(fixture, "accept from=10.0.0.1,::1", &text));
    assert_true(format_row(fixture, "accept from=10.0.0.1", &text));
    assert_int_not_equal(str_find(text, STR("l4proto icmp accept"), 0), STR_NOT_FOUND);
    fixture->request.family = STR("ip6");
    assert_false(format_row(fixture, "accept from=10.0.0.1", &text));
}

static void tables_are_named_by_family_and_name(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *text, *family, *name;
    } cases[] = {
        { "inet eden", "inet", "eden" },  { "web", "inet", "web" },
        { "ip6  a_b-1", "ip6", "a_b-1" }, { "", NULL, NULL },
        { "inet ", NULL, NULL },          { "bridge x", NULL, NULL },
        { "inet a b", NULL, NULL },       { "inet a;b", NULL, NULL },
        { "inet 1a", NULL, NULL },        { "inet ../x", NULL, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool ok = firewall_parse_table(str_from_c(cases[i].text), &fixture->request, &fixture->err);
        assert_int_equal(ok, cases[i].family != NULL);
        if (ok) {
            assert_str(fixture->request.family, cases[i].family);
            assert_str(fixture->request.name, cases[i].name);
        }
    }
}

static void raw_rules_stay_inside_the_braces(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *content;
        bool ok;
    } cases[] = {
        { "tcp dport { 1, 2 } accept", true },
        { "log prefix \"} {\" accept", true },
        { "accept # } and \" too\ndrop", true },
        { "}", false },
        { "{", false },
        { "} table inet x {", false },
        { "log prefix \"#\" } {", false },
        { "log prefix \"x", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str text;
        fixture->request.content = str_from_c(cases[i].content);
        assert_int_equal(firewall_format(&fixture->arena, &fixture->request, &text, &fixture->err),
                         cases[i].ok);
        fixture->request.content = STR_EMPTY;
        fixture->request.definitions = str_from_c(cases[i].content);
        assert_int_equal(firewall_format(&fixture->arena, &fixture->request, &text, &fixture->err),
                         cases[i].ok);
        fixture->request.definitions = STR_EMPTY;
    }
}

static void the_file_remembers_the_listing(void **state)
{
    Fixture *fixture = *state;
    static const char *const listings[] = { "", "table inet eden {\n}\n", "a\n\nb\n" };
    for (size_t i = 0; i < COUNT_OF(listings); i++) {
        Str script, listing;
        Str file =
            firewall_file(&fixture->arena, STR("add table inet eden\n"), str_from_c(listings[i]));
        assert_true(firewall_parse_file(&fixture->arena, file, &script, &listing));
        assert_str(script, "add table inet eden\n");
        assert_str(listing, listings[i]);
    }
    Str script, listing;
    Str file = firewall_file(&fixture->arena, STR("x\n"), STR("y\n"));
    for (size_t len = 0; len + 4 < file.len; len++) {
        (void)firewall_parse_file(&fixture->arena, str_slice(file, 0, len), &script, &listing);
    }
    assert_false(firewall_parse_file(&fixture->arena, STR("flush ruleset\n"), &script, &listing));
    file = arena_format(&fixture->arena, "%" STR_FMT "flush ruleset\n", STR_ARG(file));
    assert_false(firewall_parse_file(&fixture->arena, file, &script, &listing));
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a_row_becomes_rules),
        WITH(an_invalid_row_is_rejected),
        WITH(a_family_has_its_own_addresses),
        WITH(tables_are_named_by_family_and_name),
        WITH(raw_rules_stay_inside_the_braces),
        WITH(the_file_remembers_the_listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
