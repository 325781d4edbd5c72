/* Conclusions of `eden doctor` from what it has observed. */
#include "cli/doctor_evaluate.h"

#include <stdlib.h>

#include "lang/json.h"
#include "unit.h"

#define NOW_MS ((int64_t)1800000000000)
#define DAY_MS ((int64_t)24 * 3600 * 1000)

static int set_up(void **state)
{
    Arena *arena = calloc(1, sizeof *arena);
    arena_init(arena, ARENA_UNLIMITED);
    *state = arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    free(*state);
    return 0;
}

static void set_json(Arena *arena, DoctorResponse *response, const char *text)
{
    Error err;
    *response = (DoctorResponse){ .was_queried = true };
    assert_true(json_parse_text(arena, str_from_c(text), NULL, &response->json, &err));
}

static void set_run_logs(DoctorView *view, long long bytes)
{
    static char text[256];
    snprintf(text, sizeof text,
             "eden_run_logs_bytes %lld\n"
             "eden_run_logs_limit_bytes 104857600\n"
             "eden_run_logs_removed_total 3\n",
             bytes);
    view->metrics = (DoctorResponse){ .was_queried = true, .json = value_string(str_from_c(text)) };
}

static void set_objects(DoctorView *view, int configs, int role_bytes)
{
    static char text[512];
    snprintf(text, sizeof text,
             "eden_objects{kind=\"Config\"} %d\n"
             "eden_objects{kind=\"Role\"} 1\n"
             "eden_objects_bytes{kind=\"Config\"} 10\n"
             "eden_objects_bytes{kind=\"Role\"} %d\n",
             configs, role_bytes);
    view->metrics = (DoctorResponse){ .was_queried = true, .json = value_string(str_from_c(text)) };
}

/* In the form of a server's /metrics. */
static void set_metrics(DoctorView *view, int leases, int refused, int limited)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "# TYPE eden_joins_total counter\n"
             "eden_joins_total{result=\"admitted\"} 7\n"
             "eden_joins_total{result=\"refused\"} %d\n"
             "eden_joins_total{result=\"limited\"} %d\n"
             "eden_store_leases_of_another_metric 99999\n"
             "eden_store_leases %d\n"
             "eden_objects{kind=\"Config\"} 1\n"
             "eden_objects{kind=\"Role\"} 2\n"
             "eden_objects_bytes{kind=\"Config\"} 300\n"
             "eden_objects_bytes{kind=\"Role\"} 900\n"
             "eden_run_logs_bytes 5000000\n"
             "eden_run_logs_limit_bytes 4294967296\n"
             "eden_run_logs_removed_total 0\n",
             refused, limited, leases);
    view->metrics = (DoctorResponse){ .was_queried = true, .json = value_string(str_from_c(text)) };
}

static void make_good(DoctorCertificate *seen, const char *node)
{
    *seen = (DoctorCertificate){ .plan = { RENEWAL_WAIT, NOW_MS + DAY_MS } };
    seen->certificate.not_before_ms = NOW_MS - DAY_MS;
    seen->certificate.not_after_ms = NOW_MS + 2000 * DAY_MS;
    seen->certificate.has_identity = true;
    snprintf(seen->certificate.identity.cluster, sizeof seen->certificate.identity.cluster, "blue");
    snprintf(seen->certificate.identity.node, sizeof seen->certificate.identity.node, "%s", node);
}

