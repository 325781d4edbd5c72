/* Evaluators of the server and the cluster. */
#include <inttypes.h>
#include <stdlib.h>

#include "api/kind_stored.h"
#include "cli/doctor_evaluators.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "pki/ca.h"
#include "store/store.h"

#define CA_EXPIRY_WARNING_MS ((int64_t)180 * PKI_DAY_MS)

enum {
    DISK_FAILED_BYTES = 64 << 20,
    DISK_FAILED_SHARE = 50, /* 1/50 of the disk, 2 % */
    DISK_WARNING_SHARE = 10,
    NAMES_SHOWN = 5,
    AUDIT_WARNING_ENTRIES = 1000000,
    AUDIT_WARNING_SHARE = 10,   /* percent of the disk */
    LEASES_WARNING_SHARE = 80,  /* percent */
    OBJECTS_WARNING_SHARE = 80, /* percent */
};

static DoctorResult skip(Arena *arena)
{
    return doctor_result(arena, DOCTOR_SKIPPED, "this machine is not a server");
}

DoctorResult evaluate_ca(Arena *arena, const DoctorView *view)
{
    if (!view->is_server) {
        return skip(arena);
    }
    if (!view->is_root && view->ca.err.kind == ERROR_DENIED && !view->ca.is_exposed) {
        return doctor_result(arena, DOCTOR_SKIPPED, "requires root");
    }
    if (view->ca.err.kind != ERROR_NONE) {
        return doctor_fix(doctor_result(arena, DOCTOR_FAILED, "%s", view->ca.err.text),
                          doctor_key_fix(&view->ca, NULL));
    }
    int64_t left = view->ca.certificate.not_after_ms - view->now_ms;
    Str until = utc_text(arena, view->ca.certificate.not_after_ms);
    if (!view->ca.certificate.is_ca) {
        return doctor_result(arena, DOCTOR_FAILED, "the certificate in ca.pem is not a CA");
    }
    if (left <= 0) {
        return doctor_result(arena, DOCTOR_FAILED, "expired on %" STR_FMT, STR_ARG(until));
    }
    return doctor_result(arena, left < CA_EXPIRY_WARNING_MS ? DOCTOR_WARNING : DOCTOR_OK,
                         "valid until %" STR_FMT, STR_ARG(until));
}

DoctorResult evaluate_server_certificates(Arena *arena, const DoctorView *view)
{
    static const char recreated[] =
        "delete the file if it exists; the server creates a new one when it starts";
    const struct {
        const char *name;
        const DoctorCertificate *certificate;
        const char *lost; /* the fix if the file is missing */
    } all[] = {
        { "node.pem", &view->server_node, recreated },
        { "serving.pem", &view->serving, recreated },
    };
    DoctorResult first = { 0 };
    if (!view->is_server) {
        return skip(arena);
    }
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (!view->is_root && all[i].certificate->err.kind == ERROR_DENIED &&
            !all[i].certificate->is_exposed) {
            return doctor_result(arena, DOCTOR_SKIPPED, "requires root");
        }
        DoctorResult result = doctor_certificate(arena, all[i].certificate, view->now_ms);
        if (result.state != DOCTOR_OK) {
            result = doctor_result(arena, result.state, "%s: %" STR_FMT, all[i].name,
                                   STR_ARG(result.text));
            return all[i].certificate->err.kind == ERROR_NONE
                       ? result
                       : doctor_fix(result, doctor_key_fix(all[i].certificate, all[i].lost));
        }
        first = i == 0 ? result : first;
    }
    return first;
}

/* Whether the server accepts connections but is not responding, because it hangs or is
 * overloaded. */
static bool is_hanging(const DoctorView *view)
{
    return view->health.was_queried && view->health.err.kind == ERROR_TIMEOUT;
}

static bool runs(const DoctorView *view)
{
    return view->health.was_queried && view->health.err.kind == ERROR_NONE;
}

