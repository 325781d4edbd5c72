/* The API as its users see it: HTTP over a Unix socket, JSON, an in-memory store. */
#include "api/api_fixture.h"
#include "api/kind.h"
#include "api/kind_stored.h"

/* --- Authorization --------------------------------------------------------------------------- */

static const char *target_of(Fixture *f, const RouteRow *row)
{
    Buf target = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    Str rest = str_from_offset(str_from_c(row->pattern), 1), word;
    while (str_split_next(&rest, '/', &word)) {
        buf_put_char(&target, '/');
        buf_put(&target, word.data[0] == '<' ? STR("x1") : word);
    }
    if (row->query != NULL && row->query[0] != '[') {
        Str query = str_from_c(row->query);
        buf_put_format(&target, "?%" STR_FMT "=%%2Fa",
                       STR_ARG(str_slice(query, 0, str_find(query, STR(" "), 0))));
    }
    return buf_c(&target);
}

static void every_route_requires_a_caller(void **state)
{
    Fixture *f = *state;
    const struct {
        Caller caller;
        int refusal; /* 0: none */
    } callers[] = {
        { { .is_local = true, .is_operator = true }, 0 },
        { { .is_local = true }, 403 },
    };
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        const char *target = target_of(f, row);
        bool is_public = route_is_public(row);
        for (size_t j = 0; j < COUNT_OF(callers); j++) {
            f->caller = callers[j].caller;
            ask(f, row->method, target, row->body_max > 0 ? "{}" : "");
            if (i == ROUTE_SOURCE_WEBHOOK) {
                expect(f, 403, "code", "denied"); /* it is not signed */
            } else if (is_public || callers[j].refusal == 0) {
                assert_int_not_equal(f->status, 403);
            } else {
                expect(f, callers[j].refusal, "code",
                       callers[j].refusal == 401 ? "unauthenticated" : "denied");
            }
        }
    }
}

static int64_t last_entry(Fixture *f)
{
    ask(f, "GET", "/v1/audit-entries", "");
    return field(f, "last").integer;
}

/* Two entries: the request, and its outcome. */
static void exactly_the_audited_rows_are_audited(void **state)
{
    Fixture *f = *state;
    uint32_t audited = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        if (!route_is_offered(row)) {
            continue;
        }
        int64_t before = last_entry(f);
        ask(f, row->method, target_of(f, row), row->body_max > 0 ? "{}" : "");
        int status = f->status;
        int64_t entries = last_entry(f) - before;
        if (entries != (route_has(row, ROUTE_AUDITED) ? 2 : 0)) {
            fail_msg("%s: status %d, %lld entries", row->name, status, (long long)entries);
        }
        audited += entries > 0;
    }
    assert_true(audited > 20);
}

/* The same request with the same key again. A secret is not kept, which is 409. */
static void exactly_the_idempotent_rows_store_responses(void **state)
{
    Fixture *f = *state;
    uint32_t replayed = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        const char *body = row->body_max > 0 ? "{}" : "";
        if (!route_is_offered(row)) {
            continue;
        }
        f->said = (HttpCallField){ "Idempotency-Key", str_from_c(row->name) };
        ask(f, row->method, target_of(f, row), body);
        bool is_kept = f->status < 500;
        ask(f, row->method, target_of(f, row), body);
        bool is_idempotent = route_has(row, ROUTE_IDEMPOTENT);
        if (f->is_replayed && !is_idempotent) {
            fail_msg("%s is replayed", row->name);
        }
        if (is_idempotent && is_kept && !f->is_replayed && f->status != 409) {
            fail_msg("%s is done twice: %d", row->name, f->status);
        }
        replayed += f->is_replayed;
    }
    f->said = (HttpCallField){ 0 };
    assert_true(replayed > 5);
}

static void allowed_methods_are_listed_for_authorized_callers(void **state)
{
    Fixture *f = *state;
    ask(f, "POST", "/v1/nodes/web1", "");
    expect(f, 405, "code", "method");
    assert_string_equal(f->allow, "GET, PUT, PATCH, DELETE");
    expect(f, 405, "detail", "method not allowed; this endpoint supports GET, PUT, PATCH, DELETE");
    ask(f, "GET", "/v1/join", "");
    expect(f, 405, "code", "method");
    assert_string_equal(f->allow, "POST");
    ask(f, "GET", "/v1/nope", "");
    expect(f, 404, "code", "not-found");
    assert_string_equal(f->allow, "");
    f->caller = (Caller){ .is_local = true };
    ask(f, "POST", "/v1/nodes/web1", "");
    expect(f, 403, "code", "denied");
    assert_string_equal(f->allow, "");
    ask(f, "GET", "/v1/nope", "");
    expect(f, 403, "code", "denied");
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    ask(f, "GET", "/v1/nodes/../health", "");
    expect(f, 400, "type", "urn:eden:problem:invalid");
    ask(f, "GET", "/v1/nodes?all=1", "");
    expect(f, 400, "code", "invalid");
    ask(f, "GET", "/v1/nodes", "{}");
    expect(f, 400, "code", "invalid");
    ask_as(f, "POST", "/v1/tokens", "application/x-www-form-urlencoded", STR("uses=1"));
    expect(f, 415, "detail", "the Content-Type of the body must be one of: application/json");
    ask_as(f, "PATCH", "/v1/config/cluster", "text/plain", STR("{}"));
    expect(f, 415, "detail",
           "the Content-Type of the body must be one of: application/merge-patch+json, "
           "application/json");
    ask_as(f, "POST", "/v1/tokens", "Application/JSON; charset=utf-8", STR("{}"));
    expect(f, 201, "metadata.kind", "Token");
    ask(f, "POST", "/v1/tokens", "{");
    expect(f, 400, "code", "invalid");
    ask(f, "POST", "/v1/tokens", "[]");
    expect(f, 400, "code", "invalid");
    ask(f, "POST", "/v1/tokens", "{\"nope\":1}");
    expect(f, 400, "code", "invalid");
    char *large = arena_alloc_zero(&f->scratch->arena, ROUTE_BODY_MAX + 2);
    memset(large, ' ', ROUTE_BODY_MAX + 1);
    ask(f, "POST", "/v1/tokens", large);
    expect(f, 413, "detail",
           "request body of 65537 bytes is too large; this endpoint accepts at most 65536");
    ask(f, "PUT", "/v1/store?key=%2Fa", large);
    expect(f, 400, "code", "invalid");
}

