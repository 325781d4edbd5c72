#include "cli/audit_archiver.h"

#include <inttypes.h>
#include <stdio.h>

#include "audit/audit_drop_plan.h"
#include "base/utc.h"
#include "cli/audit_files.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "lang/duration.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/file_stream.h"

enum {
    PAGE_ENTRIES = 200,               /* entries per request */
    DROP_TIMEOUT_MS = 30 * 60 * 1000, /* timeout for the server to drop the entries */
    PROGRESS_INTERVAL_US = 2000000,   /* interval of progress messages */
};

typedef struct Archiver {
    Invocation *invocation;
    const char *path;
    bool file_existed; /* before this command was run */
    int64_t before_ms; /* INT64_MAX: not given */
    int64_t age_ms;    /* -1: not given */
    int64_t keep;      /* number of newest entries to keep */
    AuditAnchor anchor;
    AuditArchive archive; /* the part written so far; empty while `last` < `first` */
    AuditDropLimits limits;
    uint64_t next; /* sequence number of the next entry; 0: nothing read yet */
    bool is_done;  /* all eligible entries have been written */
    FileDraft *draft;
    int64_t progress_us; /* when progress was last printed */
    bool printed_progress;
} Archiver;

bool audit_anchor_read(Value response, AuditAnchor *out, Error *err)
{
    Value archived = value_get_map(response, "archived");
    bool has_archive = archived.kind == VALUE_MAP;
    int64_t last = has_archive ? value_get_int(archived, "last") : 0;
    Str hash = has_archive ? value_get_text(archived, "hash") : STR(AUDIT_GENESIS);
    Str cluster = value_get_text(response, "cluster");
    *out = (AuditAnchor){ .sequence = (uint64_t)last };
    if (cluster.len == 0 || cluster.len > CLUSTER_NAME_MAX || last < 0 ||
        hash.len != AUDIT_HASH_TEXT) {
        return error_set(err, ERROR_INVALID, "the server did not report where its log starts");
    }
    snprintf(out->cluster, sizeof out->cluster, "%" STR_FMT, STR_ARG(cluster));
    snprintf(out->hash, sizeof out->hash, "%" STR_FMT, STR_ARG(hash));
    return true;
}

/* --- Options --------------------------------------------------------------------------------- */

/* Parses --before: "2026-01-31", "2026-01-31T08:15:30Z", or an age such as "90d". */
static bool read_before(Archiver *archiver, const char *text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    archiver->before_ms = INT64_MAX;
    archiver->age_ms = -1;
    if (text == NULL) {
        return true;
    }
    Str day = arena_format(&arena, "%sT00:00:00Z", text);
    return utc_parse(str_from_c(text), &archiver->before_ms) ||
           utc_parse(day, &archiver->before_ms) ||
           duration_parse(str_from_c(text), &archiver->age_ms);
}

static int fail(const Archiver *archiver, const Error *err)
{
    return daemon_command_fail(archiver->invocation, "E0874", err);
}

/* --- Writing --------------------------------------------------------------------------------- */

static void start(Archiver *archiver, Value page)
{
    AuditArchive *archive = &archiver->archive;
    const AuditAnchor *anchor = &archiver->anchor;
    Value droppable = value_get_map(page, "may_go");
    int64_t last_droppable = value_get_int(page, "last") - archiver->keep;
    AuditDropLimits *limits = &archiver->limits;
    memcpy(archive->cluster, anchor->cluster, sizeof archive->cluster);
    archive->first = anchor->sequence + 1;
    archive->last = anchor->sequence;
    memcpy(archive->previous, anchor->hash, sizeof archive->previous);
    archiver->next = archive->first;
    /* Ages are relative to the server's clock, because the timestamps are from that clock. */
    int64_t before_ms = archiver->age_ms < 0 ? archiver->before_ms
                                             : value_get_int(page, "time_ms") - archiver->age_ms;
    *limits = (AuditDropLimits){ (uint64_t)value_get_int(droppable, "last"),
                                 value_get_int(droppable, "before_ms") };
    limits->before_ms = before_ms < limits->before_ms ? before_ms : limits->before_ms;
    if (last_droppable < (int64_t)limits->last) {
        limits->last = last_droppable < 0 ? 0 : (uint64_t)last_droppable;
    }
}

