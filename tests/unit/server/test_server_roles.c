/* Access with tokens whose roles are limited to some objects, over TLS. */
#include "access/browser_sessions.h"
#include "audit/audit.h"
#include "server_world.h"

static const char none_of_yours[] = "not found, or not allowed by your roles";

static const char *place(const Fixture *f, const char *name)
{
    return arena_copy_c(f->arena, arena_format(f->arena, "/v1/config/%s", name));
}

/* As root. */
static void put_object(Fixture *f, const char *target, const char *body)
{
    f->said = (HttpCallField){ 0 };
    assert_int_equal(request(f, NULL, "PUT", target, str_from_c(body)), 201);
}

static int by_token(Fixture *f, const char *method, const char *target, const char *body)
{
    return request(f, &f->ca.chain.items[0].pin, method, target, str_from_c(body));
}

/* From now on requests use a token with this role, once the server knows both. */
static void use_role(Fixture *f, const char *role)
{
    Str body =
        arena_format(f->arena, "{\"spec\":{\"purpose\":\"access\",\"roles\":[\"%s\"]}}", role);
    f->said = (HttpCallField){ 0 };
    while (request(f, NULL, "POST", "/v1/tokens", body) != 201) {
        world_pass(&f->world, 1);
    }
    Str secret = value_str(*value_get(*value_get(answer(f), STR("status")), STR("secret")));
    f->said =
        (HttpCallField){ "Authorization", arena_join(f->arena, STR("Bearer"), STR(" "), secret) };
    while (by_token(f, "GET", "/v1/config", "") == 401) {
        world_pass(&f->world, 1);
    }
}

static void expect_reported(Fixture *f, const char *method, const char *name, const char *body,
                            int expected, const char *text)
{
    int status = by_token(f, method, place(f, name), body);
    if (status != expected || strstr(arena_copy_c(f->arena, f->response), text) == NULL) {
        fail_msg("%s %s %s: %d %.*s", method, name, body, status, (int)f->response.len,
                 f->response.data);
    }
}

static void expect_none(Fixture *f, const char *method, const char *name, const char *body)
{
    expect_reported(f, method, name, body, 404, none_of_yours);
}

/* Neither by status nor by message: inaccessible objects look nonexistent. */
static void limited_callers_learn_nothing_about_other_objects(void **state)
{
    Fixture *f = *state;
    static const char *const hidden[] = { "other", "nothing" };
    put_object(f, "/v1/config/own", "{\"metadata\":{\"labels\":{\"team\":\"web\"}}}");
    put_object(f, "/v1/config/other", "{\"metadata\":{\"labels\":{\"team\":\"db\"}}}");
    put_object(f, "/v1/roles/web",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"get\",\"list\",\"update\",\"delete\"],"
               "\"kinds\":[\"Config\"],\"selector\":\"team=web\"}]}}");
    use_role(f, "web");
    for (size_t i = 0; i < COUNT_OF(hidden); i++) {
        expect_none(f, "GET", hidden[i], "");
        expect_none(f, "DELETE", hidden[i], "");
        expect_none(f, "PATCH", hidden[i], "{\"spec\":{\"title\":\"x\"}}");
        expect_none(f, "PATCH", hidden[i], "{\"spec\":{\"titel\":\"x\"}}");
        expect_reported(f, "PATCH", hidden[i], "{\"metadata\":{\"revision\":1}}", 412,
                        "the object does not exist");
        expect_reported(f, "PUT", hidden[i], "{\"metadata\":{\"revision\":1}}", 412,
                        "the object does not exist");
        expect_reported(f, "PATCH", hidden[i], "{\"metadata\":{\"lables\":1}}", 400,
                        "/metadata/lables");
        expect_none(f, "PUT", hidden[i], "{\"metadata\":{\"labels\":{\"team\":\"web\"}}}");
    }
    assert_int_equal(by_token(f, "GET", "/v1/config", ""), 200);
    assert_int_equal(value_get(answer(f), STR("items"))->list->len, 1);
    /* Nor is it revealed. */
    assert_int_equal(
        by_token(f, "PATCH", place(f, "own"), "{\"metadata\":{\"labels\":{\"team\":\"db\"}}}"),
        403);
    assert_int_equal(by_token(f, "PATCH", place(f, "own"), "{\"spec\":{\"title\":\"x\"}}"), 200);
    assert_int_equal(by_token(f, "DELETE", place(f, "own"), ""), 200);
}

