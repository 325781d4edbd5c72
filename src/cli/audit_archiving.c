#include "cli/audit_archiving.h"

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
#include "sys/file_draft.h"

enum {
    PAGE = 200,               /* entries per request */
    DROP_MS = 30 * 60 * 1000, /* timeout for the server to drop the entries */
    TELL_US = 2000000,        /* interval of progress messages */
};

typedef struct Archiving {
    Invocation *invocation;
    const char *path;
    bool is_there;     /* the file existed before this command */
    int64_t before_ms; /* INT64_MAX: not given */
    int64_t age_ms;    /* -1: not given */
    int64_t keep;
    AuditAnchor anchor;
    AuditArchive archive; /* what was written so far; empty while `last` < `first` */
    AuditDropLimits limits;
    uint64_t next; /* sequence number of the next entry; 0: nothing read yet */
    bool is_over;  /* all entries that qualify are written */
    FileDraft *draft;
    int64_t told_us; /* time of the last progress message */
    bool has_told;
} Archiving;

bool audit_anchor_read(Value answer, AuditAnchor *out, Error *err)
{
    Value archived = value_get_map(answer, "archived");
    bool is_there = archived.kind == VALUE_MAP;
    int64_t last = is_there ? value_get_int(archived, "last") : 0;
    Str hash = is_there ? value_get_text(archived, "hash") : STR(AUDIT_GENESIS);
    Str cluster = value_get_text(answer, "cluster");
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

/* Accepts "2026-01-31", "2026-01-31T08:15:30Z" and ages such as "90d". */
static bool read_before(Archiving *archiving, const char *text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    archiving->before_ms = INT64_MAX;
    archiving->age_ms = -1;
    if (text == NULL) {
        return true;
    }
    Str day = arena_format(&arena, "%sT00:00:00Z", text);
    return utc_parse(str_from_c(text), &archiving->before_ms) ||
           utc_parse(day, &archiving->before_ms) ||
           duration_parse(str_from_c(text), &archiving->age_ms);
}

static int fail(const Archiving *archiving, const Error *err)
{
    return daemon_command_fail(archiving->invocation, "E0874", err);
}

/* --- Writing --------------------------------------------------------------------------------- */

static void start(Archiving *archiving, Value page)
{
    AuditArchive *archive = &archiving->archive;
    const AuditAnchor *anchor = &archiving->anchor;
    Value may_go = value_get_map(page, "may_go");
    int64_t kept_from = value_get_int(page, "last") - archiving->keep;
    AuditDropLimits *limits = &archiving->limits;
    memcpy(archive->cluster, anchor->cluster, sizeof archive->cluster);
    archive->first = anchor->sequence + 1;
    archive->last = anchor->sequence;
    memcpy(archive->previous, anchor->hash, sizeof archive->previous);
    archiving->next = archive->first;
    /* Ages are relative to the server's clock, which wrote the timestamps. */
    int64_t before_ms = archiving->age_ms < 0 ? archiving->before_ms
                                              : value_get_int(page, "time_ms") - archiving->age_ms;
    *limits = (AuditDropLimits){ (uint64_t)value_get_int(may_go, "last"),
                                 value_get_int(may_go, "before_ms") };
    limits->before_ms = before_ms < limits->before_ms ? before_ms : limits->before_ms;
    if (kept_from < (int64_t)limits->last) {
        limits->last = kept_from < 0 ? 0 : (uint64_t)kept_from;
    }
}

static bool put_entry(Archiving *archiving, Str text, const AuditEntry *entry, Error *err)
{
    AuditArchive *archive = &archiving->archive;
    if (archiving->draft == NULL) {
        AUTO_CLEAR(Buf) room = buf_make(BUF_UNLIMITED);
        audit_archive_print(archive, &room);
        if (!file_draft_open(archiving->path, 0600, true, &archiving->draft, err) ||
            !file_draft_put(archiving->draft, buf_str(&room), err)) {
            return false;
        }
    }
    archive->last = entry->sequence;
    snprintf(archive->hash, sizeof archive->hash, "%" STR_FMT, STR_ARG(entry->hash));
    return file_draft_put(archiving->draft, text, err) &&
           file_draft_put(archiving->draft, STR("\n"), err);
}

static bool put_page(Archiving *archiving, Arena *arena, Value page, Error *err)
{
    const List *entries = value_get_list(page, "entries");
    for (uint32_t i = 0; i < entries->len; i++) {
        AuditEntry entry;
        Str text = value_is_string(entries->items[i]) ? value_str(entries->items[i]) : STR_EMPTY;
        if (!audit_entry_read(arena, text, &entry, err)) {
            return error_wrap(err, "number %" PRIu64, archiving->next);
        }
        if (entry.sequence != archiving->next) {
            return error_set(err, ERROR_CONFLICT,
                             "entry %" PRIu64 " is missing from the log or unreadable, or "
                             "another process is archiving the log",
                             archiving->next);
        }
        if (!audit_drop_is_allowed(&archiving->limits, &entry)) {
            archiving->is_over = true;
            return true;
        }
        if (!put_entry(archiving, text, &entry, err)) {
            return false;
        }
        archiving->next++;
    }
    archiving->is_over = value_get_int(page, "next") == 0;
    return true;
}

/* Pages are processed one at a time to bound memory. */
static int ask_page(Archiving *archiving)
{
    AUTO_CLEAR(Arena) arena;
    Invocation round = *archiving->invocation;
    Value page;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    round.arena = &arena;
    Str target = archiving->next == 0
                     ? arena_format(&arena, "/v1/audit-entries?limit=%d", PAGE)
                     : arena_format(&arena, "/v1/audit-entries?limit=%d&from=%" PRIu64, PAGE,
                                    archiving->next);
    int code = cluster_call(&round, &(ClusterRequest){ .method = "GET", .target = target }, &page);
    if (code != EXIT_OK) {
        return code;
    }
    if (archiving->next == 0) {
        if (!audit_anchor_read(page, &archiving->anchor, &err)) {
            return fail(archiving, &err);
        }
        start(archiving, page);
        archiving->is_over = archiving->is_there;
        if (archiving->is_over) {
            return EXIT_OK;
        }
    }
    return put_page(archiving, &arena, page, &err) ? EXIT_OK : fail(archiving, &err);
}

/* Rewrites the header with the final state, then reads the file back to verify it. */
static bool keep(Archiving *archiving, Error *err)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(AuditArchiveReader) reader;
    audit_archive_reader_init(&reader);
    audit_archive_print(&archiving->archive, &line);
    if (!file_draft_put_first(archiving->draft, buf_str(&line), err) ||
        !file_draft_keep(archiving->draft, err)) {
        return false;
    }
    return audit_file_check(archiving->path, &reader, err);
}

