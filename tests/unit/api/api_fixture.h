/* An API on a Unix socket with an in-memory store, and its callers. */
#pragma once

#include "api/serving.h"
#include "cluster/cluster_keys.h"
#include "failing_store.h"
#include "lang/json.h"
#include "lossy_store.h"
#include "net/http_client.h"
#include "net/world.h"
#include "pki/ca.h"
#include "ready_state.h"

#define CLUSTER STR("blue")

enum {
    CALLS_MAX = 3
};

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Credential ca;
    CaSet cas;
    Store *store;
    LossyStore lossy;      /* the same as `store` if that loses responses */
    FailingStore *failing; /* the same, if it fails on demand; else NULL */
    ClusterStore cluster_store;
    Admission *admission;
    SshVerifier *ssh_verifier;
    SourceVault *vault;
    Audit *audit; /* NULL: nothing is recorded */
    Api *api;
    HttpServer *server;
    Address address;
    Caller caller;   /* the caller, whoever it is */
    bool is_away;    /* the node has no session */
    bool is_deaf;    /* pings are not answered */
    bool is_slow;    /* nor do they time out */
    int64_t node_ms; /* the time reported by the node; 0: 1.5 s ahead */
    SessionPinged *pinged[CALLS_MAX];
    void *pinged_context[CALLS_MAX];
    uint32_t pings;                     /* pending ones */
    bool is_stopping;                   /* the loop, as soon as a request has arrived */
    Str meanwhile_key, meanwhile_value; /* put into the store then, if there is a key */
    HttpCall *call;
    HttpCallField said; /* an additional header of requests; without a name: none */
    int status;
    char allow[100], etag[40], location[100], retry[10];
    bool is_replayed;
    Str body; /* of the last response */
    Value json;
} Fixture;

static const Str api_name = { "eden1.example.org:1338", 22 };

static inline void put_meanwhile_done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static inline void describe(void *context, const Peer *peer, Caller *out)
{
    Fixture *f = context;
    Error err;
    assert_true(peer->is_local);
    if (f->meanwhile_key.len > 0) {
        assert_true(store_put(f->store, f->meanwhile_key, f->meanwhile_value, 0, put_meanwhile_done,
                              NULL, &err));
    }
    *out = f->caller;
    if (f->is_stopping) {
        loop_stop(f->world.loop);
    }
}

static inline void ping(void *context, Str node, SessionPinged *done, void *done_context)
{
    SessionPing answer = { .round_trip_ms = 4,
                           .node_ms = 1800000001498,
                           .server_ms = 1800000000000 };
    Error err;
    assert_str(node, "web1");
    Fixture *f = context;
    answer.node_ms = f->node_ms != 0 ? f->node_ms : answer.node_ms;
    if (f->is_away) {
        error_set(&err, ERROR_UNAVAILABLE, "it has no session");
        done(done_context, NULL, &err);
        return;
    }
    error_set(&err, ERROR_TIMEOUT, "no answer came");
    if (f->is_slow) {
        f->pinged[f->pings] = done;
        f->pinged_context[f->pings++] = done_context;
        loop_stop(f->world.loop);
        return;
    }
    bool answers = !f->is_deaf;
    done(done_context, answers ? &answer : NULL, answers ? NULL : &err);
}

typedef enum FixtureStore {
    STORE_PLAIN,
    STORE_LOSSY,
    STORE_FAILING,
} FixtureStore;