DoctorResult evaluate_server(Arena *arena, const DoctorView *view)
{
    const Value *saved = view->agent.was_queried && view->agent.err.kind == ERROR_NONE
                             ? value_get(view->agent.json, STR("server"))
                             : NULL;
    Str why = saved != NULL && saved->kind == VALUE_MAP ? value_get_text(*saved, "why") : STR_EMPTY;
    if (!view->is_server && !view->health.was_queried) {
        return skip(arena);
    }
    if (!view->is_server && view->health.err.kind == ERROR_NOT_FOUND) {
        return doctor_result(arena, DOCTOR_WARNING, "not listening: %s", view->health.err.text);
    }
    if (!view->is_root && view->health.err.kind == ERROR_DENIED) {
        return doctor_result(arena, DOCTOR_SKIPPED, "only root and the server's group can connect");
    }
    if (is_hanging(view)) {
        return doctor_fix(doctor_result(arena, DOCTOR_FAILED,
                                        "it is running but not responding: %s",
                                        view->health.err.text),
                          "check its log and the machine's load and disks; 'systemctl restart "
                          "eden' restarts it");
    }
    if (!runs(view)) {
        /* The agent reports the same error; do not show it twice. */
        why = view->failure.len > 0 ? view->failure : why;
        const char *before = view->failure.len > 0 ? "; it exited: "
                             : why.len > 0         ? "; the agent reports: "
                                                   : "";
        DoctorResult result = doctor_result(arena, DOCTOR_FAILED, "%s%s%" STR_FMT,
                                            view->health.err.text, before, STR_ARG(why));
        return why.len > 0 ? doctor_fix(result, "fix the reported error, then start it with "
                                                "'systemctl start eden' or 'eden agent'")
                           : result;
    }
    return doctor_result(arena, DOCTOR_OK, "responds");
}

DoctorResult evaluate_ports(Arena *arena, const DoctorView *view)
{
    const DoctorPort *ports[] = { &view->rpc, &view->api, &view->health_port };
    size_t count = COUNT_OF(ports) - (view->health_port.address.len == 0);
    bool is_foreign = false;
    Buf wrong = buf_make_in(arena, BUF_UNLIMITED);
    if (!view->is_server) {
        return skip(arena);
    }
    if (view->settings_err.kind == ERROR_DENIED) {
        return doctor_result(arena, DOCTOR_SKIPPED, "requires root");
    }
    if (view->settings_err.kind != ERROR_NONE) {
        return doctor_fix(
            doctor_result(arena, DOCTOR_FAILED, "unknown ports: %s", view->settings_err.text),
            "fix server.json, or restore it from a copy");
    }
    if (is_hanging(view)) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server is unreachable");
    }
    for (size_t i = 0; i < count; i++) {
        bool listens = ports[i]->err.kind == ERROR_NONE;
        const char *between = wrong.len > 0 ? "; " : "";
        if (ports[i]->is_dynamic) {
            buf_put_format(&wrong,
                           "%s%" STR_FMT " in server.json has no fixed port: nodes cannot "
                           "find the server after a restart",
                           between, STR_ARG(ports[i]->address));
        } else if (ports[i]->is_foreign && !runs(view)) {
            is_foreign = true;
            buf_put_format(&wrong, "%s%" STR_FMT " is not an address of this machine", between,
                           STR_ARG(ports[i]->address));
        } else if (listens && !runs(view)) {
            buf_put_format(&wrong, "%s%" STR_FMT " is in use by another program", between,
                           STR_ARG(ports[i]->address));
        } else if (!listens && runs(view)) {
            buf_put_format(&wrong, "%s%" STR_FMT ": %s", between, STR_ARG(ports[i]->address),
                           ports[i]->err.text);
        }
    }
    if (wrong.len > 0) {
        DoctorResult result =
            doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT, STR_ARG(buf_str(&wrong)));
        return is_foreign
                   ? doctor_fix(result,
                                "set 'rpc', 'api' and 'health' in server.json to addresses of this "
                                "machine, or the first two to all addresses: 0.0.0.0:1337")
                   : result;
    }
    if (view->health_port.is_wildcard) {
        return doctor_fix(doctor_result(arena, DOCTOR_WARNING,
                                        "%" STR_FMT " answers health checks without TLS on all "
                                        "addresses of this machine",
                                        STR_ARG(view->health_port.address)),
                          "set 'health' in server.json to one address, such as 127.0.0.1:8080");
    }
    return doctor_result(arena, DOCTOR_OK,
                         runs(view) ? "listening on all of them" : "all are free");
}

static DoctorResult evaluate_free_space(Arena *arena, int64_t size, int64_t left)
{
    if (size == 0) {
        return doctor_result(arena, DOCTOR_SKIPPED, "unknown size");
    }
    DoctorState state = left < DISK_FAILED_BYTES || left < size / DISK_FAILED_SHARE ? DOCTOR_FAILED
                        : left < size / DISK_WARNING_SHARE                          ? DOCTOR_WARNING
                                                                                    : DOCTOR_OK;
    return doctor_result(arena, state, "%" PRId64 " MiB of %" PRId64 " MiB free", left >> 20,
                         size >> 20);
}