/* Continues an archive whose entries have not all been dropped from the log yet. */
static bool take_up(Archiving *archiving, Error *err)
{
    const AuditAnchor *anchor = &archiving->anchor;
    AUTO_CLEAR(AuditArchiveReader) reader;
    const AuditArchive *archive = &reader.archive;
    audit_archive_reader_init(&reader);
    audit_archive_reader_mark(&reader, anchor->sequence, anchor->hash);
    if (!audit_file_check(archiving->path, &reader, err)) {
        error_wrap(err, "the file exists and cannot be continued");
        err->kind = ERROR_CONFLICT;
        return false;
    }
    if (strcmp(anchor->cluster, archive->cluster) != 0 || archive->first > anchor->sequence + 1 ||
        archive->last <= anchor->sequence) {
        return error_set(err, ERROR_CONFLICT,
                         "%s already exists: it has entries %" PRIu64 " to %" PRIu64
                         " of cluster '%s', but the log of '%s' starts after %" PRIu64,
                         archiving->path, archive->first, archive->last, archive->cluster,
                         anchor->cluster, anchor->sequence);
    }
    archiving->archive = *archive;
    output_line(archiving->invocation->err,
                "%s already exists and is complete: dropping its entries from the log",
                archiving->path);
    return true;
}

/* --- Dropping -------------------------------------------------------------------------------- */

