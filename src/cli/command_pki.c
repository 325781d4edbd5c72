/* eden pki: CAs and certificates of the cluster. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hex.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/kind_watch.h"
#include "cli/output.h"
#include "cli/table.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    POLL_MS = 500,
    UNREACHABLE_TIMEOUT_MS =
        60 * 1000, /* how long the server may be unreachable while waiting for a rotation */
    PIN_DISPLAY_LEN = 7 + 12, /* "sha256:" and enough digits to distinguish CAs */
};

static int call_server(Invocation *invocation, const char *method, const char *target, Map *body,
                       Value *response)
{
    Arena *arena = invocation->arena;
    Str text = body == NULL ? STR_EMPTY : cluster_body(arena, value_map(body));
    ClusterRequest request = { .method = method, .target = str_from_c(target), .body = text };
    return cluster_call(invocation, &request, response);
}

static Map *make_body(Arena *arena, const char *name, const char *value)
{
    Map *body = map_new(arena, 2);
    map_set_str(arena, body, str_from_c(name), value_string(str_from_c(value)));
    return body;
}

/* Prints a message in text output, and the response in other formats. */
PRINTF_LIKE(3, 4)
static int print_done(const Invocation *invocation, Value response, const char *format, ...)
{
    if (!invocation_prints(invocation, "table")) {
        return output_response(invocation, response);
    }
    va_list args;
    va_start(args, format);
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    stream_put_format(invocation->out, "%s\n", text);
    return EXIT_OK;
}

/* --- list ------------------------------------------------------------------------------------ */

static Value get_or_null(Value map, const char *key)
{
    const Value *found = map.kind == VALUE_MAP ? value_get(map, str_from_c(key)) : NULL;
    return found == NULL ? value_null() : *found;
}

static Str short_pin(Value map, const char *key)
{
    Str pin = value_get_text(map, key);
    return pin.len == 0 ? STR("-") : str_slice(pin, 0, PIN_DISPLAY_LEN);
}

/* For a valid CA, returns its role, which is more informative than "good". */
static Str state_of(Value certificate)
{
    Str state = value_get_text(certificate, "state");
    bool is_ca = get_or_null(certificate, "signs").kind == VALUE_BOOL;
    return !is_ca || !str_eq_c(state, "good")     ? state
           : value_get_bool(certificate, "signs") ? STR("signs")
                                                  : STR("trusted");
}

static void add_row(Table *table, const char *kind, Str name, Value certificate)
{
    table_add(table, str_from_c(kind));
    table_add(table, name);
    table_add(table, state_of(certificate));
    table_add(table, value_get_text(certificate, "serial"));
    table_add(table, short_pin(certificate, "issuer"));
    table_add(table, value_get_text(certificate, "expires"));
}

/* Prints the progress of a rotation, if any, preceded by `prefix`. */
static void print_rotation(const Invocation *invocation, Value pki, const char *prefix)
{
    Value rotation = get_or_null(pki, "rotation");
    const List *waits = value_get_list(rotation, "waits");
    Stream *out = invocation->out;
    Str error = value_get_text(rotation, "error");
    Str state = value_get_text(rotation, "state"), since = value_get_text(rotation, "since");
    if (error.len > 0) {
        output_line(out, "%sThe CA cannot be rotated: %" STR_FMT, prefix, STR_ARG(error));
        return;
    }
    if (str_eq_c(state, "steady")) {
        return;
    }
    Str from = short_pin(rotation, "present"), to = short_pin(rotation, "next");
    output_line(out,
                "%sThe CA is being rotated from %" STR_FMT " to %" STR_FMT ": phase '%" STR_FMT
                "' since %" STR_FMT ".",
                prefix, STR_ARG(from), STR_ARG(to), STR_ARG(state), STR_ARG(since));
    for (uint32_t i = 0; i < waits->len; i++) {
        Str node = value_get_text(waits->items[i], "node");
        Str what = value_get_text(waits->items[i], "what");
        Str seen = value_get_text(waits->items[i], "seen");
        bool silent = value_get_bool(waits->items[i], "silent");
        output_line(out, "  waiting for %" STR_FMT ": %" STR_FMT "%s%" STR_FMT "%s", STR_ARG(node),
                    STR_ARG(what), silent ? " (silent; last contact " : "",
                    STR_ARG(silent ? seen : STR_EMPTY), silent ? ")" : "");
    }
}

