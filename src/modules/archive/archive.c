/* archive.extracted: extracts the members of an archive to a directory.
 *
 * They are first unpacked into a private directory next to it. Members that must not be extracted,
 * and a full disk, are detected there; then everything moves into place. A new directory appears
 * atomically; in an existing one the files are moved one by one. */
#include "modules/archive/stamp.h"
#include "modules/archive/unpack.h"
#include "modules/digest.h"
#include "modules/file/target.h"
#include "sys/clock.h"
#include "sys/process.h"

enum {
    STRIP_MAX = 64,
    SHOWN_MAX = 10, /* maximum number of members listed per change */
    COMPARE_CHUNK = 64 << 10,
};

static const ParamSpec extracted_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of the directory" },
    { "source", PARAM_PATH, .help = "path of the archive on the machine" },
    { "site_file", PARAM_SITE_FILE, .help = "archive in the site's files/" },
    { "digest", PARAM_STRING,
      .help = "required digest of the archive: 'sha256:' or 'sha512:' and hexadecimal digits" },
    { "strip", PARAM_INT, .fallback = "0",
      .help = "number of leading directories to strip from each name" },
    { "owner", PARAM_STRING, .help = "owner of all members, by name or number" },
    { "group", PARAM_STRING, .help = "group of all members, by name or number" },
    { "creates", PARAM_PATH, .help = "do nothing if this path exists" },
    { "restore", PARAM_STRING, .fallback = "missing", .choices = "missing|changed",
      .help = "when to unpack the same archive again: if members are missing, or also if their "
              "size or mtime differs" },
    { "keep", PARAM_STRINGS,
      .help = "members that are not restored once they exist; relative paths with wildcards" },
    { "clean", PARAM_BOOL, .fallback = "false",
      .help = "remove members of earlier archives that are not in this one" },
    { "max_size", PARAM_INT, .fallback = "8589934592",
      .help = "maximum total size of the members, in bytes" },
    { "max_members", PARAM_INT, .fallback = "200000",
      .help = "maximum number of files, directories and links" },
    { 0 },
};

/* What check has found; passed to apply. */
typedef struct Extraction {
    Target target; /* owner and group */
    Str path;      /* path of the directory */
    FileInfo directory;
    Str stamp_path;
    Stamp stamp;
    Str required_digest; /* required digest; empty: any */
    Str digest;          /* actual digest of the archive */
    FileInfo source;
} Extraction;

/* --- The archive ----------------------------------------------------------------------------- */

static bool open_source(Call *call, ArchiveSource *out, Error *err)
{
    *out = (ArchiveSource){ .bytes = STR_EMPTY };
    if (call_has(call, "source")) {
        return host_reader_open(call->host, call_str(call, "source"), &out->reader, err) ||
               (err->kind == ERROR_NOT_FOUND &&
                error_set(err, ERROR_NOT_FOUND, "no file '%" STR_FMT "' on the machine",
                          STR_ARG(call_str(call, "source"))));
    }
    out->bytes = call_str(call, "site_file");
    return true;
}

static void close_source(ArchiveSource *source)
{
    host_reader_close(source->reader);
    source->reader = NULL;
}
DEFINE_AUTO_CLEAR(ArchiveSource, close_source)

static bool source_is_same(const Stamp *stamp, const FileInfo *now)
{
    return stamp->found && stamp->source_size == now->size &&
           stamp->source_mtime_ns == now->mtime_ns && stamp->source_inode == now->inode;
}

/* An archive that has not changed is not hashed again. */
static bool find_digest(Call *call, const ArchiveSource *source, Extraction *extraction, Error *err)
{
    DigestKind kind = digest_kind(extraction->required_digest);
    const Stamp *stamp = &extraction->stamp;
    if (source->reader == NULL) {
        extraction->digest = digest_of_text(call->arena, kind, source->bytes);
        return true;
    }
    extraction->source = *host_reader_info(source->reader);
    if (source_is_same(stamp, &extraction->source) && digest_kind(stamp->digest) == kind) {
        extraction->digest = stamp->digest;
        return true;
    }
    return digest_of_file(call->arena, kind, source->reader, &extraction->digest, err);
}

