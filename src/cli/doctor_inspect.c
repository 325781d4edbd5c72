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
    PROBE_MS = 1500, /* timeout of connecting to a port */
    ASK_MS = 3000,   /* timeout of a daemon's response */
    ANSWER_MAX = 16 << 20,
    PAGES_MAX = 20, /* maximum number of pages of nodes */
};

typedef struct Look {
    Arena *arena;
    const DoctorPaths *paths;
    DoctorView *view;
    CertificateSet bundle; /* CAs that this node trusts */
    Str bundle_text;
} Look;

/* --- Files ----------------------------------------------------------------------------------- */

static void look_at_place(const char *path, DoctorPlace *out)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    uid_t user;
    gid_t group;
    *out = (DoctorPlace){ 0 };
    if (directory_open(path, &directory, &out->err) &&
        directory_mode(&directory, &out->mode, &out->err) &&
        directory_owner(&directory, &user, &group, &out->err)) {
        out->is_foreign = user != 0 && user != privileges_user();
    }
}

static void look_at_disk(const char *path, DoctorView *out)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    if (directory_open(path, &directory, &err)) {
        out->state_size = directory_disk_size(&directory);
        out->state_size = out->state_size == INT64_MAX ? 0 : out->state_size;
        out->state_free = directory_disk_free(&directory);
    }
}

/* If there are no CAs to trust, only the certificate itself is checked. */
static void look_at_certificate(Look *look, const Directory *directory, const char *name,
                                CertificateSet trusted, DoctorCertificate *out)
{
    Credential credential = { 0 };
    *out = (DoctorCertificate){ 0 };
    if (!credential_load(directory, name, look->arena, &credential, &out->err)) {
        out->is_exposed = directory_is_exposed(directory, name);
        return;
    }
    out->certificate = credential.chain.items[0];
    out->plan = renewal_plan(&out->certificate, &(RenewalRules){ 0 }, look->view->now_ms);
    if (trusted.count > 0 && !certificate_verify(credential.chain, trusted, USE_SERVER,
                                                 look->view->now_ms, &out->trust)) {
        error_wrap(&out->trust, "%s", name);
    }
    credential_clear(&credential);
}

static void look_at_bundle(Look *look, const Directory *agent)
{
    Certificate *items;
    if (directory_read(agent, look->arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX, &look->bundle_text,
                       &look->view->bundle_err) &&
        certificates_from_pem(look->arena, look->bundle_text, &items, &look->bundle.count,
                              &look->view->bundle_err)) {
        look->bundle.items = items;
    }
}

static void look_at_node(Look *look)
{
    DoctorView *view = look->view;
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Str path = arena_format(look->arena, "%s/" AGENT_DIRECTORY, look->paths->state_dir);
    Error err = { 0 };
    look_at_place(path.data, &view->agent_directory);
    if (!directory_open(path.data, &agent, &err)) {
        view->is_node = err.kind != ERROR_NOT_FOUND;
        view->node_err = view->own.err = err;
        return;
    }
    view->is_node = directory_has(&agent, AGENT_STATE) || directory_has(&agent, AGENT_CREDENTIAL);
    if (view->is_node) {
        (void)!node_state_load(&agent, look->arena, &view->node, &view->node_err);
        look_at_bundle(look, &agent);
        look_at_certificate(look, &agent, AGENT_CREDENTIAL, look->bundle, &view->own);
    }
}

static void look_at_settings(Look *look, const Directory *server)
{
    DoctorView *view = look->view;
    Str text;
    if (directory_read(server, look->arena, SERVER_SETTINGS_FILE, SERVER_SETTINGS_MAX, &text,
                       &view->settings_err)) {
        (void)!(server_settings_read(look->arena, text, &view->settings, &view->settings_err) ||
                error_wrap(&view->settings_err, "%s", server->path));
    } else if (settings_are_lost(server)) {
        lost_settings_error(server, &view->settings_err);
    }
}

