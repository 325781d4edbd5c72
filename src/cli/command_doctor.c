/* eden doctor: finds problems with this machine and its cluster, and suggests fixes. */
#include "base/utc.h"
#include "cli/cluster_client.h"
#include "cli/cluster_endpoint.h"
#include "cli/doctor_evaluate.h"
#include "cli/doctor_inspect.h"
#include "cli/doctor_view.h"
#include "cli/invocation.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/table.h"
#include "sys/clock.h"

/* --- Contexts --------------------------------------------------------------------------------- */

/* Collects data about the user's contexts. */

enum {
    QUERY_TIMEOUT_MS = 3000,
    PAGES_MAX = 20, /* maximum number of pages of nodes */
};

/* The earliest expiry of the certificates. */
static int64_t ca_expiry(Arena *arena, Str pem, Error *err)
{
    Certificate *items;
    uint32_t count;
    int64_t until = 0;
    if (certificates_from_pem(arena, pem, &items, &count, err)) {
        for (uint32_t i = 0; i < count; i++) {
            until = until == 0 || items[i].not_after_ms < until ? items[i].not_after_ms : until;
        }
    }
    return until;
}

static void query(const Invocation *invocation, const ClusterEndpoint *endpoint, Str target,
                  DoctorResponse *out)
{
    ClusterResponse response;
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (cluster_exchange_at(
            invocation, endpoint,
            &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = QUERY_TIMEOUT_MS },
            NULL, &response, &out->err)) {
        out->err = (Error){ 0 };
        (void)!cluster_response_read(invocation->arena, &response, &out->json, &out->err);
    }
}

/* For responses that are not JSON, such as metrics. */
static void query_text(const Invocation *invocation, const ClusterEndpoint *endpoint, Str target,
                       DoctorResponse *out)
{
    ClusterResponse response;
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (!cluster_exchange_at(
            invocation, endpoint,
            &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = QUERY_TIMEOUT_MS },
            NULL, &response, &out->err)) {
        return;
    }
    out->err = (Error){ 0 };
    if (response.status < 300) {
        out->json = value_string(response.body);
    } else {
        (void)!cluster_response_read(invocation->arena, &response, &out->json, &out->err);
    }
}

static void inspect(const Invocation *invocation, Str directory, const Context *context,
                    DoctorContext *out)
{
    ClusterEndpoint endpoint = { .context = *context };
    DoctorResponse health;
    out->name = context->name;
    out->server = context->servers[0];
    if (!utc_parse(context->expires, &out->expires_ms)) {
        out->expires_ms = 0;
    }
    if (!context_credentials(invocation->arena, directory, context, &endpoint.credentials,
                             &out->err)) {
        return;
    }
    out->ca_expires_ms = ca_expiry(invocation->arena, endpoint.credentials.ca, &out->err);
    if (!out->is_current || out->err.kind != ERROR_NONE) {
        return;
    }
    query(invocation, &endpoint, STR("/v1/health"), &health);
    out->local_ms = clock_now_ms();
    out->time_ms = value_get_int(health.json, "time_ms");
    query(invocation, &endpoint, STR("/v1/session"), &out->session);
}

/* Combines all pages into one response. */
static void query_nodes(const Invocation *invocation, const ClusterEndpoint *endpoint,
                        DoctorResponse *out)
{
    Arena *arena = invocation->arena;
    List *nodes = list_new(arena, 0);
    query(invocation, endpoint, STR("/v1/nodes"), out);
    DoctorResponse page = *out;
    for (uint32_t i = 0; i < PAGES_MAX && page.err.kind == ERROR_NONE; i++) {
        const List *some = object_items(page.json);
        for (uint32_t k = 0; k < some->len; k++) {
            list_push(arena, nodes, some->items[k]);
        }
        Str next = value_get_text(value_get_map(page.json, "metadata"), "continue");
        if (next.len == 0) {
            break;
        }
        query(invocation, endpoint, cluster_target(arena, "/v1/nodes?continue=", next), &page);
    }
    if (out->err.kind == ERROR_NONE) {
        map_set_str(arena, out->json.map, STR("items"), value_list(nodes));
    }
}