static void print_table(const Invocation *invocation, Value pki)
{
    static const char *const headings[] = { "KIND",   "NAME",    "STATE", "SERIAL",
                                            "ISSUER", "EXPIRES", NULL };
    const List *cas = value_get_list(pki, "cas"), *nodes = value_get_list(pki, "nodes");
    const List *users = value_get_list(pki, "users");
    Table table;
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < cas->len; i++) {
        add_row(&table, "ca", short_pin(cas->items[i], "key"), cas->items[i]);
    }
    add_row(&table, "serving", STR("API"), get_or_null(pki, "serving"));
    add_row(&table, "server", STR("port 1337"), get_or_null(pki, "server"));
    for (uint32_t i = 0; i < nodes->len; i++) {
        add_row(&table, "node", value_get_text(nodes->items[i], "name"), nodes->items[i]);
    }
    for (uint32_t i = 0; i < users->len; i++) {
        add_row(&table, "user", value_get_text(users->items[i], "name"), users->items[i]);
    }
    table_print(&table, invocation->out);
    print_rotation(invocation, pki, "\n");
}

/* Converts a user's certificate to the format of node certificates. Its record does not name the
 * CA. */
static Value user_row(Arena *arena, Value object)
{
    static const char *const copied[] = { "state", "expires", "made_by", "error", NULL };
    Value spec = value_get_map(object, "spec"), status = value_get_map(object, "status");
    Map *row = map_new(arena, 6);
    map_set_str(arena, row, STR("name"), value_string(value_get_text(status, "owner")));
    map_set_str(arena, row, STR("serial"), value_string(object_name(object)));
    map_set_str(arena, row, STR("roles"), get_or_null(spec, "roles"));
    for (const char *const *name = copied; *name != NULL; name++) {
        if (get_or_null(status, *name).kind != VALUE_NULL) {
            map_set_str(arena, row, str_from_c(*name), get_or_null(status, *name));
        }
    }
    return value_map(row);
}

/* Adds user certificates, which /v1/pki does not include because they may exceed one page. */
static int add_users(Invocation *invocation, Value pki)
{
    Arena *arena = invocation->arena;
    List *users = list_new(arena, 0);
    Value list;
    int code = kind_fetch(invocation, kind_find(STR("Certificate")), NULL, &list);
    if (code != EXIT_OK) {
        return code;
    }
    const List *items = object_items(list);
    for (uint32_t i = 0; i < items->len; i++) {
        if (str_eq_c(value_get_text(object_status(items->items[i]), "usage"), "user")) {
            list_push(arena, users, user_row(arena, items->items[i]));
        }
    }
    map_set_str(arena, pki.map, STR("users"), value_list(users));
    return EXIT_OK;
}

static int run_list(Invocation *invocation)
{
    Value pki;
    if (invocation_flag(invocation, "watch")) {
        return kind_watch(invocation, kind_find(STR("Certificate")), NULL);
    }
    int code = call_server(invocation, "GET", "/v1/pki", NULL, &pki);
    code = code == EXIT_OK ? add_users(invocation, pki) : code;
    if (code != EXIT_OK) {
        return code;
    }
    if (!invocation_prints(invocation, "table")) {
        return output_response(invocation, pki);
    }
    print_table(invocation, pki);
    return EXIT_OK;
}

/* --- issue ----------------------------------------------------------------------------------- */

