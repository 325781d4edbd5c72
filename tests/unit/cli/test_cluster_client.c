/* What a command gets from a server, with one that responds in every possible way. */
#include "cli/cluster_client.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "membership/node_state.h"
#include "net/http_server.h"
#include "scratch.h"

static const Option options[] = { CLUSTER_OPTIONS, { 0 } };
static const Command command = { .name = "test", .options = options };

typedef struct Fixture {
    Scratch *scratch;
    Address address;
    pthread_t thread;
    sem_t listens;
    Loop *loop; /* the thread's; NULL: it cannot listen */
    Arena arena;
    Stream out, err;
    GivenOption given[2];
    Invocation invocation;
} Fixture;

static void nothing(void *context)
{
}

/* The path selects the status, the body is echoed. */
static void requested(void *context, HttpRequest *request)
{
    const Http1Head *head = http_request_head(request);
    int status = atoi(head->path.data + 1);
    Buf body = buf_make(BUF_UNLIMITED);
    if (head->query.len > 0 && status >= 300) {
        buf_put_c(&body, "\r\n \n<b>no\x1b[2J</b>\nmore");
    } else if (status == 599 || status == 298) {
        buf_put_c(&body, "<html>");
    } else if (status == 299) {
        buf_put_c(&body, "[1]");
    } else if (status >= 300) {
        buf_put_format(&body, "{\"detail\":\"no, %d\"}", status);
    } else if (http_request_body(request).len > 0) {
        buf_put(&body, http_request_body(request));
    } else {
        buf_put_format(&body, "{\"method\":\"%" STR_FMT "\",\"query\":\"%" STR_FMT "\"}",
                       STR_ARG(head->method), STR_ARG(head->query));
    }
    if (status == 297) {
        http_request_begin(request, 200, "application/json", nothing, NULL);
        http_request_send_piece(request, STR("{\"half\":"));
        http_request_abort(request);
    } else if (status != 0) { /* else no response ever arrives */
        http_request_respond(request, status, "application/json", buf_str(&body));
    }
    buf_clear(&body);
}