/* A healthy server. */
static DoctorView *make_view(Arena *arena)
{
    DoctorView *view = ARENA_NEW(arena, DoctorView);
    view->now_ms = NOW_MS;
    view->is_root = view->is_node = view->is_server = true;
    view->state.mode = 0711;
    view->agent_directory.mode = view->server_directory.mode = 0700;
    snprintf(view->node.cluster, sizeof view->node.cluster, "blue");
    snprintf(view->node.node, sizeof view->node.node, "s1");
    snprintf(view->settings.cluster, sizeof view->settings.cluster, "blue");
    snprintf(view->settings.node, sizeof view->settings.node, "s1");
    make_good(&view->own, "s1");
    make_good(&view->ca, "");
    view->ca.certificate.is_ca = true;
    make_good(&view->server_node, "s1");
    make_good(&view->serving, "");
    view->rpc.address = STR("0.0.0.0:1337");
    view->api.address = STR("0.0.0.0:1338");
    view->disk_size = (int64_t)100 << 30;
    view->disk_free = (int64_t)50 << 30;
    view->state_size = view->disk_size;
    view->state_free = view->disk_free;
    view->context_count = 2;
    view->contexts[0] = (DoctorContext){ .name = STR("prod"),
                                         .server = STR("https://eden1:1338"),
                                         .is_current = true,
                                         .ca_expires_ms = NOW_MS + 2000 * DAY_MS,
                                         .expires_ms = NOW_MS + DAY_MS,
                                         .time_ms = NOW_MS,
                                         .local_ms = NOW_MS + 10 };
    view->contexts[1] = view->contexts[0];
    view->contexts[1].name = STR("test");
    view->contexts[1].is_current = false;
    view->contexts[1].time_ms = 0;
    set_json(arena, &view->session, "{\"version\":\"" EDEN_VERSION "\",\"name\":\"ann\"}");
    view->contexts[0].session = view->session;
    view->server_count = 1;
    view->servers[0] = (DoctorServer){ .node = STR("s1"),
                                       .rpc.address = STR("10.0.0.1:1337"),
                                       .api.address = STR("10.0.0.1:1338"),
                                       .responded = true,
                                       .time_ms = NOW_MS,
                                       .local_ms = NOW_MS + 12 };
    set_json(arena, &view->agent,
             "{\"version\":\"" EDEN_VERSION "\",\"started\":\"x\",\"session\":{\"state\":\"live\","
             "\"server\":\"s1\",\"since\":\"y\"},\"spool\":{\"records\":2,\"bytes\":10}}");
    set_json(arena, &view->health, "{\"healthy\":true}");
    set_json(arena, &view->nodes,
             "{\"items\":[{\"metadata\":{\"name\":\"s1\"},\"status\":{\"state\":\"alive\","
             "\"version\":\"" EDEN_VERSION "\",\"requests\":[]}}]}");
    set_json(arena, &view->tokens,
             "{\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"state\":\"good\"}}]}");
    set_json(
        arena, &view->pki,
        "{\"rotation\":{\"state\":\"steady\"},\"nodes\":[{\"name\":\"s1\",\"state\":\"good\"}]}");
    set_metrics(view, 12, 3, 0);
    set_json(arena, &view->audit, "{\"last\":1200000,\"archived\":{\"last\":900000}}");
    return view;
}

static void expect(Arena *arena, const DoctorView *view, DoctorCheckId id, DoctorState state,
                   const char *word)
{
    DoctorResult result = doctor_checks[id].evaluate(arena, view);
    if (result.state != state || str_find(result.text, str_from_c(word), 0) == STR_NOT_FOUND) {
        fail_msg("%s is %s: %.*s", doctor_checks[id].name, doctor_state_name(result.state),
                 (int)result.text.len, result.text.data);
    }
}

static const char *fix_of(Arena *arena, const DoctorView *view, DoctorCheckId id)
{
    DoctorResult result = doctor_checks[id].evaluate(arena, view);
    return result.fix != NULL ? result.fix : doctor_checks[id].fix;
}

static void fail_with(Error *err, ErrorKind kind)
{
    error_set(err, kind, "it is broken");
}

static void a_healthy_machine_has_no_findings(void **state)
{
    const DoctorView *view = make_view(*state);
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        expect(*state, view, (DoctorCheckId)i, DOCTOR_OK, "");
    }
}

/* Nothing known at all: no check fails, each reports something. */
static void an_empty_machine_has_one_finding(void **state)
{
    DoctorView *view = ARENA_NEW(*state, DoctorView);
    fail_with(&view->state.err, ERROR_NOT_FOUND);
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        bool tells = i == CHECK_STATE || i == CHECK_MEMBER;
        expect(*state, view, (DoctorCheckId)i, tells ? DOCTOR_WARNING : DOCTOR_SKIPPED, "");
    }
}

static void files_readable_by_others_are_reported(void **state)
{
    DoctorView *view = make_view(*state);
    view->state.mode = 0777;
    view->agent_directory.mode = 0755;
    view->server_directory.mode = 0750;
    expect(*state, view, CHECK_STATE, DOCTOR_FAILED, "0777");
    expect(*state, view, CHECK_AGENT_FILES, DOCTOR_FAILED, "0755");
    expect(*state, view, CHECK_SERVER_FILES, DOCTOR_FAILED, "0750");
    view = make_view(*state);
    fail_with(&view->settings_err, ERROR_INVALID);
    fail_with(&view->node_err, ERROR_INVALID);
    expect(*state, view, CHECK_SERVER_FILES, DOCTOR_FAILED, "broken");
    expect(*state, view, CHECK_AGENT_FILES, DOCTOR_FAILED, "broken");
    expect(*state, view, CHECK_MEMBER, DOCTOR_FAILED, "broken");
}

