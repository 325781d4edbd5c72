/* Every operator, filter, test, function and method is charged for its work: with inputs much
 * larger than the limits, each must hit the limit. New rows need a line here. */
#include "lang/template/methods.h"
#include "lang/template/native.h"
#include "lang/template/rows.h"

enum {
    TEXT_BYTES = 1 << 20,
    ITEMS = 100000,
    PAIRS = 50000,
    STEPS = 1000,
    MEMORY = 256 << 10,
};

typedef struct Case {
    const char *name;
    const char *text;   /* an expression; NULL: its cost does not grow with the values */
    const char *limits; /* which limits it hits: "s" steps, "m" memory */
} Case;

/* Large values: T a text of words and lines, L a list of numbers, S one of texts, D one of maps, P
 * one of pairs, M a map, J and Y the text of a list, N a text of digits, B one of base64. */
static const Case filters[] = {
    /* clang-format off */
    { "b64encode", "T | b64encode", "sm" }, { "b64decode", "B | b64decode", "sm" },
    { "hash", "T | hash('sha256')", "s" }, { "checksum", "T | checksum", "s" }, { "md5", "T | md5", "s" },
    { "sha1", "T | sha1", "s" }, { "sha256", "T | sha256", "s" }, { "sha512", "T | sha512", "s" },
    { "to_uuid", "T | to_uuid", "s" }, { "urldecode", "T | urldecode", "sm" }, { "quote", "T | quote", "sm" },
    { "escape", "T | escape", "sm" }, { "e", "T | e", "sm" }, { "forceescape", "T | forceescape", "sm" },
    { "safe", "L | safe", "sm" }, { "striptags", "T | striptags", "s" }, { "xmlattr", "M | xmlattr", "sm" },
    { "urlencode", "T | urlencode", "sm" }, { "urlize", "T | urlize", "sm" }, { "tojson", "L | tojson", "sm" },
    { "to_json", "L | to_json", "sm" }, { "to_nice_json", "L | to_nice_json", "sm" }, { "json", "L | json", "sm" },
    { "from_json", "J | from_json", "sm" }, { "split", "T | split", "sm" }, { "comment", "T | comment", "sm" },
    { "urlsplit", "T | urlsplit", "s" }, { "flatten", "L | flatten", "sm" }, { "zip", "L | zip(L) | list", "sm" },
    { "zip_longest", "L | zip_longest([]) | list", "sm" }, { "combinations", "L | combinations(2) | list", "sm" },
    { "permutations", "L | permutations(2) | list", "sm" }, { "product", "L | product(L) | list", "sm" },
    { "sequence", "T | sequence", "s" }, { "ternary", NULL }, { "bool", "T | bool", "s" }, { "secret", "T | secret", "s" },
    { "to_bool", "T | to_bool", "s" }, { "to_num", "N | to_num", "s" }, { "mandatory", NULL },
    { "type_debug", NULL }, { "combine", "M | combine({'x': 1})", "sm" }, { "dict2items", "M | dict2items", "sm" },
    { "items2dict", "D | items2dict('a', 'a')", "sm" }, { "traverse", "{} | traverse(T, ' ')", "s" },
    { "extract", NULL }, { "subelements", "D | subelements('l')", "sm" }, { "log", NULL }, { "pow", NULL },
    { "root", NULL }, { "human_readable", NULL }, { "human_to_bytes", "N | human_to_bytes", "s" },
    { "avg", "L | avg", "sm" }, { "ipaddr", "S | ipaddr", "sm" }, { "ipv4", "S | ipv4", "sm" }, { "ipv6", "S | ipv6", "sm" },
    { "ipwrap", "S | ipwrap", "sm" }, { "ipsubnet", "T | ipsubnet", "s" }, { "ipmath", "T | ipmath(1)", "s" },
    { "nthhost", "T | nthhost(1)", "s" }, { "is_ip", "T | is_ip", "s" }, { "is_ipv4", "T | is_ipv4", "s" },
    { "is_ipv6", "T | is_ipv6", "s" }, { "abs", NULL }, { "int", "N | int", "s" }, { "float", "N | float", "s" },
    { "round", NULL }, { "filesizeformat", NULL }, { "sort", "L | sort", "sm" },
    { "dictsort", "M | dictsort", "sm" }, { "groupby", "D | groupby('a')", "sm" }, { "min", "L | min", "s" },
    { "max", "L | max", "s" }, { "unique", "L | unique | list", "sm" }, { "sum", "L | sum", "s" },
    { "basename", "T | basename", "s" }, { "dirname", "T | dirname", "s" }, { "splitext", "T | splitext", "s" },
    { "path_join", "S | path_join", "sm" }, { "normpath", "T | normpath", "sm" }, { "relpath", "T | relpath('/')", "sm" },
    { "pprint", "L | pprint", "sm" }, { "wordwrap", "T | wordwrap", "sm" }, { "random", "T | random", "s" },
    { "shuffle", "L | shuffle", "sm" }, { "regex_search", "T | regex_search('x')", "s" },
    { "regex_match", "T | regex_match('x')", "s" }, { "regex_findall", "T | regex_findall('a')", "sm" },
    { "regex_replace", "T | regex_replace('a', 'b')", "sm" }, { "regex_escape", "T | regex_escape", "sm" },
    { "map", "L | map('string') | list", "sm" }, { "select", "L | select | list", "sm" },
    { "reject", "L | reject | list", "s" }, { "selectattr", "D | selectattr('a') | list", "sm" },
    { "rejectattr", "D | rejectattr('a') | list", "s" }, { "default", NULL }, { "d", NULL }, { "attr", NULL },
    { "length", "L | map('string') | length", "sm" }, { "count", "L | map('string') | count", "sm" },
    { "first", NULL }, { "last", "L | map('string') | last", "sm" }, { "list", "L | list", "sm" },
    { "reverse", "L | reverse | list", "sm" }, { "join", "L | join", "sm" }, { "batch", "L | batch(2) | list", "sm" },
    { "slice", "L | slice(3) | list", "sm" }, { "items", "M | items | list", "sm" }, { "union", "L | union(L)", "sm" },
    { "intersect", "L | intersect(L)", "sm" }, { "difference", "L | difference([])", "sm" },
    { "symmetric_difference", "L | symmetric_difference([])", "sm" }, { "upper", "T | upper", "sm" },
    { "lower", "T | lower", "sm" }, { "capitalize", "T | capitalize", "sm" }, { "title", "T | title", "sm" },
    { "trim", "T | trim", "s" }, { "string", "L | string", "sm" }, { "center", "'x' | center(1000000)", "sm" },
    { "replace", "T | replace('a', 'b')", "sm" }, { "format", "'%1000000d' | format(1)", "sm" },
    { "indent", "T | indent", "sm" }, { "truncate", "T | truncate", "s" }, { "wordcount", "T | wordcount", "s" },
    { "strftime", "T | strftime(0)", "sm" }, { "version_compare", "T | version_compare('1', '<')", "s" },
    { "version", "T | version('1', '<')", "s" }, { "to_yaml", "L | to_yaml", "sm" },
    { "to_nice_yaml", "L | to_nice_yaml", "sm" }, { "yaml", "L | yaml", "sm" }, { "yaml_dquote", "T | yaml_dquote", "sm" },
    { "yaml_squote", "T | yaml_squote", "sm" }, { "yaml_encode", "T | yaml_encode", "sm" },
    { "from_yaml", "Y | from_yaml", "sm" }, { "from_yaml_all", "Y | from_yaml_all", "sm" },
    /* clang-format on */
};