/* However recently it was created: the token works when the request for it is answered. */
static void a_role_in_use_is_not_deleted(void **state)
{
    Fixture *f = *state;
    put_object(f, "/v1/roles/web",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"get\"],\"kinds\":[\"Config\"]}]}}");
    Str body = STR("{\"spec\":{\"purpose\":\"access\",\"roles\":[\"web\"]}}");
    while (request(f, NULL, "POST", "/v1/tokens", body) != 201) {
        world_pass(&f->world, 1);
    }
    Str name = value_str(*value_get(*value_get(answer(f), STR("metadata")), STR("name")));
    const char *token =
        arena_copy_c(f->arena, arena_format(f->arena, "/v1/tokens/%" STR_FMT, STR_ARG(name)));
    assert_int_equal(request(f, NULL, "DELETE", "/v1/roles/web", STR_EMPTY), 409);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "revoke it first"));
    assert_int_equal(request(f, NULL, "DELETE", token, STR_EMPTY), 200);
    while (request(f, NULL, "DELETE", "/v1/roles/web", STR_EMPTY) == 409) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(request(f, NULL, "GET", "/v1/roles/web", STR_EMPTY), 404);
}

static void update_permission_does_not_allow_creation(void **state)
{
    Fixture *f = *state;
    put_object(f, "/v1/config/own", "{}");
    put_object(f, "/v1/roles/changes",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"list\",\"update\"],\"kinds\":[\"Config\"]}]}}");
    put_object(f, "/v1/roles/makes",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"list\",\"update\"],\"kinds\":[\"Config\"]},"
               "{\"verbs\":[\"create\"],\"kinds\":[\"Config\"],\"selector\":\"team=web\"}]}}");
    use_role(f, "changes");
    assert_int_equal(by_token(f, "PUT", place(f, "own"), "{\"spec\":{\"title\":\"x\"}}"), 200);
    assert_int_equal(by_token(f, "PUT", place(f, "new"), "{\"spec\":{\"title\":\"x\"}}"), 403);
    use_role(f, "makes");
    assert_int_equal(by_token(f, "PUT", place(f, "new"), "{\"spec\":{\"title\":\"x\"}}"), 403);
    assert_int_equal(
        by_token(f, "PUT", place(f, "new"), "{\"metadata\":{\"labels\":{\"team\":\"web\"}}}"), 201);
}

static const char *next_page(Fixture *f)
{
    Value metadata = *value_get(answer(f), STR("metadata"));
    Str next = value_str(*value_get(metadata, STR("continue")));
    return arena_copy_c(
        f->arena, arena_format(f->arena, "/v1/config?limit=1&continue=%" STR_FMT, STR_ARG(next)));
}

/* A page may end at an inaccessible object. */
static void a_cursor_reveals_nothing_and_works_only_for_its_caller(void **state)
{
    Fixture *f = *state;
    put_object(f, "/v1/config/a", "{\"metadata\":{\"labels\":{\"team\":\"web\"}}}");
    put_object(f, "/v1/config/hidden", "{\"metadata\":{\"labels\":{\"team\":\"db\"}}}");
    put_object(f, "/v1/config/z", "{\"metadata\":{\"labels\":{\"team\":\"web\"}}}");
    put_object(f, "/v1/roles/web",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"list\"],\"kinds\":[\"Config\"],"
               "\"selector\":\"team=web\"}]}}");
    put_object(f, "/v1/roles/db",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"list\"],\"kinds\":[\"Config\"],"
               "\"selector\":\"team=db\"}]}}");
    use_role(f, "web");
    assert_int_equal(by_token(f, "GET", "/v1/config?limit=1", ""), 200);
    const char *next = next_page(f);
    HttpCallField web = f->said;
    /* It survives a restart. */
    close_server(f, 0);
    open_server(f);
    while (by_token(f, "GET", next, "") != 200) {
        assert_int_equal(f->http_status, 401);
        world_pass(&f->world, 1);
    }
    const Value *items = value_get(answer(f), STR("items"));
    assert_int_equal(items->list->len, 1);
    assert_str(
        value_str(*value_get(*value_get(items->list->items[0], STR("metadata")), STR("name"))),
        "z");
    assert_true(str_find(f->response, STR("hidden"), 0) == STR_NOT_FOUND);
    use_role(f, "db");
    assert_int_equal(by_token(f, "GET", next, ""), 400);
    f->said = web;
    assert_int_equal(by_token(f, "GET", next, ""), 200);
}