static void missing_permissions_do_not_fail_checks(void **state)
{
    DoctorView *view = make_view(*state);
    Error *errors[] = { &view->agent_directory.err,
                        &view->node_err,
                        &view->own.err,
                        &view->server_directory.err,
                        &view->settings_err,
                        &view->ca.err,
                        &view->server_node.err,
                        &view->serving.err,
                        &view->agent.err,
                        &view->health.err };
    view->is_root = false;
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        fail_with(errors[i], ERROR_DENIED);
    }
    view->nodes.was_queried = view->tokens.was_queried = view->pki.was_queried = false;
    view->server_count = 0;
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        DoctorResult result = doctor_checks[i].evaluate(*state, view);
        if (result.state == DOCTOR_FAILED) {
            fail_msg("%s: %.*s", doctor_checks[i].name, (int)result.text.len, result.text.data);
        }
    }
}

static void certificates_are_judged_by_age(void **state)
{
    DoctorView *view = make_view(*state);
    view->own.plan = (RenewalPlan){ RENEWAL_DUE, NOW_MS - 1000 };
    expect(*state, view, CHECK_AGENT_CERTIFICATE, DOCTOR_OK, "");
    view->own.plan = (RenewalPlan){ RENEWAL_DUE, NOW_MS - 2 * DAY_MS };
    expect(*state, view, CHECK_AGENT_CERTIFICATE, DOCTOR_WARNING, "should have been renewed");
    set_json(*state, &view->agent, "{\"certificate\":{\"why\":\"nobody signs\"}}");
    expect(*state, view, CHECK_AGENT_CERTIFICATE, DOCTOR_WARNING, "nobody signs");
    view->own.plan.state = RENEWAL_EXPIRED;
    expect(*state, view, CHECK_AGENT_CERTIFICATE, DOCTOR_FAILED, "expired on");
    view->own.plan.state = RENEWAL_EARLY;
    expect(*state, view, CHECK_AGENT_CERTIFICATE, DOCTOR_FAILED, "the clock here is at 2027");
    view->serving.plan.state = RENEWAL_EXPIRED;
    expect(*state, view, CHECK_SERVER_CERTIFICATES, DOCTOR_FAILED, "serving.pem: expired on");
    view->ca.certificate.not_after_ms = NOW_MS + 100 * DAY_MS;
    expect(*state, view, CHECK_CA, DOCTOR_WARNING, "valid until");
    view->ca.certificate.not_after_ms = NOW_MS;
    expect(*state, view, CHECK_CA, DOCTOR_FAILED, "expired");
}

static void mismatched_keys_and_names_are_reported(void **state)
{
    DoctorView *view = make_view(*state);
    snprintf(view->node.node, sizeof view->node.node, "other");
    expect(*state, view, CHECK_AGENT_KEY, DOCTOR_FAILED, "this node is 'other'");
    view = make_view(*state);
    fail_with(&view->own.err, ERROR_INVALID);
    expect(*state, view, CHECK_AGENT_KEY, DOCTOR_FAILED, "broken");
    expect(*state, view, CHECK_AGENT_CERTIFICATE, DOCTOR_SKIPPED, "");
    view = make_view(*state);
    fail_with(&view->own.trust, ERROR_DENIED);
    expect(*state, view, CHECK_AGENT_TRUST, DOCTOR_FAILED, "broken");
    fail_with(&view->ca.err, ERROR_INVALID);
    expect(*state, view, CHECK_CA, DOCTOR_FAILED, "broken");
    view = make_view(*state);
    view->ca.certificate.is_ca = false;
    expect(*state, view, CHECK_CA, DOCTOR_FAILED, "is not a CA");
}

static void clocks_are_both_shown(void **state)
{
    DoctorView *view = make_view(*state);
    view->servers[0].local_ms = NOW_MS - 60 * 1000;
    expect(*state, view, CHECK_CLOCK, DOCTOR_WARNING,
           "here it is 2027-01-15T07:59:00Z, on 's1' it is "
           "2027-01-15T08:00:00Z");
    view->servers[0].local_ms = NOW_MS + 3600 * 1000;
    expect(*state, view, CHECK_CLOCK, DOCTOR_FAILED, "here it is 2027-01-15T09:00:00Z");
    view->servers[0].responded = false;
    view->context_count = 0;
    expect(*state, view, CHECK_CLOCK, DOCTOR_SKIPPED, "");
}