static const Case checks[] = {
    /* clang-format off */
    { "eq", "L is eq(L[:])", "sm" }, { "equalto", "L is equalto(L[:])", "sm" }, { "==", "[L] | select('==', L[:]) | list", "sm" },
    { "ne", "L is ne(L[:])", "sm" }, { "!=", "[L] | select('!=', L[:]) | list", "sm" }, { "lt", "L is lt(L)", "s" },
    { "lessthan", "L is lessthan(L)", "s" }, { "<", "[L] | select('<', L[:]) | list", "sm" }, { "le", "L is le(L)", "s" }, { "<=", "[L] | select('<=', L[:]) | list", "sm" },
    { "gt", "L is gt(L)", "s" }, { "greaterthan", "L is greaterthan(L)", "s" }, { ">", "[L] | select('>', L[:]) | list", "sm" },
    { "ge", "L is ge(L)", "s" }, { ">=", "[L] | select('>=', L[:]) | list", "sm" }, { "in", "-1 is in(L)", "s" }, { "sameas", NULL },
    { "even", NULL }, { "odd", NULL }, { "divisibleby", NULL }, { "truthy", NULL }, { "falsy", NULL },
    { "any", "([0] * 5000) is any", "s" }, { "all", "L[1:] is all", "sm" }, { "contains", "L is contains(-1)", "s" },
    { "subset", "L is subset(L)", "sm" }, { "superset", "L is superset(L)", "sm" }, { "list", NULL }, { "nan", NULL },
    { "version_compare", "T is version_compare('1', '<')", "s" }, { "version", "T is version('1', '<')", "s" },
    { "match", "T is match('x')", "s" }, { "search", "T is search('x')", "s" }, { "regex", "T is regex('x')", "s" },
    { "is_ip", "T is is_ip", "s" }, { "abs", NULL }, { "ip", "T is ip", "s" },
    { "defined", NULL }, { "undefined", NULL }, { "none", NULL }, { "boolean", NULL }, { "true", NULL },
    { "false", NULL }, { "integer", NULL }, { "float", NULL }, { "number", NULL }, { "string", NULL },
    { "mapping", NULL }, { "sequence", NULL }, { "iterable", NULL }, { "callable", NULL },
    { "escaped", NULL }, { "lower", "T is lower", "s" }, { "upper", "T is upper", "s" }, { "filter", NULL },
    { "test", NULL },
    /* clang-format on */
};