static int run_issue(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    const char *csr = invocation_text(invocation, "csr"), *out = invocation_text(invocation, "out");
    Value issued;
    Str text;
    Error err;
    if (csr == NULL) {
        return usage_error(invocation, "--csr FILE, the certificate request, is required");
    }
    if (!file_read(arena, csr, CSR_MAX, &text, &err)) {
        return daemon_command_fail(invocation, "E0841", &err);
    }
    Map *body = make_body(arena, "name", invocation->args[0]);
    map_set_str(arena, body, STR("csr"), value_string(text));
    int code = call_server(invocation, "POST", "/v1/pki/issue", body, &issued);
    if (code != EXIT_OK) {
        return code;
    }
    Str certificate = value_get_text(issued, "certificate"),
        bundle = value_get_text(issued, "bundle");
    if (out != NULL) {
        Str both =
            arena_format(arena, "%" STR_FMT "%" STR_FMT, STR_ARG(certificate), STR_ARG(bundle));
        if (!file_write_atomic(out, both, &err)) {
            return daemon_command_fail(invocation, "E0841", &err);
        }
        Str serial = value_get_text(issued, "serial"), expires = value_get_text(issued, "expires");
        return print_done(invocation, issued,
                          "%s is a node; its certificate %" STR_FMT ", valid until %" STR_FMT
                          ", and the trusted CAs are in %s",
                          invocation->args[0], STR_ARG(serial), STR_ARG(expires), out);
    }
    if (!invocation_prints(invocation, "table")) {
        return output_response(invocation, issued);
    }
    stream_put(invocation->out, certificate);
    stream_put(invocation->out, bundle);
    return EXIT_OK;
}

/* --- renew ----------------------------------------------------------------------------------- */

static int renew_by_server(Invocation *invocation, const char *which)
{
    Value response;
    Map *body = make_body(invocation->arena, "certificate", which);
    int code = call_server(invocation, "POST", "/v1/pki/renew", body, &response);
    return code != EXIT_OK
               ? code
               : print_done(invocation, response, "the server has a new certificate (%s)", which);
}

static int renew_by_agent(Invocation *invocation)
{
    ClusterRequest request = { .method = "POST",
                               .target = STR("/v1/agent/renew"),
                               .socket = "agent.sock" };
    Value response;
    bool responded;
    Error err;
    if (!cluster_send(invocation, &request, &response, &responded, &err)) {
        ClusterRefusal refusal = { .responded = responded,
                                   .target = request.target,
                                   .response = response };
        return responded ? cluster_report_refusal(invocation, &refusal, &err)
                         : daemon_command_fail(invocation, "E0840", &err);
    }
    return print_done(invocation, response, "this machine has a new certificate");
}

static int run_renew(Invocation *invocation)
{
    bool serving = invocation_flag(invocation, "serving");
    bool server = invocation_flag(invocation, "server");
    int code = EXIT_OK;
    if (!serving && !server) {
        return renew_by_agent(invocation);
    }
    if (serving) {
        code = renew_by_server(invocation, "serving");
    }
    return code == EXIT_OK && server ? renew_by_server(invocation, "server") : code;
}

/* --- revoke ---------------------------------------------------------------------------------- */

static bool is_serial(Str text)
{
    return text.len == SERIAL_DIGITS && hex_is_valid(text);
}

/* Tries node certificates, then user certificates, so that the user need not know which kind it
 * is. */
static int revoke_serial_number(Invocation *invocation, const char *serial, Value *response)
{
    Arena *arena = invocation->arena;
    Str body = cluster_body(arena, value_map(make_body(arena, "serial", serial)));
    ClusterRequest node_request = { .method = "POST",
                                    .target = STR("/v1/pki/revoke"),
                                    .body = body };
    ClusterRequest user_request = {
        .method = "DELETE", .target = cluster_target(arena, "/v1/certificates/", str_from_c(serial))
    };
    bool responded;
    Error err, other;
    if (cluster_send(invocation, &node_request, response, &responded, &err)) {
        return EXIT_OK;
    }
    ClusterRefusal first = { .responded = responded,
                             .target = node_request.target,
                             .response = *response };
    if (!responded || err.kind != ERROR_NOT_FOUND) {
        return cluster_report_refusal(invocation, &first, &err);
    }
    if (cluster_send(invocation, &user_request, response, &responded, &other)) {
        return EXIT_OK;
    }
    ClusterRefusal second = { .responded = responded,
                              .target = user_request.target,
                              .response = *response };
    return responded && other.kind == ERROR_NOT_FOUND
               ? cluster_report_refusal(invocation, &first, &err)
               : cluster_report_refusal(invocation, &second, &other);
}