DoctorResult evaluate_disk(Arena *arena, const DoctorView *view)
{
    return view->is_server ? evaluate_free_space(arena, view->disk_size, view->disk_free)
                           : skip(arena);
}

DoctorResult evaluate_state_disk(Arena *arena, const DoctorView *view)
{
    return evaluate_free_space(arena, view->state_size, view->state_free);
}

DoctorResult evaluate_server_version(Arena *arena, const DoctorView *view)
{
    const DoctorResponse *session = &view->session;
    for (uint32_t i = 0; i < view->context_count && !session->was_queried; i++) {
        session = &view->contexts[i].session;
    }
    if (!session->was_queried || session->err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_SKIPPED, "no server has reported its version");
    }
    Str version = value_get_text(session->json, "version");
    return str_eq_c(version, EDEN_VERSION)
               ? doctor_result(arena, DOCTOR_OK, "%s", EDEN_VERSION)
               : doctor_result(arena, DOCTOR_WARNING,
                               "the server is %" STR_FMT ", this program is %s", STR_ARG(version),
                               EDEN_VERSION);
}

static uint32_t count_unreachable_etcd(const DoctorView *view, const DoctorPort **first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->etcd_count; i++) {
        if (view->etcd[i].err.kind != ERROR_NONE) {
            *first = count == 0 ? &view->etcd[i] : *first;
            count++;
        }
    }
    return count;
}

/* The server needs one member that is connected to a majority. Members that do not accept
 * connections are reported while the majority is still available. */
static DoctorResult evaluate_etcd(Arena *arena, const DoctorView *view)
{
    const char *fix = "start the members of etcd, and open their port (2379) in firewalls; servers "
                      "continue when a majority of members responds";
    const DoctorPort *first = NULL;
    uint32_t unreachable = count_unreachable_etcd(view, &first);
    bool is_healthy = runs(view) && value_get_bool(view->health.json, "healthy");
    if (runs(view) && !is_healthy) {
        Str why = view->store_reason.len > 0 ? view->store_reason : STR("etcd is not responding");
        return doctor_fix(doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT, STR_ARG(why)), fix);
    }
    if (unreachable == 0) {
        return is_healthy ? doctor_result(arena, DOCTOR_OK, "in etcd, writable")
                          : doctor_result(arena, DOCTOR_OK,
                                          "all members of etcd accept connections; no server is "
                                          "running");
    }
    bool is_fatal = !is_healthy && unreachable == view->etcd_count;
    return doctor_fix(doctor_result(arena, is_fatal ? DOCTOR_FAILED : DOCTOR_WARNING,
                                    "%u of %u members of etcd cannot be reached: %s", unreachable,
                                    view->etcd_count, first->err.text),
                      fix);
}

DoctorResult evaluate_store(Arena *arena, const DoctorView *view)
{
    if (!view->is_server && !runs(view)) {
        return skip(arena);
    }
    if (view->etcd_count > 0) {
        return evaluate_etcd(arena, view);
    }
    if (view->store_checked) {
        return view->store_err.kind == ERROR_NONE
                   ? doctor_result(arena, DOCTOR_OK, "intact; no server is running")
                   : doctor_result(arena, DOCTOR_FAILED, "%s", view->store_err.text);
    }
    if (!runs(view)) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server is unreachable");
    }
    if (value_get_bool(view->health.json, "healthy")) {
        return doctor_result(arena, DOCTOR_OK, "writable");
    }
    Str why = view->store_reason;
    if (str_eq_c(view->store_condition, "damaged")) {
        return doctor_fix(
            doctor_result(arena, DOCTOR_FAILED, "damaged and read-only: %" STR_FMT, STR_ARG(why)),
            "back up what is readable ('eden backup create FILE'), stop the server, then run 'eden "
            "cluster check'");
    }
    if (str_eq_c(view->store_condition, "full")) {
        return doctor_fix(doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT, STR_ARG(why)),
                          "free up space on the disk of the state directory, or delete data: 'eden "
                          "nodes remove', 'eden delete', 'eden audit archive'");
    }
    DoctorResult result = doctor_result(arena, DOCTOR_FAILED, "not writable%s%" STR_FMT,
                                        why.len > 0 ? ": " : "", STR_ARG(why));
    return doctor_fix(
        result,
        "do not stop the server, which may have the only copy: free up space, or recreate its "
        "directory for the server's user; it retries every 10 seconds; see its log for details");
}