static bool write_entry(Archiver *archiver, Str text, const AuditEntry *entry, Error *err)
{
    AuditArchive *archive = &archiver->archive;
    if (archiver->draft == NULL) {
        AUTO_CLEAR(Buf) header = buf_make(BUF_UNLIMITED);
        audit_archive_print(archive, &header);
        if (!file_draft_open(archiver->path, 0600, true, &archiver->draft, err) ||
            !file_draft_put(archiver->draft, buf_str(&header), err)) {
            return false;
        }
    }
    archive->last = entry->sequence;
    snprintf(archive->hash, sizeof archive->hash, "%" STR_FMT, STR_ARG(entry->hash));
    return file_draft_put(archiver->draft, text, err) &&
           file_draft_put(archiver->draft, STR("\n"), err);
}

static bool write_page(Archiver *archiver, Arena *arena, Value page, Error *err)
{
    const List *entries = value_get_list(page, "entries");
    for (uint32_t i = 0; i < entries->len; i++) {
        AuditEntry entry;
        Str text = value_is_string(entries->items[i]) ? value_str(entries->items[i]) : STR_EMPTY;
        if (!audit_entry_read(arena, text, &entry, err)) {
            return error_wrap(err, "entry %" PRIu64, archiver->next);
        }
        if (entry.sequence != archiver->next) {
            return error_set(err, ERROR_CONFLICT,
                             "entry %" PRIu64 " is missing from the log or unreadable, or "
                             "another process is archiving the log",
                             archiver->next);
        }
        if (!audit_drop_is_allowed(&archiver->limits, &entry)) {
            archiver->is_done = true;
            return true;
        }
        if (!write_entry(archiver, text, &entry, err)) {
            return false;
        }
        archiver->next++;
    }
    archiver->is_done = value_get_int(page, "next") == 0;
    return true;
}

/* Pages are processed one at a time to bound memory. */
static int fetch_page(Archiver *archiver)
{
    AUTO_CLEAR(Arena) arena;
    Invocation page_invocation = *archiver->invocation;
    Value page;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    page_invocation.arena = &arena;
    Str target = archiver->next == 0
                     ? arena_format(&arena, "/v1/audit-entries?limit=%d", PAGE_ENTRIES)
                     : arena_format(&arena, "/v1/audit-entries?limit=%d&from=%" PRIu64,
                                    PAGE_ENTRIES, archiver->next);
    int code = cluster_call(&page_invocation,
                            &(ClusterRequest){ .method = "GET", .target = target }, &page);
    if (code != EXIT_OK) {
        return code;
    }
    if (archiver->next == 0) {
        if (!audit_anchor_read(page, &archiver->anchor, &err)) {
            return fail(archiver, &err);
        }
        start(archiver, page);
        archiver->is_done = archiver->file_existed;
        if (archiver->is_done) {
            return EXIT_OK;
        }
    }
    return write_page(archiver, &arena, page, &err) ? EXIT_OK : fail(archiver, &err);
}

/* Rewrites the header with the final state, then reads the file back to verify it. */
static bool finish_file(Archiver *archiver, Error *err)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(AuditArchiveReader) reader;
    audit_archive_reader_init(&reader);
    audit_archive_print(&archiver->archive, &line);
    if (!file_draft_put_first(archiver->draft, buf_str(&line), err) ||
        !file_draft_keep(archiver->draft, err)) {
        return false;
    }
    return audit_file_check(archiver->path, &reader, err);
}

/* Continues an archive whose entries have not all been dropped from the log yet. */
static bool resume_file(Archiver *archiver, Error *err)
{
    const AuditAnchor *anchor = &archiver->anchor;
    AUTO_CLEAR(AuditArchiveReader) reader;
    const AuditArchive *archive = &reader.archive;
    audit_archive_reader_init(&reader);
    audit_archive_reader_mark(&reader, anchor->sequence, anchor->hash);
    if (!audit_file_check(archiver->path, &reader, err)) {
        error_wrap(err, "the file exists and cannot be extended");
        err->kind = ERROR_CONFLICT;
        return false;
    }
    if (strcmp(anchor->cluster, archive->cluster) != 0 || archive->first > anchor->sequence + 1 ||
        archive->last <= anchor->sequence) {
        return error_set(err, ERROR_CONFLICT,
                         "%s already exists: it has entries %" PRIu64 " to %" PRIu64
                         " of cluster '%s', but the log of '%s' starts after %" PRIu64,
                         archiver->path, archive->first, archive->last, archive->cluster,
                         anchor->cluster, anchor->sequence);
    }
    archiver->archive = *archive;
    output_line(archiver->invocation->err,
                "%s already exists and is complete: dropping its entries from the log",
                archiver->path);
    return true;
}

/* --- Dropping -------------------------------------------------------------------------------- */