static inline int set_up_as(void **state, bool is_audited, FixtureStore kind)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->caller = (Caller){ .is_local = true, .is_operator = true };
    if (kind == STORE_FAILING) {
        f->failing = failing_store_open(f->world.loop);
        f->store = &f->failing->base;
    } else {
        f->store = store_open_memory(f->world.loop, NULL);
    }
    if (kind == STORE_LOSSY) {
        f->store = lossy_open_once(&f->lossy, f->world.loop, f->store);
    }
    f->cluster_store =
        (ClusterStore){ .loop = f->world.loop, .store = f->store, .prefix = KEYS_PREFIX };
    follow_store(&f->cluster_store);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    assert_true(ca_make(&f->scratch->arena, CLUSTER, loop_wall_ms(f->world.loop), &f->ca, &err));
    f->cas = (CaSet){ &f->ca, f->ca.chain };
    f->admission = admission_new(&(AdmissionSettings){
        .certify = { .cluster_store = f->cluster_store, .cluster = CLUSTER, .cas = &f->cas },
        .server = STR("s1"),
        .rpc_port = 1337 });
    scratch_put(f->scratch, "ssh", "#!/bin/sh\n. ./answer\n");
    chmod(scratch_place(f->scratch, "ssh"), 0755);
    f->ssh_verifier =
        ssh_verifier_new(&(SshVerifierSettings){ .cluster_store = f->cluster_store,
                                                 .cluster = CLUSTER,
                                                 .directory = f->scratch->path,
                                                 .cas = &f->cas,
                                                 .program = scratch_place(f->scratch, "ssh") });
    f->vault = source_vault_new(f->scratch->path);
    f->audit = is_audited ? audit_new(&f->cluster_store) : NULL;
    f->api = api_new(&(ApiSettings){ .cluster_store = f->cluster_store,
                                     .cluster = CLUSTER,
                                     .node = STR("s1"),
                                     .admission = f->admission,
                                     .ssh_verifier = f->ssh_verifier,
                                     .vault = f->vault,
                                     .cas = &f->cas,
                                     .names = &api_name,
                                     .name_count = 1,
                                     .ping = ping,
                                     .calls_max = CALLS_MAX,
                                     .audit = f->audit,
                                     .describe = describe,
                                     .context = f });
    f->server = serve_by_socket(&f->world, f->scratch, f->api, &f->address);
    return 0;
}

static inline int set_up(void **state)
{
    return set_up_as(state, false, STORE_PLAIN);
}

static inline int set_up_audited(void **state)
{
    return set_up_as(state, true, STORE_PLAIN);
}

/* With a store that counts requests. */
static inline int set_up_counted(void **state)
{
    return set_up_as(state, false, STORE_LOSSY);
}

static inline int set_up_lossy(void **state)
{
    return set_up_as(state, true, STORE_LOSSY);
}

static inline int set_up_failing(void **state)
{
    return set_up_as(state, false, STORE_FAILING);
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;
    http_call_free(f->call);
    http_server_free(f->server);
    admission_free(f->admission);
    ssh_verifier_free(f->ssh_verifier);
    api_free(f->api);
    source_vault_free(f->vault);
    audit_free(f->audit);
    follow_stop(&f->cluster_store);
    store_close(f->store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    credential_clear(&f->ca);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static inline void answered(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    if (answer == NULL) {
        fail_msg("%s", err->text);
        return;
    }
    const Str *allow = http1_find(answer->head, "Allow");
    f->status = answer->head->status;
    snprintf(f->allow, sizeof f->allow, "%.*s", allow == NULL ? 0 : (int)allow->len,
             allow == NULL ? "" : allow->data);
    const Str *retry = http1_find(answer->head, "Retry-After");
    snprintf(f->retry, sizeof f->retry, "%.*s", retry == NULL ? 0 : (int)retry->len,
             retry == NULL ? "" : retry->data);
    const Str *etag = http1_find(answer->head, "ETag");
    snprintf(f->etag, sizeof f->etag, "%.*s", etag == NULL ? 0 : (int)etag->len,
             etag == NULL ? "" : etag->data);
    const Str *location = http1_find(answer->head, "Location");
    snprintf(f->location, sizeof f->location, "%.*s", location == NULL ? 0 : (int)location->len,
             location == NULL ? "" : location->data);
    f->is_replayed = http1_find(answer->head, "Idempotent-Replayed") != NULL;
    f->body = arena_copy(&f->scratch->arena, answer->body);
    loop_stop(f->world.loop);
}

static inline void start(Fixture *f, const char *method, const char *target, const char *type,
                         Str body)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .address = f->address,
                                .method = method,
                                .target = target,
                                .content_type = type,
                                .body = body,
                                .fields = &f->said,
                                .field_count = f->said.name == NULL ? 0 : 1,
                                .response_max = 8 << 20,
                                .timeout_ms = 10000,
                                .done = answered,
                                .context = f };
    http_call_free(f->call);
    f->call = http_call_new(&options);
}