/* Its labels are unknown: so not even a selector that matches all others matches it. */
static void unreadable_objects_require_unlimited_permission(void **state)
{
    Fixture *f = *state;
    put_object(f, "/v1/config/own", "{}");
    put_object(f, "/v1/roles/most",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"get\",\"list\",\"delete\"],"
               "\"kinds\":[\"Config\"],\"selector\":\"!team=db\"}]}}");
    put_object(f, "/v1/roles/all",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"get\",\"list\"],\"kinds\":[\"Config\"]}]}}");
    connect_server(f);
    put(f, STR("/eden/objects/config/broken"), STR("\xff"));
    use_role(f, "most");
    assert_int_equal(by_token(f, "GET", "/v1/config", ""), 200);
    assert_int_equal(value_get(answer(f), STR("items"))->list->len, 1);
    expect_none(f, "GET", "broken", "");
    expect_none(f, "DELETE", "broken", "");
    use_role(f, "all");
    assert_int_equal(by_token(f, "GET", "/v1/config", ""), 200);
    assert_int_equal(value_get(answer(f), STR("items"))->list->len, 2);
}

/* Facts have the labels of their node. */
static void facts_of_an_unreadable_node_require_unlimited_permission(void **state)
{
    Fixture *f = *state;
    put_object(f, "/v1/roles/most",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"get\",\"list\"],"
               "\"kinds\":[\"Config\",\"Facts\"],\"selector\":\"!team=db\"}]}}");
    put_object(f, "/v1/roles/all",
               "{\"spec\":{\"rules\":[{\"verbs\":[\"get\",\"list\"],"
               "\"kinds\":[\"Config\",\"Facts\"]}]}}");
    connect_server(f);
    put(f, STR("/eden/facts/web1"), STR("{\"cpus\":4}"));
    put(f, STR("/eden/nodes/web1"), STR("\xff"));
    use_role(f, "most");
    assert_int_equal(by_token(f, "GET", "/v1/facts/web1", ""), 404);
    assert_int_equal(by_token(f, "GET", "/v1/facts", ""), 200);
    assert_int_equal(value_get(answer(f), STR("items"))->list->len, 0);
    use_role(f, "all");
    assert_int_equal(by_token(f, "GET", "/v1/facts/web1", ""), 200);
    const Value *status = value_get(answer(f), STR("status"));
    assert_int_equal(value_get(*status, STR("cpus"))->integer, 4);
}

/* Neither the addresses of all other browser sessions, nor the audit log. */
static void repeated_logins_fill_nothing(void **state)
{
    Fixture *f = *state;
    uint32_t made = 0, recorded = 0;
    use_role(f, "viewer");
    Str token = str_from_offset(f->said.value, STR("Bearer ").len);
    const char *body = arena_format(f->arena, "{\"token\":\"%" STR_FMT "\"}", STR_ARG(token)).data;
    while (by_token(f, "POST", "/v1/session", body) == 201) {
        made++;
    }
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"status\":429"));
    /* Some may have arrived before the server knew the earlier ones. */
    assert_in_range(made, BROWSER_SESSIONS_OWN_MAX, BROWSER_SESSIONS_OWN_MAX + 10);
    f->said = (HttpCallField){ 0 };
    assert_int_equal(request(f, NULL, "GET", "/v1/audit?limit=1000", STR_EMPTY), 200);
    const List *entries = value_get(answer(f), STR("items"))->list;
    for (uint32_t i = 0; i < entries->len; i++) {
        const Value *status = value_get(entries->items[i], STR("status"));
        recorded += str_eq_c(value_str(*value_get(*status, STR("verb"))), "login");
    }
    assert_in_range(recorded, AUDIT_SESSIONS, made - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(limited_callers_learn_nothing_about_other_objects),
        ROW(a_role_in_use_is_not_deleted),
        ROW(update_permission_does_not_allow_creation),
        ROW(unreadable_objects_require_unlimited_permission),
        ROW(facts_of_an_unreadable_node_require_unlimited_permission),
        ROW(a_cursor_reveals_nothing_and_works_only_for_its_caller),
        ROW(repeated_logins_fill_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