/* --- Objects --------------------------------------------------------------------------------- */

static void objects_are_created_changed_and_deleted(void **state)
{
    Fixture *f = *state;
    ask(f, "GET", "/v1/config", "");
    expect(f, 200, "metadata.kind", "ConfigList");
    assert_int_equal(field(f, "items").list->len, 0);
    ask(f, "GET", "/v1/config/cluster", "");
    expect(f, 404, "detail", "Config 'cluster' not found");
    ask(f, "PUT", "/v1/config/cluster",
        "{\"metadata\":{\"labels\":{\"a\":\"1\"}},\"spec\":{\"title\":\"Blue\"}}");
    expect(f, 201, "metadata.name", "cluster");
    expect(f, 201, "spec.title", "Blue");
    int64_t revision = field(f, "metadata.revision").integer;
    Str uuid = value_str(field(f, "metadata.uuid"));
    assert_int_equal(uuid.len, OBJECT_UUID_TEXT);
    ask(f, "PATCH", "/v1/config/cluster",
        "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"2\"}},\"spec\":{\"color\":\"red\"}}");
    expect(f, 200, "spec.title", "Blue");
    expect(f, 200, "spec.color", "red");
    expect(f, 200, "metadata.labels.b", "2");
    expect(f, 200, "metadata.uuid", arena_copy_c(&f->scratch->arena, uuid));
    assert_int_equal(field(f, "metadata.labels").map->len, 1);
    assert_true(field(f, "metadata.revision").integer > revision);
    ask(f, "POST", "/v1/config", "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{}}");
    expect(f, 409, "code", "conflict");
    ask(f, "GET", "/v1/config?limit=1", "");
    expect(f, 200, "items.0.metadata.name", "cluster");
    assert_false(field(f, "metadata.truncated").boolean);
    ask(f, "DELETE", "/v1/config/cluster", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "DELETE", "/v1/config/cluster", "");
    expect(f, 404, "code", "not-found");
}

static void a_change_can_require_a_revision(void **state)
{
    Fixture *f = *state;
    ask(f, "PUT", "/v1/config/cluster", "{\"metadata\":{\"revision\":7}}");
    expect(f, 412, "code", "precondition");
    ask(f, "PUT", "/v1/config/cluster", "{\"spec\":{\"title\":\"Blue\"}}");
    expect(f, 201, "spec.title", "Blue");
    int64_t revision = field(f, "metadata.revision").integer;
    const char *body =
        arena_copy_c(&f->scratch->arena,
                     arena_format(&f->scratch->arena,
                                  "{\"metadata\":{\"revision\":%lld},\"spec\":{\"title\":\"Red\"}}",
                                  (long long)revision));
    ask(f, "PUT", "/v1/config/cluster", body);
    expect(f, 200, "spec.title", "Red");
    ask(f, "PUT", "/v1/config/cluster", body);
    expect(f, 412, "code", "precondition");
}

/* The latter is for creating it without overwriting a concurrent change. */
static void a_change_can_require_presence_or_absence(void **state)
{
    static const char *const methods[] = { "PUT", "PATCH", "DELETE" };
    Fixture *f = *state;
    f->said = (HttpCallField){ "If-Match", STR("*") };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        ask(f, methods[i], "/v1/config/cluster", i < 2 ? "{}" : "");
        expect(f, 412, "detail",
               "the object does not exist, but 'If-Match: *' requires that it does");
    }
    f->said = (HttpCallField){ 0 };
    ask(f, "PATCH", "/v1/config/cluster", "{\"metadata\":{\"revision\":7}}");
    expect(f, 412, "code", "precondition");
    ask(f, "PATCH", "/v1/config/cluster", "{}");
    expect(f, 404, "code", "not-found");

    f->said = (HttpCallField){ "If-None-Match", STR("*") };
    ask(f, "PUT", "/v1/config/cluster", "{\"spec\":{\"title\":\"Blue\"}}");
    expect(f, 201, "spec.title", "Blue");
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        ask(f, methods[i], "/v1/config/cluster", i < 2 ? "{\"spec\":{}}" : "");
        expect(f, 412, "detail",
               "the object exists, but 'If-None-Match: *' requires that it does not");
    }
    f->said.value = STR("\"7\"");
    ask(f, "PUT", "/v1/config/cluster", "{}");
    expect(f, 400, "code", "invalid");
    f->said = (HttpCallField){ 0 };
    ask(f, "GET", "/v1/config/cluster", "");
    expect(f, 200, "spec.title", "Blue");
}