static bool check_digest(const Extraction *extraction, Error *err)
{
    return extraction->required_digest.len == 0 ||
           str_eq(extraction->required_digest, extraction->digest) ||
           error_set(err, ERROR_INVALID, "the archive does not match 'digest': it has %" STR_FMT,
                     STR_ARG(extraction->digest));
}

/* --- Comparison ------------------------------------------------------------------------------ */

static bool is_of_kind(MemberKind kind, FileKind found)
{
    return found == (kind == MEMBER_DIRECTORY ? FILE_DIRECTORY
                     : kind == MEMBER_LINK    ? FILE_LINK
                                              : FILE_REGULAR);
}

/* Sets `matches` if a member is in place, as required by `restore` and the owner parameters. */
static bool check_member(Call *call, Host *inside, const Extraction *extraction,
                         const StagedMember *member, bool *matches, Error *err)
{
    ArenaMark mark = arena_mark(call->arena);
    FileInfo info;
    const Target *target = &extraction->target;
    if (!host_stat(inside, staged_path(call->arena, member->path), &info, err)) {
        return false;
    }
    arena_release(call->arena, mark);
    *matches = is_of_kind(member->kind, info.kind) && member->size != STAMP_SIZE_REPLACED &&
               (target->uid == HOST_KEEP_ID || target->uid == info.uid) &&
               (target->gid == HOST_KEEP_ID || target->gid == info.gid);
    if (call_is_preserved(call, member->path)) {
        *matches = info.kind != FILE_ABSENT;
    } else if (*matches && member->kind == MEMBER_FILE &&
               str_eq(call_str(call, "restore"), STR("changed"))) {
        *matches = info.size == member->size && info.mtime_ns / 1000000000 == member->mtime_s;
    }
    return true;
}

/* Reports the members that are missing or differ. */
static bool check_members(Call *call, Host *inside, const Extraction *extraction, Outcome *outcome,
                          Error *err)
{
    List *shown = list_new(call->arena, 0);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < extraction->stamp.count; i++) {
        const StagedMember *member = &extraction->stamp.members[i];
        bool matches;
        if (!check_member(call, inside, extraction, member, &matches, err)) {
            return false;
        }
        if (!matches && wrong++ < SHOWN_MAX) {
            list_push(call->arena, shown, value_string(member->path));
        }
    }
    if (wrong > SHOWN_MAX) {
        list_push(call->arena, shown,
                  value_string(arena_format(call->arena, "and %u more", wrong - SHOWN_MAX)));
    }
    if (wrong > 0) {
        outcome->changed = true;
        outcome_change(call, outcome, "members", value_list(shown), value_string(STR("restored")));
    }
    return true;
}

/* With `clean`, the directory must not contain members of other archives. */
static bool check_other_archives(Call *call, Host *inside, const Extraction *extraction,
                                 Outcome *outcome, Error *err)
{
    OtherStamps others;
    if (!call_bool(call, "clean")) {
        return true;
    }
    if (!other_stamps_read(inside, call->arena, extraction->stamp_path, &others, err)) {
        return false;
    }
    if (others.count > 0) {
        outcome->changed = true;
        outcome_change(call, outcome, "other archives", value_int(others.count), value_int(0));
    }
    return true;
}

/* --- Check ----------------------------------------------------------------------------------- */

static bool verify_params(Call *call, Error *err)
{
    Str ignored;
    int64_t strip = call_int(call, "strip", 0);
    if (call_has(call, "source") == call_has(call, "site_file")) {
        return error_set(err, ERROR_INVALID, "exactly one of 'source' and 'site_file' is required");
    }
    if (strip < 0 || strip > STRIP_MAX) {
        return error_set(err, ERROR_INVALID, "'strip' must be a number from 0 to %d", STRIP_MAX);
    }
    if (call_int(call, "max_size", 0) <= 0 || call_int(call, "max_members", 0) <= 0 ||
        call_int(call, "max_members", 0) > INT32_MAX) {
        return error_set(err, ERROR_INVALID, "'max_size' and 'max_members' must be at least 1");
    }
    if (call_has(call, "digest") &&
        !digest_parse(call->arena, call_str(call, "digest"), &ignored, err)) {
        return false;
    }
    return !str_eq(call_str(call, "name"), STR("/")) ||
           error_set(err, ERROR_INVALID, "'name' must be a directory under '/'");
}
CALL_VERIFY(extracted_verify, verify_params)