static void unreachable_servers_are_reported(void **state)
{
    DoctorView *view = make_view(*state);
    fail_with(&view->servers[0].rpc.err, ERROR_NOT_FOUND);
    expect(*state, view, CHECK_NAMES, DOCTOR_FAILED, "broken");
    expect(*state, view, CHECK_REACH, DOCTOR_FAILED, "10.0.0.1:1337: it is broken");
    view->servers[1] = view->servers[0];
    view->servers[1].rpc.err = (Error){ 0 };
    view->server_count = 2;
    expect(*state, view, CHECK_REACH, DOCTOR_WARNING, "10.0.0.1:1337");
    view = make_view(*state);
    view->servers[0].responded = false;
    fail_with(&view->servers[0].err, ERROR_DENIED);
    expect(*state, view, CHECK_REACH, DOCTOR_FAILED, "10.0.0.1:1338: it is broken");
    expect(*state, view, CHECK_NAMES, DOCTOR_OK, "");
}

static void sessions_are_reported_with_their_reason(void **state)
{
    DoctorView *view = make_view(*state);
    set_json(*state, &view->agent,
             "{\"version\":\"0\",\"session\":{\"state\":\"waiting\",\"since\":\"y\",\"failures\":7,"
             "\"why\":\"refused\"},\"spool\":{\"records\":2,\"dropped\":3}}");
    expect(*state, view, CHECK_SESSION, DOCTOR_FAILED, "after 7 attempts: refused");
    expect(*state, view, CHECK_SPOOL, DOCTOR_WARNING, "3 logs were dropped");
    expect(*state, view, CHECK_AGENT, DOCTOR_WARNING, "restart it");
    set_json(*state, &view->agent,
             "{\"session\":{\"state\":\"connecting\"},"
             "\"spool\":{\"why\":\"the disk is full\"}}");
    expect(*state, view, CHECK_SESSION, DOCTOR_WARNING, "connecting");
    assert_null(strstr(fix_of(*state, view, CHECK_SESSION), "leave"));
    view->is_server = false;
    assert_non_null(strstr(fix_of(*state, view, CHECK_SESSION), "leave"));
    view->is_server = true;
    expect(*state, view, CHECK_SPOOL, DOCTOR_FAILED, "the disk is full");
    fail_with(&view->agent.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_AGENT, DOCTOR_FAILED, "broken");
    expect(*state, view, CHECK_SESSION, DOCTOR_SKIPPED, "");
    /* Responses of any form. */
    set_json(*state, &view->agent, "[1]");
    expect(*state, view, CHECK_SESSION, DOCTOR_SKIPPED, "");
}

static void a_stopped_server_is_reported(void **state)
{
    DoctorView *view = make_view(*state);
    fail_with(&view->health.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_SERVER, DOCTOR_FAILED, "broken");
    expect(*state, view, CHECK_PORTS, DOCTOR_FAILED, "0.0.0.0:1337 is in use by another program");
    fail_with(&view->rpc.err, ERROR_UNAVAILABLE);
    fail_with(&view->api.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_PORTS, DOCTOR_OK, "all are free");
    view->store_checked = true;
    expect(*state, view, CHECK_STORE, DOCTOR_OK, "intact");
    fail_with(&view->store_err, ERROR_OS);
    expect(*state, view, CHECK_STORE, DOCTOR_FAILED, "broken");
    view = make_view(*state);
    fail_with(&view->rpc.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_PORTS, DOCTOR_FAILED, "0.0.0.0:1337: it is broken");
    set_json(*state, &view->health, "{\"healthy\":false}");
    expect(*state, view, CHECK_STORE, DOCTOR_FAILED, "not writable");
}