static void inspect_cluster(const Invocation *invocation, const ClusterEndpoint *endpoint,
                            const DoctorContext *context, DoctorView *out)
{
    bool is_selected = !out->is_server || invocation_flag(invocation, "context");
    if (!context->session.was_queried || !is_selected) {
        return;
    }
    out->queries_remote = true;
    if (context->session.err.kind == ERROR_NONE) {
        query_nodes(invocation, endpoint, &out->nodes);
        query(invocation, endpoint, STR("/v1/tokens"), &out->tokens);
        query(invocation, endpoint, STR("/v1/pki"), &out->pki);
        query(invocation, endpoint, STR("/v1/audit-entries?limit=1"), &out->audit);
        query_text(invocation, endpoint, STR("/metrics"), &out->metrics);
    }
}

/* Fills in the contexts of a view. Queries the server that commands use, `endpoint`, which takes a
 * few seconds at most. Also queries its cluster, unless this machine is itself a server and
 * `endpoint` was not selected explicitly. */
static void doctor_inspect_contexts(const Invocation *invocation, const ClusterEndpoint *endpoint,
                                    DoctorView *out)
{
    Str directory = contexts_directory(invocation->arena);
    Contexts contexts;
    out->contexts_err = (Error){ 0 };
    if (!contexts_load(invocation->arena, directory, &contexts, &out->contexts_err)) {
        return;
    }
    out->contexts_err = (Error){ 0 };
    for (uint32_t i = 0; i < contexts.count && i < DOCTOR_CONTEXTS_MAX; i++) {
        DoctorContext *context = &out->contexts[out->context_count++];
        context->is_current =
            !endpoint->is_local && str_eq(contexts.items[i].name, endpoint->context.name);
        inspect(invocation, directory, &contexts.items[i], context);
        if (context->is_current) {
            inspect_cluster(invocation, endpoint, context, out);
        }
    }
}

static const char *doctor_fix_of(uint32_t check, const DoctorResult *result)
{
    return result->fix != NULL ? result->fix : doctor_checks[check].fix;
}

static int print_json(const Invocation *invocation, const DoctorResult *results, uint32_t failed,
                      uint32_t warnings)
{
    Arena *arena = invocation->arena;
    List *checks = list_new(arena, CHECK_COUNT);
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        const DoctorCheck *check = &doctor_checks[i];
        Map *row = map_new(arena, 6);
        map_set_str(arena, row, STR("name"), value_string(str_from_c(check->name)));
        map_set_str(arena, row, STR("what"), value_string(str_from_c(check->what)));
        map_set_str(arena, row, STR("state"),
                    value_string(str_from_c(doctor_state_name(results[i].state))));
        map_set_str(arena, row, STR("text"), value_string(results[i].text));
        if (results[i].state == DOCTOR_WARNING || results[i].state == DOCTOR_FAILED) {
            map_set_str(arena, row, STR("fix"),
                        value_string(str_from_c(doctor_fix_of(i, &results[i]))));
            map_set_str(arena, row, STR("docs"), value_string(str_from_c(check->docs)));
        }
        list_push(arena, checks, value_map(row));
    }
    Map *map = map_new(arena, 4);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.doctor/1")));
    map_set_str(arena, map, STR("failed"), value_int(failed));
    map_set_str(arena, map, STR("warnings"), value_int(warnings));
    map_set_str(arena, map, STR("checks"), value_list(checks));
    return output_json(invocation, value_map(map));
}

static void print_table(const Invocation *invocation, const DoctorResult *results)
{
    static const char *const headings[] = { "CHECK", "STATE", "DETAILS", NULL };
    Table table;
    bool all = invocation_flag(invocation, "all");
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        if (all || results[i].state != DOCTOR_SKIPPED) {
            table_add(&table, str_from_c(doctor_checks[i].name));
            table_add(&table, str_from_c(doctor_state_name(results[i].state)));
            table_add(&table, results[i].text);
        }
    }
    table_print(&table, invocation->out);
}