static bool read_params(Call *call, Extraction *extraction, Error *err)
{
    if (!verify_params(call, err) ||
        (call_has(call, "digest") &&
         !digest_parse(call->arena, call_str(call, "digest"), &extraction->required_digest, err))) {
        return false;
    }
    extraction->path = call_str(call, "name");
    extraction->stamp_path =
        stamp_path(call->arena, call_str(call, call_has(call, "source") ? "source" : "site_file"));
    /* Not target_read_attributes(), because the action has no parameter 'mode'. */
    Target *target = &extraction->target;
    *target = (Target){ .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID };
    return target_read_owner(call, target, err);
}

static bool is_created(Call *call, bool *out, Error *err)
{
    FileInfo info = { .kind = FILE_ABSENT };
    if (call_has(call, "creates") &&
        !host_stat(call->host, call_str(call, "creates"), &info, err)) {
        return false;
    }
    *out = info.kind != FILE_ABSENT;
    return true;
}

/* In a plan, an earlier step may create the archive. */
static bool may_be_created_later(Call *call, Outcome *outcome, const Error *err)
{
    if (err->kind != ERROR_NOT_FOUND ||
        !call_report_missing(call, "source", "path", call_str(call, "source"))) {
        return false;
    }
    outcome->changed = true;
    outcome->unknown = true;
    return true;
}

static bool compare(Call *call, Extraction *extraction, Host *inside, Outcome *outcome, Error *err)
{
    const Stamp *stamp = &extraction->stamp;
    if (!stamp->found || !str_eq(stamp->digest, extraction->digest) ||
        stamp->strip != (uint32_t)call_int(call, "strip", 0)) {
        outcome->changed = true;
        outcome_change(call, outcome, "archive",
                       stamp->found ? value_string(stamp->digest) : value_missing(),
                       value_string(extraction->digest));
        return true;
    }
    /* The path in `creates` does not exist, so unpack regardless. */
    if (call_has(call, "creates")) {
        outcome->changed = true;
        outcome_change(call, outcome, "creates", value_missing(), call_param(call, "creates"));
        return true;
    }
    return check_members(call, inside, extraction, outcome, err) &&
           check_other_archives(call, inside, extraction, outcome, err);
}

static bool check_directory(Call *call, Extraction *extraction, Outcome *outcome, Error *err)
{
    AUTO(Host) *inside = NULL;
    AUTO_CLEAR(ArchiveSource) source = { 0 };
    ArchiveFormat format;
    bool there = extraction->directory.kind == FILE_DIRECTORY;
    if (there && !host_open_below(call->host, extraction->path, &inside, err)) {
        /* An earlier step of the plan may create the archive. */
        if (!call->planning || err->kind != ERROR_NOT_FOUND) {
            return false;
        }
        there = false;
    }
    if (there &&
        !stamp_read(inside, call->arena, extraction->stamp_path, &extraction->stamp, err)) {
        return false;
    }
    if (!open_source(call, &source, err)) {
        return may_be_created_later(call, outcome, err);
    }
    if (!find_digest(call, &source, extraction, err)) {
        return false;
    }
    bool has_digest = check_digest(extraction, err);
    if (!has_digest || !archive_detect(&source, &format, err)) {
        /* An earlier step may replace the archive. */
        outcome->changed = outcome->unknown =
            call_report_missing(call, "source", "path", call_str(call, "source"));
        return outcome->unknown || call_blame(call, has_digest ? "source" : "digest");
    }
    return compare(call, extraction, inside, outcome, err);
}