static void members_of_etcd_are_checked_instead_of_a_file(void **state)
{
    DoctorView *view = make_view(*state);
    view->etcd_count = 3;
    expect(*state, view, CHECK_STORE, DOCTOR_OK, "in etcd, writable");
    fail_with(&view->etcd[1].err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_STORE, DOCTOR_WARNING, "1 of 3 members of etcd");
    set_json(*state, &view->health, "{\"healthy\":false}");
    view->store_reason = STR("no connection to etcd: it is gone");
    expect(*state, view, CHECK_STORE, DOCTOR_FAILED, "no connection to etcd: it is gone");
    assert_non_null(strstr(fix_of(*state, view, CHECK_STORE), "a majority of members"));
    fail_with(&view->health.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_STORE, DOCTOR_WARNING, "1 of 3 members of etcd");
    fail_with(&view->etcd[0].err, ERROR_UNAVAILABLE);
    fail_with(&view->etcd[2].err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_STORE, DOCTOR_FAILED, "3 of 3 members of etcd");
    view->etcd[0].err = view->etcd[1].err = view->etcd[2].err = (Error){ 0 };
    expect(*state, view, CHECK_STORE, DOCTOR_OK, "no server is running");
}

static void a_hanging_server_is_not_blamed_on_its_ports(void **state)
{
    DoctorView *view = make_view(*state);
    fail_with(&view->health.err, ERROR_TIMEOUT);
    expect(*state, view, CHECK_SERVER, DOCTOR_FAILED, "it is running but not responding");
    expect(*state, view, CHECK_PORTS, DOCTOR_SKIPPED, "the server is unreachable");
}

static void the_health_port_is_checked(void **state)
{
    DoctorView *view = make_view(*state);
    expect(*state, view, CHECK_PORTS, DOCTOR_OK, "listening on all of them");
    view->health_port = (DoctorPort){ .address = STR("127.0.0.1:8080") };
    expect(*state, view, CHECK_PORTS, DOCTOR_OK, "listening on all of them");
    fail_with(&view->health_port.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_PORTS, DOCTOR_FAILED, "127.0.0.1:8080: it is broken");
    view->health_port = (DoctorPort){ .address = STR("0.0.0.0:8080"), .is_wildcard = true };
    expect(*state, view, CHECK_PORTS, DOCTOR_WARNING, "without TLS on all addresses");
    /* Nodes can reach the others from anywhere. */
    view->health_port = (DoctorPort){ 0 };
    view->rpc.is_wildcard = view->api.is_wildcard = true;
    expect(*state, view, CHECK_PORTS, DOCTOR_OK, "listening on all of them");
}

static void a_disk_filling_up_is_reported(void **state)
{
    DoctorView *view = make_view(*state);
    view->disk_free = (int64_t)9 << 30;
    expect(*state, view, CHECK_DISK, DOCTOR_WARNING, "9216 MiB of 102400 MiB free");
    view->disk_free = (int64_t)1 << 30;
    expect(*state, view, CHECK_DISK, DOCTOR_FAILED, "1024 MiB");
}

static void the_cluster_is_checked(void **state)
{
    DoctorView *view = make_view(*state);
    set_json(
        *state, &view->nodes,
        "{\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"state\":\"silent\",\"since\":"
        "\"monday\"}},{\"metadata\":{\"name\":\"b\"},\"status\":{\"state\":\"alive\",\"version\":"
        "\"9.9\"}},{\"metadata\":{\"name\":\"c\"},\"status\":{\"state\":\"pending\",\"requests\":"
        "[{\"approved\":false}]}}]}");
    set_json(*state, &view->tokens,
             "{\"items\":[{\"metadata\":{\"name\":\"t\"},\"status\":{\"state\":\"expired\"}},"
             "{\"metadata\":{\"name\":\"u\"},\"spec\":{\"uses\":2},"
             "\"status\":{\"state\":\"used up\",\"uses\":2}}]}");
    set_json(*state, &view->pki,
             "{\"rotation\":{\"state\":\"distribute\",\"since\":\"monday\",\"waits\":[{\"node\":"
             "\"a\",\"silent\":true}]},\"nodes\":[{\"name\":\"a\",\"state\":\"due\"}]}");
    expect(*state, view, CHECK_SILENT, DOCTOR_WARNING, "1 silent: a (since monday)");
    expect(*state, view, CHECK_WAITING, DOCTOR_WARNING, "1 waiting for approval: c");
    expect(*state, view, CHECK_VERSIONS, DOCTOR_WARNING, "b (9.9)");
    expect(*state, view, CHECK_TOKENS, DOCTOR_WARNING, "t (expired)");
    expect(*state, view, CHECK_CERTIFICATES, DOCTOR_WARNING, "a (due)");
    expect(*state, view, CHECK_ROTATION, DOCTOR_WARNING,
           "'distribute' since monday, waits for 1: a (silent)");
    set_json(*state, &view->pki, "{\"nodes\":[{\"name\":\"a\",\"state\":\"expired\"}]}");
    expect(*state, view, CHECK_CERTIFICATES, DOCTOR_FAILED, "a (expired)");
    fail_with(&view->pki.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_ROTATION, DOCTOR_FAILED, "broken");
}

