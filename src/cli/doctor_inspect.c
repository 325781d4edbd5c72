#include "cli/doctor_inspect.h"

#include "agent/agent.h"
#include "cli/kind_print.h"
#include "lang/json.h"
#include "membership/lost_settings.h"
#include "net/http_client.h"
#include "pki/credential.h"
#include "server/create_cluster.h"
#include "server/store_identity.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/privilege.h"
#include "sys/probe.h"

enum {
    CONNECT_TIMEOUT_MS = 1500, /* timeout of connecting to a port */
    QUERY_TIMEOUT_MS = 3000,   /* timeout of a daemon's response */
    RESPONSE_MAX = 16 << 20,
    PAGES_MAX = 20, /* maximum number of pages of nodes */
};

typedef struct Inspection {
    Arena *arena;
    const DoctorPaths *paths;
    DoctorView *view;
    CertificateSet bundle; /* the CAs that this node trusts */
    Str bundle_text;
} Inspection;

/* --- Files ----------------------------------------------------------------------------------- */

static void inspect_path(const char *path, DoctorPath *out)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    uid_t user;
    gid_t group;
    *out = (DoctorPath){ 0 };
    if (directory_open(path, &directory, &out->err) &&
        directory_mode(&directory, &out->mode, &out->err) &&
        directory_owner(&directory, &user, &group, &out->err)) {
        out->is_foreign = user != 0 && user != privileges_user();
    }
}

static void inspect_disk(const char *path, DoctorView *out)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    if (directory_open(path, &directory, &err)) {
        out->state_size = directory_disk_size(&directory);
        out->state_size = out->state_size == INT64_MAX ? 0 : out->state_size;
        out->state_free = directory_disk_free(&directory);
    }
}

/* If no trusted CAs are known, only the certificate itself is checked. */
static void inspect_certificate(Inspection *inspection, const Directory *directory,
                                const char *name, CertificateSet trusted, DoctorCertificate *out)
{
    Credential credential = { 0 };
    *out = (DoctorCertificate){ 0 };
    if (!credential_load(directory, name, inspection->arena, &credential, &out->err)) {
        out->is_exposed = directory_is_exposed(directory, name);
        return;
    }
    out->certificate = credential.chain.items[0];
    out->plan = renewal_plan(&out->certificate, &(RenewalRules){ 0 }, inspection->view->now_ms);
    if (trusted.count > 0 && !certificate_verify(credential.chain, trusted, USE_SERVER,
                                                 inspection->view->now_ms, &out->trust)) {
        error_wrap(&out->trust, "%s", name);
    }
    credential_clear(&credential);
}

static void inspect_bundle(Inspection *inspection, const Directory *agent)
{
    Certificate *items;
    if (directory_read(agent, inspection->arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX,
                       &inspection->bundle_text, &inspection->view->bundle_err) &&
        certificates_from_pem(inspection->arena, inspection->bundle_text, &items,
                              &inspection->bundle.count, &inspection->view->bundle_err)) {
        inspection->bundle.items = items;
    }
}

static void inspect_node(Inspection *inspection)
{
    DoctorView *view = inspection->view;
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Str path = arena_format(inspection->arena, "%s/" AGENT_DIRECTORY, inspection->paths->state_dir);
    Error err = { 0 };
    inspect_path(path.data, &view->agent_directory);
    if (!directory_open(path.data, &agent, &err)) {
        view->is_node = err.kind != ERROR_NOT_FOUND;
        view->node_err = view->own.err = err;
        return;
    }
    view->is_node = directory_has(&agent, AGENT_STATE) || directory_has(&agent, AGENT_CREDENTIAL);
    if (view->is_node) {
        (void)!node_state_load(&agent, inspection->arena, &view->node, &view->node_err);
        inspect_bundle(inspection, &agent);
        inspect_certificate(inspection, &agent, AGENT_CREDENTIAL, inspection->bundle, &view->own);
    }
}

static void inspect_settings(Inspection *inspection, const Directory *server)
{
    DoctorView *view = inspection->view;
    Str text;
    if (directory_read(server, inspection->arena, SERVER_SETTINGS_FILE, SERVER_SETTINGS_MAX, &text,
                       &view->settings_err)) {
        (void)!(
            server_settings_read(inspection->arena, text, &view->settings, &view->settings_err) ||
            error_wrap(&view->settings_err, "%s", server->path));
    } else if (settings_are_lost(server)) {
        lost_settings_error(server, &view->settings_err);
    }
}