static void print_fixes(const Invocation *invocation, const DoctorResult *results, uint32_t failed,
                        uint32_t warnings)
{
    Stream *out = invocation->out;
    stream_put_format(out, "\n");
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        if (results[i].state == DOCTOR_WARNING || results[i].state == DOCTOR_FAILED) {
            stream_put_format(out, "%s: %s\n  fix:   %s\n  see:   docs/%s\n", doctor_checks[i].name,
                              doctor_checks[i].what, doctor_fix_of(i, &results[i]),
                              doctor_checks[i].docs);
        }
    }
    if (failed + warnings == 0) {
        stream_put_format(out, "no problems found\n");
    } else {
        stream_put_format(out, "%u failed, %u warning%s\n", failed, warnings,
                          warnings == 1 ? "" : "s");
    }
}

/* The server that commands would use. Invalid contexts are ignored here; a separate check reports
 * them. */
static bool select_endpoint(const Invocation *invocation, ClusterEndpoint *endpoint, Error *err)
{
    if (cluster_endpoint_select(invocation, endpoint, err)) {
        return true;
    }
    *endpoint =
        (ClusterEndpoint){ .is_local = true, .run_dir = invocation_text(invocation, "run-dir") };
    return err->kind != ERROR_NOT_FOUND && err->kind != ERROR_CONFLICT;
}

static int doctor_run(Invocation *invocation)
{
    DoctorPaths paths = { .state_dir = invocation_text(invocation, "state-dir"),
                          .run_dir = invocation_text(invocation, "run-dir"),
                          .has_run_dir = invocation_flag(invocation, "run-dir") };
    ClusterEndpoint endpoint;
    Error err;
    if (!select_endpoint(invocation, &endpoint, &err)) {
        return usage_error(invocation, "%s", err.text);
    }
    if (endpoint.is_local &&
        strcmp(endpoint.run_dir, paths.run_dir) != 0) { /* set by $EDEN_RUN_DIR */
        paths.run_dir = endpoint.run_dir;
        paths.has_run_dir = true;
    }
    DoctorView *view = ARENA_NEW(invocation->arena, DoctorView);
    DoctorResult results[CHECK_COUNT];
    uint32_t failed = 0, warnings = 0;
    doctor_inspect(invocation->arena, &paths, view);
    doctor_inspect_contexts(invocation, &endpoint, view);
    for (uint32_t i = 0; i < CHECK_COUNT; i++) {
        results[i] = doctor_checks[i].evaluate(invocation->arena, view);
        failed += results[i].state == DOCTOR_FAILED;
        warnings += results[i].state == DOCTOR_WARNING;
    }
    if (invocation_prints(invocation, "json")) {
        print_json(invocation, results, failed, warnings);
    } else {
        print_table(invocation, results);
        print_fixes(invocation, results, failed, warnings);
    }
    return failed > 0 ? EXIT_FAILED : EXIT_OK;
}

static const Option options[] = {
    { .name = "all", .letter = 'a', .help = "also show skipped checks, and why they were skipped" },
    RUN_DIR_OPTION,
    STATE_DIR_OPTION,
    CONTEXT_OPTION,
    OUTPUT_OPTION("table|json", "table", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden doctor", "show problems and how to fix them" },
    { "eden doctor --all", "also show checks that could not run" },
    { "eden doctor -o json", "print the results as JSON, for monitoring" },
    { 0 },
};

const Command command_doctor = {
    .name = "doctor",
    .group = GROUP_CLUSTER,
    .help = "Diagnose this node or cluster.",
    .text = "Checks this machine's files, certificates, clock, daemons and known servers. On a\n"
            "server, it also checks the cluster: silent nodes, pending join requests, expiring\n"
            "certificates and tokens. For clusters that you are logged in to, it checks CAs and\n"
            "tokens; for the selected cluster (the current context, --context or --run-dir), it\n"
            "also checks nodes. Nothing is changed, and the command takes a few seconds at most.\n"
            "Some checks require root.\n"
            "\n"
            "Each check is ok, warning (works now, but will fail eventually), failed or skipped;\n"
            "warnings and failures include a suggested fix. The exit code is 1 if a check\n"
            "failed.",
    .options = options,
    .examples = examples,
    .run = doctor_run,
};