static void objects_close_to_their_limit_are_found(void **state)
{
    Arena *arena = *state;
    DoctorView *view = make_view(arena);
    view->metrics.json = value_string(STR("eden_store_leases 7\n"));
    expect(arena, view, CHECK_OBJECTS, DOCTOR_SKIPPED, "does not report");
    set_objects(view, 7999, 100);
    expect(arena, view, CHECK_OBJECTS, DOCTOR_OK, "well below");
    set_objects(view, 8000, 100);
    expect(arena, view, CHECK_OBJECTS, DOCTOR_WARNING, "1 close to their limit: config (80 %)");
    set_objects(view, 10000, 2 << 20);
    expect(arena, view, CHECK_OBJECTS, DOCTOR_WARNING, "config (100 %), roles (100 %)");
    fail_with(&view->metrics.err, ERROR_UNAVAILABLE);
    expect(arena, view, CHECK_OBJECTS, DOCTOR_FAILED, "broken");
}

static void logs_of_runs_beyond_their_limit_are_found(void **state)
{
    Arena *arena = *state;
    DoctorView *view = make_view(arena);
    view->metrics.json = value_string(STR("eden_run_logs_bytes 7\n"));
    expect(arena, view, CHECK_RUN_LOGS, DOCTOR_SKIPPED, "does not report");
    set_run_logs(view, 100 << 20);
    expect(arena, view, CHECK_RUN_LOGS, DOCTOR_OK,
           "100 MiB of at most 100 MiB; 3 old logs removed since the server started");
    set_run_logs(view, 101 << 20);
    expect(arena, view, CHECK_RUN_LOGS, DOCTOR_WARNING, "101 MiB of at most 100 MiB");
    fail_with(&view->metrics.err, ERROR_UNAVAILABLE);
    expect(arena, view, CHECK_RUN_LOGS, DOCTOR_FAILED, "broken");
}

static void clients_and_nodes_that_exceed_limits_are_found(void **state)
{
    Arena *arena = *state;
    DoctorView *view = make_view(arena);
    expect(arena, view, CHECK_JOINS, DOCTOR_OK, "3 rejected, 0 over the limits");
    expect(arena, view, CHECK_LEASES, DOCTOR_OK, "12 of 80000 in use");
    set_metrics(view, 64000, 3, 1);
    expect(arena, view, CHECK_JOINS, DOCTOR_WARNING, "3 rejected, 1 over the limits");
    expect(arena, view, CHECK_LEASES, DOCTOR_WARNING, "64000 of 80000");
    set_metrics(view, 63999, 3, 1);
    expect(arena, view, CHECK_LEASES, DOCTOR_OK, "63999 of 80000");
    set_metrics(view, 80000, 3, 1);
    expect(arena, view, CHECK_LEASES, DOCTOR_FAILED, "80000 of 80000");
    view->metrics.json = value_string(STR("eden_joins_total 7\n"));
    expect(arena, view, CHECK_JOINS, DOCTOR_SKIPPED, "does not report");
    expect(arena, view, CHECK_LEASES, DOCTOR_SKIPPED, "does not report");
    set_json(arena, &view->nodes,
             "{\"items\":[{\"metadata\":{\"name\":\"web1\"},\"status\":{\"limited\":"
             "\"2027-01-15T07:00:00Z\",\"limit\":\"bytes\"}},{\"metadata\":{\"name\":\"web2\"},"
             "\"status\":{\"limited\":\"2027-01-13T07:00:00Z\",\"limit\":\"bytes\"}}]}");
    expect(arena, view, CHECK_BUDGETS, DOCTOR_WARNING, "1 exceeded");
    expect(arena, view, CHECK_BUDGETS, DOCTOR_WARNING, "web1");
}