static const Case functions[] = {
    { "range", "range(1000000) | list", "sm" },
    { "dict", "dict(M)", "sm" },
    { "namespace", "namespace(M)", "sm" },
    { "cycler", "cycler(*L)", "sm" },
    { "joiner", NULL },
    { "lipsum", "lipsum(100000)", "sm" },
};

static const Case methods[] = {
    /* clang-format off */
    { "str.upper", "T.upper()", "sm" }, { "str.lower", "T.lower()", "sm" }, { "str.capitalize", "T.capitalize()", "sm" },
    { "str.title", "T.title()", "sm" }, { "str.swapcase", "T.swapcase()", "sm" }, { "str.casefold", "T.casefold()", "sm" },
    { "str.isdigit", "N.isdigit()", "s" }, { "str.isalpha", "N.isalpha()", "s" }, { "str.isalnum", "N.isalnum()", "s" },
    { "str.isascii", "N.isascii()", "s" }, { "str.isdecimal", "N.isdecimal()", "s" },
    { "str.isidentifier", "N.isidentifier()", "s" }, { "str.islower", "T.islower()", "s" },
    { "str.isnumeric", "N.isnumeric()", "s" }, { "str.isprintable", "N.isprintable()", "s" },
    { "str.isspace", "T.isspace()", "s" }, { "str.istitle", "T.istitle()", "s" }, { "str.isupper", "T.isupper()", "s" },
    { "str.replace", "T.replace('a', 'b')", "sm" }, { "str.startswith", "T.startswith('x')", "s" },
    { "str.endswith", "T.endswith('x')", "s" }, { "str.find", "T.find('x')", "s" }, { "str.rfind", "T.rfind('x')", "s" },
    { "str.index", "T.index('x')", "s" }, { "str.rindex", "T.rindex('x')", "s" }, { "str.count", "T.count('a')", "s" },
    { "str.removeprefix", "T.removeprefix('/')", "s" }, { "str.removesuffix", "T.removesuffix('/')", "s" },
    { "str.split", "T.split()", "sm" }, { "str.join", "''.join(S)", "sm" }, { "str.rsplit", "T.rsplit()", "sm" },
    { "str.splitlines", "T.splitlines()", "sm" }, { "str.partition", "T.partition('x')", "s" },
    { "str.rpartition", "T.rpartition('x')", "s" }, { "str.strip", "T.strip()", "s" }, { "str.lstrip", "T.lstrip()", "s" },
    { "str.rstrip", "T.rstrip()", "s" }, { "str.format", "'{:1000000}'.format(1)", "sm" },
    { "str.format_map", "'{a:1000000}'.format_map({'a': 1})", "sm" }, { "str.center", "'x'.center(1000000)", "sm" },
    { "str.ljust", "'x'.ljust(1000000)", "sm" }, { "str.rjust", "'x'.rjust(1000000)", "sm" },
    { "str.zfill", "'x'.zfill(1000000)", "sm" }, { "str.expandtabs", "'\\t'.expandtabs(1000000)", "sm" },
    { "Markup.__html__", NULL }, { "Markup.escape", "(''|safe).escape(T)", "sm" },
    { "Markup.striptags", "(T|safe).striptags()", "sm" }, { "Markup.unescape", "(T|safe).unescape()", "sm" },
    { "list.append", "{% set l = [] %}{% for i in L %}{% do l.append(1) %}{% endfor %}", "sm" },
    { "list.clear", NULL }, { "list.copy", "L.copy()", "sm" }, { "list.count", "L.count(-1)", "s" },
    { "list.extend", "[].extend(L)", "sm" }, { "list.index", "L.index(-1)", "s" },
    { "list.insert", "{% set l = [] %}{% for i in L %}{% do l.insert(0, 1) %}{% endfor %}", "sm" },
    { "list.pop", NULL }, { "list.remove", "([0] * 5000).remove(1)", "s" },
    { "list.reverse", "([0] * 50000).reverse()", "sm" }, { "list.sort", "([0] * 5000).sort()", "sm" },
    { "tuple.count", "((0,) * 5000).count(1)", "s" }, { "tuple.index", "((0,) * 5000).index(1)", "s" },
    { "dict.get", NULL }, { "dict.items", "M.items() | list", "sm" }, { "dict.keys", "M.keys() | list", "sm" },
    { "dict.values", "M.values() | list", "sm" }, { "dict.clear", NULL }, { "dict.copy", "M.copy()", "sm" },
    { "dict.fromkeys", "dict.fromkeys(L)", "sm" }, { "dict.pop", NULL }, { "dict.popitem", NULL },
    { "dict.setdefault", "{% set d = {} %}{% for i in L %}{{ d.setdefault(i, 1) }}{% endfor %}", "sm" },
    { "dict.update", "{}.update(M)", "sm" }, { "int.as_integer_ratio", NULL }, { "int.bit_count", NULL },
    { "int.bit_length", NULL }, { "int.conjugate", NULL }, { "float.as_integer_ratio", NULL },
    { "float.conjugate", NULL }, { "float.is_integer", NULL },
    /* clang-format on */
};