static void report(Call *call, Extraction *extraction, Outcome *outcome)
{
    outcome->check_data = extraction;
    outcome->state = STR("present");
    if (!outcome->changed) {
        outcome->comment = STR("already extracted");
    } else if (outcome->comment.len == 0) {
        outcome->comment = extraction->stamp.found ? STR("unpacked again") : STR("extracted");
    }
    if (outcome->changed && call->planning && extraction->directory.kind == FILE_ABSENT) {
        FileInfo made = { .kind = FILE_DIRECTORY, .mode = DIRECTORY_MODE_NEW };
        call_plan(call, extraction->path, &(PlannedFile){ .info = made });
    }
}

static bool extracted_check(Call *call, Outcome *outcome, Error *err)
{
    Extraction *extraction = ARENA_NEW(call->arena, Extraction);
    bool created;
    if (!read_params(call, extraction, err) || !is_created(call, &created, err)) {
        return false;
    }
    if (created) {
        outcome->state = STR("present");
        outcome->comment =
            arena_format(call->arena, "%" STR_FMT " exists", STR_ARG(call_str(call, "creates")));
        return true;
    }
    if (!host_stat(call->host, extraction->path, &extraction->directory, err)) {
        return false;
    }
    FileKind kind = extraction->directory.kind;
    if (kind != FILE_ABSENT && kind != FILE_DIRECTORY) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                         STR_ARG(extraction->path), file_kind_name(kind));
    }
    if (extraction->target.uid != extraction->directory.uid &&
        !host_check_owner(call->host, call->arena, extraction->path, &extraction->directory, err)) {
        return false;
    }
    if (!check_directory(call, extraction, outcome, err)) {
        return false;
    }
    if (call->planning && kind == FILE_ABSENT &&
        !target_check_parents(call, extraction->path, true, err)) {
        return false;
    }
    report(call, extraction, outcome);
    return true;
}

/* --- Apply ----------------------------------------------------------------------------------- */

/* Compares the contents of two existing files. */
static bool compare_content(Host *a_host, Str a_path, Host *b_host, Str b_path, bool *same,
                            Error *err)
{
    AUTO(HostReader) *a = NULL;
    AUTO(HostReader) *b = NULL;
    char pieces[2][COMPARE_CHUNK];
    size_t got[2] = { 1, 1 };
    if (!host_reader_open(a_host, a_path, &a, err) || !host_reader_open(b_host, b_path, &b, err)) {
        return false;
    }
    *same = true;
    for (uint64_t at = 0; *same && got[0] > 0; at += got[0]) {
        if (!host_reader_get(a, at, pieces[0], COMPARE_CHUNK, &got[0], err) ||
            !host_reader_get(b, at, pieces[1], COMPARE_CHUNK, &got[1], err)) {
            return false;
        }
        *same = got[0] == got[1] && memcmp(pieces[0], pieces[1], got[0]) == 0;
    }
    return true;
}

/* Moves the members of one directory into another. Both are accessed through handles, which
 * symlinks cannot redirect. */
typedef struct Installation {
    Call *call;
    const Extraction *extraction;
    const Staging *staging;
    Host *destination;
    Outcome *outcome;
} Installation;

static bool is_same(Installation *installation, const StagedMember *staged, const FileInfo *before,
                    bool *out, Error *err)
{
    Call *call = installation->call;
    const Staging *staging = installation->staging;
    Str place = staged_path(call->arena, staged->path), target;
    *out = false;
    if (!is_of_kind(staged->kind, before->kind) ||
        (staging->uid != HOST_KEEP_ID && staging->uid != before->uid) ||
        (staging->gid != HOST_KEEP_ID && staging->gid != before->gid)) {
        return true;
    }
    if (staged->kind == MEMBER_LINK) {
        if (!host_read_link(installation->destination, call->arena, place, &target, err)) {
            return false;
        }
        *out = str_eq(target, staged->target);
        return true;
    }
    if (before->size != staged->size || before->mode != staged->mode ||
        before->mtime_ns / 1000000000 != staged->mtime_s) {
        return true;
    }
    return compare_content(staging->inside, place, installation->destination, place, out, err);
}

