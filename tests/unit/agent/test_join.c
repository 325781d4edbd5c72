/* A machine that joins a real server over TLS. */
#include "agent/join.h"

#include "agent/ssh_answer.h"
#include "lang/json.h"
#include "net/http_client.h"
#include "net/world.h"
#include "pki/credential.h"
#include "server/create_cluster.h"
#include "server/server.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Arena *arena;
    Server *server;
    Pin ca;
    NodeJoin *joiner;
    bool is_done, is_node;
    NodeState state;
    Error err;
    uint32_t waits;
    NodeJoinWait wait;
    Pin claim;
    char wait_name[NODE_NAME_MAX + 1], why[JOIN_TEXT_MAX];
    HttpCall *http;
    int http_status;
    Str http_body;
} Fixture;

static void ready(void *context)
{
    Fixture *f = context;
    loop_stop(f->world.loop);
}

static void failed(void *context, const Error *err)
{
    fail_msg("%s", err->text);
}

/* A cluster that was created at this time, relative to the clock. */
static int set_up_created(void **state, int64_t after_ms)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    f->arena = &f->scratch->arena;
    world_open(&f->world);
    const Str names[] = { STR("127.0.0.1") };
    const char *place = scratch_place(f->scratch, "server");
    ClusterSpec founding = { .state_dir = place,
                             .settings = { .cluster = "blue",
                                           .node = "s1",
                                           .rpc = STR("127.0.0.1:0"),
                                           .api = STR("127.0.0.1:0"),
                                           .names = names,
                                           .name_count = 1 },
                             .now_ms = loop_wall_ms(f->world.loop) + after_ms };
    Error err;
    assert_true(cluster_create(&founding, &f->ca, &err));
    ServerOptions options = { .loop = f->world.loop,
                              .state_dir = place,
                              .socket = scratch_place(f->scratch, "socket"),
                              .ready = ready,
                              .failed = failed,
                              .context = f };
    assert_true(server_open(&options, &f->server, &err));
    world_run(&f->world);
    return 0;
}

static int set_up(void **state)
{
    return set_up_created(state, 0);
}

/* The clock of the server was wrong when its certificate was issued. */
static int set_up_tomorrow(void **state)
{
    return set_up_created(state, INT64_C(24) * 60 * 60 * 1000);
}

static void gone(void *context)
{
    Fixture *f = context;
    f->server = NULL;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    node_join_free(f->joiner);
    http_call_free(f->http);
    server_close(f->server, 0, gone, f);
    while (f->server != NULL) {
        world_pass(&f->world, 1);
    }
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* --- The operator ---------------------------------------------------------------------------- */

static void http_done(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    f->http_status = answer == NULL ? 0 : answer->head->status;
    f->http_body = answer == NULL ? STR_EMPTY : arena_copy(f->arena, answer->body);
}

static Value operate(Fixture *f, const char *method, const char *target, Str body)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .method = method,
                                .target = target,
                                .content_type = body.len > 0 ? "application/json" : NULL,
                                .body = body,
                                .response_max = 1 << 20,
                                .timeout_ms = 10000,
                                .done = http_done,
                                .context = f };
    Value value;
    Error err;
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &options.address, &err));
    f->http_status = -1;
    http_call_free(TAKE(f->http));
    f->http = http_call_new(&options);
    while (f->http_status == -1) {
        world_pass(&f->world, 1);
    }
    assert_in_range(f->http_status, 200, 299);
    assert_true(json_parse_text(f->arena, f->http_body, NULL, &value, &err));
    return value;
}

static Token make_token(Fixture *f)
{
    Token token;
    Error err;
    Value made = operate(f, "POST", "/v1/tokens", STR("{\"spec\":{\"uses\":1}}"));
    assert_true(token_parse(TOKEN_JOIN,
                            value_str(*value_get(*value_get(made, STR("status")), STR("secret"))),
                            &token, &err));
    return token;
}

/* --- The joiner ------------------------------------------------------------------------------ */