/* Requests an object while another client creates it, which the state does not know yet. */
static void put_while_it_is_made(Fixture *f, const char *name)
{
    Arena *arena = &f->scratch->arena;
    f->meanwhile_key = arena_format(arena, "/eden/objects/config/%s", name);
    f->meanwhile_value =
        STR("{\"format\":\"eden.object/1\",\"uuid\":\"u\",\"created_ms\":1,\"labels\":{},"
            "\"annotations\":{},\"spec\":{\"title\":\"theirs\"}}");
    ask(f, "PUT", arena_format(arena, "/v1/config/%s", name).data,
        "{\"spec\":{\"title\":\"mine\"}}");
    f->meanwhile_key = STR_EMPTY;
}

static void a_concurrent_creation_is_read_again(void **state)
{
    Fixture *f = *state;
    put_while_it_is_made(f, "a");
    expect(f, 200, "spec.title", "mine");
    f->said = (HttpCallField){ "If-None-Match", STR("*") };
    put_while_it_is_made(f, "b");
    expect(f, 412, "code", "precondition");
    f->said = (HttpCallField){ 0 };
    ask(f, "GET", "/v1/config/b", "");
    expect(f, 200, "spec.title", "theirs");
}

static void all_problems_of_an_object_are_reported(void **state)
{
    Fixture *f = *state;
    ask(f, "PUT", "/v1/config/cluster",
        "{\"metadata\":{\"labels\":{\"a\":1}},\"spec\":{\"titel\":\"x\",\"color\":\"rde\"}}");
    expect(f, 400, "problems.0.pointer", "/metadata/labels/a");
    expect(f, 400, "problems.1.pointer", "/spec/titel");
    expect(f, 400, "problems.1.detail", "unknown field; did you mean 'title'?");
    expect(f, 400, "problems.2.pointer", "/spec/color");
    ask(f, "PUT", "/v1/config/cluster", "{\"metadata\":{\"kind\":\"Role\"}}");
    expect(f, 400, "detail", "/metadata/kind: must be 'Config' at this endpoint");
    expect(f, 400, "problems.0.pointer", "/metadata/kind");
    ask(f, "PUT", "/v1/config/cluster", "{\"metadata\":{\"name\":\"other\"}}");
    expect(f, 400, "problems.0.pointer", "/metadata/name");
    expect(f, 400, "problems.0.detail", "must be the name in the URL");
    ask(f, "PATCH", "/v1/config/cluster", "{\"metadata\":{\"name\":7}}");
    expect(f, 400, "problems.0.pointer", "/metadata/name");
    ask(f, "PUT", "/v1/config/cluster", "{\"spec\":[]}");
    expect(f, 400, "problems.0.pointer", "/spec");
    ask(f, "PUT", "/v1/config/cluster", "{\"spce/1\":{}}");
    expect(f, 400, "problems.0.pointer", "/spce~11");
    ask(f, "PUT", "/v1/config/Cluster", "{}");
    expect(f, 400, "problems.0.pointer", "/metadata/name");
    ask(f, "PUT", "/v1/roles/web_team", "{\"spec\":{\"rules\":[]}}");
    expect(f, 400, "problems.0.pointer", "/metadata/name");
    ask(f, "PUT", "/v1/roles/web", "{\"spec\":{\"rules\":[{\"verbs\":[\"get\",1]}]}}");
    expect(f, 400, "problems.0.pointer", "/spec/rules/0/verbs/1");
    expect(f, 400, "problems.1.pointer", "/spec/rules/0/kinds");
}

/* All invalid fields are reported, wherever they are: one correction suffices. */
static void problems_outside_the_spec_hide_nothing(void **state)
{
    Fixture *f = *state;
    ask(f, "POST", "/v1/config",
        "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"title\":\"x\",\"sepc\":{},"
        "\"metadata\":{\"name\":\"Big\",\"lables\":{},\"revision\":\"7\",\"kind\":\"Role\"},"
        "\"spec\":{\"titel\":\"x\"}}");
    expect(f, 400, "problems.0.pointer", "/apiVersion");
    expect(f, 400, "problems.0.detail", "belongs in 'metadata'");
    expect(f, 400, "problems.0.part", "name");
    expect(f, 400, "problems.1.pointer", "/kind");
    expect(f, 400, "problems.1.detail", "belongs in 'metadata'");
    expect(f, 400, "problems.2.pointer", "/title");
    expect(f, 400, "problems.2.detail", "belongs in 'spec'");
    expect(f, 400, "problems.3.pointer", "/sepc");
    expect(f, 400, "problems.3.detail", "unknown field; did you mean 'spec'?");
    expect(f, 400, "problems.4.pointer", "/metadata/lables");
    expect(f, 400, "problems.4.detail", "unknown field; did you mean 'labels'?");
    expect(f, 400, "problems.5.pointer", "/metadata/revision");
    expect(f, 400, "problems.6.pointer", "/metadata/kind");
    expect(f, 400, "problems.7.pointer", "/metadata/name");
    expect(f, 400, "problems.8.pointer", "/spec/titel");
    assert_int_equal(field(f, "problems").list->len, 9);
    ask(f, "POST", "/v1/tokens",
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"purpose\":\"access\",\"uses\":1}}");
    expect(f, 400, "problems.0.detail", "is assigned by the server");
    expect(f, 400, "problems.1.pointer", "/spec/uses");
    expect(f, 400, "problems.2.pointer", "/spec/roles");
    ask(f, "PUT", "/v1/roles/web", "{\"spec\":7}");
    expect(f, 400, "problems.0.pointer", "/spec");
    assert_int_equal(field(f, "problems").list->len, 1);
}

