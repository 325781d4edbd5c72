/* /v1/audit-verification, /v1/audit-entries and /v1/audit/<name>/archive. */
#include <inttypes.h>
#include <stdio.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "audit/audit_drop.h"
#include "base/json_out.h"

enum {
    ENTRIES_DEFAULT = 200
};

/* The last archived entry, or null. */
static void put_anchor(Buf *json, const AuditHead *head)
{
    if (head->floor_sequence == 0) {
        json_out_null(json, "archived");
        return;
    }
    json_out_open(json, "archived", '{');
    json_out_int(json, "last", (int64_t)head->floor_sequence);
    json_out_text(json, "hash", str_from_c(head->floor_hash));
    json_out_time(json, "time", head->floor_time_ms);
    json_out_text(json, "who", str_from_c(head->floor_who));
    json_out_close(json, '}');
}

/* --- Verifying ------------------------------------------------------------------------------- */

static void on_verified(void *context, const AuditChain *chain, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.audit-verification/1");
    json_out_bool(&json, "whole", !chain->is_broken);
    json_out_int(&json, "entries", (int64_t)chain->count);
    json_out_int(&json, "last", (int64_t)chain->head.sequence);
    json_out_text(&json, "head", str_from_c(chain->head.hash));
    put_anchor(&json, &chain->head);
    if (chain->is_broken) {
        json_out_int(&json, "broken_at", (int64_t)chain->broken_at);
        json_out_text(&json, "what", str_from_c(chain->what));
    }
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void audit_verification_get(ApiCall *call)
{
    Audit *audit = call_settings(call)->audit;
    if (audit == NULL) {
        call_refuse(call, 503, "this server has no audit log");
    } else {
        audit_verify(audit, on_verified, call);
    }
}

/* --- Entries in order ------------------------------------------------------------------------ */

typedef struct EntriesRequest {
    ApiCall *call;
    AuditQuery query;
} EntriesRequest;

static void put_entries(Buf *json, const ApiSettings *settings, const AuditPage *page)
{
    int64_t now_ms = loop_wall_ms(settings->cluster_store.loop);
    AuditDropLimits limits = audit_drop_limits(&page->head, now_ms);
    json_out_start(json, "eden.audit-entries/1");
    json_out_text(json, "cluster", settings->cluster);
    json_out_int(json, "time_ms", now_ms);
    json_out_int(json, "last", (int64_t)page->head.sequence);
    json_out_int(json, "bytes", (int64_t)page->head.bytes);
    json_out_int(json, "disk_bytes", store_status(settings->cluster_store.store).disk_bytes);
    put_anchor(json, &page->head);
    json_out_open(json, "may_go", '{');
    json_out_int(json, "last", (int64_t)limits.last);
    json_out_int(json, "before_ms", limits.before_ms);
    json_out_close(json, '}');
    json_out_open(json, "entries", '[');
    for (uint32_t i = 0; i < page->count; i++) {
        json_out_item(json, page->entries[i].text);
    }
    json_out_close(json, ']');
    if (page->next > 0) {
        json_out_int(json, "next", (int64_t)page->next);
    } else {
        json_out_null(json, "next");
    }
    json_out_int(json, "unreadable", page->unreadable);
    json_out_close(json, '}');
}

static void on_entries(void *context, const AuditPage *page, const Error *err)
{
    const EntriesRequest *request = context;
    ApiCall *call = request->call;
    Error archived;
    if (!call_resume(call, err)) {
        return;
    }
    if (request->query.from > 0 && request->query.from <= page->head.floor_sequence) {
        error_set(&archived, ERROR_NOT_FOUND, "entries up to %" PRIu64 " are archived",
                  page->head.floor_sequence);
        call_fail(call, &archived);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    put_entries(&json, call_settings(call), page);
    call_respond(call, 200, &json);
}

void audit_entries_get(ApiCall *call)
{
    EntriesRequest *request = ARENA_NEW(&call->arena, EntriesRequest);
    Str from = call_parameter(call, "from");
    *request = (EntriesRequest){ .call = call };
    if (from.len > 0 && (!str_to_u64(from, &request->query.from) || request->query.from == 0)) {
        call_refuse(call, 400, "'from' must be the number of an entry, 1 or higher");
    } else if (call_parameter_count(call, "limit", ENTRIES_DEFAULT, AUDIT_PAGE_MAX,
                                    &request->query.limit)) {
        audit_list(call_store(call), &request->query, on_entries, request);
    }
}

/* --- Dropping archived entries --------------------------------------------------------------- */

static void on_dropped(void *context, const AuditHead *head, uint64_t count, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.audit-archived/1");
    json_out_int(&json, "dropped", (int64_t)count);
    put_anchor(&json, head);
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void audit_archive(ApiCall *call)
{
    AuditDropRequest request = { 0 };
    Str hash;
    Error err;
    if (!str_to_u64(call->part, &request.sequence)) {
        call_refuse(call, 400, "an audit log entry is identified by its number");
    } else if (!archive_body_read(&call->arena, call_body(call), &hash, &err)) {
        call_fail_body(call, &err);
    } else {
        snprintf(request.hash, sizeof request.hash, "%" STR_FMT, STR_ARG(hash));
        audit_drop(call_store(call), &request, str_from_c(call->caller.principal.who), on_dropped,
                   call);
    }
}