static void a_growing_log_should_be_archived(void **state)
{
    DoctorView *view = make_view(*state);
    expect(*state, view, CHECK_AUDIT, DOCTOR_OK, "300000 entries");
    set_json(*state, &view->audit, "{\"last\":1900001,\"archived\":{\"last\":900000}}");
    expect(*state, view, CHECK_AUDIT, DOCTOR_WARNING, "1000001 entries");
    assert_string_equal(doctor_checks[CHECK_AUDIT].evaluate(*state, view).fix,
                        "'eden audit archive --to audit-900001.ndjson'");
    set_json(*state, &view->audit, "{\"last\":1000000,\"archived\":null}");
    expect(*state, view, CHECK_AUDIT, DOCTOR_OK, "1000000 entries");
    set_json(*state, &view->audit,
             "{\"last\":9000,\"archived\":null,\"bytes\":104857599,\"disk_bytes\":1048576000}");
    expect(*state, view, CHECK_AUDIT, DOCTOR_OK, "9000 entries");
    set_json(*state, &view->audit,
             "{\"last\":9000,\"archived\":null,\"bytes\":104857600,\"disk_bytes\":1048576000}");
    expect(*state, view, CHECK_AUDIT, DOCTOR_WARNING,
           "9000 entries that are not archived take 100 MiB, 10 % of the disk");
    fail_with(&view->audit.err, ERROR_DENIED);
    expect(*state, view, CHECK_AUDIT, DOCTOR_SKIPPED, "");
}

static void a_client_machine_gets_no_server_findings(void **state)
{
    DoctorView *view = make_view(*state);
    DoctorResponse nodes = view->nodes, health = view->health;
    memset(&view->node, 0, sizeof view->node);
    view->is_node = view->is_server = false;
    view->agent = view->health = view->session = (DoctorResponse){ 0 };
    fail_with(&view->state.err, ERROR_NOT_FOUND);
    view->state_size = 0;
    expect(*state, view, CHECK_MEMBER, DOCTOR_WARNING, "does not belong to a cluster");
    expect(*state, view, CHECK_STATE, DOCTOR_WARNING, "");
    expect(*state, view, CHECK_SILENT, DOCTOR_SKIPPED, "not a server");
    view->queries_remote = true;
    view->nodes = nodes;
    expect(*state, view, CHECK_MEMBER, DOCTOR_OK, "this machine is not a member");
    expect(*state, view, CHECK_STATE, DOCTOR_SKIPPED, "");
    expect(*state, view, CHECK_STATE_DISK, DOCTOR_SKIPPED, "");
    expect(*state, view, CHECK_AGENT, DOCTOR_SKIPPED, "");
    expect(*state, view, CHECK_SERVER, DOCTOR_SKIPPED, "");
    expect(*state, view, CHECK_SERVER_FILES, DOCTOR_SKIPPED, "");
    expect(*state, view, CHECK_SILENT, DOCTOR_OK, "all nodes have a session");
    view->health = health;
    expect(*state, view, CHECK_SERVER, DOCTOR_OK, "responds");
    expect(*state, view, CHECK_STORE, DOCTOR_OK, "writable");
    fail_with(&view->health.err, ERROR_UNAVAILABLE);
    expect(*state, view, CHECK_SERVER, DOCTOR_FAILED, "broken");
    fail_with(&view->health.err, ERROR_NOT_FOUND);
    expect(*state, view, CHECK_SERVER, DOCTOR_WARNING, "not listening");
}

static void contexts_are_checked(void **state)
{
    DoctorView *view = make_view(*state);
    expect(*state, view, CHECK_CONTEXTS, DOCTOR_OK, "2; 'prod' is in use");
    expect(*state, view, CHECK_CONTEXT_SERVER, DOCTOR_OK, "https://eden1:1338 recognizes 'ann'");
    view->contexts[1].expires_ms = NOW_MS - DAY_MS;
    expect(*state, view, CHECK_CONTEXT_TOKENS, DOCTOR_WARNING, "'test' has expired on");
    view->contexts[0].expires_ms = NOW_MS;
    expect(*state, view, CHECK_CONTEXT_TOKENS, DOCTOR_FAILED, "'prod' has expired on");
    view->contexts[0].ca_expires_ms = NOW_MS + 29 * DAY_MS;
    expect(*state, view, CHECK_CONTEXT_CAS, DOCTOR_WARNING, "'prod' expires on");
    view->contexts[0].ca_expires_ms = NOW_MS - 1;
    expect(*state, view, CHECK_CONTEXT_CAS, DOCTOR_FAILED, "'prod' has expired on");
    fail_with(&view->contexts[1].err, ERROR_NOT_FOUND);
    expect(*state, view, CHECK_CONTEXTS, DOCTOR_WARNING, "'test'");
    fail_with(&view->contexts[0].session.err, ERROR_DENIED);
    expect(*state, view, CHECK_CONTEXT_SERVER, DOCTOR_FAILED, "https://eden1:1338: it is broken");
    fail_with(&view->contexts_err, ERROR_DENIED);
    expect(*state, view, CHECK_CONTEXTS, DOCTOR_FAILED, "broken");
    view = make_view(*state);
    view->context_count = 0;
    expect(*state, view, CHECK_CONTEXTS, DOCTOR_SKIPPED, "not logged in");
    expect(*state, view, CHECK_CONTEXT_SERVER, DOCTOR_SKIPPED, "");
}

