/* Webhooks: signatures as the services document them, and what is taken from headers and bodies. */
#include "source/webhook.h"

#include "source/webhook_gate.h"
#include "unit.h"

#define SECRET STR("It's a Secret to Everybody")
#define BODY   STR("Hello, World!")
/* the example of GitHub's documentation */
#define DIGITS "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

static void add(Http1Head *head, const char *name, const char *value)
{
    head->headers[head->header_count++] = (Http1Header){ str_from_c(name), str_from_c(value) };
}

static WebhookHead with(const char *name, const char *value)
{
    Http1Head head = { 0 };
    add(&head, name, value);
    return webhook_head(&head);
}

static bool is_authentic(WebhookHead head, Str body, Str secret)
{
    return webhook_is_authentic(&head, body, secret);
}

static void test_signatures_are_those_of_the_services(void **state)
{
    assert_true(is_authentic(with("X-Hub-Signature-256", "sha256=" DIGITS), BODY, SECRET));
    assert_true(is_authentic(with("x-gitea-signature", DIGITS), BODY, SECRET));
    assert_true(is_authentic(with("X-Gitlab-Token", "It's a Secret to Everybody"), BODY, SECRET));
}

static void test_anything_else_is_refused(void **state)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        { "X-Hub-Signature-256", DIGITS },
        { "X-Hub-Signature-256", "sha1=" DIGITS },
        { "X-Hub-Signature-256", "sha256=" DIGITS "0" },
        { "X-Hub-Signature-256", "sha256=" },
        { "X-Hub-Signature-256",
          "sha256=x57107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
        { "X-Hub-Signature-256",
          "sha256=857107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
        { "X-Hub-Signature-256",
          "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e18" },
        { "X-Hub-Signature-256",
          "sha256=757107EA0EB2509FC211221CCE984B8A37570B6D7586C22C46F4379C8B043E17" },
        { "X-Gitea-Signature", "sha256=" DIGITS },
        { "X-Gitlab-Token", "" },
        { "X-Gitlab-Token", "It's a Secret to Everybod" },
        { "X-Gitlab-Token", "It's a Secret to Everybody " },
        { "X-Gitlab-Token", DIGITS },
        { "Authorization", "It's a Secret to Everybody" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (is_authentic(with(rows[i].name, rows[i].value), BODY, SECRET)) {
            fail_msg("accepted: %s: %s", rows[i].name, rows[i].value);
        }
    }
    WebhookHead good = with("X-Hub-Signature-256", "sha256=" DIGITS);
    assert_false(is_authentic(good, STR("Hello, World"), SECRET));
    assert_false(is_authentic(good, BODY, STR("another")));
    assert_false(is_authentic(good, BODY, STR_EMPTY));
    assert_false(is_authentic(with("X-Gitlab-Token", ""), BODY, STR_EMPTY));
}

/* A signature that is wrong is not made good by the token of another service beside it. */
static void test_of_several_signatures_the_first_kind_decides(void **state)
{
    Http1Head head = { 0 };
    add(&head, "X-Gitlab-Token", "It's a Secret to Everybody");
    add(&head, "X-Hub-Signature-256",
        "sha256=0000000000000000000000000000000000000000000000000000000000000000");
    assert_false(is_authentic(webhook_head(&head), BODY, SECRET));
    head = (Http1Head){ 0 };
    add(&head, "X-Hub-Signature-256", "sha256=" DIGITS);
    add(&head, "X-Hub-Signature-256", "sha256=" DIGITS);
    assert_false(is_authentic(webhook_head(&head), BODY, SECRET));
}

static void test_events_and_deliveries_are_recognized(void **state)
{
    assert_int_equal(with("X-GitHub-Event", "push").event, WEBHOOK_PUSH);
    assert_int_equal(with("X-GitHub-Event", "ping").event, WEBHOOK_PING);
    assert_int_equal(with("X-GitHub-Event", "pull_request").event, WEBHOOK_OTHER);
    assert_int_equal(with("X-Gitea-Event", "push").event, WEBHOOK_PUSH);
    assert_int_equal(with("X-Gitea-Event", "create").event, WEBHOOK_OTHER);
    assert_int_equal(with("X-Gitlab-Event", "Push Hook").event, WEBHOOK_PUSH);
    assert_int_equal(with("X-Gitlab-Event", "Tag Push Hook").event, WEBHOOK_OTHER);
    assert_int_equal(with("X-Other", "x").event, WEBHOOK_PUSH);
    assert_str(with("X-GitHub-Delivery", "72d3162e-cc78").delivery, "72d3162e-cc78");
    assert_str(with("X-Gitea-Delivery", "a").delivery, "a");
    assert_str(with("X-Gitlab-Event-UUID", "b").delivery, "b");
    char long_id[WEBHOOK_ID_MAX + 2] = { 0 };
    memset(long_id, 'x', WEBHOOK_ID_MAX + 1);
    assert_int_equal(with("X-GitHub-Delivery", long_id).delivery.len, 0);
}

static void test_the_ref_of_a_body_is_found(void **state)
{
    static const struct {
        const char *body, *ref;
    } rows[] = {
        { "{\"ref\":\"refs/heads/main\"}", "refs/heads/main" },
        { "{\"commits\":[{\"ref\":\"x\"}],\"ref\":\"refs\\/heads\\/main\"}", "refs/heads/main" },
        { "{\"repository\":{\"ref\":\"refs/heads/main\"}}", "" },
        { "{\"ref\":7}", "" },
        { "{\"ref\":null,\"number\":123456789012345678901234567890}", "" },
        { "{}", "" },
    };
    AUTO_CLEAR(Arena) arena;
    Error err;
    Str ref;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(webhook_ref(&arena, str_from_c(rows[i].body), &ref, &err));
        assert_str(ref, rows[i].ref);
    }
    static const char *const bad[] = { "", "[]", "\"ref\"", "{", "payload=%7B%7D", "{}x" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(webhook_ref(&arena, str_from_c(bad[i]), &ref, &err));
        assert_int_equal(ref.len, 0);
    }
}

