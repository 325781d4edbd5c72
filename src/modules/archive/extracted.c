/* archive.extracted: the members of an archive in a directory.
 *
 * They are unpacked into a private directory beside it first. What must not come out of an archive,
 * and a disk that is full, are found there; then everything moves to its place. A directory that is
 * not there yet appears at one moment, into one that is, file by file moves. */
#include "modules/archive/actions.h"
#include "modules/archive/stamp.h"
#include "modules/archive/unpack.h"
#include "modules/digest.h"
#include "modules/file/target.h"
#include "sys/clock.h"
#include "sys/process.h"

enum {
    STRIP_MAX = 64,
    SHOWN_MAX = 10, /* members that a change names */
    COMPARE_PIECE = 64 << 10,
};

const ParamSpec extracted_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the directory" },
    { "source", PARAM_PATH, .help = "the archive, a file of the machine" },
    { "site_file", PARAM_SITE_FILE, .help = "the archive, a file below files/ of the site" },
    { "digest", PARAM_STRING,
      .help = "what the archive must be: 'sha256:' or 'sha512:' and hexadecimal digits" },
    { "strip", PARAM_INT, .fallback = "0",
      .help = "how many directories are taken from the front of each name" },
    { "owner", PARAM_STRING, .help = "whom everything belongs to, by name or number" },
    { "group", PARAM_STRING, .help = "the group of everything, by name or number" },
    { "creates", PARAM_PATH, .help = "when this is there, nothing is done" },
    { "restore", PARAM_STRING, .fallback = "missing", .choices = "missing|changed",
      .help = "what else than another archive is a reason: members that are gone, or also those "
              "with another size or time" },
    { "keep", PARAM_STRINGS,
      .help = "members that are left alone once they are there, relative paths with wildcards" },
    { "clean", PARAM_BOOL, .fallback = "false",
      .help = "remove what other archives brought here before and this one has not" },
    { "max_size", PARAM_INT, .fallback = "8589934592",
      .help = "more bytes than this never come out of it" },
    { "max_members", PARAM_INT, .fallback = "200000",
      .help = "nor more files, directories and links" },
    { 0 },
};

/* What check found. */
typedef struct Extraction {
    Target wish; /* owner and group */
    Str path;    /* of the directory */
    FileInfo directory;
    Str stamp_path;
    Stamp stamp;
    Str wanted; /* digest; empty: any */
    Str digest; /* of the archive */
    FileInfo source;
} Extraction;

/* --- The archive ---------------------------------------------------------------------------- */

