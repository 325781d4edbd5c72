/* Compares a requested file with the one on disk, describes the difference, and writes it.
 *
 * Danger: the directory may belong to another user. If a step sets content and owner, the file is
 * replaced rather than modified, since its former owner may have it open. A backup belongs to the
 * owner of the file that was read. Contents of files that are not world-readable are omitted from
 * diffs. */
#include "modules/file/target.h"

#include "base/text_diff.h"
#include "base/utf8.h"
#include "base/word_replace.h"
#include "modules/command.h"
#include "modules/scratch.h"
#include "sys/process.h"
#include "sys/sha256.h"

enum {
    DIFF_MAX = 1 << 20, /* bytes; larger files are described by size and checksum */
    /* Exit codes of sh(1). */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
};

/* --- Parameters ------------------------------------------------------------------------------ */

/* Returns true if an earlier step of a plan creates the owner or the group. */
static bool has_pending_owner(Call *call, Target *target, const char *param, const char *class,
                              Str name, const Error *err)
{
    if (err->kind != ERROR_NOT_FOUND) {
        return call_blame(call, param);
    }
    target->owner_missing = call_report_missing(call, param, class, name);
    return target->owner_missing;
}

bool target_read_owner(Call *call, Target *target, Error *err)
{
    target->owner = call_str(call, "owner");
    target->group = call_str(call, "group");
    target->uid = HOST_KEEP_ID;
    target->gid = HOST_KEEP_ID;
    if (target->owner.len > 0 &&
        !host_find_user(call->host, target->owner, &target->uid, NULL, err) &&
        !has_pending_owner(call, target, "owner", "user", target->owner, err)) {
        return false;
    }
    if (target->group.len > 0 && !host_find_group(call->host, target->group, &target->gid, err) &&
        !has_pending_owner(call, target, "group", "group", target->group, err)) {
        return false;
    }
    return true;
}

bool target_read_attributes(Call *call, Target *target, Error *err)
{
    target->has_mode = call_has(call, "mode");
    target->mode = (mode_t)call_int(call, "mode", 0);
    return target_read_owner(call, target, err);
}

static bool read_backup(Call *call, Target *target, Error *err)
{
    Str given = call_str(call, "backup");
    if (str_eq(given, STR("true")) || str_eq(given, STR("yes"))) {
        given = STR(".bak");
    } else if (str_eq(given, STR("false")) || str_eq(given, STR("no"))) {
        given = STR_EMPTY;
    }
    target->backup = given;
    return str_find(given, STR("/"), 0) == STR_NOT_FOUND ||
           error_set(err, ERROR_INVALID, "'backup' is a suffix and cannot contain '/'");
}

bool target_read(Call *call, Str path, Target *target, Error *err)
{
    *target = (Target){ .path = path, .new_mode = FILE_MODE_NEW };
    target->parents = call_bool(call, "parents");
    target->validate = call_param(call, "validate");
    target->shows_diff = call_bool(call, "diff");
    return target_read_attributes(call, target, err) && read_backup(call, target, err);
}

Target target_for_system_file(Str path)
{
    return (Target){ .path = path,
                     .new_mode = FILE_MODE_NEW,
                     .uid = HOST_KEEP_ID,
                     .gid = HOST_KEEP_ID,
                     .parents = true };
}

void target_set_line(Call *call, Target *target, Str line)
{
    target_set_content(target,
                       value_string(arena_format(call->arena, "%" STR_FMT "\n", STR_ARG(line))));
}

void target_set_content(Target *target, Value content)
{
    target->has_content = true;
    target->content = value_str(content);
    target->secret = value_is_secret(content);
    target->new_mode = target->secret ? FILE_MODE_SECRET : target->new_mode;
}

/* --- Comparison ------------------------------------------------------------------------------ */

Value mode_value(Arena *arena, mode_t mode)
{
    return value_string(arena_format(arena, "%04o", mode));
}

static bool is_text(Str content)
{
    return (content.len == 0 || memchr(content.data, '\0', content.len) == NULL) &&
           utf8_is_valid(content);
}

static Str describe(Arena *arena, Str content, int64_t size, bool known)
{
    if (!known) {
        return arena_format(arena, "%lld bytes", (long long)size);
    }
    char digits[SHA256_HEX + 1];
    sha256_hex(content, digits);
    return arena_format(arena, "%zu bytes, sha256 %s", content.len, digits);
}