static void the_clock_of_a_remote_server_counts(void **state)
{
    DoctorView *view = make_view(*state);
    view->contexts[0].local_ms = NOW_MS + 40 * 1000;
    expect(*state, view, CHECK_CLOCK, DOCTOR_WARNING, "https://eden1:1338");
    view->server_count = 0;
    view->contexts[0].local_ms = NOW_MS - 10 * 60 * 1000;
    expect(*state, view, CHECK_CLOCK, DOCTOR_FAILED, "https://eden1:1338");
    view->contexts[0].time_ms = 0;
    expect(*state, view, CHECK_CLOCK, DOCTOR_SKIPPED, "");
}

static void a_server_with_another_version_is_reported(void **state)
{
    DoctorView *view = make_view(*state);
    set_json(*state, &view->session, "{\"version\":\"0.0.1\"}");
    expect(*state, view, CHECK_SERVER_VERSION, DOCTOR_WARNING, "the server is 0.0.1");
    view->session.was_queried = false; /* then the remote one */
    expect(*state, view, CHECK_SERVER_VERSION, DOCTOR_OK, EDEN_VERSION);
    set_json(*state, &view->contexts[0].session, "{\"version\":\"9.9\"}");
    expect(*state, view, CHECK_SERVER_VERSION, DOCTOR_WARNING, "the server is 9.9");
    view->state_free = 1;
    expect(*state, view, CHECK_STATE_DISK, DOCTOR_FAILED, "0 MiB");
}

static void a_few_names_suffice(void **state)
{
    DoctorView *view = make_view(*state);
    Buf json = buf_make_in(*state, BUF_UNLIMITED);
    for (int name = 'a'; name <= 'f'; name++) {
        buf_put_format(&json,
                       "%s{\"metadata\":{\"name\":\"%c\"},\"status\":{\"state\":\"silent\"}}",
                       name == 'a' ? "{\"items\":[" : ",", name);
    }
    buf_put_c(&json, "]}");
    set_json(*state, &view->nodes, buf_c(&json));
    expect(*state, view, CHECK_SILENT, DOCTOR_WARNING, "6 silent: a, b, c, d, e, ...");
}

static void every_row_has_a_remedy(void **state)
{
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        const DoctorCheck *check = &doctor_checks[i];
        assert_true(check->name[0] != '\0' && check->what[0] != '\0' && check->fix[0] != '\0');
        assert_non_null(strstr(check->docs, ".md"));
        for (uint32_t j = 0; j < i; j++) {
            assert_string_not_equal(check->name, doctor_checks[j].name);
        }
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_healthy_machine_has_no_findings),
        ROW(an_empty_machine_has_one_finding),
        ROW(files_readable_by_others_are_reported),
        ROW(missing_permissions_do_not_fail_checks),
        ROW(certificates_are_judged_by_age),
        ROW(mismatched_keys_and_names_are_reported),
        ROW(clocks_are_both_shown),
        ROW(unreachable_servers_are_reported),
        ROW(sessions_are_reported_with_their_reason),
        ROW(a_stopped_server_is_reported),
        ROW(members_of_etcd_are_checked_instead_of_a_file),
        ROW(a_hanging_server_is_not_blamed_on_its_ports),
        ROW(the_health_port_is_checked),
        ROW(a_disk_filling_up_is_reported),
        ROW(the_cluster_is_checked),
        ROW(clients_and_nodes_that_exceed_limits_are_found),
        ROW(objects_close_to_their_limit_are_found),
        ROW(logs_of_runs_beyond_their_limit_are_found),
        ROW(a_growing_log_should_be_archived),
        ROW(a_client_machine_gets_no_server_findings),
        ROW(contexts_are_checked),
        ROW(the_clock_of_a_remote_server_counts),
        ROW(a_server_with_another_version_is_reported),
        ROW(a_few_names_suffice),
        ROW(every_row_has_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