static bool install_directory(Installation *installation, const StagedMember *staged,
                              const FileInfo *before, Error *err)
{
    const Staging *staging = installation->staging;
    Str place = staged_path(installation->call->arena, staged->path);
    if (before->kind == FILE_DIRECTORY) {
        bool other = (staging->uid != HOST_KEEP_ID && staging->uid != before->uid) ||
                     (staging->gid != HOST_KEEP_ID && staging->gid != before->gid);
        installation->outcome->changed = installation->outcome->changed || other;
        return !other ||
               host_set_owner(installation->destination, place, staging->uid, staging->gid, err);
    }
    if (!host_make_directory(installation->destination, place, staged->mode, false, err)) {
        return false;
    }
    installation->outcome->changed = true;
    return (staging->uid == HOST_KEEP_ID && staging->gid == HOST_KEEP_ID) ||
           host_set_owner(installation->destination, place, staging->uid, staging->gid, err);
}

static bool install_member(Installation *installation, const StagedMember *staged, Error *err)
{
    Call *call = installation->call;
    Str place = staged_path(call->arena, staged->path);
    Str path = arena_join(call->arena, installation->extraction->path, place, STR_EMPTY);
    FileInfo before;
    bool same;
    if (!host_stat(installation->destination, place, &before, err)) {
        return false;
    }
    if (staged->kind == MEMBER_DIRECTORY &&
        (before.kind == FILE_ABSENT || before.kind == FILE_DIRECTORY)) {
        return install_directory(installation, staged, &before, err);
    }
    if (before.kind != FILE_ABSENT && call_is_preserved(call, staged->path)) {
        return true;
    }
    if (staged->kind == MEMBER_DIRECTORY || before.kind == FILE_DIRECTORY ||
        before.kind == FILE_OTHER) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, but a %s in the archive",
                         STR_ARG(path), file_kind_name(before.kind),
                         staged->kind == MEMBER_DIRECTORY ? "directory" : "file or link");
    }
    if (!is_same(installation, staged, &before, &same, err)) {
        return false;
    }
    if (same) {
        return true;
    }
    if (!call_journal(call, path, err) ||
        !host_move(installation->staging->inside, place, installation->destination, place, err)) {
        return false;
    }
    installation->outcome->changed = true;
    return true;
}

static bool install_all(Installation *installation, Error *err)
{
    uint32_t at = 0;
    for (const StrMapEntry *entry;
         (entry = str_map_next(&installation->staging->members, &at)) != NULL;) {
        if (!install_member(installation, entry->value, err)) {
            return false;
        }
    }
    return true;
}

static bool record_stamp(Call *call, const Extraction *extraction, const Staging *staging,
                         Host *directory, Error *err)
{
    Stamp stamp = { .digest = extraction->digest,
                    .strip = staging->strip,
                    .source_size = extraction->source.size,
                    .source_mtime_ns = extraction->source.mtime_ns,
                    .source_inode = extraction->source.inode };
    uint32_t at = 0;
    stamp.members = ARENA_ARRAY(call->arena, StagedMember, staging->members.count + 1);
    for (const StrMapEntry *entry; (entry = str_map_next(&staging->members, &at)) != NULL;) {
        stamp.members[stamp.count++] = *(const StagedMember *)entry->value;
    }
    return stamp_write(directory, call->arena, extraction->stamp_path, &stamp, err);
}

static bool report_members(Error *err)
{
    return error_set(err, ERROR_CONFLICT, "the archive changed while it was being read");
}

/* Copies as many bytes as the archive had when it was checked. */
static bool copy_bytes(const Extraction *extraction, HostReader *from, HostWriter *to, Error *err)
{
    char piece[COMPARE_CHUNK];
    size_t got = 1;
    for (uint64_t at = 0; got > 0; at += got) {
        if (!host_reader_get(from, at, piece, sizeof piece, &got, err) ||
            !host_writer_put(to, str_from(piece, got), err)) {
            return false;
        }
        if (at + got > (uint64_t)extraction->source.size) {
            return report_members(err);
        }
    }
    return true;
}

/* Other users who can write to the archive could modify it after verification and reset its mtime.
 * So in that case, the archive is copied first, and the copy is verified and unpacked. */