/* Set-user-ID and set-group-ID bits do not survive a change of owner; chown(2) clears them too. */
mode_t target_mode(const Target *target)
{
    const FileInfo *before = &target->before;
    if (target->has_mode || before->kind != FILE_REGULAR) {
        return target->has_mode ? target->mode : target->new_mode;
    }
    bool is_given_away = (target->uid != HOST_KEEP_ID && target->uid != before->uid) ||
                         (target->gid != HOST_KEEP_ID && target->gid != before->gid);
    return is_given_away ? before->mode & ~(mode_t)(S_ISUID | S_ISGID) : before->mode;
}

/* A file that is not world-readable, before or after the change, must not become readable through
 * the report. */
static bool is_private(const Target *target)
{
    return (target->before.kind == FILE_REGULAR && (target->before.mode & S_IROTH) == 0) ||
           (target_mode(target) & S_IROTH) == 0;
}

static void put_diff(Call *call, const Target *target, Buf *diff)
{
    bool is_new = target->before.kind == FILE_ABSENT;
    if (target->hides_content) {
        buf_put_format(diff, "%" STR_FMT ": changed (%s)\n", STR_ARG(target->path),
                       target->secret ? "secret" : "private");
        return;
    }
    if (target->has_old && target->old.len <= DIFF_MAX && target->content.len <= DIFF_MAX &&
        is_text(target->old) && is_text(target->content)) {
        text_diff(target->old, target->content, is_new ? STR("/dev/null") : target->path,
                  target->path, diff);
        return;
    }
    Str before = is_new ? STR("absent")
                        : describe(call->arena, target->old, target->before.size, target->has_old);
    Str after = describe(call->arena, target->content, 0, true);
    buf_put_format(diff, "%" STR_FMT ": %" STR_FMT " -> %" STR_FMT "\n", STR_ARG(target->path),
                   STR_ARG(before), STR_ARG(after));
}

static bool read_current(Call *call, Target *target, Error *err)
{
    if (target->has_old) {
        return true;
    }
    if (!target->has_content) {
        return host_stat(call->host, target->path, &target->before, err);
    }
    size_t max = target->content.len > DIFF_MAX ? target->content.len : DIFF_MAX;
    if (!host_inspect(call->host, call->arena, target->path, max, &target->before, &target->old,
                      err)) {
        return false;
    }
    target->has_old = target->before.kind != FILE_REGULAR || (size_t)target->before.size <= max;
    return true;
}

bool target_check_chown(Call *call, const Target *target, Error *err)
{
    return target->uid != HOST_KEEP_ID || target->owner_missing ||
           host_check_owner(call->host, call->arena, target->path, &target->before, err);
}

static bool fail_wrong_kind(const Target *target, Error *err)
{
    FileKind kind = target->before.kind;
    return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file", STR_ARG(target->path),
                     file_kind_name(kind));
}

static void report_attributes(Call *call, const Target *target, Outcome *outcome)
{
    Arena *arena = call->arena;
    const FileInfo *before = &target->before;
    bool is_new = before->kind == FILE_ABSENT;
    if (target->owner.len > 0 && (is_new || before->uid != target->uid)) {
        Value old =
            is_new ? value_missing() : value_string(host_user_name(call->host, arena, before->uid));
        outcome_change(call, outcome, "owner", old, value_string(target->owner));
    }
    if (target->group.len > 0 && (is_new || before->gid != target->gid)) {
        Value old = is_new ? value_missing()
                           : value_string(host_group_name(call->host, arena, before->gid));
        outcome_change(call, outcome, "group", old, value_string(target->group));
    }
    if (is_new) {
        outcome_change(call, outcome, "mode", value_missing(),
                       mode_value(arena, target_mode(target)));
    } else if (target->set_mode) {
        outcome_change(call, outcome, "mode", mode_value(arena, before->mode),
                       mode_value(arena, target->mode));
    }
}

static void report_one(Call *call, const Target *target, Outcome *outcome)
{
    FileKind kind = target->before.kind;
    if (kind != FILE_REGULAR) {
        outcome_change(call, outcome, "state", value_string(str_from_c(file_kind_name(kind))),
                       value_string(STR("present")));
    } else if (target->write) {
        outcome_change(call, outcome, "size", value_int(target->before.size),
                       value_int((int64_t)target->content.len));
    }
    report_attributes(call, target, outcome);
    outcome->comment = kind == FILE_ABSENT ? STR("created") : STR("updated");
}