/* The response is always a JSON object with a kind. */
static inline void ask_as(Fixture *f, const char *method, const char *target, const char *type,
                          Str body)
{
    Error err;
    f->status = 0;
    start(f, method, target, type, body);
    world_run(&f->world);
    if (f->status == 200 &&
        (strcmp(target, "/metrics") == 0 || strcmp(target, "/v1/prometheus-targets") == 0)) {
        return; /* in the format of Prometheus */
    }
    if (!json_parse_text(&f->scratch->arena, f->body, NULL, &f->json, &err)) {
        fail_msg("%s: %s", target, err.text);
    }
    const char *told = f->status >= 400 ? "type" : "format";
    assert_true(value_get(f->json, str_from_c(told)) != NULL ||
                value_get(f->json, STR("metadata")) != NULL ||
                value_get(f->json, STR("openapi")) != NULL);
}

static inline void ask(Fixture *f, const char *method, const char *target, const char *body)
{
    ask_as(f, method, target, body[0] == '\0' ? NULL : "application/json", str_from_c(body));
}

/* By names and indexes, as "nodes.0.name". */
static inline Value field(Fixture *f, const char *path)
{
    Str rest = str_from_c(path), word;
    Value at = f->json;
    while (str_split_next(&rest, '.', &word)) {
        uint64_t index;
        if (at.kind == VALUE_LIST && str_to_u64(word, &index) && index < at.list->len) {
            at = at.list->items[index];
        } else {
            const Value *found = value_get(at, word);
            if (found == NULL) {
                fail_msg("%s is not in %.*s", path, (int)f->body.len, f->body.data);
                return at;
            }
            at = *found;
        }
    }
    return at;
}

static inline void expect(Fixture *f, int status, const char *path, const char *text)
{
    if (f->status != status) {
        fail_msg("%d: %.*s", f->status, (int)f->body.len, f->body.data);
    }
    assert_str(value_str(field(f, path)), text);
}

/* Sends a join request for web1, without a token. */
static inline void join(Fixture *f, const P256Private *key)
{
    JoinParams params = { .name = STR("web1"),
                          .ca = f->ca.chain.items[0].pin,
                          .key = key,
                          .now_ms = loop_wall_ms(f->world.loop) };
    char nonce[JOIN_NONCE_TEXT + 1];
    Str text;
    Error err;
    assert_true(join_request_make(&f->scratch->arena, &params, &text, nonce, &err));
    Caller before = f->caller;
    f->caller = (Caller){ 0 };
    ask_as(f, "POST", "/v1/join", "application/json", text);
    f->caller = before;
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* The same with a new key, which the caller frees; `pin` is its text. */
static inline P256Private *join_with_new_key(Fixture *f, char pin[PIN_TEXT + 1])
{
    P256Private *key;
    P256Public public;
    Pin bytes;
    Error err;
    assert_true(p256_private_make(&key, &err));
    assert_true(p256_public_of(key, &public, &err));
    p256_public_pin(&public, &bytes);
    pin_text(&bytes, pin);
    join(f, key);
    return key;
}

/* And joins. The caller frees the key. */
static inline P256Private *join_as_node(Fixture *f)
{
    char text[PIN_TEXT + 1], body[200];
    P256Private *key = join_with_new_key(f, text);
    snprintf(body, sizeof body, "{\"key\":\"%s\"}", text);
    ask(f, "POST", "/v1/nodes/web1/approve", body);
    join(f, key);
    expect(f, 200, "result", "admitted");
    return key;
}