static void test_a_push_concerns_the_branch_of_the_source(void **state)
{
    assert_true(webhook_affects(STR("refs/heads/main"), STR("main")));
    assert_true(webhook_affects(STR("refs/heads/a/b"), STR("a/b")));
    assert_true(webhook_affects(STR("refs/heads/any"), STR_EMPTY));
    static const char *const others[] = { "",      "main",           "refs/heads/",
                                          "refs/", "refs/tags/main", "refs/heads/main2" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(webhook_affects(str_from_c(others[i]), STR("main")));
    }
    assert_false(webhook_affects(STR("refs/tags/v1"), STR_EMPTY));
    assert_false(webhook_affects(STR("refs/heads/"), STR_EMPTY));
}

static void test_an_origin_cannot_use_up_what_others_may_send(void **state)
{
    static WebhookGate gate;
    uint32_t allowed = 0;
    for (int i = 0; i < 10000; i++) {
        allowed += webhook_gate_allows(&gate, 7, 1000);
    }
    assert_int_equal(allowed, WEBHOOK_ORIGIN_LIMIT.burst);
    assert_true(webhook_gate_allows(&gate, 8, 1000));
    assert_true(webhook_gate_allows(&gate, 7, 2000));
    allowed = 0;
    for (uint64_t origin = 100; origin < 10000; origin++) {
        allowed += webhook_gate_allows(&gate, origin, 2000);
    }
    assert_true(allowed <= (uint32_t)WEBHOOK_TOTAL_LIMIT.burst);
    assert_true(allowed > 0);
}

static void test_a_delivery_is_known_once_it_was_noted(void **state)
{
    static WebhookGate gate;
    char id[16];
    assert_false(webhook_gate_has(&gate, STR("site"), STR("a")));
    webhook_gate_record(&gate, STR("site"), STR("a"));
    assert_true(webhook_gate_has(&gate, STR("site"), STR("a")));
    assert_false(webhook_gate_has(&gate, STR("pages"), STR("a")));
    webhook_gate_record(&gate, STR("site"), STR_EMPTY);
    assert_false(webhook_gate_has(&gate, STR("site"), STR_EMPTY));
    for (int i = 0; i < WEBHOOK_GATE_DELIVERIES; i++) {
        webhook_gate_record(&gate, STR("site"),
                            str_from(id, (size_t)snprintf(id, sizeof id, "id-%d", i)));
    }
    assert_false(webhook_gate_has(&gate, STR("site"), STR("a")));
    assert_true(webhook_gate_has(&gate, STR("site"), STR("id-0")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures_are_those_of_the_services),
        cmocka_unit_test(test_anything_else_is_refused),
        cmocka_unit_test(test_of_several_signatures_the_first_kind_decides),
        cmocka_unit_test(test_events_and_deliveries_are_recognized),
        cmocka_unit_test(test_the_ref_of_a_body_is_found),
        cmocka_unit_test(test_a_push_concerns_the_branch_of_the_source),
        cmocka_unit_test(test_an_origin_cannot_use_up_what_others_may_send),
        cmocka_unit_test(test_a_delivery_is_known_once_it_was_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