DoctorResult evaluate_revocations(Arena *arena, const DoctorView *view)
{
    if (!view->is_server && !runs(view)) {
        return skip(arena);
    }
    if (!runs(view)) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server is unreachable");
    }
    return view->revocations_reason.len == 0 ? doctor_result(arena, DOCTOR_OK, "readable")
                                             : doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT,
                                                             STR_ARG(view->revocations_reason));
}

/* --- Cluster --------------------------------------------------------------------------------- */

/* Returns a skipped result, or a result with an empty text if the check can proceed. */
static DoctorResult check_queryable(Arena *arena, const DoctorView *view,
                                    const DoctorResponse *response)
{
    if (!view->is_server && !view->queries_remote) {
        return skip(arena);
    }
    if (!response->was_queried) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server is unreachable");
    }
    if (response->err.kind != ERROR_NONE) {
        return doctor_result(arena,
                             response->err.kind == ERROR_DENIED ? DOCTOR_SKIPPED : DOCTOR_FAILED,
                             "%s", response->err.text);
    }
    return (DoctorResult){ 0 };
}

/* A count and the first few names. */
typedef struct NameList {
    Buf text;
    uint32_t count;
} NameList;

static void add_name(NameList *named, Str name, Str detail)
{
    if (named->count++ < NAMES_SHOWN) {
        buf_put_format(&named->text, "%s%" STR_FMT, named->count > 1 ? ", " : "", STR_ARG(name));
        if (detail.len > 0) {
            buf_put_format(&named->text, " (%" STR_FMT ")", STR_ARG(detail));
        }
    }
}

static DoctorResult names_result(Arena *arena, const NameList *named, DoctorState state,
                                 const char *what, const char *none)
{
    if (named->count == 0) {
        return doctor_result(arena, DOCTOR_OK, "%s", none);
    }
    return doctor_result(arena, state, "%u %s: %" STR_FMT "%s", named->count, what,
                         STR_ARG(buf_str(&named->text)), named->count > NAMES_SHOWN ? ", ..." : "");
}

DoctorResult evaluate_silent(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->nodes);
    NameList silent = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    if (result.text.len > 0) {
        return result;
    }
    const List *nodes = object_items(view->nodes.json);
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value status = object_status(nodes->items[i]);
        if (str_eq_c(value_get_text(status, "state"), "silent")) {
            Str since = value_get_text(status, "since");
            add_name(&silent, object_name(nodes->items[i]),
                     since.len > 0 ? arena_format(arena, "since %" STR_FMT, STR_ARG(since))
                                   : since);
        }
    }
    return names_result(arena, &silent, DOCTOR_WARNING, "silent", "all nodes have a session");
}

static bool is_approved(const List *pending)
{
    for (uint32_t i = 0; i < pending->len; i++) {
        if (value_get_bool(pending->items[i], "approved")) {
            return true;
        }
    }
    return false;
}

DoctorResult evaluate_waiting(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->nodes);
    NameList waiting = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    if (result.text.len > 0) {
        return result;
    }
    const List *all = object_items(view->nodes.json);
    for (uint32_t i = 0; i < all->len; i++) {
        const List *pending = value_get_list(object_status(all->items[i]), "requests");
        if (pending->len > 0) {
            add_name(&waiting, object_name(all->items[i]),
                     is_approved(pending) ? STR("approved; must retry") : STR_EMPTY);
        }
    }
    return names_result(arena, &waiting, DOCTOR_WARNING, "waiting for approval",
                        "no machine is waiting for approval");
}

/* The value after "NAME " or "NAME{LABELS} " at the start of a line; -1 if there is none. */
static int64_t metric(Arena *arena, const DoctorView *view, const char *name)
{
    Str rest = value_is_string(view->metrics.json) ? value_str(view->metrics.json) : STR_EMPTY;
    Str line, start = str_from_c(name);
    while (str_split_next(&rest, '\n', &line)) {
        if (str_starts(line, start) && line.len > start.len && line.data[start.len] == ' ') {
            return strtoll(arena_copy_c(arena, str_from_offset(line, start.len + 1)), NULL, 10);
        }
    }
    return -1;
}

/* Counted since the server started. A few rejections are normal (an expired token); limits are
 * reached only if requests are sent in bulk or many machines boot at once. */
