/* Secrets of sources, and webhooks, through the API. */
#include "api/api_fixture.h"
#include "source/git_secrets.h"
#include "source/webhook.h"

#define SOURCE_BODY(spec) "{\"metadata\":{\"name\":\"site\"},\"spec\":" spec "}"
#define PUSH              "{\"ref\":\"refs/heads/main\"}"

static void add_source(Fixture *f)
{
    ask(f, "POST", "/v1/sources", SOURCE_BODY("{\"url\":\"/srv/site.git\",\"branch\":\"main\"}"));
    assert_int_equal(f->status, 201);
}

static Str make_secret(Fixture *f)
{
    ask(f, "POST", "/v1/sources/site/webhook-secret", "");
    assert_int_equal(f->status, 200);
    assert_str(value_str(field(f, "urls.0")),
               "https://eden1.example.org:1338/v1/sources/site/webhook");
    return value_str(field(f, "secret"));
}

/* As anyone on the network. */
static void send_webhook(Fixture *f, Str secret, const char *body)
{
    static char signature[7 + SHA256_HEX + 1] = "sha256=";
    Caller before = f->caller;
    sha256_hmac_hex(secret, str_from_c(body), signature + 7);
    f->caller = (Caller){ .is_local = true };
    f->said = (HttpCallField){ .name = "X-Hub-Signature-256", .value = str_from_c(signature) };
    ask(f, "POST", "/v1/sources/site/webhook", body);
    f->said = (HttpCallField){ 0 };
    f->caller = before;
}

static int64_t requested(Fixture *f)
{
    GitSourceRequest request = { 0 };
    return git_source_request_find(&f->scratch->arena, f->cluster_store.state,
                                   f->cluster_store.prefix, STR("site"), &request);
}

static void a_webhook_is_accepted_once_it_is_stored(void **state)
{
    Fixture *f = *state;
    Error broken;
    error_set(&broken, ERROR_OS, "the disk does not respond");
    add_source(f);
    Str secret = make_secret(f);
    f->failing->reads = &broken;
    send_webhook(f, secret, PUSH);
    assert_int_equal(f->status, 503);
    f->failing->reads = NULL;
    assert_int_equal(requested(f), 0);
    send_webhook(f, secret, PUSH);
    assert_int_equal(f->status, 202);
    assert_true(requested(f) > 0);
}

static void a_webhook_records_a_request(void **state)
{
    Fixture *f = *state;
    add_source(f);
    Str secret = make_secret(f);
    send_webhook(f, secret, PUSH);
    expect(f, 202, "result", "accepted");
    int64_t first = requested(f);
    assert_true(first > 0);
    send_webhook(f, secret, "{\"ref\":\"refs/heads/other\"}");
    expect(f, 200, "result", "ignored");
    send_webhook(f, STR("another"), PUSH);
    assert_int_equal(f->status, 403);
    assert_int_equal(requested(f), first);
    send_webhook(f, secret, PUSH);
    assert_true(requested(f) > first);
}

static void a_deleted_secret_is_not_accepted(void **state)
{
    Fixture *f = *state;
    add_source(f);
    Str secret = make_secret(f);
    ask(f, "DELETE", "/v1/sources/site/webhook-secret", "");
    assert_int_equal(f->status, 200);
    send_webhook(f, secret, PUSH);
    assert_int_equal(f->status, 403);
    ask(f, "GET", "/v1/sources/site", "");
    assert_false(field(f, "status.has_webhook").boolean);
    ask(f, "POST", "/v1/sources/pages/webhook-secret", "");
    assert_int_equal(f->status, 404);
}

static bool is_shown(Fixture *f, const char *text)
{
    bool found = str_find(f->body, str_from_c(text), 0) != STR_NOT_FOUND;
    ask(f, "GET", "/v1/keys?prefix=%2Feden", "");
    return found || str_find(f->body, str_from_c(text), 0) != STR_NOT_FOUND;
}

static Str opened_token(Fixture *f)
{
    GitSecrets secrets;
    GitCredentials credentials = { 0 };
    GitSource source = { .name = STR("site"), .url = STR("https://git.example.net/x") };
    Error err;
    git_secrets_find(&f->scratch->arena, f->cluster_store.state, f->cluster_store.prefix,
                     source.name, &secrets);
    assert_true(
        git_secrets_open(f->vault, &f->scratch->arena, &source, &secrets, &credentials, &err));
    return credentials.token;
}

static void a_token_is_written_and_never_read(void **state)
{
    Fixture *f = *state;
    const char *url = "{\"url\":\"https://git.example.net/x\"}";
    ask(f, "POST", "/v1/sources",
        SOURCE_BODY("{\"url\":\"https://git.example.net/x\",\"token\":\"ghp_secret\"}"));
    assert_int_equal(f->status, 201);
    assert_true(field(f, "status.has_token").boolean);
    assert_false(is_shown(f, "ghp_secret"));
    assert_str(opened_token(f), "ghp_secret");
    /* It stays unless it is given. */
    Str body = arena_format(&f->scratch->arena, "{\"spec\":%s}", url);
    ask_as(f, "PUT", "/v1/sources/site", "application/json", body);
    assert_int_equal(f->status, 200);
    assert_str(opened_token(f), "ghp_secret");
    ask(f, "PATCH", "/v1/sources/site", "{\"spec\":{\"token\":\"ghp_other\"}}");
    assert_int_equal(f->status, 200);
    assert_false(is_shown(f, "ghp_other"));
    assert_str(opened_token(f), "ghp_other");
    ask(f, "PATCH", "/v1/sources/site", "{\"spec\":{\"token\":\"\"}}");
    assert_int_equal(opened_token(f).len, 0);
    ask(f, "DELETE", "/v1/sources/site", "");
    GitSecrets secrets;
    assert_int_equal(git_secrets_find(&f->scratch->arena, f->cluster_store.state,
                                      f->cluster_store.prefix, STR("site"), &secrets),
                     0);
}

static void what_a_transport_requires_is_checked(void **state)
{
    Fixture *f = *state;
    ask(f, "POST", "/v1/sources", SOURCE_BODY("{\"url\":\"git@git.example.net:x\"}"));
    assert_int_equal(f->status, 400);
    assert_str(value_str(field(f, "problems.0.pointer")), "/spec/host_keys");
    ask(f, "POST", "/v1/sources", SOURCE_BODY("{\"url\":\"/x\",\"token\":\"ghp_secret\"}"));
    assert_int_equal(f->status, 400);
    assert_str(value_str(field(f, "problems.0.pointer")), "/spec/token");
    assert_false(is_shown(f, "ghp_secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_webhook_is_accepted_once_it_is_stored, set_up_failing,
                                        tear_down),
        ROW(a_webhook_records_a_request),
        ROW(a_deleted_secret_is_not_accepted),
        ROW(a_token_is_written_and_never_read),
        ROW(what_a_transport_requires_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