static int drop(const Archiving *archiving)
{
    Invocation *invocation = archiving->invocation;
    const AuditArchive *archive = &archiving->archive;
    Arena *arena = invocation->arena;
    Map *body = map_new(arena, 1);
    Value answer;
    map_set_str(arena, body, STR("hash"), value_string(str_from_c(archive->hash)));
    int code =
        cluster_call(invocation,
                     &(ClusterRequest){ .method = "POST",
                                        .target = arena_format(
                                            arena, "/v1/audit/%" PRIu64 "/archive", archive->last),
                                        .body = cluster_body(arena, value_map(body)),
                                        .timeout_ms = DROP_MS },
                     &answer);
    if (code != EXIT_OK) {
        output_line(
            invocation->err,
            "%s is complete; run the same command again to drop the remaining entries from the log",
            archiving->path);
    }
    return code;
}

static int tell(const Archiving *archiving)
{
    Invocation *invocation = archiving->invocation;
    const AuditArchive *archive = &archiving->archive;
    Arena *arena = invocation->arena;
    bool is_none = archive->last < archive->first;
    if (output_wants_value(invocation)) {
        Map *map = map_new(arena, 6);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.audit-archiving/1")));
        map_set_str(arena, map, STR("entries"),
                    value_int((int64_t)(archive->last - archive->first + 1)));
        if (!is_none) {
            map_set_str(arena, map, STR("file"), value_string(str_from_c(archiving->path)));
            map_set_str(arena, map, STR("first"), value_int((int64_t)archive->first));
            map_set_str(arena, map, STR("last"), value_int((int64_t)archive->last));
            map_set_str(arena, map, STR("hash"), value_string(str_from_c(archive->hash)));
        }
        return output_answer(invocation, value_map(map));
    }
    if (is_none) {
        output_line(invocation->out,
                    "nothing to archive: the newest %d entries, those of the last %d days and "
                    "those selected by --keep stay in the log",
                    AUDIT_KEPT_ENTRIES, AUDIT_KEPT_DAYS);
        return EXIT_OK;
    }
    output_line(invocation->out,
                "moved entries %" PRIu64 " to %" PRIu64 " to %s; "
                "the hash of the last one is %s",
                archive->first, archive->last, archiving->path, archive->hash);
    return EXIT_OK;
}

/* Prints progress for a long log. */
static void tell_way(Archiving *archiving)
{
    const AuditArchive *archive = &archiving->archive;
    int64_t now_us = clock_monotonic_us();
    if (now_us - archiving->told_us >= TELL_US) {
        archiving->told_us = now_us;
        archiving->has_told = true;
        output_line(archiving->invocation->err, "%" PRIu64 " entries written, up to %" PRIu64,
                    archive->last - archive->first + 1, archive->last);
    }
}

static int archive(Archiving *archiving)
{
    Error err;
    archiving->told_us = clock_monotonic_us();
    while (!archiving->is_over) {
        int code = ask_page(archiving);
        if (code != EXIT_OK) {
            return code;
        }
        tell_way(archiving);
    }
    if (archiving->draft == NULL && !archiving->is_there) {
        return tell(archiving);
    }
    if (!(archiving->is_there ? take_up(archiving, &err) : keep(archiving, &err))) {
        return fail(archiving, &err);
    }
    if (archiving->has_told) {
        output_line(archiving->invocation->err, "%s is complete: dropping its entries from the log",
                    archiving->path);
    }
    int code = drop(archiving);
    return code == EXIT_OK ? tell(archiving) : code;
}

int audit_archive_run(Invocation *invocation)
{
    const char *keep_text = invocation_text(invocation, "keep");
    Archiving archiving = { .invocation = invocation, .path = invocation_text(invocation, "to") };
    if (archiving.path == NULL) {
        return usage_error(invocation, "--to FILE is required");
    }
    if (!read_before(&archiving, invocation_text(invocation, "before"))) {
        return usage_error(invocation,
                           "--before must be a date (2026-01-31), a time (2026-01-31T08:15:30Z) or "
                           "an age (90d), not '%s'",
                           invocation_text(invocation, "before"));
    }
    if (!str_to_i64(str_from_c(keep_text), &archiving.keep) || archiving.keep < 0) {
        return usage_error(invocation, "--keep must be a number of entries, not '%s'", keep_text);
    }
    archiving.is_there = file_exists(archiving.path);
    int code = archive(&archiving);
    file_draft_close(archiving.draft);
    return code;
}
