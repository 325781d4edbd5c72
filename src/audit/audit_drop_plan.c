/* Decides which entries may be dropped, and verifies each batch against the chain before it is
 * deleted. */
#include "audit/audit_drop_plan.h"

#include <string.h>

#include "base/utc.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

AuditDropLimits audit_drop_limits(const AuditHead *head, int64_t now_ms)
{
    return (AuditDropLimits){
        .last =
            head->sequence > AUDIT_RETAINED_ENTRIES ? head->sequence - AUDIT_RETAINED_ENTRIES : 0,
        .before_ms = now_ms - AUDIT_RETAINED_DAYS * DAY_MS,
    };
}

bool audit_drop_is_allowed(const AuditDropLimits *limits, const AuditEntry *entry)
{
    return entry->sequence <= limits->last && entry->time_ms < limits->before_ms;
}

static bool refuse_recent(const AuditEntry *entry, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return error_set(
        err, ERROR_CONFLICT,
        "entries of the last %d days stay in the log, and entry %llu is from %" STR_FMT,
        AUDIT_RETAINED_DAYS, (unsigned long long)entry->sequence,
        STR_ARG(utc_text(&arena, entry->time_ms)));
}

bool audit_drop_decide(const AuditHead *head, const AuditDropLimits *limits,
                       const AuditDropRequest *request, Str text, uint64_t *remaining, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AuditEntry entry;
    unsigned long long sequence = request->sequence;
    arena_init(&arena, ARENA_UNLIMITED);
    *remaining = 0;
    if (request->sequence == 0 || request->sequence > head->sequence) {
        return error_set(err, ERROR_NOT_FOUND, "audit log entry %llu not found", sequence);
    }
    if (request->sequence == head->floor_sequence && strcmp(request->hash, head->floor_hash) == 0) {
        return true;
    }
    if (request->sequence <= head->floor_sequence) {
        return error_set(err, ERROR_CONFLICT, "entries up to %llu are already archived%s",
                         (unsigned long long)head->floor_sequence,
                         request->sequence == head->floor_sequence
                             ? ", and the last one has a different hash"
                             : "");
    }
    if (text.len == 0) {
        return error_set(err, ERROR_CONFLICT,
                         "entry %llu is missing: the audit log is incomplete; nothing was dropped",
                         sequence);
    }
    if (!audit_entry_read(&arena, text, &entry, err)) {
        err->kind = ERROR_CONFLICT;
        return false;
    }
    if (!str_eq_c(entry.hash, request->hash)) {
        return error_set(
            err, ERROR_CONFLICT,
            "entry %llu of this log has a different hash: the archive is from another log",
            sequence);
    }
    if (request->sequence > limits->last) {
        return error_set(err, ERROR_CONFLICT,
                         "the newest %d entries stay in the log: currently those after %llu",
                         AUDIT_RETAINED_ENTRIES, (unsigned long long)limits->last);
    }
    if (!audit_drop_is_allowed(limits, &entry)) {
        return refuse_recent(&entry, err);
    }
    *remaining = request->sequence - head->floor_sequence;
    return true;
}

uint64_t audit_drop_batch_end(const AuditHead *head, const AuditDropRequest *request)
{
    uint64_t end = head->floor_sequence + AUDIT_DROP_BATCH;
    return end < request->sequence ? end : request->sequence;
}

static bool check_age(const AuditDropLimits *limits, Str text, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AuditEntry entry;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!audit_entry_read(&arena, text, &entry, err)) {
        return false;
    }
    return audit_drop_is_allowed(limits, &entry) || refuse_recent(&entry, err);
}

bool audit_drop_advance(AuditHead *head, const AuditDropLimits *limits, const Str *texts,
                        uint32_t count, Error *err)
{
    AuditChain chain;
    uint64_t bytes = 0;
    audit_chain_start(&chain, head);
    for (uint32_t i = 0; i < count; i++) {
        if (!audit_chain_add(&chain, chain.sequence + 1, texts[i])) {
            return error_set(err, ERROR_CONFLICT,
                             "the audit log is damaged; nothing was dropped: entry %llu: %s",
                             (unsigned long long)chain.broken_at, chain.what);
        }
        if (!check_age(limits, texts[i], err)) {
            return false;
        }
        bytes += texts[i].len;
    }
    /* Entries written by earlier versions are not included in the size. */
    head->bytes -= bytes < head->bytes ? bytes : head->bytes;
    head->floor_sequence = chain.sequence;
    memcpy(head->floor_hash, chain.hash, sizeof head->floor_hash);
    return true;
}