static bool open_source(Call *call, ArchiveSource *out, Error *err)
{
    *out = (ArchiveSource){ .bytes = STR_EMPTY };
    if (call_has(call, "source")) {
        return host_reader_open(call->host, call_str(call, "source"), &out->reader, err) ||
               (err->kind == ERROR_NOT_FOUND &&
                error_set(err, ERROR_NOT_FOUND, "there is no file '%" STR_FMT "' on the machine",
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

/* Large archives are read once only, as long as they stay as they are. */
static bool find_digest(Call *call, const ArchiveSource *source, Extraction *extraction, Error *err)
{
    DigestKind kind = digest_kind(extraction->wanted);
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
    return extraction->wanted.len == 0 || str_eq(extraction->wanted, extraction->digest) ||
           error_set(err, ERROR_INVALID,
                     "the archive is another one than 'digest' says: it has %" STR_FMT,
                     STR_ARG(extraction->digest));
}

/* --- What is there -------------------------------------------------------------------------- */

static bool is_of_kind(MemberKind kind, FileKind found)
{
    return found == (kind == MEMBER_DIRECTORY ? FILE_DIRECTORY
                     : kind == MEMBER_LINK    ? FILE_LINK
                                              : FILE_REGULAR);
}

/* Whether a member is in its place as `restore` and the owner ask for. */
static bool look_at_member(Call *call, Host *inside, const Extraction *extraction,
                           const Staged *member, bool *right, Error *err)
{
    ArenaMark mark = arena_mark(call->arena);
    FileInfo info;
    const Target *wish = &extraction->wish;
    if (!host_stat(inside, member_place(call->arena, member->path), &info, err)) {
        return false;
    }
    arena_release(call->arena, mark);
    *right = is_of_kind(member->kind, info.kind) && member->size != STAMP_LOST &&
             (wish->uid == HOST_KEEP_ID || wish->uid == info.uid) &&
             (wish->gid == HOST_KEEP_ID || wish->gid == info.gid);
    if (call_keeps(call, member->path)) {
        *right = info.kind != FILE_ABSENT;
    } else if (*right && member->kind == MEMBER_FILE &&
               str_eq(call_str(call, "restore"), STR("changed"))) {
        *right = info.size == member->size && info.mtime_ns / 1000000000 == member->mtime_s;
    }
    return true;
}

/* Tells which members are not right. */
static bool look_at_members(Call *call, Host *inside, const Extraction *extraction,
                            Outcome *outcome, Error *err)
{
    List *shown = list_new(call->arena, 0);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < extraction->stamp.count; i++) {
        const Staged *member = &extraction->stamp.members[i];
        bool right;
        if (!look_at_member(call, inside, extraction, member, &right, err)) {
            return false;
        }
        if (!right && wrong++ < SHOWN_MAX) {
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

/* With `clean` no other archive has anything in the directory. */
static bool look_at_formers(Call *call, Host *inside, const Extraction *extraction,
                            Outcome *outcome, Error *err)
{
    Formers formers;
    if (!call_bool(call, "clean")) {
        return true;
    }
    if (!formers_read(inside, call->arena, extraction->stamp_path, &formers, err)) {
        return false;
    }
    if (formers.count > 0) {
        outcome->changed = true;
        outcome_change(call, outcome, "other archives", value_int(formers.count), value_int(0));
    }
    return true;
}

/* --- Check ---------------------------------------------------------------------------------- */

static bool read_params(Call *call, Extraction *extraction, Error *err)
{
    int64_t strip = call_int(call, "strip", 0);
    if (call_has(call, "source") == call_has(call, "site_file")) {
        return error_set(err, ERROR_INVALID, "needs either 'source' or 'site_file'");
    }
    if (strip < 0 || strip > STRIP_MAX) {
        return error_set(err, ERROR_INVALID, "'strip' is a number from 0 to %d", STRIP_MAX);
    }
    if (call_int(call, "max_size", 0) <= 0 || call_int(call, "max_members", 0) <= 0 ||
        call_int(call, "max_members", 0) > INT32_MAX) {
        return error_set(err, ERROR_INVALID, "'max_size' and 'max_members' are at least 1");
    }
    if (call_has(call, "digest") &&
        !digest_parse(call->arena, call_str(call, "digest"), &extraction->wanted, err)) {
        return false;
    }
    extraction->path = call_str(call, "name");
    if (str_eq(extraction->path, STR("/"))) {
        return error_set(err, ERROR_INVALID, "'name' is a directory below '/'");
    }
    extraction->stamp_path =
        stamp_path(call->arena, call_str(call, call_has(call, "source") ? "source" : "site_file"));
    /* The row has no 'mode', which the target would ask for. */
    Target *wish = &extraction->wish;
    *wish = (Target){ .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID };
    return target_wish_people(call, wish, err);
}

static bool created_already(Call *call, bool *out, Error *err)
{
    FileInfo info = { .kind = FILE_ABSENT };
    if (call_has(call, "creates") &&
        !host_stat(call->host, call_str(call, "creates"), &info, err)) {
        return false;
    }
    *out = info.kind != FILE_ABSENT;
    return true;
}

/* In a plan, an earlier step may bring the archive. */
static bool tolerate_missing(Call *call, Outcome *outcome, const Error *err)
{
    if (err->kind != ERROR_NOT_FOUND ||
        !call_lacks(call, "source", "path", call_str(call, "source"))) {
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
    /* What `creates` names is missing, whatever else is there. */
    if (call_has(call, "creates")) {
        outcome->changed = true;
        outcome_change(call, outcome, "creates", value_missing(), call_param(call, "creates"));
        return true;
    }
    return look_at_members(call, inside, extraction, outcome, err) &&
           look_at_formers(call, inside, extraction, outcome, err);
}

static bool look_inside(Call *call, Extraction *extraction, Outcome *outcome, Error *err)
{
    AUTO(Host) *inside = NULL;
    AUTO_CLEAR(ArchiveSource) source = { 0 };
    ArchiveFormat format;
    bool there = extraction->directory.kind == FILE_DIRECTORY;
    if (there && !host_open_below(call->host, extraction->path, &inside, err)) {
        /* An earlier step of a plan would make it. */
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
        return tolerate_missing(call, outcome, err);
    }
    return find_digest(call, &source, extraction, err) && check_digest(extraction, err) &&
           archive_detect(&source, &format, err) && compare(call, extraction, inside, outcome, err);
}

static void tell(Call *call, Extraction *extraction, Outcome *outcome)
{
    outcome->found = extraction;
    outcome->state = STR("present");
    if (!outcome->changed) {
        outcome->comment = STR("already extracted");
    } else if (outcome->comment.len == 0) {
        outcome->comment = extraction->stamp.found ? STR("extracted again") : STR("extracted");
    }
    if (outcome->changed && call->planning && extraction->directory.kind == FILE_ABSENT) {
        FileInfo made = { .kind = FILE_DIRECTORY, .mode = DIRECTORY_MODE_NEW };
        call_plan(call, extraction->path, &(PlannedFile){ .info = made });
    }
}

bool extracted_check(Call *call, Outcome *outcome, Error *err)
{
    Extraction *extraction = ARENA_NEW(call->arena, Extraction);
    bool created;
    if (!read_params(call, extraction, err) || !created_already(call, &created, err)) {
        return false;
    }
    if (created) {
        outcome->state = STR("present");
        outcome->comment =
            arena_format(call->arena, "%" STR_FMT " is there", STR_ARG(call_str(call, "creates")));
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
    if (extraction->wish.uid != extraction->directory.uid &&
        !host_check_maker(call->host, call->arena, extraction->path, &extraction->directory, err)) {
        return false;
    }
    if (!look_inside(call, extraction, outcome, err)) {
        return false;
    }
    if (call->planning && kind == FILE_ABSENT &&
        !target_check_parents(call, extraction->path, true, err)) {
        return false;
    }
    tell(call, extraction, outcome);
    return true;
}

/* --- Apply ---------------------------------------------------------------------------------- */

/* Both are there; `*same`: with the same bytes. */
static bool compare_content(Host *a_host, Str a_path, Host *b_host, Str b_path, bool *same,
                            Error *err)
{
    AUTO(HostReader) *a = NULL;
    AUTO(HostReader) *b = NULL;
    char pieces[2][COMPARE_PIECE];
    size_t got[2] = { 1, 1 };
    if (!host_reader_open(a_host, a_path, &a, err) || !host_reader_open(b_host, b_path, &b, err)) {
        return false;
    }
    *same = true;
    for (uint64_t at = 0; *same && got[0] > 0; at += got[0]) {
        if (!host_reader_get(a, at, pieces[0], COMPARE_PIECE, &got[0], err) ||
            !host_reader_get(b, at, pieces[1], COMPARE_PIECE, &got[1], err)) {
            return false;
        }
        *same = got[0] == got[1] && memcmp(pieces[0], pieces[1], got[0]) == 0;
    }
    return true;
}

/* What moves is one directory into another, neither of which leads elsewhere by a link. */
typedef struct Moving {
    Call *call;
    const Extraction *extraction;
    const Staging *staging;
    Host *there;
    Outcome *outcome;
} Moving;

static bool is_same(Moving *moving, const Staged *staged, const FileInfo *before, bool *out,
                    Error *err)
{
    Call *call = moving->call;
    const Staging *staging = moving->staging;
    Str place = member_place(call->arena, staged->path), target;
    *out = false;
    if (!is_of_kind(staged->kind, before->kind) ||
        (staging->uid != HOST_KEEP_ID && staging->uid != before->uid) ||
        (staging->gid != HOST_KEEP_ID && staging->gid != before->gid)) {
        return true;
    }
    if (staged->kind == MEMBER_LINK) {
        if (!host_read_link(moving->there, call->arena, place, &target, err)) {
            return false;
        }
        *out = str_eq(target, staged->target);
        return true;
    }
    if (before->size != staged->size || before->mode != staged->mode ||
        before->mtime_ns / 1000000000 != staged->mtime_s) {
        return true;
    }
    return compare_content(staging->inside, place, moving->there, place, out, err);
}

static bool move_directory(Moving *moving, const Staged *staged, const FileInfo *before, Error *err)
{
    const Staging *staging = moving->staging;
    Str place = member_place(moving->call->arena, staged->path);
    if (before->kind == FILE_DIRECTORY) {
        bool other = (staging->uid != HOST_KEEP_ID && staging->uid != before->uid) ||
                     (staging->gid != HOST_KEEP_ID && staging->gid != before->gid);
        moving->outcome->changed = moving->outcome->changed || other;
        return !other || host_set_owner(moving->there, place, staging->uid, staging->gid, err);
    }
    if (!host_make_directory(moving->there, place, staged->mode, false, err)) {
        return false;
    }
    moving->outcome->changed = true;
    return (staging->uid == HOST_KEEP_ID && staging->gid == HOST_KEEP_ID) ||
           host_set_owner(moving->there, place, staging->uid, staging->gid, err);
}

static bool move_member(Moving *moving, const Staged *staged, Error *err)
{
    Call *call = moving->call;
    Str place = member_place(call->arena, staged->path);
    Str path = arena_join(call->arena, moving->extraction->path, place, STR_EMPTY);
    FileInfo before;
    bool same;
    if (!host_stat(moving->there, place, &before, err)) {
        return false;
    }
    if (staged->kind == MEMBER_DIRECTORY &&
        (before.kind == FILE_ABSENT || before.kind == FILE_DIRECTORY)) {
        return move_directory(moving, staged, &before, err);
    }
    if (before.kind != FILE_ABSENT && call_keeps(call, staged->path)) {
        return true;
    }
    if (staged->kind == MEMBER_DIRECTORY || before.kind == FILE_DIRECTORY ||
        before.kind == FILE_OTHER) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, in the archive it is a %s",
                         STR_ARG(path), file_kind_name(before.kind),
                         staged->kind == MEMBER_DIRECTORY ? "directory" : "file or link");
    }
    if (!is_same(moving, staged, &before, &same, err)) {
        return false;
    }
    if (same) {
        return true;
    }
    if (!call_keep(call, path, err) ||
        !host_move(moving->staging->inside, place, moving->there, place, err)) {
        return false;
    }
    moving->outcome->changed = true;
    return true;
}

static bool move_members(Moving *moving, Error *err)
{
    uint32_t at = 0;
    for (const StrMapEntry *entry;
         (entry = str_map_next(&moving->staging->members, &at)) != NULL;) {
        if (!move_member(moving, entry->value, err)) {
            return false;
        }
    }
    return true;
}

static bool note(Call *call, const Extraction *extraction, const Staging *staging, Host *directory,
                 Error *err)
{
    Stamp stamp = { .digest = extraction->digest,
                    .strip = staging->strip,
                    .source_size = extraction->source.size,
                    .source_mtime_ns = extraction->source.mtime_ns,
                    .source_inode = extraction->source.inode };
    uint32_t at = 0;
    stamp.members = ARENA_ARRAY(call->arena, Staged, staging->members.count + 1);
    for (const StrMapEntry *entry; (entry = str_map_next(&staging->members, &at)) != NULL;) {
        stamp.members[stamp.count++] = *(const Staged *)entry->value;
    }
    return stamp_write(directory, call->arena, extraction->stamp_path, &stamp, err);
}

static bool tell_changed(Error *err)
{
    return error_set(err, ERROR_CONFLICT, "the archive changed meanwhile");
}

/* As long as it was when it was looked at. */
static bool copy_bytes(const Extraction *extraction, HostReader *from, HostWriter *to, Error *err)
{
    char piece[COMPARE_PIECE];
    size_t got = 1;
    for (uint64_t at = 0; got > 0; at += got) {
        if (!host_reader_get(from, at, piece, sizeof piece, &got, err) ||
            !host_writer_put(to, str_from(piece, got), err)) {
            return false;
        }
        if (at + got > (uint64_t)extraction->source.size) {
            return tell_changed(err);
        }
    }
    return true;
}

/* The owner of an archive can write other bytes into it after they were verified, and set its time back.
 * So of what others can write the bytes that are unpacked are those of a copy, which has the digest. */
static bool take_copy(Call *call, const Extraction *extraction, Host *inside, ArchiveSource *source,
                      Error *err)
{
    AUTO(HostWriter) *writer = NULL;
    AUTO(HostReader) *copy = NULL;
    Str digest,
        place = arena_format(call->arena, "/.eden-copy-%016llx", (unsigned long long)random_seed());
    const FileInfo *info = source->reader == NULL ? NULL : host_reader_info(source->reader);
    if (info == NULL || extraction->wanted.len == 0 ||
        (info->uid == process_own_user() && (info->mode & (S_IWGRP | S_IWOTH)) == 0)) {
        return true;
    }
    if (!host_writer_open(inside, place, &writer, err) ||
        !copy_bytes(extraction, source->reader, writer, err) ||
        !host_reader_open(inside, place, &copy, err) || !host_remove(inside, place, err) ||
        !digest_of_file(call->arena, digest_kind(extraction->wanted), copy, &digest, err)) {
        return false;
    }
    if (!str_eq(digest, extraction->wanted)) {
        return tell_changed(err);
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
        !take_copy(call, extraction, staging->inside, &source, err) ||
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
           tell_changed(err);
}

static bool clean(const Moving *moving, const Formers *formers, Error *err)
{
    Cleaning cleaning = { .call = moving->call,
                          .path = moving->extraction->path,
                          .directory = moving->there,
                          .members = &moving->staging->members,
                          .keeps = call_keeps };
    return clean_members(&cleaning, &moving->extraction->stamp, 1, err) &&
           clean_members(&cleaning, formers->stamps, formers->count, err) &&
           formers_forget(formers, moving->there, err);
}

/* Into a directory that is there, or that appears now. */
static bool place(Call *call, Extraction *extraction, Staging *staging, Str draft, Outcome *outcome,
                  Error *err)
{
    AUTO(Host) *there = NULL;
    if (!host_sync(call->host, err)) {
        return false;
    }
    if (extraction->directory.kind == FILE_ABSENT) {
        if (!note(call, extraction, staging, staging->inside, err) ||
            !call_keep(call, extraction->path, err) ||
            !host_move(call->host, draft, call->host, extraction->path, err)) {
            return false;
        }
        outcome->changed = true;
        return true;
    }
    if (!host_open_below(call->host, extraction->path, &there, err)) {
        return false;
    }
    Moving moving = { call, extraction, staging, there, outcome };
    Formers formers;
    if (!formers_read(there, call->arena, extraction->stamp_path, &formers, err) ||
        !formers_overwrite(&formers, there, call, &staging->members, call_keeps, err) ||
        !move_members(&moving, err)) {
        return false;
    }
    outcome->changed = true;
    if (call_bool(call, "clean") && !clean(&moving, &formers, err)) {
        return false;
    }
    return note(call, extraction, staging, there, err);
}

static bool extract(Call *call, Extraction *extraction, Str draft, Outcome *outcome, Error *err)
{
    AUTO(Host) *inside = NULL;
    const Target *wish = &extraction->wish;
    if (!host_open_below(call->host, draft, &inside, err)) {
        return false;
    }
    AUTO_CLEAR(Staging)
    staging = { .call = call,
                .inside = inside,
                .strip = (uint32_t)call_int(call, "strip", 0),
                .max_size = (uint64_t)call_int(call, "max_size", 0),
                .max_count = (uint32_t)call_int(call, "max_members", 0),
                .uid = wish->uid,
                .gid = wish->gid };
    staging_init(&staging);
    if (!unpack(call, extraction, &staging, err) ||
        !host_set_mode(call->host, draft, DIRECTORY_MODE_NEW, err)) {
        return false;
    }
    if ((wish->uid != HOST_KEEP_ID || wish->gid != HOST_KEEP_ID) &&
        !host_set_owner(call->host, draft, wish->uid, wish->gid, err)) {
        return false;
    }
    return place(call, extraction, &staging, draft, outcome, err);
}

bool extracted_apply(Call *call, Outcome *outcome, Error *err)
{
    Extraction *extraction = outcome->found;
    Str draft = host_draft_path(call->arena, extraction->path);
    size_t slash = str_find_last(extraction->path, STR("/"));
    Error ignored;
    if ((slash > 0 && !host_make_directory(call->host, str_slice(extraction->path, 0, slash),
                                           DIRECTORY_MODE_NEW, true, err)) ||
        !host_remove(call->host, draft, err) ||
        !host_create_directory(call->host, draft, 0700, HOST_KEEP_ID, HOST_KEEP_ID, err)) {
        return false;
    }
    bool ok = extract(call, extraction, draft, outcome, err);
    bool removed = host_remove(call->host, draft, ok ? err : &ignored);
    return ok && removed;
}

void extracted_claims(Arena *arena, const Value *params, List *claims)
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