static void inspect_server(Inspection *inspection)
{
    DoctorView *view = inspection->view;
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Str path =
        arena_format(inspection->arena, "%s/" SERVER_DIRECTORY, inspection->paths->state_dir);
    Error err = { 0 };
    inspect_path(path.data, &view->server_directory);
    if (!directory_open(path.data, &server, &err)) {
        view->is_server = err.kind != ERROR_NOT_FOUND;
        view->settings_err = view->ca.err = view->server_node.err = view->serving.err = err;
        return;
    }
    view->is_server =
        directory_has(&server, SERVER_SETTINGS_FILE) || directory_has(&server, SERVER_CA);
    if (!view->is_server) {
        return;
    }
    inspect_settings(inspection, &server);
    inspect_certificate(inspection, &server, SERVER_CA, (CertificateSet){ 0 }, &view->ca);
    /* During a rotation the certificates may be issued by the next CA, which this node also
     * trusts. */
    CertificateSet trusted = inspection->bundle.count > 0 ? inspection->bundle
                             : view->ca.err.kind == ERROR_NONE
                                 ? (CertificateSet){ &view->ca.certificate, 1 }
                                 : (CertificateSet){ 0 };
    inspect_certificate(inspection, &server, SERVER_NODE, trusted, &view->server_node);
    inspect_certificate(inspection, &server, SERVER_SERVING, trusted, &view->serving);
    view->disk_size = directory_disk_size(&server);
    view->disk_free = directory_disk_free(&server);
    view->disk_size = view->disk_size == INT64_MAX ? 0 : view->disk_size;
}

/* --- Daemons --------------------------------------------------------------------------------- */

typedef struct PendingRequest {
    Loop *loop;
    Arena *arena;
    DoctorResponse *response;
    bool is_text;
} PendingRequest;

static void done(void *context, const HttpResponse *response, const Error *err)
{
    PendingRequest *waiting = context;
    DoctorResponse *out = waiting->response;
    if (response == NULL) {
        out->err = *err;
    } else if (waiting->is_text && response->head->status < 300) {
        out->json = value_string(arena_copy(waiting->arena, response->body));
    } else if (!json_parse_text(waiting->arena, arena_copy(waiting->arena, response->body), NULL,
                                &out->json, &out->err)) {
        error_wrap(&out->err, "the response is not JSON");
    } else if (response->head->status >= 300 && response->head->status != 503) {
        Str message = value_get_text(out->json, "detail");
        ErrorKind kind = response->head->status == 403 ? ERROR_DENIED : ERROR_UNAVAILABLE;
        if (message.len > 0) {
            error_set(&out->err, kind, "%" STR_FMT, STR_ARG(message));
        } else {
            error_set(&out->err, kind, "responded with status %d", response->head->status);
        }
    }
    loop_stop(waiting->loop);
}

/* A health response with status 503 is valid too. */
static void query(Arena *arena, const Address *address, Str bundle, Str target, DoctorResponse *out)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(TlsContext) *tls = NULL;
    PendingRequest waiting = { loop, arena, out, str_eq(target, STR("/metrics")) };
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (bundle.len > 0 &&
        !tls_context_new(loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "http/1.1" },
                         &(TlsMaterial){ .ca = bundle }, &tls, &out->err)) {
        return;
    }
    HttpCallOptions options = { .loop = loop,
                                .address = *address,
                                .tls = tls,
                                .tls_host = tls == NULL ? NULL : address->host,
                                .method = "GET",
                                .target = arena_copy_c(arena, target),
                                .response_max = RESPONSE_MAX,
                                .timeout_ms = QUERY_TIMEOUT_MS,
                                .done = done,
                                .context = &waiting };
    HttpCall *call = http_call_new(&options);
    loop_run(loop);
    http_call_free(call);
}

static void query_local(Inspection *inspection, const char *socket, Str target, DoctorResponse *out)
{
    Address address;
    Str path = arena_format(inspection->arena, "%s/%s", inspection->paths->run_dir, socket);
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (address_unix(path, &address, &out->err)) {
        query(inspection->arena, &address, STR_EMPTY, target, out);
    }
}