DoctorResult evaluate_joins(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->metrics);
    if (result.text.len > 0) {
        return result;
    }
    int64_t refused = metric(arena, view, "eden_joins_total{result=\"refused\"}");
    int64_t limited = metric(arena, view, "eden_joins_total{result=\"limited\"}");
    if (refused < 0 || limited < 0) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server does not report it");
    }
    return doctor_result(arena, limited > 0 ? DOCTOR_WARNING : DOCTOR_OK,
                         "%" PRId64 " rejected, %" PRId64
                         " over the limits, since the server started",
                         refused, limited);
}

/* Leases reserved for sessions do not count as free. */
DoctorResult evaluate_leases(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->metrics);
    if (result.text.len > 0) {
        return result;
    }
    int64_t used = metric(arena, view, "eden_store_leases");
    int64_t most = STORE_LEASES_MAX - STORE_LEASES_RESERVED;
    if (used < 0) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server does not report it");
    }
    DoctorState state = used >= most                                ? DOCTOR_FAILED
                        : used >= most / 100 * LEASES_WARNING_SHARE ? DOCTOR_WARNING
                                                                    : DOCTOR_OK;
    return doctor_result(arena, state, "%" PRId64 " of %d in use", used, (int)most);
}

/* Percent of the limit; -1 if the server does not report it. */
static int64_t objects_share(Arena *arena, const DoctorView *view, const Kind *kind)
{
    StoredUsage most = stored_limits(kind);
    int64_t objects =
        metric(arena, view, arena_format(arena, "eden_objects{kind=\"%s\"}", kind->name).data);
    int64_t bytes = metric(arena, view,
                           arena_format(arena, "eden_objects_bytes{kind=\"%s\"}", kind->name).data);
    if (objects < 0 || bytes < 0) {
        return -1;
    }
    int64_t by_count = objects * 100 / most.objects, by_size = bytes * 100 / (int64_t)most.bytes;
    return by_count > by_size ? by_count : by_size;
}

DoctorResult evaluate_objects(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->metrics);
    NameList many = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    if (result.text.len > 0) {
        return result;
    }
    for (uint32_t i = 0; kinds[i] != NULL; i++) {
        int64_t share = stored_is(kinds[i]) ? objects_share(arena, view, kinds[i]) : 0;
        if (share < 0) {
            return doctor_result(arena, DOCTOR_SKIPPED, "the server does not report it");
        }
        if (share >= OBJECTS_WARNING_SHARE) {
            add_name(&many, str_from_c(kinds[i]->plural),
                     arena_format(arena, "%" PRId64 " %%", share));
        }
    }
    return names_result(arena, &many, DOCTOR_WARNING, "close to their limit",
                        "all kinds are well below their limits");
}

/* Removing old logs is normal; the warning is for when that is not sufficient. */
DoctorResult evaluate_run_logs(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->metrics);
    if (result.text.len > 0) {
        return result;
    }
    int64_t bytes = metric(arena, view, "eden_run_logs_bytes");
    int64_t limit = metric(arena, view, "eden_run_logs_limit_bytes");
    int64_t removed = metric(arena, view, "eden_run_logs_removed_total");
    if (bytes < 0 || limit < 0 || removed < 0) {
        return doctor_result(arena, DOCTOR_SKIPPED, "the server does not report it");
    }
    return doctor_result(arena, bytes > limit ? DOCTOR_WARNING : DOCTOR_OK,
                         "%" PRId64 " MiB of at most %" PRId64 " MiB; %" PRId64
                         " old logs removed since the server started",
                         bytes >> 20, limit >> 20, removed);
}

/* Within the last 24 hours. */
DoctorResult evaluate_budgets(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->nodes);
    NameList limited = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    if (result.text.len > 0) {
        return result;
    }
    const List *all = object_items(view->nodes.json);
    for (uint32_t i = 0; i < all->len; i++) {
        Value status = object_status(all->items[i]);
        int64_t at_ms;
        if (utc_parse(value_get_text(status, "limited"), &at_ms) &&
            view->now_ms - at_ms < PKI_DAY_MS) {
            add_name(&limited, object_name(all->items[i]), value_get_text(status, "limit"));
        }
    }
    return names_result(arena, &limited, DOCTOR_WARNING, "exceeded their budget today",
                        "all nodes are within their budget");
}

DoctorResult evaluate_certificates(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->pki);
    NameList wrong = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    DoctorState state = DOCTOR_WARNING;
    if (result.text.len > 0) {
        return result;
    }
    const List *nodes = value_get_list(view->pki.json, "nodes");
    for (uint32_t i = 0; i < nodes->len; i++) {
        Str how = value_get_text(nodes->items[i], "state");
        if (!str_eq_c(how, "good")) {
            state = str_eq_c(how, "expired") ? DOCTOR_FAILED : state;
            add_name(&wrong, value_get_text(nodes->items[i], "name"), how);
        }
    }
    return names_result(arena, &wrong, state, "not valid", "all are valid");
}