static int drop_entries(const Archiver *archiver)
{
    Invocation *invocation = archiver->invocation;
    const AuditArchive *archive = &archiver->archive;
    Arena *arena = invocation->arena;
    Map *body = map_new(arena, 1);
    Value response;
    map_set_str(arena, body, STR("hash"), value_string(str_from_c(archive->hash)));
    int code =
        cluster_call(invocation,
                     &(ClusterRequest){ .method = "POST",
                                        .target = arena_format(
                                            arena, "/v1/audit/%" PRIu64 "/archive", archive->last),
                                        .body = cluster_body(arena, value_map(body)),
                                        .timeout_ms = DROP_TIMEOUT_MS },
                     &response);
    if (code != EXIT_OK) {
        output_line(
            invocation->err,
            "%s is complete; run the same command again to drop the remaining entries from the log",
            archiver->path);
    }
    return code;
}

static int print_result(const Archiver *archiver)
{
    Invocation *invocation = archiver->invocation;
    const AuditArchive *archive = &archiver->archive;
    Arena *arena = invocation->arena;
    bool is_none = archive->last < archive->first;
    if (output_wants_value(invocation)) {
        Map *map = map_new(arena, 6);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.audit-archiving/1")));
        map_set_str(arena, map, STR("entries"),
                    value_int((int64_t)(archive->last - archive->first + 1)));
        if (!is_none) {
            map_set_str(arena, map, STR("file"), value_string(str_from_c(archiver->path)));
            map_set_str(arena, map, STR("first"), value_int((int64_t)archive->first));
            map_set_str(arena, map, STR("last"), value_int((int64_t)archive->last));
            map_set_str(arena, map, STR("hash"), value_string(str_from_c(archive->hash)));
        }
        return output_response(invocation, value_map(map));
    }
    if (is_none) {
        output_line(invocation->out,
                    "nothing to archive: the newest %d entries, those of the last %d days and "
                    "those selected by --keep stay in the log",
                    AUDIT_RETAINED_ENTRIES, AUDIT_RETAINED_DAYS);
        return EXIT_OK;
    }
    output_line(invocation->out,
                "moved entries %" PRIu64 " to %" PRIu64 " to %s; "
                "the hash of the last one is %s",
                archive->first, archive->last, archiver->path, archive->hash);
    return EXIT_OK;
}

/* Reports progress if archiving takes long. */
static void print_progress(Archiver *archiver)
{
    const AuditArchive *archive = &archiver->archive;
    int64_t now_us = clock_monotonic_us();
    if (now_us - archiver->progress_us >= PROGRESS_INTERVAL_US) {
        archiver->progress_us = now_us;
        archiver->printed_progress = true;
        output_line(archiver->invocation->err, "%" PRIu64 " entries written, up to %" PRIu64,
                    archive->last - archive->first + 1, archive->last);
    }
}

static int archive(Archiver *archiver)
{
    Error err;
    archiver->progress_us = clock_monotonic_us();
    while (!archiver->is_done) {
        int code = fetch_page(archiver);
        if (code != EXIT_OK) {
            return code;
        }
        print_progress(archiver);
    }
    if (archiver->draft == NULL && !archiver->file_existed) {
        return print_result(archiver);
    }
    if (!(archiver->file_existed ? resume_file(archiver, &err) : finish_file(archiver, &err))) {
        return fail(archiver, &err);
    }
    if (archiver->printed_progress) {
        output_line(archiver->invocation->err, "%s is complete: dropping its entries from the log",
                    archiver->path);
    }
    int code = drop_entries(archiver);
    return code == EXIT_OK ? print_result(archiver) : code;
}

int audit_archive_run(Invocation *invocation)
{
    const char *keep_text = invocation_text(invocation, "keep");
    Archiver archiver = { .invocation = invocation, .path = invocation_text(invocation, "to") };
    if (archiver.path == NULL) {
        return usage_error(invocation, "--to FILE is required");
    }
    if (!read_before(&archiver, invocation_text(invocation, "before"))) {
        return usage_error(invocation,
                           "--before must be a date (2026-01-31), a time (2026-01-31T08:15:30Z) or "
                           "an age (90d), not '%s'",
                           invocation_text(invocation, "before"));
    }
    if (!str_to_i64(str_from_c(keep_text), &archiver.keep) || archiver.keep < 0) {
        return usage_error(invocation, "--keep must be a number of entries, not '%s'", keep_text);
    }
    archiver.file_existed = file_exists(archiver.path);
    int code = archive(&archiver);
    file_draft_close(archiver.draft);
    return code;
}