static void unknown_metadata_is_rejected(void **state)
{
    static const char *const methods[] = { "PUT", "PATCH" };
    Fixture *f = *state;
    ask(f, "PUT", "/v1/config/cluster", "{}");
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        ask(f, methods[i], "/v1/config/cluster", "{\"metadata\":{\"label\":{\"a\":\"b\"}}}");
        expect(f, 400, "problems.0.pointer", "/metadata/label");
        expect(f, 400, "problems.0.detail", "unknown field; did you mean 'labels'?");
    }
    /* An object as shown can be sent back. */
    ask(f, "GET", "/v1/config/cluster", "");
    ask_as(f, "PUT", "/v1/config/cluster", "application/json", f->body);
    expect(f, 200, "metadata.name", "cluster");
    ask(f, "PUT", "/v1/config/cluster", "{\"metadata\":{\"uuid\":7,\"created\":null}}");
    expect(f, 200, "metadata.name", "cluster");
}

static void null_means_absent(void **state)
{
    Fixture *f = *state;
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"purpose\":\"access\",\"roles\":null}}");
    expect(f, 400, "detail", "/spec/roles: an API token requires at least one");
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"uses\":null,\"roles\":null,\"life\":null}}");
    expect(f, 201, "spec.purpose", "join");
    assert_int_equal(field(f, "spec.uses").integer, 1);
    ask(f, "PUT", "/v1/config/cluster", "{\"spec\":{\"title\":null,\"color\":\"red\"}}");
    expect(f, 201, "spec.color", "red");
    assert_int_equal(field(f, "spec").map->len, 1);
    ask(f, "PUT", "/v1/roles/web", "{\"spec\":{\"rules\":null}}");
    expect(f, 400, "problems.0.pointer", "/spec/rules");
}

/* Each change is small enough: together they would be too large to read or delete. */
static void an_object_cannot_grow_beyond_the_limit(void **state)
{
    Fixture *f = *state;
    int status = 201, patches = 0;
    for (int i = 0; i < 64 && status < 300; i++) {
        Buf body = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
        buf_put_format(&body, "{\"metadata\":{\"annotations\":{\"a%d\":\"", i);
        for (int k = 0; k < 4096; k++) {
            buf_put_char(&body, 'x');
        }
        buf_put_c(&body, "\"}}}");
        ask(f, i == 0 ? "PUT" : "PATCH", "/v1/config/cluster", buf_c(&body));
        status = f->status;
        patches = i;
    }
    expect(f, 413, "code", "too-large");
    assert_in_range(patches, 16, STORED_RECORD_MAX / 4096);
    ask(f, "GET", "/v1/config", "");
    expect(f, 200, "items.0.metadata.name", "cluster");
    ask(f, "DELETE", "/v1/config/cluster", "");
    expect(f, 200, "format", "eden.done/1");
}

/* Not 429: retrying does not make it smaller. */
static void an_excessive_body_is_too_large(void **state)
{
    static const struct {
        const char *method, *target;
    } takers[] = {
        { "PUT", "/v1/config/cluster" },   { "POST", "/v1/config" },
        { "PATCH", "/v1/config/cluster" }, { "POST", "/v1/nodes/web1/approve" },
        { "POST", "/v1/pki/revoke" },      { "PUT", "/v1/store?key=a" },
    };
    Fixture *f = *state;
    Buf body = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    buf_put_c(&body, "{\"spec\":");
    for (int i = 0; i < 100; i++) {
        buf_put_char(&body, '[');
    }
    for (size_t i = 0; i < COUNT_OF(takers); i++) {
        ask(f, takers[i].method, takers[i].target, buf_c(&body));
        expect(f, 413, "code", "too-large");
    }
}

/* --- Actions --------------------------------------------------------------------------------- */

static void health_is_reported(void **state)
{
    Fixture *f = *state;
    f->caller = (Caller){ 0 };
    ask(f, "GET", "/v1/health", "");
    expect(f, 200, "format", "eden.health/1");
    assert_true(field(f, "healthy").boolean);
    assert_str(value_str(field(f, "cluster")), "blue");
}

static void tokens_are_created_listed_and_revoked(void **state)
{
    Fixture *f = *state;
    Token token;
    Error err;
    ask(f, "POST", "/v1/tokens",
        "{\"spec\":{\"description\":\"rack 7\",\"life\":\"2h\",\"uses\":5}}");
    expect(f, 201, "spec.description", "rack 7");
    int64_t revision = field(f, "metadata.revision").integer;
    assert_string_equal(f->etag,
                        arena_format(&f->scratch->arena, "\"%lld\"", (long long)revision).data);
    assert_true(token_parse(TOKEN_JOIN, value_str(field(f, "status.secret")), &token, &err));
    ask(f, "GET", "/v1/tokens", "");
    expect(f, 200, "items.0.metadata.name", token.id);
    expect(f, 200, "items.0.status.state", "good");
    assert_int_equal(field(f, "items.0.spec.uses").integer, 5);
    assert_int_equal(field(f, "items.0.metadata.revision").integer, revision);
    assert_null(value_get(field(f, "items.0.status"), STR("secret")));
    ask(f, "GET", "/v1/tokens?limit=1", "");
    expect(f, 200, "items.0.metadata.name", token.id);
    assert_true(field(f, "metadata.truncated").boolean);
    Str next = value_str(field(f, "metadata.continue"));
    ask(f, "GET",
        arena_copy_c(
            &f->scratch->arena,
            arena_format(&f->scratch->arena, "/v1/tokens?continue=%" STR_FMT, STR_ARG(next))),
        "");
    assert_int_equal(field(f, "items").list->len, 0);
    char target[100];
    snprintf(target, sizeof target, "/v1/tokens/%s", token.id);
    ask(f, "DELETE", target, "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "DELETE", target, "");
    expect(f, 404, "code", "not-found");
    ask(f, "DELETE", "/v1/tokens/nope", "");
    expect(f, 400, "code", "invalid");
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"life\":\"soon\",\"uses\":0}}");
    expect(f, 400, "problems.0.pointer", "/spec/life");
    expect(f, 400, "problems.1.pointer", "/spec/uses");
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"roles\":[\"admin\"]}}");
    expect(f, 400, "detail", "/spec/roles: not allowed for a join token");
}