static void waits(void *context, const NodeJoinWait *wait)
{
    Fixture *f = context;
    f->waits++;
    f->wait = *wait;
    f->claim = wait->claim == NULL ? (Pin){ { 0 } } : *wait->claim;
    snprintf(f->wait_name, sizeof f->wait_name, "%s", wait->name);
    snprintf(f->why, sizeof f->why, "%s", wait->why);
    loop_stop(f->world.loop);
}

static void done(void *context, const NodeState *state, const Error *err)
{
    Fixture *f = context;
    f->is_done = true;
    f->is_node = state != NULL;
    f->err = *err;
    if (state != NULL) {
        f->state = *state;
    }
    loop_stop(f->world.loop);
}

static bool start(Fixture *f, const char *place, const Token *token, const Pin *ca, Error *err)
{
    NodeJoinOptions options = {
        .loop = f->world.loop,
        .state_dir = scratch_place(f->scratch, place),
        .server = { .kind = ADDRESS_IP, .port = server_api_port(f->server), .host = "127.0.0.1" },
        .name = STR("web1"),
        .ca = ca == NULL ? (Pin){ { 0 } } : *ca,
        .ca_is_unknown = ca == NULL,
        .token = token,
        .waits = waits,
        .done = done,
        .context = f
    };
    f->is_done = f->is_node = false;
    f->waits = 0;
    return node_join_new(&options, &f->joiner, err);
}

static void join(Fixture *f, const char *place, const Token *token, const Pin *ca)
{
    Error err;
    if (!start(f, place, token, ca, &err)) {
        fail_msg("%s", err.text);
    }
    while (!f->is_done) {
        world_run(&f->world);
    }
    node_join_free(TAKE(f->joiner));
}

static void open_agent(Fixture *f, const char *place, Directory *out)
{
    Error err;
    const char *path =
        arena_format(f->arena, "%s/agent%c", scratch_place(f->scratch, place), 0).data;
    assert_true(directory_open(path, out, &err));
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void a_machine_with_a_token_becomes_a_member(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Token) token = make_token(f);
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    AUTO_CLEAR(Credential) node = { 0 };
    NodeState known;
    Certificate *bundle;
    uint32_t count;
    Str text;
    Error err;
    join(f, "web1", &token, &f->ca);
    assert_true(f->is_node);
    assert_int_equal(f->waits, 0);
    open_agent(f, "web1", &agent);
    assert_true(credential_load(&agent, AGENT_CREDENTIAL, f->arena, &node, &err));
    assert_string_equal(node.chain.items[0].identity.node, "web1");
    assert_true(directory_read(&agent, f->arena, AGENT_BUNDLE, 1 << 20, &text, &err));
    assert_true(certificates_from_pem(f->arena, text, &bundle, &count, &err));
    assert_true(pin_equal(&bundle[0].pin, &f->ca));
    assert_true(node_state_load(&agent, f->arena, &known, &err));
    assert_string_equal(known.cluster, "blue");
    assert_string_equal(known.servers[0].node, "s1");
    assert_true(str_eq(known.servers[0].rpc,
                       arena_format(f->arena, "127.0.0.1:%u", server_rpc_port(f->server))));
    /* No trace of the request remains, and it is not sent twice. */
    Joining left;
    AUTO_CLEAR(Directory) joining = { .descriptor = -1 };
    assert_true(directory_open_child(&agent, AGENT_JOINING, &joining, &err));
    assert_false(joining_load(&joining, &left, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_false(start(f, "web1", &token, &f->ca, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "eden leave"));
}

static void a_server_with_another_ca_receives_nothing(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Token) token = make_token(f);
    Pin wrong = f->ca;
    wrong.bytes[5] ^= 1;
    join(f, "web1", &token, &wrong);
    assert_false(f->is_node);
    assert_int_equal(f->err.kind, ERROR_DENIED);
    Value tokens = operate(f, "GET", "/v1/tokens", STR_EMPTY);
    Value one = value_get(tokens, STR("items"))->list->items[0];
    assert_int_equal(value_get(*value_get(one, STR("status")), STR("uses"))->integer, 0);
}

static void a_certificate_must_be_valid_at_the_time_of_the_server(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(start(f, "web1", NULL, &f->ca, &err));
    while (!f->is_done && f->waits == 0) {
        world_run(&f->world);
    }
    assert_true(f->is_done);
    assert_false(f->is_node);
    assert_int_equal(f->err.kind, ERROR_DENIED);
    assert_non_null(strstr(f->err.text, "is valid from"));
}

static void a_used_up_token_is_rejected(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Token) token = make_token(f);
    join(f, "web1", &token, &f->ca);
    assert_true(f->is_node);
    join(f, "web2", &token, &f->ca);
    assert_false(f->is_node);
    assert_int_equal(f->err.kind, ERROR_DENIED);
    assert_non_null(strstr(f->err.text, "used"));
}