static void report_several(Call *call, const Target *target, Outcome *outcome)
{
    const char *path = arena_copy_c(call->arena, target->path);
    FileKind kind = target->before.kind;
    outcome_change(call, outcome, path, value_string(str_from_c(file_kind_name(kind))),
                   value_string(target->write && kind == FILE_REGULAR ? STR("different content")
                                                                      : STR("file")));
}

bool target_check_replaceable(Call *call, Str path, Error *err)
{
    const char *param = action_param_index(call->action, STR("name")) >= 0 ? "name" : NULL;
    return host_check_changeable(call->host, path, err) ||
           call_report_missing(call, param, "path", path);
}

bool target_check_parents(Call *call, Str path, bool parents, Error *err)
{
    const char *param = action_param_index(call->action, STR("name")) >= 0 ? "name" : NULL;
    Str entry = path;
    for (size_t slash; (slash = str_find_last(path, STR("/"))) != STR_NOT_FOUND && slash > 0;) {
        FileInfo info;
        path = str_slice(path, 0, slash);
        if (!host_stat(call->host, path, &info, err)) {
            return false;
        }
        if (info.kind == FILE_ABSENT && parents) {
            entry = path;
            continue;
        }
        if (info.kind == FILE_ABSENT) {
            return call_report_missing(call, param, "path", path) ||
                   error_set(err, ERROR_NOT_FOUND, "directory '%" STR_FMT "' does not exist",
                             STR_ARG(path));
        }
        bool is_link = info.kind == FILE_LINK && !info.planned;
        Str inside = arena_join(call->arena, path, STR("/."), STR_EMPTY);
        FileInfo link_target = info;
        if (is_link && !host_stat(call->host, inside, &link_target, err)) {
            return false;
        }
        if (is_link && link_target.kind == FILE_ABSENT) {
            return call_report_missing(call, param, "path", path) ||
                   error_set(err, ERROR_CONFLICT,
                             "%" STR_FMT " is a symlink that does not point to a directory",
                             STR_ARG(path));
        }
        if (info.kind == FILE_DIRECTORY || info.kind == FILE_LINK) {
            return info.planned || target_check_replaceable(call, entry, err);
        }
        /* An earlier step creates a file here, so no step creates a directory. */
        return (info.planned ? call_blame(call, param)
                             : call_report_missing(call, param, "path", path)) ||
               error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                         STR_ARG(path), file_kind_name(info.kind));
    }
    return target_check_replaceable(call, entry, err);
}

/* Records what the path would contain, for the checks of later steps. */
static void plan_file(Call *call, const Target *target)
{
    if (!target->has_content && !target->has_old) {
        return;
    }
    PlannedFile file = { .info = target->before,
                         .content = target->has_content ? target->content : target->old };
    file.info.kind = FILE_REGULAR;
    file.info.mode = target_mode(target);
    file.info.uid = target->uid != HOST_KEEP_ID ? target->uid : file.info.uid;
    file.info.gid = target->gid != HOST_KEEP_ID ? target->gid : file.info.gid;
    call_plan(call, target->path, &file);
}

/* --- Validating ------------------------------------------------------------------------------ */

typedef struct Validation {
    Call *call;
    const Target *target;
    bool has_failed; /* it was executed, and failed */
} Validation;

/* In the output, replaces the path of the temporary file with that of the file. */
static bool validate(void *context, Str path, Error *err)
{
    Validation *validation = context;
    Call *call = validation->call;
    Value words = validation->target->validate;
    Command command = { .command = command_with_path(call->arena, words, path) };
    Str shown = command_words(call->arena, words);
    ProcessResult result;
    if (!command_execute(call, &command, &result, err)) {
        return error_wrap(err, "validate '%" STR_FMT "'", STR_ARG(shown));
    }
    if (result.ending == PROCESS_EXITED && result.exit_code == 0) {
        return true;
    }
    bool is_missing = result.ending == PROCESS_EXITED && (result.exit_code == EXIT_NOT_FOUND ||
                                                          result.exit_code == EXIT_NOT_EXECUTABLE);
    validation->has_failed = result.ending == PROCESS_EXITED && !is_missing;
    Str wrote = call_scrub(call, result.error_out.len > 0 ? result.error_out : result.out);
    result.error_out = process_summary(
        call->arena, word_replace(call->arena, wrote, path, validation->target->path));
    command_failure(call, &command, &result, err);
    return error_wrap(err, "validate '%" STR_FMT "'", STR_ARG(shown));
}