/* A loop belongs to the thread that created it. */
static void *serve(void *context)
{
    Fixture *f = context;
    AUTO(Loop) *loop = loop_new();
    const Listener *listener;
    Error err;
    HttpServerOptions serving = http_server_defaults();
    serving.loop = loop;
    serving.body_max = 1 << 20;
    serving.requested = requested;
    AUTO(HttpServer) *server = http_server_new(&serving);
    ListenerOptions listening = listener_defaults();
    listening.loop = loop;
    f->loop = http_server_listen(server, &listening, &f->address, &listener, &err) ? loop : NULL;
    sem_post(&f->listens);
    if (f->loop != NULL) {
        loop_run(loop);
    }
    return NULL;
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    assert_int_equal(scratch_set_up((void **)&f->scratch), 0);
    assert_true(
        address_unix(str_from_c(scratch_reach(f->scratch, "server/api.sock")), &f->address, &err));
    sem_init(&f->listens, 0, 0);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
    sem_wait(&f->listens);
    assert_non_null(f->loop);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->out = stream_make(STREAM_MEMORY);
    f->err = stream_make(STREAM_MEMORY);
    f->given[0] = (GivenOption){ &options[0], f->scratch->path };
    f->given[1] = (GivenOption){ &options[1], scratch_place(f->scratch, "state") };
    f->invocation = (Invocation){ .command = &command,
                                  .arena = &f->arena,
                                  .out = &f->out,
                                  .err = &f->err,
                                  .given = f->given,
                                  .given_count = 2 };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    loop_stop(f->loop);
    pthread_join(f->thread, NULL);
    sem_destroy(&f->listens);
    assert_int_equal(scratch_tear_down((void **)&f->scratch), 0);
    stream_clear(&f->out);
    stream_clear(&f->err);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static int call(Fixture *f, const char *method, const char *target, Str body, Value *response)
{
    buf_reset(&f->out.buf);
    buf_reset(&f->err.buf);
    return cluster_call(&f->invocation,
                        &(ClusterRequest){ .method = method,
                                           .target = str_from_c(target),
                                           .body = body,
                                           .timeout_ms = strcmp(target, "/0") == 0 ? 1 : 0 },
                        response);
}

static void a_response_is_a_value(void **state)
{
    Fixture *f = *state;
    Value response;
    assert_int_equal(call(f, "GET", "/200?a=b", STR_EMPTY, &response), EXIT_OK);
    assert_str(value_get_text(response, "method"), "GET");
    assert_str(value_get_text(response, "query"), "a=b");
    assert_str(buf_str(&f->err.buf), "");
}

static void a_body_is_received(void **state)
{
    Fixture *f = *state;
    Value response;
    Map *map = map_new(&f->arena, 3);
    List *list = list_new(&f->arena, 1);
    list_push(&f->arena, list, value_int(7));
    map_set_str(&f->arena, map, STR("text"), value_string(STR("x \"y\"")));
    map_set_str(&f->arena, map, STR("yes"), value_bool(true));
    map_set_str(&f->arena, map, STR("list"), value_list(list));
    Str body = cluster_body(&f->arena, value_map(map));
    assert_int_equal(call(f, "POST", "/201", body, &response), EXIT_OK);
    assert_str(value_get_text(response, "text"), "x \"y\"");
    assert_true(value_get_bool(response, "yes"));
    assert_int_equal(value_get_list(response, "list")->items[0].integer, 7);
    assert_str(value_get_text(response, "list"), "");
    assert_int_equal(value_get_int(response, "text"), 0);
    assert_int_equal(value_get_list(response, "nothing")->len, 0);
    assert_false(value_get_bool(value_null(), "yes"));
}

static void a_rejection_has_the_exit_code_of_its_kind(void **state)
{
    static const struct {
        const char *target;
        int code;
        const char *problem;
    } rows[] = {
        { "/400", EXIT_FAILED, "E0850" },    { "/401", EXIT_DENIED, "E0851" },
        { "/403", EXIT_DENIED, "E0851" },    { "/404", EXIT_FAILED, "E0853" },
        { "/409", EXIT_CONFLICT, "E0854" },  { "/429", EXIT_FAILED, "E0857" },
        { "/500", EXIT_FAILED, "E0812" },    { "/503", EXIT_NOT_MATCHED, "E0859" },
        { "/504", EXIT_TIMED_OUT, "E0860" },
    };
    Fixture *f = *state;
    Value response;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(call(f, "GET", rows[i].target, STR_EMPTY, &response), rows[i].code);
        Str text = buf_str(&f->err.buf);
        Str start = arena_format(&f->arena, "error[%s]: no, ", rows[i].problem);
        assert_true(str_starts(text, start));
        assert_true(str_find(text, str_from_c(rows[i].target + 1), 0) != STR_NOT_FOUND);
        assert_str(buf_str(&f->out.buf), "");
    }
    assert_int_equal(call(f, "GET", "/599", STR_EMPTY, &response), EXIT_FAILED);
    assert_true(str_find(buf_str(&f->err.buf), STR("status 599"), 0) != STR_NOT_FOUND);
}

static void responses_of_a_proxy_are_reported_as_such(void **state)
{
    static const struct {
        const char *target;
        int code;
        const char *problem;
    } rows[] = {
        { "/401?proxy", EXIT_FAILED, "E0812" },      { "/403?proxy", EXIT_FAILED, "E0812" },
        { "/407?proxy", EXIT_FAILED, "E0812" },      { "/404?proxy", EXIT_FAILED, "E0812" },
        { "/409?proxy", EXIT_FAILED, "E0812" },      { "/502?proxy", EXIT_NOT_MATCHED, "E0859" },
        { "/503?proxy", EXIT_NOT_MATCHED, "E0859" }, { "/504?proxy", EXIT_TIMED_OUT, "E0860" },
    };
    Fixture *f = *state;
    Value response;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(call(f, "GET", rows[i].target, STR_EMPTY, &response), rows[i].code);
        assert_int_equal(response.kind, VALUE_NULL);
        Str start = arena_format(&f->arena,
                                 "error[%s]: the response is not from an eden server but from a "
                                 "proxy or another program, with status %.3s: <b>no\\x1b[2J</b>\n",
                                 rows[i].problem, rows[i].target + 1);
        Str text = buf_str(&f->err.buf);
        assert_str(str_slice(text, 0, start.len < text.len ? start.len : text.len), start.data);
    }
}