static void without_a_token_the_key_must_be_approved(void **state)
{
    Fixture *f = *state;
    Error err;
    char pin[PIN_TEXT + 1];
    assert_true(start(f, "web1", NULL, &f->ca, &err));
    while (f->waits == 0) {
        world_run(&f->world);
    }
    assert_int_equal(f->wait.state, NODE_JOIN_PENDING);
    assert_string_equal(f->wait_name, "web1");
    pin_text(&f->wait.key, pin);
    operate(f, "POST", "/v1/nodes/web1/approve", arena_format(f->arena, "{\"key\":\"%s\"}", pin));
    while (!f->is_done) {
        world_run(&f->world);
    }
    assert_true(f->is_node);
    assert_int_equal(f->waits, 1); /* reported once */
}

/* Wherever it is interrupted, the next attempt uses the same key, and the token still works. */
static void a_killed_join_continues(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Token) token = make_token(f);
    Error err;
    Pin first = { 0 };
    for (int ms = 0; ms < 60 && !f->is_done; ms += 3) {
        AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
        AUTO_CLEAR(Directory) joining = { .descriptor = -1 };
        AUTO_CLEAR(Joining) kept = { 0 };
        P256Public key;
        Pin pin;
        assert_true(start(f, "web1", &token, &f->ca, &err));
        open_agent(f, "web1", &agent);
        assert_true(directory_open_child(&agent, AGENT_JOINING, &joining, &err));
        assert_true(joining_load(&joining, &kept, &err));
        assert_true(p256_public_of(kept.key, &key, &err));
        p256_public_pin(&key, &pin);
        assert_true(ms == 0 || pin_equal(&pin, &first));
        first = pin;
        world_pass(&f->world, ms);
        node_join_free(TAKE(f->joiner));
    }
    if (!f->is_done) {
        join(f, "web1", &token, &f->ca);
    }
    assert_true(f->is_node);
}