static int run_revoke(Invocation *invocation)
{
    int worst = EXIT_OK;
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        const char *what = invocation->args[i];
        bool serial = is_serial(str_from_c(what));
        Value response;
        int code = serial ? revoke_serial_number(invocation, what, &response)
                          : call_server(invocation, "POST", "/v1/pki/revoke",
                                        make_body(invocation->arena, "node", what), &response);
        if (code == EXIT_OK) {
            code = print_done(invocation, response,
                              serial ? "the certificate %s is revoked"
                                     : "all certificates of %s are revoked",
                              what);
        }
        worst = code == EXIT_OK ? worst : code;
    }
    return worst;
}

/* --- rotate ---------------------------------------------------------------------------------- */

/* Tolerates server restarts while waiting. */
static int poll_pki(Invocation *invocation, Value *pki)
{
    ClusterRequest request = { .method = "GET", .target = STR("/v1/pki") };
    bool responded;
    Error err;
    for (int waited_ms = 0;; waited_ms += POLL_MS) {
        if (cluster_send(invocation, &request, pki, &responded, &err)) {
            return EXIT_OK;
        }
        if (responded || waited_ms >= UNREACHABLE_TIMEOUT_MS) {
            ClusterRefusal refusal = { .responded = responded,
                                       .target = request.target,
                                       .response = *pki };
            return cluster_report_refusal(invocation, &refusal, &err);
        }
        (void)clock_sleep_ms(POLL_MS, NULL);
    }
}

/* Prints what the rotation is waiting for whenever that changes. */
static int wait_for_completion(Invocation *invocation)
{
    Str last = STR_EMPTY;
    Value pki;
    for (;;) {
        int code = poll_pki(invocation, &pki);
        if (code != EXIT_OK) {
            return code;
        }
        Value rotation = get_or_null(pki, "rotation");
        Str state = value_get_text(rotation, "state");
        const List *waits = value_get_list(rotation, "waits");
        if (str_eq_c(state, "steady")) {
            return EXIT_OK;
        }
        Str first = waits->len > 0 ? value_get_text(waits->items[0], "node") : STR_EMPTY;
        Str more = waits->len > 1
                       ? arena_format(invocation->arena, " and %" PRIu32 " more", waits->len - 1)
                       : STR_EMPTY;
        Str now =
            arena_format(invocation->arena, "%" STR_FMT "%s%" STR_FMT "%" STR_FMT, STR_ARG(state),
                         first.len > 0 ? ", waiting for " : "", STR_ARG(first), STR_ARG(more));
        if (!str_eq(now, last)) {
            output_line(invocation->err, "%" STR_FMT, STR_ARG(now));
            (void)stream_flush(invocation->err);
            last = now;
        }
        (void)clock_sleep_ms(POLL_MS, NULL);
    }
}

static int print_state(Invocation *invocation)
{
    Value pki;
    int code = call_server(invocation, "GET", "/v1/pki", NULL, &pki);
    if (code != EXIT_OK) {
        return code;
    }
    Value rotation = get_or_null(pki, "rotation");
    if (!invocation_prints(invocation, "table")) {
        Map *map = map_new(invocation->arena, 2);
        map_set_str(invocation->arena, map, STR("format"),
                    value_string(STR("eden.pki-rotation/1")));
        map_set_str(invocation->arena, map, STR("rotation"), rotation);
        return output_response(invocation, value_map(map));
    }
    if (str_eq_c(value_get_text(rotation, "state"), "steady")) {
        Str pin = value_get_text(rotation, "present");
        output_line(invocation->out, "no rotation in progress: the CA is %" STR_FMT, STR_ARG(pin));
    }
    print_rotation(invocation, pki, "");
    return EXIT_OK;
}

/* Sends an action that changes a rotation in progress. */
static int change_rotation(Invocation *invocation, const char *action, const char *node)
{
    Map *body = make_body(invocation->arena, "action", action);
    Value response;
    if (node != NULL) {
        map_set_str(invocation->arena, body, STR("node"), value_string(str_from_c(node)));
    }
    return call_server(invocation, "POST", "/v1/pki/rotate", body, &response);
}