/* Reads the error that the server wrote before it exited. */
static void inspect_failure(Inspection *inspection)
{
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    Str path = arena_format(inspection->arena, "%s/" SERVER_DIRECTORY, inspection->paths->run_dir);
    Error err;
    if (!directory_open(path.data, &run, &err) ||
        !directory_read(&run, inspection->arena, SERVER_FAILURE, sizeof err.text,
                        &inspection->view->failure, &err)) {
        inspection->view->failure = STR_EMPTY;
    }
}

/* Combines all pages into one response. */
static void query_nodes(Inspection *inspection, const char *socket, DoctorResponse *out)
{
    Arena *arena = inspection->arena;
    List *nodes = list_new(arena, 0);
    DoctorResponse page;
    Str target = STR("/v1/nodes");
    query_local(inspection, socket, target, out);
    page = *out;
    for (uint32_t i = 0; i < PAGES_MAX && page.err.kind == ERROR_NONE; i++) {
        const List *some = object_items(page.json);
        for (uint32_t j = 0; j < some->len; j++) {
            list_push(arena, nodes, some->items[j]);
        }
        Str next = value_get_text(value_get_map(page.json, "metadata"), "continue");
        if (next.len == 0) {
            break;
        }
        query_local(inspection, socket, cluster_target(arena, "/v1/nodes?continue=", next), &page);
    }
    if (out->err.kind == ERROR_NONE && out->json.kind == VALUE_MAP) {
        map_set_str(arena, out->json.map, STR("items"), value_list(nodes));
    }
}

/* Queries details that the public health check does not reveal. */
static void query_reason(Inspection *inspection, const char *socket)
{
    DoctorResponse ready;
    query_local(inspection, socket, STR("/readyz"), &ready);
    const List *problems = ready.err.kind == ERROR_NONE ? value_get_list(ready.json, "problems")
                                                        : list_new(inspection->arena, 0);
    for (uint32_t i = 0; i < problems->len; i++) {
        if (str_eq_c(value_get_text(problems->items[i], "what"), "store")) {
            inspection->view->store_reason = value_get_text(problems->items[i], "why");
            inspection->view->store_condition = value_get_text(problems->items[i], "condition");
        } else if (str_eq_c(value_get_text(problems->items[i], "what"), "revocations")) {
            inspection->view->revocations_reason = value_get_text(problems->items[i], "why");
        }
    }
}

static void query_daemons(Inspection *inspection)
{
    static const char socket[] = SERVER_DIRECTORY "/" SERVER_SOCKET;
    DoctorView *view = inspection->view;
    if (view->is_node) {
        query_local(inspection, AGENT_SOCKET, STR("/v1/agent"), &view->agent);
    }
    if (!view->is_server && !inspection->paths->has_run_dir) {
        return;
    }
    Str path = arena_format(inspection->arena, "%s/%s", inspection->paths->run_dir, socket);
    if (!view->is_server && !file_exists(path.data)) {
        view->health.was_queried =
            !view->is_node; /* because the run directory belongs to the server's user */
        error_set(&view->health.err, ERROR_NOT_FOUND, "%" STR_FMT " not found", STR_ARG(path));
        return;
    }
    query_local(inspection, socket, STR("/v1/health"), &view->health);
    if (view->health.err.kind == ERROR_NONE) {
        view->queries_remote = !view->is_server;
        query_reason(inspection, socket);
        query_local(inspection, socket, STR("/v1/session"), &view->session);
        query_nodes(inspection, socket, &view->nodes);
        query_local(inspection, socket, STR("/v1/tokens"), &view->tokens);
        query_local(inspection, socket, STR("/v1/pki"), &view->pki);
        query_local(inspection, socket, STR("/v1/audit-entries?limit=1"), &view->audit);
        query_local(inspection, socket, STR("/metrics"), &view->metrics);
        return;
    }
    inspect_failure(inspection);
    if (view->is_server && view->server_directory.err.kind == ERROR_NONE &&
        !server_settings_use_etcd(&view->settings)) {
        Str store = arena_format(inspection->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE,
                                 inspection->paths->state_dir);
        view->store_checked =
            store_check(store.data, &view->store_err) || view->store_err.kind != ERROR_CONFLICT;
        if (!store_exists(store.data)) {
            store_identity_lost(inspection->paths->state_dir, &view->store_err);
        }
    }
}