static void look_at_server(Look *look)
{
    DoctorView *view = look->view;
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Str path = arena_format(look->arena, "%s/" SERVER_DIRECTORY, look->paths->state_dir);
    Error err = { 0 };
    look_at_place(path.data, &view->server_directory);
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
    look_at_settings(look, &server);
    look_at_certificate(look, &server, SERVER_CA, (CertificateSet){ 0 }, &view->ca);
    /* During a rotation they may be issued by the next CA, which this node trusts too. */
    CertificateSet trusted = look->bundle.count > 0 ? look->bundle
                             : view->ca.err.kind == ERROR_NONE
                                 ? (CertificateSet){ &view->ca.certificate, 1 }
                                 : (CertificateSet){ 0 };
    look_at_certificate(look, &server, SERVER_NODE, trusted, &view->server_node);
    look_at_certificate(look, &server, SERVER_SERVING, trusted, &view->serving);
    view->disk_size = directory_disk_size(&server);
    view->disk_free = directory_disk_free(&server);
    view->disk_size = view->disk_size == INT64_MAX ? 0 : view->disk_size;
}

/* --- Daemons --------------------------------------------------------------------------------- */

typedef struct Waiting {
    Loop *loop;
    Arena *arena;
    DoctorResponse *response;
    bool is_text;
} Waiting;

static void done(void *context, const HttpResponse *response, const Error *err)
{
    Waiting *waiting = context;
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

/* A health check with status 503 is a valid response too. */
static void ask(Arena *arena, const Address *address, Str bundle, Str target, DoctorResponse *out)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(TlsContext) *tls = NULL;
    Waiting waiting = { loop, arena, out, str_eq(target, STR("/metrics")) };
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
                                .answer_max = ANSWER_MAX,
                                .timeout_ms = ASK_MS,
                                .done = done,
                                .context = &waiting };
    HttpCall *call = http_call_new(&options);
    loop_run(loop);
    http_call_free(call);
}

static void ask_local(Look *look, const char *socket, Str target, DoctorResponse *out)
{
    Address address;
    Str path = arena_format(look->arena, "%s/%s", look->paths->run_dir, socket);
    *out = (DoctorResponse){ .was_queried = true, .json = value_null() };
    if (address_unix(path, &address, &out->err)) {
        ask(look->arena, &address, STR_EMPTY, target, out);
    }
}

/* Reads the error that an exited server has left. */
static void look_at_failure(Look *look)
{
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    Str path = arena_format(look->arena, "%s/" SERVER_DIRECTORY, look->paths->run_dir);
    Error err;
    if (!directory_open(path.data, &run, &err) ||
        !directory_read(&run, look->arena, SERVER_FAILURE, sizeof err.text, &look->view->failure,
                        &err)) {
        look->view->failure = STR_EMPTY;
    }
}

/* Combines all pages into one response. */
static void ask_nodes(Look *look, const char *socket, DoctorResponse *out)
{
    Arena *arena = look->arena;
    List *nodes = list_new(arena, 0);
    DoctorResponse page;
    Str target = STR("/v1/nodes");
    ask_local(look, socket, target, out);
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
        ask_local(look, socket, cluster_target(arena, "/v1/nodes?continue=", next), &page);
    }
    if (out->err.kind == ERROR_NONE && out->json.kind == VALUE_MAP) {
        map_set_str(arena, out->json.map, STR("items"), value_list(nodes));
    }
}

/* Details that the public health check does not reveal. */
static void ask_why(Look *look, const char *socket)
{
    DoctorResponse ready;
    ask_local(look, socket, STR("/readyz"), &ready);
    const List *problems = ready.err.kind == ERROR_NONE ? value_get_list(ready.json, "problems")
                                                        : list_new(look->arena, 0);
    for (uint32_t i = 0; i < problems->len; i++) {
        if (str_eq_c(value_get_text(problems->items[i], "what"), "store")) {
            look->view->store_why = value_get_text(problems->items[i], "why");
            look->view->store_condition = value_get_text(problems->items[i], "condition");
        } else if (str_eq_c(value_get_text(problems->items[i], "what"), "revocations")) {
            look->view->revocations_why = value_get_text(problems->items[i], "why");
        }
    }
}