/* Everything is reported at once, each with its location. */
static void invalid_token_fields_are_named(void **state)
{
    Fixture *f = *state;
    static const char *const lives[] = { "59s", "367d", "0s" };
    for (size_t i = 0; i < COUNT_OF(lives); i++) {
        for (size_t sort = 0; sort < 2; sort++) {
            Str body = arena_format(
                &f->scratch->arena, "{\"spec\":{\"life\":\"%s\",\"description\":\"a\\nb\"%s}}",
                lives[i], sort == 0 ? "" : ",\"purpose\":\"access\",\"roles\":[\"viewer\"]");
            ask_as(f, "POST", "/v1/tokens", "application/json", body);
            expect(f, 400, "problems.0.pointer", "/spec/life");
            expect(f, 400, "problems.0.detail", "must be from 1m to 366d");
            expect(f, 400, "problems.1.pointer", "/spec/description");
            assert_int_equal(field(f, "problems").list->len, 2);
        }
    }
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"description\":\"\\u007f\"}}");
    expect(f, 400, "problems.0.pointer", "/spec/description");
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"life\":\"366d\",\"description\":\"B\\u00fcro\"}}");
    expect(f, 201, "spec.description", "B\xc3\xbcro");
    ask(f, "POST", "/v1/tokens", "{\"spec\":{\"life\":\"1m\"}}");
    expect(f, 201, "status.state", "good");
}

static void invalid_certificate_fields_are_named(void **state)
{
    Fixture *f = *state;
    ask(f, "POST", "/v1/certificates",
        "{\"spec\":{\"user\":\"a b\",\"roles\":[\"viewer\"],\"csr\":\"no\",\"life\":\"9s\"}}");
    expect(f, 400, "problems.0.pointer", "/spec/life");
    expect(f, 400, "problems.1.pointer", "/spec/user");
    expect(f, 400, "problems.2.pointer", "/spec/csr");
}

/* Nothing is dropped silently: the user would search by it. */
static void unknown_fields_of_a_kind_are_rejected(void **state)
{
    Fixture *f = *state;
    ask(f, "POST", "/v1/tokens",
        "{\"metadata\":{\"labels\":{\"team\":\"web\"},\"annotations\":{\"a\":\"b\"}}}");
    expect(f, 400, "problems.0.pointer", "/metadata/labels");
    expect(f, 400, "problems.0.detail", "not supported for kind Token");
    expect(f, 400, "problems.1.pointer", "/metadata/annotations");
    ask(f, "GET", "/v1/tokens", "");
    assert_int_equal(field(f, "items").list->len, 0);
    ask(f, "POST", "/v1/tokens", "{\"metadata\":{\"labels\":{},\"annotations\":null}}");
    assert_int_equal(f->status, 201);
}

static void put_past_api(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    loop_stop(f->world.loop);
}

static void an_unreadable_token_hides_no_other_and_can_be_deleted(void **state)
{
    Fixture *f = *state;
    Error err;
    ask(f, "PUT", "/v1/store?key=/eden/internal/token/22222222", "{\"value\":\"?\"}");
    expect(f, 403, "code", "denied");
    assert_true(store_put(f->store, STR("/eden/internal/token/22222222"), STR("?"), 0, put_past_api,
                          f, &err));
    world_run(&f->world);
    ask(f, "POST", "/v1/tokens", "{}");
    assert_int_equal(f->status, 201);
    ask(f, "GET", "/v1/tokens", "");
    assert_int_equal(field(f, "items").list->len, 2);
    expect(f, 200, "items.0.metadata.name", "22222222");
    expect(f, 200, "items.0.status.state", "unreadable");
    assert_true(str_starts(value_str(field(f, "items.0.status.error")),
                           STR("/eden/internal/token/22222222: ")));
    expect(f, 200, "items.1.status.state", "good");
    ask(f, "DELETE", "/v1/tokens/22222222", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "GET", "/v1/tokens/22222222", "");
    expect(f, 404, "code", "not-found");
}

#define HOST_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"

