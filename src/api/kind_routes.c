/* /v1/<plural>/<name>: endpoints that all kinds share; lists are in kind_list.c.
 *
 * A change reads the object, checks preconditions and permission, applies the change, and writes it
 * if the object still has the revision that was read. On a conflict it starts over, up to TRIES_MAX
 * times. */
#include "api/call.h"
#include "api/handlers.h"
#include "api/object_draft.h"
#include "api/object_watch.h"
#include "api/record.h"
#include "base/bug.h"
#include "cluster/state.h"

enum {
    TRIES_MAX = 5 /* attempts if others change the same object concurrently */
};

/* A request about one object. */
typedef struct KindCall {
    ApiCall *call;
    const Kind *kind;
    ObjectBody body;
    FieldProblems problems; /* of the body, reported together with those of the draft */
    bool is_patch, is_put, is_delete;
    bool has_match;  /* If-Match or a revision in the body was given */
    bool match_any;  /* `has_match`: the object must exist, with any revision */
    int64_t match;   /* otherwise: the revision that the object must have */
    bool match_none; /* If-None-Match: it must not exist */
    uint32_t attempts;
    KindItem present;
    KindDraft draft;
} KindCall;

static const Kind *kind_of(const ApiCall *call)
{
    const Kind *kind = kind_find(str_from_c(call->row->kind));
    BUG_IF(kind == NULL);
    return kind;
}

static void respond_item(ApiCall *call, const Kind *kind, int status, const KindItem *item)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    object_print(&call->arena, &json, kind, item);
    if (item->revision > 0) {
        call->etag = arena_format(&call->arena, "\"%lld\"", (long long)item->revision);
    }
    call_respond(call, status, &json);
}

/* Result of reading the object. Returns false after responding. A caller with limited roles must
 * not learn about other objects, so this comes before any other check. */
static bool check_found(ApiCall *call, const KindItem *item, const Error *err)
{
    bool is_absent = err != NULL && err->kind == ERROR_NOT_FOUND;
    if (!call_resume(call, is_absent && call->is_limited ? NULL : err)) {
        return false;
    }
    if (!is_absent && call_may_see(call, item)) {
        return true;
    }
    call_refuse_hidden(call);
    return false;
}

/* --- Single object --------------------------------------------------------------------------- */

static void on_get(void *context, const KindItem *item, const Error *err)
{
    ApiCall *call = context;
    if (check_found(call, item, err)) {
        respond_item(call, kind_of(call), 200, item);
    }
}

void kind_route_get(ApiCall *call)
{
    const Kind *kind = kind_of(call);
    if (object_watch_is_requested(call)) {
        object_watch(call, kind);
        return;
    }
    kind_get(kind, call_settings(call), &call->arena, call->part, on_get, call);
}

/* --- Preconditions --------------------------------------------------------------------------- */

/* Accepts If-Match with one strong tag or "*", and If-None-Match with "*". */
static bool read_match(KindCall *change)
{
    const Http1Head *head = http_request_head(change->call->request);
    const Str *header = http1_find(head, "If-Match"), *none = http1_find(head, "If-None-Match");
    change->match_none = none != NULL;
    if (none != NULL && !str_eq_c(*none, "*")) {
        call_refuse(change->call, 400, "'If-None-Match' of a change must be '*' or absent");
        return false;
    }
    if (header == NULL) {
        change->has_match = change->body.revision > 0;
        change->match = change->body.revision;
        return true;
    }
    change->has_match = true;
    change->match_any = str_eq_c(*header, "*");
    bool quoted = header->len > 2 && header->data[0] == '"' && str_ends(*header, STR("\""));
    if (!change->match_any &&
        (!quoted || !str_to_i64(str_slice(*header, 1, header->len - 1), &change->match))) {
        call_refuse(change->call, 400,
                    "'If-Match' must be one ETag as returned by the server, or '*'");
        return false;
    }
    return true;
}