static void an_invalid_response_is_a_failure(void **state)
{
    Fixture *f = *state;
    Value response;
    static const char *const targets[] = { "/298", "/299" };
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        assert_int_equal(call(f, "GET", targets[i], STR_EMPTY, &response), EXIT_FAILED);
        assert_true(str_starts(buf_str(&f->err.buf),
                               STR("error[E0812]: the server's response is not a JSON object")));
    }
}

/* Like a server that is killed while it responds. */
static void a_truncated_response_counts_as_no_server(void **state)
{
    Fixture *f = *state;
    Value response;
    assert_int_equal(call(f, "GET", "/297", STR_EMPTY, &response), EXIT_NOT_MATCHED);
    assert_true(str_starts(buf_str(&f->err.buf), STR("error[E0810]: ")));
}

static void errors_are_printed_as_json_on_request(void **state)
{
    Fixture *f = *state;
    Value response;
    f->invocation.json = true;
    assert_int_equal(call(f, "GET", "/409", STR_EMPTY, &response), EXIT_CONFLICT);
    assert_str(buf_str(&f->err.buf), "");
    assert_true(str_starts(buf_str(&f->out.buf), STR("{\"format\":\"eden.problems/1\"")));
}

static void a_silent_server_times_out(void **state)
{
    Fixture *f = *state;
    Value response;
    assert_int_equal(call(f, "GET", "/0", STR_EMPTY, &response), EXIT_TIMED_OUT);
    assert_true(str_starts(buf_str(&f->err.buf), STR("error[E0813]: the server did not respond")));
    assert_true(str_find(buf_str(&f->err.buf), STR("use '--timeout 2m' to wait longer"), 0) !=
                STR_NOT_FOUND);
}

static void a_missing_server_is_reported_with_the_known_servers(void **state)
{
    Fixture *f = *state;
    Value response;
    f->given[0].value = scratch_place(f->scratch, "nowhere");
    assert_int_equal(call(f, "GET", "/200", STR_EMPTY, &response), EXIT_NOT_MATCHED);
    Str reported = buf_str(&f->err.buf);
    assert_true(str_starts(reported, STR("error[E0810]: no server is running on this machine")));
    assert_true(str_find(reported, STR("'eden serve' to start one"), 0) != STR_NOT_FOUND);
    NodeServer servers[] = { { "s1", STR("eden1.example.org:1337"), STR("eden1.example.org:1338") },
                             { "s2", STR("10.0.0.7:1337"), STR("10.0.0.7:1338") } };
    NodeState node = { "blue", "web1", servers, COUNT_OF(servers) };
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    node_state_print(&node, &text);
    scratch_put(f->scratch, "state/agent/node.json", buf_c(&text));
    assert_int_equal(call(f, "GET", "/200", STR_EMPTY, &response), EXIT_NOT_MATCHED);
    assert_true(str_find(buf_str(&f->err.buf),
                         STR("run the command on a server: eden1.example.org, 10.0.0.7"),
                         0) != STR_NOT_FOUND);
}

static void variable_parts_of_a_target_are_encoded(void **state)
{
    Fixture *f = *state;
    assert_str(cluster_target(&f->arena, "/v1/store?key=", STR("/a b&c=%\xc3\xa4")),
               "/v1/store?key=%2Fa%20b%26c%3D%25%C3%A4");
    assert_str(cluster_target_with(&f->arena, "/v1/nodes/", STR("web1.x-y"), "/approve"),
               "/v1/nodes/web1.x-y/approve");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_response_is_a_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_body_is_received, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rejection_has_the_exit_code_of_its_kind, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(responses_of_a_proxy_are_reported_as_such, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_response_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_truncated_response_counts_as_no_server, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(errors_are_printed_as_json_on_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_server_times_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_server_is_reported_with_the_known_servers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(variable_parts_of_a_target_are_encoded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