static const Case operators[] = {
    { "text * number", "'ab' * 1000000", "sm" },
    { "number * text", "1000000 * 'x'", "sm" },
    { "list * number", "[1, 2] * 1000000", "sm" },
    { "tuple * number", "1000000 * (1, 2)", "sm" },
    { "text + text", "T + T", "sm" },
    { "list + list", "L + L", "sm" },
    { "text ~ text", "T ~ 1", "sm" },
    { "~ list", "L ~ 1", "sm" },
    { "text % values", "'%1000000d' % 1", "sm" },
    { "text % width", "'%*d' % (1000000, 1)", "sm" },
    { "== of lists", "L == L[:]", "sm" },
    { "== of maps", "M == dict(M)", "sm" },
    { "< of lists", "L < L", "s" },
    { "in a list", "-1 in L", "s" },
    { "in a text", "'zz' in T", "s" },
    { "slice of a text", "T[::-1]", "sm" },
    { "slice of a list", "L[:]", "sm" },
    { "output of a list", "L", "s" },
    { "for over a list", "{% for i in L %}{% endfor %}", "s" },
    { "set of a block", "{% set x %}{{ T }}{% endset %}", "m" },
    { "filter block", "{% filter upper %}{{ T }}{% endfilter %}", "sm" },
};

typedef struct Large {
    Arena arena;
    Value context;
} Large;

static Str repeated(Arena *arena, Str chunk, size_t bytes)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    while (out.len < bytes) {
        buf_put(&out, chunk);
    }
    return buf_str(&out);
}

static Str listed(Arena *arena)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    buf_put(&out, STR("["));
    for (int i = 0; i < ITEMS; i++) {
        buf_put_format(&out, "%s%d", i > 0 ? ", " : "", i);
    }
    buf_put(&out, STR("]"));
    return buf_str(&out);
}

static void put(Large *large, const char *name, Value value)
{
    map_set_str(&large->arena, large->context.map, str_from_c(name), value);
}

static int set_up(void **state)
{
    Large *large = test_calloc(1, sizeof *large);
    Arena *arena = &large->arena;
    arena_init(arena, ARENA_UNLIMITED);
    large->context = value_map(map_new(arena, 16));
    List *numbers = list_new(arena, ITEMS), *texts = list_new(arena, ITEMS);
    List *maps = list_new(arena, PAIRS), *pairs = list_new(arena, PAIRS);
    Map *map = map_new(arena, PAIRS);
    for (int i = 0; i < ITEMS; i++) {
        list_push(arena, numbers, value_int(i));
        list_push(arena, texts, value_string(arena_format(arena, "%d", i)));
    }
    for (int i = 0; i < PAIRS; i++) {
        Map *entry = map_new(arena, 2);
        map_set_str(arena, entry, STR("a"), value_int(i));
        map_set_str(arena, entry, STR("l"), value_list(numbers));
        list_push(arena, maps, value_map(entry));
        List *pair = list_new(arena, 2);
        list_push(arena, pair, texts->items[i]);
        list_push(arena, pair, value_int(i));
        list_push(arena, pairs, value_list(pair));
        map_append(arena, map, texts->items[i], value_int(i));
    }
    put(large, "T", value_string(repeated(arena, STR("/<a c\n"), TEXT_BYTES)));
    put(large, "N", value_string(repeated(arena, STR("1234567890"), TEXT_BYTES)));
    put(large, "B", value_string(repeated(arena, STR("YWJj"), TEXT_BYTES)));
    put(large, "J", value_string(listed(arena)));
    put(large, "Y", value_string(repeated(arena, STR("- a\n"), TEXT_BYTES)));
    put(large, "L", value_list(numbers));
    put(large, "S", value_list(texts));
    put(large, "D", value_list(maps));
    put(large, "P", value_list(pairs));
    put(large, "M", value_map(map));
    value_freeze(large->context);
    *state = large;
    return 0;
}

