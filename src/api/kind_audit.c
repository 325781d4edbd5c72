/* Audit: requests and their results, newest first. */
#include <inttypes.h>

#include "api/kind_rows.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"

/* --- Objects --------------------------------------------------------------------------------- */

static KindItem item_make(const Kind *kind, Arena *arena, const AuditEntry *entry)
{
    Map *status = map_new(arena, 12);
    KindItem item = { .name = arena_format(arena, "%" PRIu64, entry->sequence),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = entry->revision,
                      .created_ms = entry->time_ms,
                      .spec = value_missing(),
                      .status = value_map(status) };
    object_set_text(arena, status, "time", utc_text(arena, entry->time_ms));
    object_set_text(arena, status, "who", entry->who);
    object_set_text(arena, status, "by", str_from_c(principal_kind_name(entry->principal_kind)));
    object_set_text(arena, status, "address", entry->address);
    object_set_text(arena, status, "verb", entry->verb);
    object_set_text(arena, status, "kind", entry->kind);
    object_set_text(arena, status, "name", entry->name);
    object_set_text(arena, status, "reason", entry->reason);
    object_set_text(arena, status, "request", entry->request);
    object_set_text(arena, status, "outcome", str_from_c(audit_outcome_name(entry->outcome)));
    object_set_text(arena, status, "detail", entry->detail);
    object_set_text(arena, status, "previous", entry->previous);
    object_set_text(arena, status, "hash", entry->hash);
    object_uuid(kind, entry->hash, item.uuid);
    return item;
}

/* --- Reading --------------------------------------------------------------------------------- */

typedef struct AuditRead {
    const Kind *kind;
    Arena *arena;
    uint64_t sequence; /* requested entry; 0: a list */
    KindListed *listed;
    KindGetDone *get_done;
    void *context;
} AuditRead;

static void deliver_entry(const AuditRead *read, const AuditPage *page)
{
    Error err;
    if (read->sequence <= page->head.floor_sequence) {
        error_set(&err, ERROR_NOT_FOUND,
                  "entry %" PRIu64 " is archived: the log starts after %" PRIu64, read->sequence,
                  page->head.floor_sequence);
        read->get_done(read->context, NULL, &err);
        return;
    }
    if (page->count == 0 || page->entries[0].sequence != read->sequence) {
        error_set(&err, ERROR_NOT_FOUND, "audit log entry %" PRIu64 " not found", read->sequence);
        read->get_done(read->context, NULL, &err);
        return;
    }
    KindItem item = item_make(read->kind, read->arena, &page->entries[0]);
    read->get_done(read->context, &item, NULL);
}

static void deliver_list(const AuditRead *read, const AuditPage *page)
{
    KindItem *items = ARENA_ARRAY(read->arena, KindItem, page->count);
    KindItems out = { .items = items,
                      .count = page->count,
                      .archived = page->head.floor_sequence,
                      .revision = page->revision };
    for (uint32_t i = 0; i < page->count; i++) {
        items[i] = item_make(read->kind, read->arena, &page->entries[i]);
    }
    if (page->next > 0) {
        out.next = arena_format(read->arena, "%" PRIu64, page->next);
    }
    read->listed(read->context, &out, NULL);
}

static void read_done(void *context, const AuditPage *page, const Error *err)
{
    const AuditRead *read = context;
    if (err == NULL && read->get_done != NULL) {
        deliver_entry(read, page);
    } else if (err == NULL) {
        deliver_list(read, page);
    } else if (read->get_done != NULL) {
        read->get_done(read->context, NULL, err);
    } else {
        read->listed(read->context, NULL, err);
    }
}

static void list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindListed *done, void *context)
{
    AuditQuery query = { .limit = page->limit, .newest_first = true };
    Error err;
    if (page->after.len > 0 && (!str_to_u64(page->after, &query.from) || query.from == 0)) {
        error_set(&err, ERROR_INVALID, "invalid 'continue'; start again from the first page");
        done(context, NULL, &err);
        return;
    }
    AuditRead *read = ARENA_NEW(arena, AuditRead);
    *read = (AuditRead){ .kind = kind, .arena = arena, .listed = done, .context = context };
    audit_list(&settings->cluster_store, &query, read_done, read);
}

static void get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindGetDone *done, void *context)
{
    uint64_t sequence;
    Error err;
    if (!str_to_u64(name, &sequence) || sequence == 0) {
        error_set(&err, ERROR_INVALID, "an audit log entry is identified by its number");
        done(context, NULL, &err);
        return;
    }
    AuditRead *read = ARENA_NEW(arena, AuditRead);
    *read = (AuditRead){
        .kind = kind, .arena = arena, .sequence = sequence, .get_done = done, .context = context
    };
    audit_list(&settings->cluster_store, &(AuditQuery){ .from = sequence, .limit = 1 }, read_done,
               read);
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    return which == 0 ? cluster_key_audit_all(arena, prefix) : STR_EMPTY;
}

static bool key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    uint64_t sequence;
    if (!key_parse(arena, prefix, key, &found, parts) || found != KEY_AUDIT ||
        !str_to_u64(parts[0], &sequence)) {
        return false;
    }
    *name = arena_format(arena, "%" PRIu64, sequence);
    return true;
}

/* --- Row ------------------------------------------------------------------------------------- */

/* In column order. */
static const RecordField status[] = {
    { .name = "time", .type = RECORD_TIME, .column = { "TIME" }, .help = "when" },
    { .name = "who", .column = { "WHO" }, .help = "who made the request" },
    { .name = "verb", .column = { "VERB" }, .help = "the requested operation" },
    { .name = "kind", .column = { "KIND" }, .help = "kind of the object" },
    { .name = "name", .column = { "OBJECT" }, .help = "name of the object" },
    { .name = "outcome",
      .type = RECORD_CHOICE,
      .choices = "asked|done|failed|denied|unknown",
      .column = { "OUTCOME" },
      .help = "result; unknown: the store did not respond, and the change may have been made" },
    { .name = "reason", .column = { "REASON" }, .help = "reason given by the caller" },
    { .name = "by",
      .type = RECORD_CHOICE,
      .choices = "local|token|certificate|session|node|join|source",
      .column = { "BY", .is_wide = true },
      .help = "how the caller authenticated" },
    { .name = "address",
      .column = { "ADDRESS", .is_wide = true },
      .help = "address of the client" },
    { .name = "detail",
      .column = { "DETAIL", .is_wide = true },
      .help = "why it failed, was denied or is unknown" },
    { .name = "request",
      .column = { "REQUEST", .is_wide = true },
      .help = "ID of the request; the same in the entries for a request and its result" },
    { .name = "previous", .help = "hash of the previous entry" },
    { .name = "hash", .help = "hash of this entry, which includes the previous hash" },
    { 0 },
};

const Kind kind_audit = {
    .name = "Audit",
    .plural = "audit",
    .help = "Who requested what, and the result; lists start with the newest entry.",
    .verbs = KIND_LIST | KIND_GET,
    .status = status,
    .name_help = "number of the entry",
    .list_async = list,
    .get_async = get,
    .watch_prefix = watch_prefix,
    .key_to_name = key_to_name,
    .is_log = true,
};