/* The machine's response comes from the script "answer": it has the key of the requester. */
static void a_machine_is_approved_over_ssh(void **state)
{
    Fixture *f = *state;
    AUTO(P256Private) *key = NULL;
    Error err;
    Arena *arena = &f->scratch->arena;
    assert_true(p256_private_make(&key, &err));
    join(f, key);
    expect(f, 202, "result", "pending");
    ask(f, "GET", "/v1/nodes/web1", "");
    const char *pin = arena_copy_c(arena, value_str(field(f, "status.requests.0.key")));
    scratch_put(f->scratch, "answer", "echo nothing");
    ask(f, "POST", "/v1/nodes/web1/approve",
        "{\"ssh\":{\"target\":\"web1\",\"host_keys\":[\"" HOST_KEY "\"]}}");
    expect(f, 409, "code", "conflict");
    scratch_put(f->scratch, "answer",
                arena_format(arena,
                             "echo '{\"format\":\"eden.join-answer/1\",\"result\":\"trusted\","
                             "\"node\":\"web1\",\"key\":\"%s\"}'%c",
                             pin, '\0')
                    .data);
    ask(f, "POST", "/v1/nodes/web1/approve",
        "{\"ssh\":{\"target\":\"web1\",\"host_keys\":[\"" HOST_KEY "\"]}}");
    expect(f, 200, "format", "eden.ssh-approval/1");
    expect(f, 200, "key", pin);
    expect(f, 200, "fingerprint", "SHA256:865cUsOZmfAiNo2lb6E2RDGMbFAIove1wmhVt1IK93w");
    join(f, key);
    expect(f, 200, "result", "admitted");
}

/* Nothing is run for them: there is no program to do so. */
static void invalid_ssh_targets_are_rejected(void **state)
{
    Fixture *f = *state;
    static const char *const bodies[] = {
        "{}",
        "{\"key\":\"\"}",
        "{\"ssh\":{}}",
        "{\"ssh\":{\"target\":\"web1\"}}",
        "{\"ssh\":{\"target\":\"web1\",\"host_keys\":[]}}",
        "{\"ssh\":{\"target\":\"web1\",\"host_keys\":[7]}}",
        "{\"ssh\":{\"target\":\"web1\",\"host_keys\":[\"ssh-ed25519 AAAA\"]}}",
        "{\"ssh\":{\"target\":\"-oProxyCommand=id\",\"accept_new_host_key\":true}}",
        "{\"ssh\":{\"target\":\"a\\nb\",\"accept_new_host_key\":true}}",
        ("{\"ssh\":{\"target\":\"web1\",\"host_keys\":[\"" HOST_KEY "\"],"
         "\"accept_new_host_key\":true}}"),
        "{\"key\":\"00000000\",\"ssh\":{\"target\":\"web1\",\"accept_new_host_key\":true}}",
    };
    scratch_put(f->scratch, "answer", "touch visited");
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        ask(f, "POST", "/v1/nodes/web1/approve", bodies[i]);
        expect(f, 400, "code", "invalid");
    }
    assert_int_not_equal(access(scratch_place(f->scratch, "visited"), F_OK), 0);
}

static void the_authorized_keys_line_is_shown(void **state)
{
    Fixture *f = *state;
    ask(f, "GET", "/v1/ssh-key", "");
    expect(f, 200, "format", "eden.ssh-key/1");
    assert_true(str_starts(value_str(field(f, "line")), STR("restrict,command=\"eden join")));
    assert_true(str_starts(value_str(field(f, "sudo_line")), STR("restrict,command=\"sudo -n")));
}

static void keys_are_shown_unmodified(void **state)
{
    Fixture *f = *state;
    ask(f, "PUT", "/v1/store?key=%2Fa%20b", "{\"value\":\"t\\u00e4xt\"}");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "GET", "/v1/store?key=/a%20b", "");
    expect(f, 200, "value", "t\xc3\xa4xt");
    assert_str(value_str(field(f, "key")), "/a b");
    assert_int_equal(field(f, "version").integer, 1);
    ask(f, "PUT", "/v1/store?key=%ff", "{\"value_base64\":\"/wA=\"}");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "GET", "/v1/store?key=%ff", "");
    expect(f, 200, "value_base64", "/wA=");
    assert_str(value_str(field(f, "key_base64")), "/w==");
    ask(f, "DELETE", "/v1/store?key=%ff", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "DELETE", "/v1/store?key=%ff", "");
    expect(f, 404, "code", "not-found");
    ask(f, "GET", "/v1/store?key=%ff", "");
    expect(f, 404, "code", "not-found");
    ask(f, "PUT", "/v1/store?key=a", "{}");
    expect(f, 400, "code", "invalid");
    ask(f, "PUT", "/v1/store?key=a", "{\"value\":\"a\",\"value_base64\":\"\"}");
    expect(f, 400, "code", "invalid");
    char *large = arena_alloc_zero(&f->scratch->arena, STORE_VALUE_MAX + 20);
    strcpy(large, "{\"value\":\"");
    memset(large + 10, 'x', STORE_VALUE_MAX + 1);
    strcpy(large + 10 + STORE_VALUE_MAX + 1, "\"}");
    ask(f, "PUT", "/v1/store?key=a", large);
    expect(f, 413, "code", "too-large");
}

/* For any caller: the audit log, roles and bindings cannot be changed as keys. */
static void guarded_keys_cannot_be_changed(void **state)
{
    static const char *const guarded[] = { "audit/00000000000000000001",     "audit_head",
                                           "internal/access-token/aaaaaaaa", "objects/role/web",
                                           "internal/user-certificate/00",   "browser/a/00" };
    static const char *const prefixes[] = { "/eden", "/", "/eden/a", "/eden/objects/" };
    Fixture *f = *state;
    char target[100];
    for (size_t i = 0; i < COUNT_OF(guarded); i++) {
        snprintf(target, sizeof target, "/v1/store?key=/eden/%s", guarded[i]);
        ask(f, "PUT", target, "{\"value\":\"x\"}");
        expect(f, 403, "code", "denied");
        ask(f, "DELETE", target, "");
        expect(f, 403, "code", "denied");
        ask(f, "GET", target, "");
        expect(f, 404, "code", "not-found");
    }
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        snprintf(target, sizeof target, "/v1/keys?prefix=%s", prefixes[i]);
        ask(f, "DELETE", target, "");
        expect(f, 403, "code", "denied");
    }
    ask(f, "DELETE", "/v1/keys?prefix=/eden/nodes/", "");
    expect(f, 200, "format", "eden.done/1");
}