static void concurrent_joins_are_prevented(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(start(f, "web1", NULL, &f->ca, &err));
    NodeJoin *first = f->joiner;
    assert_false(start(f, "web1", NULL, &f->ca, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    f->joiner = first;
}

/* A descriptor that is not initialized is 0. */
static void a_join_that_cannot_start_leaves_stdin_open(void **state)
{
    Fixture *f = *state;
    Error err;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(null, STDIN_FILENO), STDIN_FILENO);
    scratch_put(f->scratch, "file", "");
    assert_false(start(f, "file/below", NULL, &f->ca, &err));
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    close(null);
}

static void a_different_request_gets_another_key(void **state)
{
    Fixture *f = *state;
    Error err;
    Pin other = f->ca;
    other.bytes[0] ^= 1;
    join(f, "web1", NULL, &other);
    assert_int_equal(f->err.kind, ERROR_DENIED);
    assert_true(start(f, "web1", NULL, &f->ca, &err));
    while (f->waits == 0) {
        world_run(&f->world);
    }
    Pin key = f->wait.key;
    node_join_free(TAKE(f->joiner));
    assert_true(start(f, "web1", NULL, &f->ca, &err));
    while (f->waits == 0) {
        world_run(&f->world);
    }
    assert_true(pin_equal(&key, &f->wait.key));
}

/* --- Over SSH -------------------------------------------------------------------------------- */

/* Without knowing a CA before it has sent a request. */
static void start_claim(Fixture *f)
{
    Error err;
    if (!start(f, "web1", NULL, NULL, &err)) {
        fail_msg("%s", err.text);
    }
    while (f->waits == 0 && !f->is_done) {
        world_run(&f->world);
    }
}

static void approve_key(Fixture *f, const Pin *key)
{
    char pin[PIN_TEXT + 1];
    pin_text(key, pin);
    operate(f, "POST", "/v1/nodes/web1/approve", arena_format(f->arena, "{\"key\":\"%s\"}", pin));
}

/* What a server asks after logging in, and the consequences. */
static JoinAnswer answer(Fixture *f, const char *node, const Pin *key, const char *ca_of)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    JoinQuestion question = { .cluster = "blue", .key = *key };
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED), out = buf_make_in(f->arena, BUF_UNLIMITED);
    JoinAnswerResult result;
    JoinAnswer read;
    Error err;
    snprintf(question.node, sizeof question.node, "%s", node);
    open_agent(f, ca_of, &agent);
    assert_true(directory_read(&agent, f->arena, AGENT_BUNDLE, 1 << 20, &question.bundle, &err));
    join_question_print(&question, &text);
    if (!ssh_answer(scratch_place(f->scratch, "web1"), buf_str(&text), &result, &out, &err)) {
        fail_msg("%s", err.text);
    }
    assert_true(join_answer_read(f->arena, buf_str(&out), &read, &err));
    assert_int_equal(read.result, result);
    return read;
}

static void machine_without_a_ca_waits_for_ssh(void **state)
{
    Fixture *f = *state;
    start_claim(f);
    Pin key = f->wait.key;
    assert_int_equal(f->wait.state, NODE_JOIN_PENDING);
    assert_true(pin_equal(&f->claim, &f->ca));
    Value node = operate(f, "GET", "/v1/nodes/web1", STR_EMPTY);
    assert_int_equal(value_get(*value_get(node, STR("status")), STR("requests"))->list->len, 1);
    JoinAnswer reported = answer(f, "web1", &key, "server");
    assert_int_equal(reported.result, JOIN_ANSWER_TRUSTED);
    assert_true(pin_equal(&reported.key, &key));
    approve_key(f, &key);
    while (!f->is_done) {
        world_run(&f->world);
    }
    if (!f->is_node) {
        fail_msg("%s", f->err.text);
    }
    /* No trace of it remains. */
    assert_int_equal(answer(f, "web1", &key, "server").result, JOIN_ANSWER_NOT_ASKED);
}

/* A machine admitted by its key alone would accept the CA of a man in the middle. */
static void claimed_ca_is_not_trusted_because_the_key_was_approved(void **state)
{
    Fixture *f = *state;
    start_claim(f);
    Pin key = f->wait.key;
    approve_key(f, &key);
    world_pass(&f->world, 3 * JOIN_POLL_MS);
    assert_false(f->is_done); /* it sends no request */
    node_join_free(TAKE(f->joiner));
    start_claim(f);
    assert_true(f->is_done);
    assert_false(f->is_node);
    assert_int_equal(f->err.kind, ERROR_DENIED);
    assert_non_null(strstr(f->err.text, "its CA is not trusted here"));
    /* GivenOption that very CA, it accepts the response. */
    node_join_free(TAKE(f->joiner));
    join(f, "web1", NULL, &f->ca);
    assert_true(f->is_node);
}