static int run_rotate(Invocation *invocation)
{
    const char *without = invocation_text(invocation, "without");
    bool status = invocation_flag(invocation, "status"),
         abort = invocation_flag(invocation, "abort");
    if (status + abort + (without != NULL) > 1) {
        return usage_error(invocation, "--status, --abort and --without are mutually exclusive");
    }
    int code = status            ? EXIT_OK
               : abort           ? change_rotation(invocation, "abort", NULL)
               : without != NULL ? change_rotation(invocation, "without", without)
                                 : change_rotation(invocation, "begin", NULL);
    if (code == EXIT_OK && invocation_flag(invocation, "wait")) {
        code = wait_for_completion(invocation);
    }
    return code == EXIT_OK ? print_state(invocation) : code;
}

static const Option list_options[] = { WATCH_OPTION, { 0 } };

static const Option issue_options[] = {
    { .name = "csr",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "file with the certificate request, in PEM; '-' reads standard input" },
    { .name = "out",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "file to write the certificate and CAs to; default: print them" },
    { 0 },
};

static const Option renew_options[] = {
    { .name = "serving", .help = "renew the certificate of the API" },
    { .name = "server", .help = "renew the certificate that the server presents to nodes" },
    { 0 },
};

static const Option rotate_options[] = {
    { .name = "status", .help = "only show progress" },
    { .name = "wait",
      .help = "wait until the rotation is complete, and show what it is waiting "
              "for" },
    { .name = "without",
      .argument = "NODE",
      .word = WORD_NODE,
      .help = "do not wait for this node; it will have to join again" },
    { .name = "abort", .help = "go back to the previous CA" },
    { 0 },
};

static const Option options[] = {
    OUTPUT_OPTION("table|json|yaml", "table", "output format"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List certificates of nodes, servers and users.",
      .text = "The state 'due' means that the certificate is overdue for renewal.",
      .options = list_options,
      .examples = { { "eden pki",
                      "list all certificates, their expiry, and the progress of a rotation" },
                    { "eden pki list --watch", "list certificates, then print changes" } },
      .run = run_list },
    { .name = "issue",
      .args = { { "NAME" } },
      .help = "Admit a machine by signing its certificate request.",
      .text = "Generate a P-256 key and a certificate request on the machine with openssl, then\n"
              "copy the output of this command to the machine.",
      .options = issue_options,
      .examples = { { "eden pki issue web3 --csr web3.csr --out web3.pem",
                      "admit a machine that cannot reach the server yet" } },
      .run = run_issue },
    { .name = "renew",
      .help = "Renew a certificate now.",
      .text = "Renews the certificate of the agent on this machine, or with --serving or\n"
              "--server a certificate of the server.",
      .options = renew_options,
      .examples = { { "eden pki renew --serving", "renew the certificate of the API now" } },
      .run = run_renew },
    { .name = "revoke",
      .args = { { "NODE|SERIAL...", WORD_NODE } },
      .help = "Revoke certificates.",
      .text = "NODE revokes all certificates of a node; SERIAL revokes a single node or user\n"
              "certificate. Connections that use a revoked certificate are closed within a\n"
              "second. To admit the node again, remove it ('eden nodes remove') and let it\n"
              "join.",
      .examples = { { "eden pki revoke web2",
                      "disconnect a node and prevent it from reconnecting" } },
      .run = run_revoke },
    { .name = "rotate",
      .help = "Replace the CA.",
      .text = "Creates a new CA and replaces the old one in steps: all nodes trust both CAs,\n"
              "the new CA starts signing, all certificates are renewed, and the old CA is\n"
              "dropped. The rotation continues in the background, even after a server restart,\n"
              "and waits for silent nodes: start them, remove them, or skip them with\n"
              "--without. --abort returns to the old CA, unless it is already being dropped.",
      .options = rotate_options,
      .examples = { { "eden pki rotate", "replace the CA while all nodes stay connected" },
                    { "eden pki rotate --status", "show the progress, and which nodes have not "
                                                  "finished" } },
      .run = run_rotate },
    { 0 },
};

const Command command_pki = {
    .name = "pki",
    .group = GROUP_CLUSTER,
    .help = "Show, renew and revoke certificates; rotate the CA.",
    .text = "Certificates are renewed automatically after two thirds of their lifetime,\n"
            "which is 30 days for nodes and 90 days for the API.",
    .options = options,
    .verbs = verbs,
};