static bool copy_source(Call *call, const Extraction *extraction, Host *inside,
                        ArchiveSource *source, Error *err)
{
    AUTO(HostWriter) *writer = NULL;
    AUTO(HostReader) *copy = NULL;
    Str digest,
        place = arena_format(call->arena, "/.eden-copy-%016llx", (unsigned long long)random_seed());
    const FileInfo *info = source->reader == NULL ? NULL : host_reader_info(source->reader);
    if (info == NULL || extraction->required_digest.len == 0 ||
        (info->uid == process_own_user() && (info->mode & (S_IWGRP | S_IWOTH)) == 0)) {
        return true;
    }
    if (!host_writer_open(inside, place, &writer, err) ||
        !copy_bytes(extraction, source->reader, writer, err) ||
        !host_reader_open(inside, place, &copy, err) || !host_remove(inside, place, err) ||
        !digest_of_file(call->arena, digest_kind(extraction->required_digest), copy, &digest,
                        err)) {
        return false;
    }
    if (!str_eq(digest, extraction->required_digest)) {
        return report_members(err);
    }
    host_reader_close(source->reader);
    source->reader = TAKE(copy);
    return true;
}

static bool unpack(Call *call, Extraction *extraction, Staging *staging, Error *err)
{
    AUTO_CLEAR(ArchiveSource) source = { 0 };
    AUTO_CLEAR(ArchiveSource) again = { 0 };
    ArchiveFormat format;
    MemberSink sink = staging_sink(staging);
    if (!open_source(call, &source, err) ||
        !copy_source(call, extraction, staging->inside, &source, err) ||
        !archive_detect(&source, &format, err) ||
        !archive_unpack(call, &source, format, staging->max_size, &sink, err) ||
        !staging_finish(staging, err)) {
        return false;
    }
    if (source.reader == NULL) {
        return true;
    }
    if (!open_source(call, &again, err)) {
        return false;
    }
    const FileInfo *after = host_reader_info(again.reader);
    return (after->inode == extraction->source.inode && after->size == extraction->source.size &&
            after->mtime_ns == extraction->source.mtime_ns) ||
           report_members(err);
}

static bool clean(const Installation *installation, const OtherStamps *others, Error *err)
{
    StampCleanup cleanup = { .call = installation->call,
                             .path = installation->extraction->path,
                             .directory = installation->destination,
                             .members = &installation->staging->members,
                             .keeps = call_is_preserved };
    return clean_members(&cleanup, &installation->extraction->stamp, 1, err) &&
           clean_members(&cleanup, others->stamps, others->count, err) &&
           other_stamps_remove(others, installation->destination, err);
}

/* Moves everything into the directory, which is created if necessary. */
static bool install_members(Call *call, Extraction *extraction, Staging *staging, Str staging_path,
                            Outcome *outcome, Error *err)
{
    AUTO(Host) *there = NULL;
    if (!host_sync(call->host, err)) {
        return false;
    }
    if (extraction->directory.kind == FILE_ABSENT) {
        if (!record_stamp(call, extraction, staging, staging->inside, err) ||
            !call_journal(call, extraction->path, err) ||
            !host_move(call->host, staging_path, call->host, extraction->path, err)) {
            return false;
        }
        outcome->changed = true;
        return true;
    }
    if (!host_open_below(call->host, extraction->path, &there, err)) {
        return false;
    }
    Installation installation = { call, extraction, staging, there, outcome };
    OtherStamps others;
    if (!other_stamps_read(there, call->arena, extraction->stamp_path, &others, err) ||
        !other_stamps_overwrite(&others, there, call, &staging->members, call_is_preserved, err) ||
        !install_all(&installation, err)) {
        return false;
    }
    outcome->changed = true;
    if (call_bool(call, "clean") && !clean(&installation, &others, err)) {
        return false;
    }
    return record_stamp(call, extraction, staging, there, err);
}