/* Also false for actions that have no such parameter. */
static bool has_validation(const Target *target)
{
    return value_is_string(target->validate) || value_is_sequence(target->validate);
}

static bool may_change_before(Call *call)
{
    const CallServices *services = call->services;
    Str ignored;
    return services == NULL || services->may_be_provided == NULL ||
           services->may_be_provided(services->context, call, "path", STR("/"), &ignored);
}

/* In a plan, the content is validated in a temporary file. The program may depend on what earlier
 * steps would change, so its result is final only if there are no such steps. */
static bool validate_planned(Call *call, const Target *target, Outcome *outcome, Error *err)
{
    Validation validation = { .call = call, .target = target };
    AUTO_CLEAR(Scratch) scratch = { .call = call };
    Str path;
    Error why;
    if (!call->planning || call->is_prereq_check || !target->write || call->provided_by.len > 0 ||
        !has_validation(target)) {
        return true;
    }
    bool is_made = scratch_make(call, &scratch, &why) &&
                   scratch_put(&scratch, "content", target->content, &path, &why);
    if (is_made && validate(&validation, path, &why)) {
        return true;
    }
    if (validation.has_failed && !may_change_before(call)) {
        *err = why;
        return call_blame(call, "validate");
    }
    outcome->unknown = true;
    outcome->comment = arena_format(call->arena, "not validated: %s", why.text);
    return true;
}

bool target_compare(Call *call, Target *target, bool several, Outcome *outcome, Buf *diff,
                    Error *err)
{
    ArenaMark mark = arena_mark(call->arena);
    bool had_content = target->has_old;
    if (!read_current(call, target, err)) {
        return false;
    }
    const FileInfo *before = &target->before;
    if (target->is_complete_content && target->secret && !target->has_mode &&
        before->kind == FILE_REGULAR && (before->mode & S_IRWXO) != 0) {
        target->has_mode = true;
        target->mode = before->mode & ~(mode_t)S_IRWXO;
    }
    if (before->kind == FILE_DIRECTORY || before->kind == FILE_OTHER ||
        (before->kind == FILE_LINK && !target->has_content)) {
        return fail_wrong_kind(target, err);
    }
    if (target->has_content && (!target->is_edit || target->secret) &&
        !target_check_chown(call, target, err)) {
        return false;
    }
    bool same_content =
        before->kind == FILE_REGULAR &&
        (!target->has_content || (target->has_old && str_eq(target->old, target->content)));
    target->write = !same_content;
    if (before->kind == FILE_REGULAR) {
        target->set_owner = (target->uid != HOST_KEEP_ID && target->uid != before->uid) ||
                            (target->gid != HOST_KEEP_ID && target->gid != before->gid);
        target->set_mode = target->has_mode && target->mode != before->mode;
        target->replaces_file = target->has_content && target->uid != HOST_KEEP_ID &&
                                target->uid != before->uid && before->uid != 0 &&
                                before->uid != process_own_user();
    }
    if (same_content) {
        target->old = STR_EMPTY;
        if (!had_content) {
            arena_release(call->arena,
                          mark); /* free it: a thousand unchanged files must not use memory */
        }
    }
    if (!target->write && !target->set_owner && !target->set_mode && !target->owner_missing) {
        return true;
    }
    if (!target->write && (target->set_owner || target->set_mode) && !before->planned &&
        !host_check_hard_links(call->host, target->path, err)) {
        return false;
    }
    if (target->write && target->is_edit && (target->set_owner || target->set_mode) &&
        !host_check_content(call->host, target->path, before, err)) {
        return false;
    }
    outcome->changed = true;
    target->hides_content = target->secret || (!target->shows_diff && is_private(target));
    if (call->planning && before->kind == FILE_ABSENT &&
        !target_check_parents(call, target->path, target->parents, err)) {
        return false;
    }
    if (call->planning && before->kind != FILE_ABSENT && !before->planned &&
        !target_check_replaceable(call, target->path, err)) {
        return false;
    }
    bool listed = value_is_sequence(target->validate);
    if (call->planning && target->write && has_validation(target) &&
        (!command_check(call, "validate", target->validate, STR_EMPTY, value_missing(), err) ||
         (!listed && !command_check_program(call, "validate", STR("/bin/sh"), err)))) {
        return error_wrap(err, "validate");
    }
    if (target->write) {
        put_diff(call, target, diff);
    }
    if (target->write && target->hides_content) {
        outcome_observe(call, outcome, target->old);
        outcome_observe(call, outcome, target->content);
    }
    plan_file(call, target);
    if (several) {
        report_several(call, target, outcome);
    } else {
        report_one(call, target, outcome);
    }
    if (!validate_planned(call, target, outcome, err)) {
        outcome->keeps_diff = true;
        outcome->diff = arena_copy(call->arena, buf_str(diff));
        return false;
    }
    return true;
}