static void keys_are_listed_in_pages(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < 5; i++) {
        char target[64];
        snprintf(target, sizeof target, "/v1/store?key=/p/%zu", i);
        ask(f, "PUT", target, "{\"value\":\"v\"}");
    }
    ask(f, "GET", "/v1/keys?prefix=/p/&limit=2&only=keys", "");
    assert_int_equal(field(f, "values").list->len, 2);
    assert_null(value_get(field(f, "values").list->items[0], STR("value")));
    Str next = value_str(field(f, "continue"));
    Str target =
        arena_format(&f->scratch->arena, "/v1/keys?prefix=/p/&continue=%" STR_FMT, STR_ARG(next));
    ask(f, "GET", target.data, "");
    assert_int_equal(field(f, "values").list->len, 3);
    assert_str(value_str(*value_get(field(f, "values").list->items[0], STR("key"))), "/p/2");
    assert_int_equal(field(f, "continue").kind, VALUE_NULL);
    ask(f, "GET", "/v1/keys?prefix=/q/&continue=L3AvMQ==", "");
    expect(f, 400, "code", "invalid");
    ask(f, "GET", "/v1/keys?only=values", "");
    expect(f, 400, "code", "invalid");
    ask(f, "GET", "/v1/keys?limit=1001", "");
    expect(f, 400, "detail", "'limit' must be a number from 1 to 1000");
    ask(f, "DELETE", "/v1/keys?prefix=/p/", "");
    assert_int_equal(field(f, "deleted").integer, 5);
    ask(f, "GET", "/v1/keys", "");
    assert_int_equal(field(f, "values").list->len, 0);
}

static void a_token_includes_server_and_pin(void **state)
{
    Fixture *f = *state;
    char pin[PIN_TEXT + 1];
    ask(f, "POST", "/v1/tokens", "");
    pin_text(&f->ca.chain.items[0].pin, pin);
    expect(f, 201, "status.ca_pin", pin);
    assert_str(value_str(field(f, "status.servers").list->items[0]), "eden1.example.org:1338");
}

/* --- Shutdown -------------------------------------------------------------------------------- */

/* Whatever is pending at shutdown ends without a trace, in the order required by api.h. */
static void requests_in_progress_end_with_the_server(void **state)
{
    static const char *const requests[][2] = {
        { "GET", "/v1/nodes" },
        { "GET", "/v1/nodes/web1" },
        { "POST", "/v1/tokens" },
        { "DELETE", "/v1/nodes/web1" },
        { "POST", "/v1/nodes/web1/ping" },
        { "GET", "/v1/tokens" },
        { "GET", "/v1/tokens/aaaaaaaa" },
        { "GET", "/v1/certificates" },
        { "GET", "/v1/certificates/5a000000000000aa5a000000000000aa" },
    };
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        Fixture *f = *state;
        f->is_stopping = true;
        start(f, requests[i][0], requests[i][1], NULL, STR_EMPTY);
        world_run(&f->world);
        if (i + 1 < COUNT_OF(requests)) {
            assert_int_equal(tear_down(state), 0);
            assert_int_equal(set_up(state), 0);
        }
    }
}

static void joins_in_progress_end_with_the_server(void **state)
{
    Fixture *f = *state;
    P256Private *key;
    Str text;
    char nonce[JOIN_NONCE_TEXT + 1];
    Error err;
    assert_true(p256_private_make(&key, &err));
    JoinParams params = { .name = STR("web1"),
                          .ca = f->ca.chain.items[0].pin,
                          .key = key,
                          .now_ms = loop_wall_ms(f->world.loop) };
    assert_true(join_request_make(&f->scratch->arena, &params, &text, nonce, &err));
    f->is_stopping = true;
    start(f, "POST", "/v1/join", "application/json", text);
    world_run(&f->world);
    p256_private_free(key);
}

/* A known caller may admit another machine; its responses are not kept for repeated requests. */
static void joins_ignore_idempotency_keys(void **state)
{
    Fixture *f = *state;
    f->said = (HttpCallField){ "Idempotency-Key", STR("1") };
    for (int i = 0; i < 2; i++) {
        P256Private *key;
        Str text;
        char nonce[JOIN_NONCE_TEXT + 1];
        Error err;
        assert_true(p256_private_make(&key, &err));
        JoinParams params = { .name = i == 0 ? STR("web1") : STR("web2"),
                              .ca = f->ca.chain.items[0].pin,
                              .key = key,
                              .now_ms = loop_wall_ms(f->world.loop) };
        assert_true(join_request_make(&f->scratch->arena, &params, &text, nonce, &err));
        ask_as(f, "POST", "/v1/join", "application/json", text);
        expect(f, 202, "result", "pending");
        p256_private_free(key);
    }
}