static void ask_daemons(Look *look)
{
    static const char socket[] = SERVER_DIRECTORY "/" SERVER_SOCKET;
    DoctorView *view = look->view;
    if (view->is_node) {
        ask_local(look, AGENT_SOCKET, STR("/v1/agent"), &view->agent);
    }
    if (!view->is_server && !look->paths->has_run_dir) {
        return;
    }
    Str path = arena_format(look->arena, "%s/%s", look->paths->run_dir, socket);
    if (!view->is_server && !file_exists(path.data)) {
        view->health.was_queried = !view->is_node; /* the run directory belongs to it */
        error_set(&view->health.err, ERROR_NOT_FOUND, "%" STR_FMT " not found", STR_ARG(path));
        return;
    }
    ask_local(look, socket, STR("/v1/health"), &view->health);
    if (view->health.err.kind == ERROR_NONE) {
        view->asks_elsewhere = !view->is_server;
        ask_why(look, socket);
        ask_local(look, socket, STR("/v1/session"), &view->session);
        ask_nodes(look, socket, &view->nodes);
        ask_local(look, socket, STR("/v1/tokens"), &view->tokens);
        ask_local(look, socket, STR("/v1/pki"), &view->pki);
        ask_local(look, socket, STR("/v1/audit-entries?limit=1"), &view->audit);
        ask_local(look, socket, STR("/metrics"), &view->metrics);
        return;
    }
    look_at_failure(look);
    if (view->is_server && view->server_directory.err.kind == ERROR_NONE) {
        Str store = arena_format(look->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE,
                                 look->paths->state_dir);
        view->store_looked =
            store_check(store.data, &view->store_err) || view->store_err.kind != ERROR_CONFLICT;
        if (!store_exists(store.data)) {
            store_identity_lost(look->paths->state_dir, &view->store_err);
        }
    }
}

/* --- Ports ----------------------------------------------------------------------------------- */

/* Whether something listens there; `own`: on this machine. */
static void look_at_port(Look *look, Str text, uint16_t port, bool own, DoctorPort *out)
{
    Address address;
    *out = (DoctorPort){ .address = text };
    if (!address_parse(text, port, &address, &out->err)) {
        return;
    }
    out->is_everywhere = address_is_any(&address);
    if (own) {
        address_make_connectable(&address);
    }
    Str host = str_from_c(address.host);
    out->is_any = address.port == 0;
    out->is_foreign = own && !probe_is_own(look->arena, host);
    (void)!probe_port(look->arena, host, address.port, PROBE_MS, NULL, &out->err);
}

static void look_at_far_server(Look *look, const NodeServer *known, DoctorServer *out)
{
    DoctorResponse health = { 0 };
    Address address;
    *out = (DoctorServer){ .node = str_from_c(known->node) };
    look_at_port(look, known->rpc, PORT_RPC, false, &out->rpc);
    look_at_port(look, known->api, PORT_API, false, &out->api);
    if (out->api.err.kind != ERROR_NONE ||
        !address_parse(known->api, PORT_API, &address, &out->err)) {
        return;
    }
    if (look->bundle_text.len == 0) {
        error_set(&out->err, ERROR_INVALID,
                  "something is listening, but cannot be verified without " AGENT_BUNDLE);
        return;
    }
    ask(look->arena, &address, look->bundle_text, STR("/v1/health"), &health);
    out->own_ms = clock_now_ms();
    out->time_ms = value_get_int(health.json, "time_ms");
    out->err = health.err;
    out->responded = health.err.kind == ERROR_NONE && out->time_ms > 0;
    if (health.err.kind == ERROR_NONE && !out->responded) {
        error_set(&out->err, ERROR_INVALID, "does not report its time: is it a different version?");
    }
}

static void look_around(Look *look)
{
    DoctorView *view = look->view;
    if (view->is_server && view->settings_err.kind == ERROR_NONE) {
        look_at_port(look, view->settings.rpc, PORT_RPC, true, &view->rpc);
        look_at_port(look, view->settings.api, PORT_API, true, &view->api);
        if (view->settings.health.len > 0) {
            look_at_port(look, view->settings.health, 0, true, &view->health_port);
        }
    }
    if (view->is_node && view->node_err.kind == ERROR_NONE) {
        for (uint32_t i = 0; i < view->node.server_count && i < DOCTOR_SERVERS_MAX; i++) {
            look_at_far_server(look, &view->node.servers[i], &view->servers[i]);
            view->server_count++;
        }
    }
}

void doctor_inspect(Arena *arena, const DoctorPaths *paths, DoctorView *out)
{
    Look look = { .arena = arena, .paths = paths, .view = out };
    *out = (DoctorView){ .now_ms = clock_now_ms(), .is_root = privileges_are_root() };
    look_at_place(paths->state_dir, &out->state);
    look_at_disk(paths->state_dir, out);
    look_at_node(&look);
    look_at_server(&look);
    ask_daemons(&look);
    look_around(&look);
}