DoctorResult evaluate_rotation(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->pki);
    NameList waits = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    bool is_stuck = false;
    if (result.text.len > 0) {
        return result;
    }
    const Value *found = value_get(view->pki.json, STR("rotation"));
    Value rotation = found != NULL ? *found : value_null();
    Str state = value_get_text(rotation, "state"), why = value_get_text(rotation, "error");
    if (why.len > 0) {
        return doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT, STR_ARG(why));
    }
    if (state.len == 0 || str_eq_c(state, "steady")) {
        return doctor_result(arena, DOCTOR_OK, "none in progress");
    }
    const List *all = value_get_list(rotation, "waits");
    for (uint32_t i = 0; i < all->len; i++) {
        bool silent = value_get_bool(all->items[i], "silent");
        is_stuck = is_stuck || silent;
        add_name(&waits, value_get_text(all->items[i], "node"),
                 silent ? STR("silent") : value_get_text(all->items[i], "what"));
    }
    Str since = value_get_text(rotation, "since");
    return doctor_result(arena, is_stuck ? DOCTOR_WARNING : DOCTOR_OK,
                         "'%" STR_FMT "' since %" STR_FMT ", waits for %u%s%" STR_FMT,
                         STR_ARG(state), STR_ARG(since), waits.count, waits.count > 0 ? ": " : "",
                         STR_ARG(buf_str(&waits.text)));
}

DoctorResult evaluate_tokens(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->tokens);
    NameList old = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    if (result.text.len > 0) {
        return result;
    }
    const List *tokens = value_get_list(view->tokens.json, "items");
    for (uint32_t i = 0; i < tokens->len; i++) {
        Value status = value_get_map(tokens->items[i], "status");
        Str state = value_get_text(status, "state");
        int64_t most = value_get_int(value_get_map(tokens->items[i], "spec"), "uses");
        bool is_spent = most > 0 && value_get_int(status, "uses") >= most;
        if (!str_eq_c(state, "good") && !is_spent) {
            add_name(&old, value_get_text(value_get_map(tokens->items[i], "metadata"), "name"),
                     state);
        }
    }
    return names_result(arena, &old, DOCTOR_WARNING, "no longer usable", "none");
}

DoctorResult evaluate_audit(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->audit);
    if (result.text.len > 0) {
        return result;
    }
    int64_t archived = value_get_int(value_get_map(view->audit.json, "archived"), "last");
    int64_t count = value_get_int(view->audit.json, "last") - archived;
    int64_t bytes = value_get_int(view->audit.json, "bytes");
    int64_t disk = value_get_int(view->audit.json, "disk_bytes");
    bool is_large = disk > 0 && bytes >= disk / 100 * AUDIT_WARNING_SHARE;
    if (count <= AUDIT_WARNING_ENTRIES && !is_large) {
        return (DoctorResult){ .state = DOCTOR_OK,
                               .text = output_count(arena, count, "entry", "entries") };
    }
    return doctor_fix(
        is_large ? doctor_result(arena, DOCTOR_WARNING,
                                 "%" PRId64 " entries that are not archived take %" PRId64
                                 " MiB, %" PRId64 " %% of the disk",
                                 count, bytes >> 20, bytes * 100 / disk)
                 : doctor_result(arena, DOCTOR_WARNING, "%" PRId64 " entries that are not archived",
                                 count),
        arena_format(arena, "'eden audit archive --to audit-%" PRId64 ".ndjson'", archived + 1)
            .data);
}

DoctorResult evaluate_versions(Arena *arena, const DoctorView *view)
{
    DoctorResult result = check_queryable(arena, view, &view->nodes);
    NameList other = { .text = buf_make_in(arena, BUF_UNLIMITED) };
    if (result.text.len > 0) {
        return result;
    }
    const List *nodes = object_items(view->nodes.json);
    for (uint32_t i = 0; i < nodes->len; i++) {
        Str version = value_get_text(object_status(nodes->items[i]), "version");
        if (version.len > 0 && !str_eq_c(version, EDEN_VERSION)) {
            add_name(&other, object_name(nodes->items[i]), version);
        }
    }
    return names_result(arena, &other, DOCTOR_WARNING, "have a version other than " EDEN_VERSION,
                        "all known nodes have " EDEN_VERSION);
}