static bool extract(Call *call, Extraction *extraction, Str staging_path, Outcome *outcome,
                    Error *err)
{
    AUTO(Host) *inside = NULL;
    const Target *target = &extraction->target;
    if (!host_open_below(call->host, staging_path, &inside, err)) {
        return false;
    }
    AUTO_CLEAR(Staging)
    staging = { .call = call,
                .inside = inside,
                .strip = (uint32_t)call_int(call, "strip", 0),
                .max_size = (uint64_t)call_int(call, "max_size", 0),
                .max_count = (uint32_t)call_int(call, "max_members", 0),
                .uid = target->uid,
                .gid = target->gid };
    staging_init(&staging);
    if (!unpack(call, extraction, &staging, err) ||
        !host_set_mode(call->host, staging_path, DIRECTORY_MODE_NEW, err)) {
        return false;
    }
    if ((target->uid != HOST_KEEP_ID || target->gid != HOST_KEEP_ID) &&
        !host_set_owner(call->host, staging_path, target->uid, target->gid, err)) {
        return false;
    }
    return install_members(call, extraction, &staging, staging_path, outcome, err);
}

static bool extracted_apply(Call *call, Outcome *outcome, Error *err)
{
    Extraction *extraction = outcome->check_data;
    Str staging_path = host_draft_path(call->arena, extraction->path);
    size_t slash = str_find_last(extraction->path, STR("/"));
    Error ignored;
    if ((slash > 0 && !host_make_directory(call->host, str_slice(extraction->path, 0, slash),
                                           DIRECTORY_MODE_NEW, true, err)) ||
        !host_remove(call->host, staging_path, err) ||
        !host_create_directory(call->host, staging_path, 0700, HOST_KEEP_ID, HOST_KEEP_ID, err)) {
        return false;
    }
    bool ok = extract(call, extraction, staging_path, outcome, err);
    bool removed = host_remove(call->host, staging_path, ok ? err : &ignored);
    return ok && removed;
}

static void extracted_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, extracted_params, params, claims);
    if (value_is_string(params[0])) {
        Str name = value_str(params[0]);
        list_push(arena, claims, value_string(arena_join(arena, STR("fills:"), name, STR_EMPTY)));
    }
    if (value_is_string(params[1])) {
        Str source = value_str(params[1]);
        list_push(arena, claims,
                  value_string(arena_join(arena, STR("needs:path:"), source, STR_EMPTY)));
    }
}

/* --- Module table ---------------------------------------------------------------------------- */

static const Action actions[] = {
    { "extracted", "Ensure that an archive is unpacked in a directory.", extracted_params,
      extracted_check, extracted_apply, .verify_all = extracted_verify, .claims = extracted_claims,
      .cost_ms = 500, .resource = "path name", .desired_state = "kind=directory",
      .text =
          "Supports zip and tar, plain or compressed with gzip, xz, zstd or bzip2, detected\n"
          "from the content. xz, zstd and bzip2 require the program of that name.\n"
          "\n"
          "A hidden file in the directory records the digest of the archive and its members.\n"
          "The archive is unpacked again if it changed, or if a member is missing or was\n"
          "replaced by a member of another archive; with 'restore: changed' also if the size or\n"
          "mtime of a file differs. List members that other steps change in 'keep'. With\n"
          "'creates', only the existence of that path is checked.\n"
          "\n"
          "Members of an earlier archive that are not in this one are left in place. With\n"
          "'clean: true', the directory is dedicated to one archive: members of previously\n"
          "unpacked archives are removed. Other files, and files that match 'keep', are not\n"
          "removed.\n"
          "\n"
          "Files get the permissions recorded in the archive, without set-user-ID and\n"
          "set-group-ID bits, and belong to 'owner'; default: the user that runs eden.\n"
          "Everything is unpacked in a private directory first and then moved into place; a new\n"
          "directory appears atomically. The step fails before anything is moved into place if\n"
          "the archive contains absolute names, '..', devices, or links that point outside, or\n"
          "if it exceeds 'max_size' or 'max_members'.\n",
      .example = "- name: install the application\n"
                 "  archive.extracted:\n"
                 "    - name: /opt/app\n"
                 "    - source: /var/cache/app-1.4.tar\n"
                 "    - strip: 1\n" },
    { 0 },
};

const Module modules_archive = {
    .name = "archive",
    .help = "Archives.",
    .id_param = "name",
    .actions = actions,
};
