#include "api/routes.h"

#include "base/buf.h"
#include "unit.h"

static int set_up(void **state)
{
    static Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    return 0;
}

static void paths_match_their_rows(void **state)
{
    static const struct {
        const char *method, *path;
        int route;        /* -1: none */
        const char *part; /* NULL: not one of our paths */
    } cases[] = {
        { "GET", "/v1/health", ROUTE_HEALTH, "" },
        { "HEAD", "/v1/health", ROUTE_HEALTH, "" },
        { "GET", "/v1/nodes/web1", ROUTE_NODE_GET, "web1" },
        { "DELETE", "/v1/nodes/web1", ROUTE_NODE_DELETE, "web1" },
        { "PATCH", "/v1/nodes/web1", ROUTE_NODE_PATCH, "web1" },
        { "POST", "/v1/nodes/web1/approve", ROUTE_NODE_APPROVE, "web1" },
        { "DELETE", "/v1/tokens/abc", ROUTE_TOKEN_DELETE, "abc" },
        { "GET", "/v1/nodes/a%20b", ROUTE_NODE_GET, "a b" },
        { "GET", "/v1/nodes/a%2541", ROUTE_NODE_GET, "a%41" }, /* decoded once */
        { "GET", "/v1/nodes/approve", ROUTE_NODE_GET, "approve" },
        { "get", "/v1/health", -1, "" },
        { "POST", "/v1/health", -1, "" },
        { "OPTIONS", "/v1/nodes/web1", -1, "web1" },
        { "GET", "/", -1, NULL },
        { "GET", "/v1", -1, NULL },
        { "GET", "/v1/Health", -1, NULL },
        { "GET", "/v1/%68ealth", -1, NULL }, /* words are literal */
        { "GET", "/v1/nodes/web1/approve/x", -1, NULL },
        { "GET", "/v2/health", -1, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        RouteMatch match;
        Error err;
        assert_true(route_match(*state, str_from_c(cases[i].method), str_from_c(cases[i].path),
                                &match, &err));
        const RouteRow *row = cases[i].route < 0 ? NULL : &route_rows[cases[i].route];
        assert_ptr_equal(match.row, row);
        assert_int_equal(match.row_count > 0, cases[i].part != NULL);
        if (cases[i].part != NULL) {
            assert_str(match.part, cases[i].part);
        }
    }
}

static void invalid_paths_are_rejected(void **state)
{
    static const char *const paths[] = {
        "",
        "v1/health",
        "*",
        "//v1/health",
        "/v1//health",
        "/v1/health/",
        "/v1/nodes/",
        "/v1/nodes/..",
        "/v1/nodes/../health",
        "/v1/./health",
        "/v1/nodes/%2e%2E",
        "/v1/nodes/.%2e/approve",
        "/v1/nodes/a%2Fb",
        "/v1/nodes/a%00",
        "/v1/nodes/a%0a",
        "/v1/nodes/a%7f",
        "/v1/nodes/%",
        "/v1/nodes/%4",
        "/v1/nodes/%zz",
        "/v1/nodes/a b",
        "/v1/nodes/\xc3\xa4",
    };
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        RouteMatch match;
        Error err;
        if (route_match(*state, STR("GET"), str_from_c(paths[i]), &match, &err)) {
            fail_msg("\"%s\" is taken", paths[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(match.row);
    }
}

static void every_row_matches_its_own_path(void **state)
{
    Arena *arena = *state;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        RouteMatch match;
        Error err;
        if (!route_is_offered(row)) {
            continue;
        }
        Buf path = buf_make_in(arena, BUF_UNLIMITED);
        Str rest = str_from_offset(str_from_c(row->pattern), 1), word;
        while (str_split_next(&rest, '/', &word)) {
            buf_put_char(&path, '/');
            buf_put(&path, word.data[0] == '<' ? STR("x") : word);
        }
        assert_true(route_match(arena, str_from_c(row->method), buf_str(&path), &match, &err));
        /* What a kind does not support is as if it did not exist. */
        assert_true(match.row == row || (match.row == NULL && route_is_kind_route(row)));
        assert_true(row->help[0] != '\0' && row->handler != NULL);
    }
}

static void a_query_has_the_parameters_of_its_row(void **state)
{
    static const struct {
        int route;
        const char *query, *value; /* NULL: rejected */
    } cases[] = {
        { ROUTE_HEALTH, "", "" },
        { ROUTE_HEALTH, "a=b", NULL },
        { ROUTE_STORE_GET, "key=%2Feden%2fx", "/eden/x" },
        { ROUTE_STORE_GET, "key=/a+b=c", "/a+b=c" },
        { ROUTE_STORE_GET, "", NULL },
        { ROUTE_STORE_GET, "key", NULL },
        { ROUTE_STORE_GET, "key=", NULL },
        { ROUTE_STORE_GET, "key=a&key=b", NULL },
        { ROUTE_STORE_GET, "key=a&", NULL },
        { ROUTE_STORE_GET, "other=a", NULL },
        { ROUTE_STORE_GET, "%6bey=a", NULL },
        { ROUTE_STORE_GET, "key=%", NULL },
        { ROUTE_NODE_LIST, "", "" },
        { ROUTE_NODE_LIST, "continue=nodes%2fa", "" },
        { ROUTE_NODE_LIST, "continue=x&limit=7", "7" },
        { ROUTE_NODE_LIST, "limit=7&limit=7", NULL },
        { ROUTE_NODE_LIST, "limit=", NULL },
        { ROUTE_NODE_LIST, "[limit]=7", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        RouteQuery query;
        Error err;
        bool ok = route_query(*state, &route_rows[cases[i].route], str_from_c(cases[i].query),
                              &query, &err);
        if (ok != (cases[i].value != NULL)) {
            fail_msg("\"%s\"", cases[i].query);
        }
        if (ok) {
            assert_str(query.values[0], cases[i].value);
        } else {
            assert_int_equal(err.kind, ERROR_INVALID);
        }
    }
}

static void keys_can_have_arbitrary_bytes(void **state)
{
    RouteQuery query;
    Error err;
    const RouteRow *row = &route_rows[ROUTE_STORE_GET];
    assert_true(route_query(*state, row, STR("key=%00%ff%26"), &query, &err));
    Str value = *route_parameter(row, &query, "key");
    assert_int_equal(value.len, 3);
    assert_memory_equal(value.data, "\0\xff&", 3);
}

/* Changing this list needs a second thought. */
static void public_routes_are_a_fixed_list(void **state)
{
    static const Route open[] = {
        ROUTE_HEALTH,         ROUTE_ALIVE,          ROUTE_READY,
        ROUTE_JOIN,           ROUTE_OPENAPI,        ROUTE_SESSION_SHOW,
        ROUTE_SESSION_CREATE, ROUTE_SESSION_DELETE, ROUTE_SOURCE_WEBHOOK
    };
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        bool is_listed = false;
        for (size_t k = 0; k < COUNT_OF(open); k++) {
            is_listed = is_listed || i == open[k];
        }
        assert_int_equal(route_is_public(&route_rows[i]), is_listed);
        assert_true(is_listed || route_rows[i].verb[0] != '\0');
    }
}

/* Blobs have no effect until a version refers to them, and storing one twice changes nothing. */
static bool is_content(Route route)
{
    return route == ROUTE_BLOBS_MISSING || route == ROUTE_BLOBS_CREATE || route == ROUTE_BLOB_PUT;
}

/* What changes something is in the audit log; what reads is not, unless it reveals everything. */
static void exactly_the_changing_routes_are_audited(void **state)
{
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        bool changes =
            strcmp(row->method, "GET") != 0 && !route_is_public(row) && !is_content((Route)i);
        bool is_audited = i == ROUTE_BACKUP || (changes && i != ROUTE_NODE_PING);
        if (route_has(row, ROUTE_AUDITED) != is_audited) {
            fail_msg("%s", row->name);
        }
        /* Joining and logging in detect repetitions themselves, and their responses contain
         * secrets. */
        assert_int_equal(route_has(row, ROUTE_IDEMPOTENT),
                         changes && strcmp(row->method, "POST") == 0);
        assert_int_equal(route_has(row, ROUTE_CONDITIONAL),
                         route_is_kind_route(row) && changes && strcmp(row->method, "POST") != 0);
    }
}

static void a_body_has_a_size_and_types(void **state)
{
    const RouteRow *create = &route_rows[ROUTE_TOKEN_CREATE],
                   *patch = &route_rows[ROUTE_TOKEN_PATCH];
    static const Str json = { "application/json", 16 },
                     odd = { "Application/JSON ; charset=a", 28 },
                     merge = { "application/merge-patch+json", 28 }, form = { "text/plain", 10 };
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        assert_int_equal(route_rows[i].body_max > 0, route_rows[i].types != NULL);
        assert_true(route_rows[i].body_max <= route_largest_body());
    }
    assert_int_equal(route_largest_body(), ROUTE_BLOB_MAX);
    assert_true(route_accepts_type(create, &json) && route_accepts_type(create, &odd));
    assert_false(route_accepts_type(create, &merge) || route_accepts_type(create, &form) ||
                 route_accepts_type(create, NULL));
    assert_true(route_accepts_type(patch, &json) && route_accepts_type(patch, &merge));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(paths_match_their_rows),
        ROW(invalid_paths_are_rejected),
        ROW(every_row_matches_its_own_path),
        ROW(a_query_has_the_parameters_of_its_row),
        ROW(keys_can_have_arbitrary_bytes),
        ROW(public_routes_are_a_fixed_list),
        ROW(exactly_the_changing_routes_are_audited),
        ROW(a_body_has_a_size_and_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