static void request_for_another_machine_is_not_trusted(void **state)
{
    Fixture *f = *state;
    start_claim(f);
    Pin key = f->wait.key, other = key;
    other.bytes[0] ^= 1;
    assert_int_equal(answer(f, "web1", &other, "server").result, JOIN_ANSWER_OTHER_KEY);
    assert_int_equal(answer(f, "web2", &key, "server").result, JOIN_ANSWER_OTHER_NAME);
    /* The CA of another cluster. */
    const Str names[] = { STR("127.0.0.1") };
    ClusterSpec founding = { .state_dir = scratch_place(f->scratch, "other"),
                             .settings = { .cluster = "blue",
                                           .node = "s1",
                                           .rpc = STR("127.0.0.1:0"),
                                           .api = STR("127.0.0.1:0"),
                                           .names = names,
                                           .name_count = 1 },
                             .now_ms = loop_wall_ms(f->world.loop) };
    Error err;
    Pin ca;
    assert_true(cluster_create(&founding, &ca, &err));
    JoinAnswer reported = answer(f, "web1", &key, "other");
    assert_int_equal(reported.result, JOIN_ANSWER_OTHER_CA);
    approve_key(f, &key);
    world_pass(&f->world, 2 * JOIN_POLL_MS);
    assert_false(f->is_done);
    /* A CA confirmed for an earlier request does not help either. */
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    AUTO_CLEAR(Directory) joining = { .descriptor = -1 };
    Str bundle;
    open_agent(f, "other", &agent);
    assert_true(directory_read(&agent, f->arena, AGENT_BUNDLE, 1 << 20, &bundle, &err));
    assert_true(directory_open(scratch_place(f->scratch, "web1/agent/joining"), &joining, &err));
    assert_true(joining_trust(&joining, bundle, &err));
    world_pass(&f->world, 2 * JOIN_POLL_MS);
    assert_false(f->is_done);
}

static void join_with_a_claim_continues_with_the_same_key(void **state)
{
    Fixture *f = *state;
    start_claim(f);
    Pin key = f->wait.key;
    node_join_free(TAKE(f->joiner));
    start_claim(f);
    assert_true(pin_equal(&f->wait.key, &key));
    assert_true(pin_equal(&f->claim, &f->ca));
    node_join_free(TAKE(f->joiner));
    /* Being given that very CA is as good as being asked over SSH. */
    approve_key(f, &key);
    join(f, "web1", NULL, &f->ca);
    assert_true(f->is_node);
}

/* Killed before any server has answered: no CA is known, and none may be stored as if it were. */
static void join_with_a_claim_without_response_starts_over(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(start(f, "web1", NULL, NULL, &err));
    node_join_free(TAKE(f->joiner));
    start_claim(f);
    assert_false(f->is_done);
    assert_true(pin_equal(&f->claim, &f->ca));
}

static void invalid_requests_get_an_error(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Buf) out = buf_make(JOIN_ANSWER_MAX);
    JoinAnswerResult result;
    Error err;
    assert_false(ssh_answer(scratch_place(f->scratch, "web1"), STR("hello"), &result, &out, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(out.len, 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_machine_with_a_token_becomes_a_member),
        ROW(a_server_with_another_ca_receives_nothing),
        cmocka_unit_test_setup_teardown(a_certificate_must_be_valid_at_the_time_of_the_server,
                                        set_up_tomorrow, tear_down),
        ROW(a_used_up_token_is_rejected),
        ROW(without_a_token_the_key_must_be_approved),
        ROW(a_killed_join_continues),
        ROW(concurrent_joins_are_prevented),
        ROW(a_different_request_gets_another_key),
        ROW(machine_without_a_ca_waits_for_ssh),
        ROW(claimed_ca_is_not_trusted_because_the_key_was_approved),
        ROW(request_for_another_machine_is_not_trusted),
        ROW(join_with_a_claim_continues_with_the_same_key),
        ROW(join_with_a_claim_without_response_starts_over),
        ROW(invalid_requests_get_an_error),
        ROW(a_join_that_cannot_start_leaves_stdin_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