/* `item` NULL: it does not exist, or the caller may not see it. */
static bool check_match(const KindCall *change, const KindItem *item)
{
    ApiCall *call = change->call;
    if (change->match_none && item != NULL) {
        call_refuse(call, 412,
                    "the object exists, but 'If-None-Match: *' requires that it does not");
        return false;
    }
    if (!change->has_match || (item != NULL && change->match_any) ||
        (item != NULL && item->revision == change->match)) {
        return true;
    }
    if (item == NULL) {
        call_refuse(call, 412,
                    change->match_any
                        ? "the object does not exist, but 'If-Match: *' requires that it does"
                        : "the object does not exist, but the request specifies a revision");
        return false;
    }
    Str text = arena_format(
        &call->arena,
        "the object has revision %lld, but the request is based on %lld; read it again",
        (long long)item->revision, (long long)change->match);
    call_refuse(call, 412, text.data);
    return false;
}

static KindCall *change_new(ApiCall *call)
{
    KindCall *change = ARENA_NEW(&call->arena, KindCall);
    *change = (KindCall){ .call = call, .kind = kind_of(call) };
    call->handler_data = change;
    return change;
}

/* --- Changing -------------------------------------------------------------------------------- */

static bool build_draft(KindCall *change, const KindItem *present)
{
    ApiCall *call = change->call;
    FieldProblems problems = change->problems;
    object_draft(&call->arena, change->kind, &change->body, change->is_patch, present,
                 &change->draft, &problems);
    if (problems.count > 0) {
        call_refuse_fields(call, &problems);
        return false;
    }
    /* The change must not move the object out of the caller's scope. For a missing object the
     * response is the same as for a hidden one. */
    if (change->kind->is_about_nodes ||
        call_may_access(call, change->draft.name, change->draft.labels)) {
        return true;
    }
    if (present == NULL) {
        call_refuse_hidden(call);
    } else {
        call_refuse(call, 403, "your roles would not allow access to the changed object");
    }
    return false;
}

/* Permission to update does not include creation. Returns false after responding. */
static bool may_create(const KindCall *change)
{
    ApiCall *call = change->call;
    const Credentials *credentials = call_settings(call)->credentials;
    AccessDecision decision;
    if (!change->is_put || credentials == NULL) {
        return true;
    }
    Value labels = change->draft.labels;
    credentials_decide(credentials, &call->caller.principal, STR("create"),
                       str_from_c(change->kind->name), &decision);
    if (!access_decision_allows(&decision, change->draft.name,
                                labels.kind == VALUE_MAP ? labels.map : NULL)) {
        call_refuse(call, 403, decision.reason);
        return false;
    }
    return true;
}

static void create(KindCall *change)
{
    ApiCall *call = change->call;
    if ((change->kind->verbs & KIND_CREATE) == 0) {
        call_refuse(call, 404,
                    "object not found, and objects of this kind cannot be created this way");
    } else if (build_draft(change, NULL) && may_create(change)) {
        change->kind->create(change->kind, call, &change->draft);
    }
}

/* Whether the request can proceed if the object does not exist. Must not reveal hidden objects to
 * callers with limited roles. */
static bool may_create_missing(const KindCall *change)
{
    const ApiCall *call = change->call;
    AccessDecision decision;
    if (!change->is_put || !call->is_limited) {
        return change->is_put;
    }
    credentials_decide(call_settings(call)->credentials, &call->caller.principal, STR("create"),
                       str_from_c(change->kind->name), &decision);
    return !change->has_match && (change->kind->verbs & KIND_CREATE) != 0 &&
           decision.verdict != ACCESS_DENIED;
}

static void on_object_read(void *context, const KindItem *item, const Error *err);

static void read_object(KindCall *change)
{
    ApiCall *call = change->call;
    change->attempts++;
    kind_get(change->kind, call_settings(call), &call->arena, call->part, on_object_read, call);
}

/* Reports other errors of the request before the missing object. */
static void refuse_absent(const KindCall *change)
{
    ApiCall *call = change->call;
    if (!call_resume(call, NULL)) {
        return;
    }
    if (change->problems.count > 0) {
        call_refuse_fields(call, &change->problems);
    } else {
        (void)check_match(change, NULL);
    }
}