/* --- Applying -------------------------------------------------------------------------------- */

/* If the file was replaced after the check, the backup belongs to the owner of the file that is
 * read here. */
static bool save_backup(Call *call, const Target *target, Error *err)
{
    FileInfo info;
    FileWrite write = { 0 };
    if (target->backup.len == 0 || target->before.kind != FILE_REGULAR) {
        return true;
    }
    Str path = arena_format(call->arena, "%" STR_FMT "%" STR_FMT, STR_ARG(target->path),
                            STR_ARG(target->backup));
    if (!call_journal(call, path, err) ||
        !host_read_info(call->host, call->arena, target->path, FILE_CONTENT_MAX, &info,
                        &write.content, err)) {
        return error_wrap(err, "backup");
    }
    write.mode = info.mode;
    write.uid = info.uid;
    write.gid = info.gid;
    return host_write(call->host, path, &write, err) || error_wrap(err, "backup");
}

static bool write_file(Call *call, const Target *target, Outcome *outcome, Error *err)
{
    bool exists = target->before.kind == FILE_REGULAR;
    Validation validation = { .call = call, .target = target };
    FileWrite write = {
        .content = target->content,
        .mode = target_mode(target),
        .uid = target->uid,
        .gid = target->gid,
        .before = &target->before,
        .check = has_validation(target) ? validate : NULL,
        .check_context = &validation,
    };
    if (host_write(call->host, target->path, &write, err)) {
        return true;
    }
    if (validation.has_failed) {
        outcome->keeps_diff = true;
        return call_blame(call, "validate");
    }
    size_t slash = str_find_last(target->path, STR("/"));
    if (!target->parents || err->kind != ERROR_NOT_FOUND || slash == 0 || exists) {
        return false;
    }
    return host_make_directory(call->host, str_slice(target->path, 0, slash), DIRECTORY_MODE_NEW,
                               true, err) &&
           host_write(call->host, target->path, &write, err);
}

bool target_apply(Call *call, Target *target, Outcome *outcome, Error *err)
{
    if (!target->write && !target->set_owner && !target->set_mode) {
        return true;
    }
    if (!call_journal(call, target->path, err)) {
        return false;
    }
    if (target->write || target->replaces_file) {
        if ((target->write && !save_backup(call, target, err)) ||
            !write_file(call, target, outcome, err)) {
            return false;
        }
        outcome->changed = true;
        return true;
    }
    if (target->set_owner) {
        if (!host_set_owner(call->host, target->path, target->uid, target->gid, err)) {
            return false;
        }
        outcome->changed = true;
    }
    /* chown clears the set-user-ID and set-group-ID bits, so the mode is set afterward. */
    bool again = target->set_owner && target->has_mode && (target->mode & 06000) != 0;
    if (target->set_mode || again) {
        if (!host_set_mode(call->host, target->path, target->mode, err)) {
            return false;
        }
        outcome->changed = true;
    }
    return true;
}

bool target_check_one(Call *call, Target *target, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Buf) diff = buf_make(BUF_UNLIMITED);
    if (!target_compare(call, target, false, outcome, &diff, err)) {
        return false;
    }
    if (diff.len > 0) {
        outcome->diff = arena_copy(call->arena, buf_str(&diff));
    }
    outcome->state = STR("present");
    outcome->check_data = target;
    return true;
}

bool target_apply_one(Call *call, Outcome *outcome, Error *err)
{
    return target_apply(call, outcome->check_data, outcome, err);
}

/* --- Claims ---------------------------------------------------------------------------------- */

static void claim(Arena *arena, const ParamSpec *specs, const Value *params, const char *name,
                  const char *prefix, List *claims)
{
    for (uint32_t i = 0; specs[i].name != NULL; i++) {
        if (strcmp(specs[i].name, name) == 0) {
            claims_add_param(arena, claims, prefix, params[i]);
        }
    }
}

void target_claims(Arena *arena, const ParamSpec *specs, const Value *params, List *claims)
{
    claim(arena, specs, params, "name", "path:", claims);
    claim(arena, specs, params, "owner", "needs:user:", claims);
    claim(arena, specs, params, "group", "needs:group:", claims);
}