/* --- Ports ----------------------------------------------------------------------------------- */

/* Whether something is listening there; `own`: on this machine. */
static void inspect_port(Inspection *inspection, Str text, uint16_t port, bool own, DoctorPort *out)
{
    Address address;
    *out = (DoctorPort){ .address = text };
    if (!address_parse(text, port, &address, &out->err)) {
        return;
    }
    out->is_wildcard = address_is_any(&address);
    if (own) {
        address_make_connectable(&address);
    }
    Str host = str_from_c(address.host);
    out->is_dynamic = address.port == 0;
    out->is_foreign = own && !probe_is_local(inspection->arena, host);
    (void)!probe_port(inspection->arena, host, address.port, CONNECT_TIMEOUT_MS, NULL, &out->err);
}

static void inspect_remote_server(Inspection *inspection, const NodeServer *known,
                                  DoctorServer *out)
{
    DoctorResponse health = { 0 };
    Address address;
    *out = (DoctorServer){ .node = str_from_c(known->node) };
    inspect_port(inspection, known->rpc, PORT_RPC, false, &out->rpc);
    inspect_port(inspection, known->api, PORT_API, false, &out->api);
    if (out->api.err.kind != ERROR_NONE ||
        !address_parse(known->api, PORT_API, &address, &out->err)) {
        return;
    }
    if (inspection->bundle_text.len == 0) {
        error_set(&out->err, ERROR_INVALID,
                  "something is listening, but cannot be verified without " AGENT_BUNDLE);
        return;
    }
    query(inspection->arena, &address, inspection->bundle_text, STR("/v1/health"), &health);
    out->local_ms = clock_now_ms();
    out->time_ms = value_get_int(health.json, "time_ms");
    out->err = health.err;
    out->responded = health.err.kind == ERROR_NONE && out->time_ms > 0;
    if (health.err.kind == ERROR_NONE && !out->responded) {
        error_set(&out->err, ERROR_INVALID, "does not report its time: is it a different version?");
    }
}

static void inspect_etcd(Inspection *inspection)
{
    DoctorView *view = inspection->view;
    const ServerSettings *settings = &view->settings;
    for (uint32_t i = 0; i < settings->etcd_count; i++) {
        DoctorPort *port = &view->etcd[view->etcd_count++];
        Address address;
        *port = (DoctorPort){ .address = settings->etcd[i] };
        if (etcd_endpoint_parse(settings->etcd[i], &address, &port->err)) {
            (void)!probe_port(inspection->arena, str_from_c(address.host), address.port,
                              CONNECT_TIMEOUT_MS, NULL, &port->err);
        }
    }
}

static void inspect_all(Inspection *inspection)
{
    DoctorView *view = inspection->view;
    if (view->is_server && view->settings_err.kind == ERROR_NONE) {
        inspect_port(inspection, view->settings.rpc, PORT_RPC, true, &view->rpc);
        inspect_port(inspection, view->settings.api, PORT_API, true, &view->api);
        if (view->settings.health.len > 0) {
            inspect_port(inspection, view->settings.health, 0, true, &view->health_port);
        }
        inspect_etcd(inspection);
    }
    if (view->is_node && view->node_err.kind == ERROR_NONE) {
        for (uint32_t i = 0; i < view->node.server_count && i < DOCTOR_SERVERS_MAX; i++) {
            inspect_remote_server(inspection, &view->node.servers[i], &view->servers[i]);
            view->server_count++;
        }
    }
}

void doctor_inspect(Arena *arena, const DoctorPaths *paths, DoctorView *out)
{
    Inspection inspection = { .arena = arena, .paths = paths, .view = out };
    *out = (DoctorView){ .now_ms = clock_now_ms(), .is_root = running_as_root() };
    inspect_path(paths->state_dir, &out->state);
    inspect_disk(paths->state_dir, out);
    inspect_node(&inspection);
    inspect_server(&inspection);
    query_daemons(&inspection);
    inspect_all(&inspection);
}