/* A client that sends twice may miss the first response: the second is equivalent. */
static void a_replayed_response_has_the_same_headers(void **state)
{
    Fixture *f = *state;
    const char *change = "{\"metadata\":{\"name\":\"cluster\"}}";
    char etag[sizeof f->etag];
    f->said = (HttpCallField){ "Idempotency-Key", STR("1") };
    ask(f, "POST", "/v1/config", change);
    expect(f, 201, "metadata.name", "cluster");
    assert_string_equal(f->location, "/v1/config/cluster");
    assert_true(f->etag[0] == '"' && !f->is_replayed);
    memcpy(etag, f->etag, sizeof etag);
    Str body = f->body;
    ask(f, "POST", "/v1/config", change);
    assert_true(f->status == 201 && f->is_replayed);
    assert_string_equal(f->location, "/v1/config/cluster");
    assert_string_equal(f->etag, etag);
    assert_true(str_eq(f->body, body));
    ask(f, "POST", "/v1/config", "{\"metadata\":{\"name\":\"other\"}}");
    expect(f, 422, "code", "unprocessable");
    assert_string_equal(f->location, "");
}

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    loop_stop(f->world.loop);
}

static void fill(Fixture *f, const char *keys, uint32_t count)
{
    StoreOp ops[STORE_OPS_MAX];
    StoreTxn txn = { .success = ops };
    Error err;
    for (uint32_t i = 0; i < count; i++) {
        ops[txn.success_count++] =
            (StoreOp){ .kind = STORE_PUT,
                       .key = arena_format(&f->scratch->arena, "%s%u", keys, i),
                       .value = STR("{}") };
        if (txn.success_count == STORE_OPS_MAX || i + 1 == count) {
            assert_true(store_txn(f->store, &txn, stored, f, &err));
            world_run(&f->world);
            txn.success_count = 0;
        }
    }
}

static void too_many_requests_is_not_stored_for_an_idempotency_key(void **state)
{
    Fixture *f = *state;
    fill(f, "/eden/objects/config/c", STORED_OBJECTS_MAX);
    f->said = (HttpCallField){ "Idempotency-Key", STR("1") };
    ask(f, "POST", "/v1/config", "{\"metadata\":{\"name\":\"cluster\"}}");
    expect(f, 429, "code", "limit");
    ask(f, "DELETE", "/v1/config/c7", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "POST", "/v1/config", "{\"metadata\":{\"name\":\"cluster\"}}");
    expect(f, 201, "metadata.name", "cluster");
}

/* The outcome is unknown, so it is not repeated: a repeated request gets the same response. The log
 * says neither that it succeeded nor that it failed. */
static void an_unknown_outcome_is_stored_for_an_idempotency_key(void **state)
{
    static const Fate fates[] = { FATE_WELL, FATE_WELL, FATE_ANSWER_LOST };
    const char *change = "{\"metadata\":{\"name\":\"cluster\"}}";
    Fixture *f = *state;
    lossy_set_fates(&f->lossy, fates, COUNT_OF(fates));
    f->said = (HttpCallField){ "Idempotency-Key", STR("1") };
    ask(f, "POST", "/v1/config", change);
    expect(f, 502, "code", "outcome-unknown");
    assert_false(f->is_replayed);
    Str body = f->body;
    uint32_t sent = f->lossy.sent;
    ask(f, "POST", "/v1/config", change);
    expect(f, 502, "code", "outcome-unknown");
    assert_true(f->is_replayed && str_eq(f->body, body));
    assert_int_equal(f->lossy.sent, sent);
    f->said = (HttpCallField){ 0 };
    ask(f, "GET", "/v1/config/cluster", "");
    expect(f, 200, "metadata.name", "cluster");
    ask(f, "GET", "/v1/audit", "");
    expect(f, 200, "items.0.status.outcome", "unknown");
    expect(f, 200, "items.0.status.detail", "status 502");
    expect(f, 200, "items.1.status.outcome", "asked");
    assert_int_equal(field(f, "items").list->len, 2);
}

#define LOSSY(name)   cmocka_unit_test_setup_teardown(name, set_up_lossy, tear_down)
#define AUDITED(name) cmocka_unit_test_setup_teardown(name, set_up_audited, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(every_route_requires_a_caller),
        AUDITED(exactly_the_audited_rows_are_audited),
        ROW(exactly_the_idempotent_rows_store_responses),
        ROW(allowed_methods_are_listed_for_authorized_callers),
        ROW(invalid_requests_are_rejected),
        ROW(objects_are_created_changed_and_deleted),
        ROW(a_change_can_require_a_revision),
        ROW(a_change_can_require_presence_or_absence),
        ROW(a_concurrent_creation_is_read_again),
        ROW(all_problems_of_an_object_are_reported),
        ROW(problems_outside_the_spec_hide_nothing),
        ROW(unknown_metadata_is_rejected),
        ROW(null_means_absent),
        ROW(an_object_cannot_grow_beyond_the_limit),
        ROW(an_excessive_body_is_too_large),
        ROW(health_is_reported),
        ROW(tokens_are_created_listed_and_revoked),
        ROW(invalid_token_fields_are_named),
        ROW(invalid_certificate_fields_are_named),
        ROW(unknown_fields_of_a_kind_are_rejected),
        ROW(an_unreadable_token_hides_no_other_and_can_be_deleted),
        ROW(a_machine_is_approved_over_ssh),
        ROW(invalid_ssh_targets_are_rejected),
        ROW(the_authorized_keys_line_is_shown),
        ROW(keys_are_shown_unmodified),
        ROW(guarded_keys_cannot_be_changed),
        ROW(keys_are_listed_in_pages),
        ROW(a_token_includes_server_and_pin),
        ROW(requests_in_progress_end_with_the_server),
        ROW(joins_in_progress_end_with_the_server),
        ROW(a_replayed_response_has_the_same_headers),
        ROW(joins_ignore_idempotency_keys),
        LOSSY(an_unknown_outcome_is_stored_for_an_idempotency_key),
        ROW(too_many_requests_is_not_stored_for_an_idempotency_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