static int tear_down(void **state)
{
    Large *large = *state;
    arena_clear(&large->arena);
    test_free(large);
    return 0;
}

static bool ends_in_the_limit(const Large *large, const char *text, uint64_t steps, size_t memory)
{
    TemplateSettings settings = template_settings_default();
    settings.limits.steps = steps;
    settings.limits.memory = memory;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault = { 0 };
    Row row = { text, "" };
    bool done = row_renders(templates, &row, large->context, &rendered, &fault);
    if (!done && fault.class == FAULT_LIMIT) {
        /* Only results bounded by the input may exist before the error. */
        if (memory == MEMORY && arena_used(&rendered.arena) > 64 * MEMORY) {
            print_error("%s: refused after %zu bytes\n", text, arena_used(&rendered.arena));
            return false;
        }
        return true;
    }
    print_error("%s: %s %" STR_FMT "\n", text, done ? "done" : fault_class_name(fault.class),
                STR_ARG(str_slice(fault.message, 0, 200)));
    return false;
}

static const Case *find_case(const Case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

static int check_case(const Large *large, const Case *cases, size_t count, const char *name)
{
    const Case *one = find_case(cases, count, name);
    if (one == NULL) {
        print_error("'%s' has no line here\n", name);
        return 1;
    }
    if (one->text == NULL) {
        return 0;
    }
    bool steps = strchr(one->limits, 's') != NULL, memory = strchr(one->limits, 'm') != NULL;
    assert_true(steps || memory);
    return (steps && !ends_in_the_limit(large, one->text, STEPS, SIZE_MAX / 2)) ||
           (memory && !ends_in_the_limit(large, one->text, UINT64_MAX / 2, MEMORY));
}

static int check_tables(const Large *large, const Case *cases, size_t count,
                        const Native *const *tables)
{
    int bad = 0;
    for (; *tables != NULL; tables++) {
        for (const Native *row = *tables; row->name != NULL; row++) {
            bad += check_case(large, cases, count, row->name);
        }
    }
    return bad;
}

static void every_filter_is_charged(void **state)
{
    assert_int_equal(check_tables(*state, filters, COUNT_OF(filters), filter_tables), 0);
}

static void every_test_is_charged(void **state)
{
    assert_int_equal(check_tables(*state, checks, COUNT_OF(checks), test_tables), 0);
}

static void every_function_is_charged(void **state)
{
    assert_int_equal(check_tables(*state, functions, COUNT_OF(functions), global_tables), 0);
}

static void every_method_is_charged(void **state)
{
    int bad = 0;
    for (const MethodTable *table = method_tables; table->type != NULL; table++) {
        for (const Native *row = table->rows; row->name != NULL; row++) {
            char name[64];
            snprintf(name, sizeof name, "%s.%s", table->type, row->name);
            bad += check_case(*state, methods, COUNT_OF(methods), name);
        }
    }
    assert_int_equal(bad, 0);
}

static void every_operator_is_charged(void **state)
{
    int bad = 0;
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        bad += check_case(*state, operators, COUNT_OF(operators), operators[i].name);
    }
    assert_int_equal(bad, 0);
}

/* A long text is charged before a filter is called. The filter's work costs more. */
static void hashing_costs_more_than_the_call(void **state)
{
    static const char *const hashes[] = { "T | md5", "T | hash('sha512')", "T | checksum" };
    for (size_t i = 0; i < COUNT_OF(hashes); i++) {
        assert_true(ends_in_the_limit(*state, hashes[i], TEXT_BYTES / 4 + STEPS, SIZE_MAX / 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_is_charged),
        cmocka_unit_test(every_test_is_charged),
        cmocka_unit_test(every_function_is_charged),
        cmocka_unit_test(every_method_is_charged),
        cmocka_unit_test(every_operator_is_charged),
        cmocka_unit_test(hashing_costs_more_than_the_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