static void on_object_read(void *context, const KindItem *item, const Error *err)
{
    ApiCall *call = context;
    bool is_absent = err != NULL && err->kind == ERROR_NOT_FOUND;
    KindCall *change = call->handler_data;
    if (is_absent && call->api != NULL && may_create_missing(change)) {
        if (call_resume(call, NULL) && check_match(change, NULL)) {
            create(change);
        }
        return;
    }
    /* Hidden and missing objects get the same response here too. */
    bool is_hidden = err == NULL && call->api != NULL && !call_may_see(call, item);
    if ((is_absent || is_hidden) && (change->problems.count > 0 || change->has_match)) {
        refuse_absent(change);
        return;
    }
    if (!check_found(call, item, err) || !check_match(change, item)) {
        return;
    }
    if (change->is_patch && item->error.len > 0) {
        call_refuse(call, 409,
                    "the stored object cannot be read: replace it completely (PUT), or delete it");
        return;
    }
    change->present = *item;
    if (change->is_delete) {
        change->kind->remove(change->kind, call, &change->present);
    } else if (build_draft(change, &change->present)) {
        change->kind->update(change->kind, call, &change->draft);
    }
}

/* Returns false after responding. */
static bool read_body(KindCall *change, Str body)
{
    ApiCall *call = change->call;
    Error err;
    if (!object_body_read(&call->arena, change->kind, body, &change->body, &change->problems,
                          &err)) {
        call_fail_body(call, &err);
        return false;
    }
    return true;
}

static void start_change(ApiCall *call, bool is_patch)
{
    KindCall *change = change_new(call);
    change->is_patch = is_patch;
    change->is_put = !is_patch;
    if (!read_body(change, call_body(call))) {
        return;
    }
    if (change->body.name.len > 0 && !str_eq(change->body.name, call->part)) {
        field_problem(&call->arena, &change->problems, STR("/metadata/name"),
                      "must be the name in the URL");
    }
    change->body.name = call->part;
    if (read_match(change)) {
        read_object(change);
    }
}

void kind_route_put(ApiCall *call)
{
    start_change(call, false);
}

void kind_route_patch(ApiCall *call)
{
    start_change(call, true);
}

void kind_route_create(ApiCall *call)
{
    KindCall *change = change_new(call);
    Str body = call_body(call);
    if (read_body(change, body.len == 0 ? STR("{}") : body)) {
        create(change);
    }
}

void kind_respond_created(ApiCall *call, const KindItem *item)
{
    call->location =
        arena_format(&call->arena, "/v1/%s/%" STR_FMT, kind_of(call)->plural, STR_ARG(item->name));
    record_name(call, item->name);
    respond_item(call, kind_of(call), 201, item);
}

static void on_created_read(void *context, const KindItem *item, const Error *err)
{
    ApiCall *call = context;
    if (call_resume(call, err)) {
        kind_respond_created(call, item);
    }
}

/* Usually the state includes the write by now. If it has fallen behind, it would return the
 * previous object or none. */
void kind_changed(ApiCall *call, Str name, bool is_new)
{
    const Kind *kind = kind_of(call);
    Error err;
    if (state_age(call_store(call)->state).is_behind) {
        error_set(&err, ERROR_UNKNOWN,
                  "it was written, but the store became unavailable before it could be read back");
        call_fail(call, &err);
        return;
    }
    kind_get(kind, call_settings(call), &call->arena, name, is_new ? on_created_read : on_get,
             call);
}

/* Returns false if it has responded, or after a conflict restarted the request, which then checks
 * the preconditions again. A create request is never restarted, since it has read no object. */
static bool finish_change(ApiCall *call, const Error *err)
{
    KindCall *change = call->handler_data;
    bool should_retry = err != NULL && err->kind == ERROR_CONFLICT && change->attempts > 0 &&
                        change->attempts < TRIES_MAX;
    if (!call_resume(call, should_retry ? NULL : err)) {
        return false;
    }
    if (should_retry) {
        read_object(change);
    }
    return !should_retry;
}

void kind_create_done(ApiCall *call, Str name, const Error *err)
{
    if (finish_change(call, err)) {
        kind_changed(call, arena_copy(&call->arena, name), true);
    }
}

void kind_update_done(void *context, const Error *err)
{
    ApiCall *call = context;
    if (finish_change(call, err)) {
        kind_changed(call, call->part, false);
    }
}

/* --- Deleting -------------------------------------------------------------------------------- */

void kind_remove_done(void *context, const Error *err)
{
    if (finish_change(context, err)) {
        call_done(context, NULL);
    }
}

void kind_route_delete(ApiCall *call)
{
    KindCall *change = change_new(call);
    change->is_delete = true;
    if (read_match(change)) {
        read_object(change);
    }
}
