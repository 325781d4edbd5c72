/* file.*: files, directories and symlinks. The simple actions (symlink, copy, absent) and the
 * module table. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

/* --- file.symlink ---------------------------------------------------------------------------- */

static const ParamSpec symlink_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the symlink" },
    { "target", PARAM_STRING, .required = true, .help = "target of the symlink; need not exist",
      .aspect = "target" },
    { "force", PARAM_BOOL, .fallback = "false",
      .help = "replace a file or directory at this path" },
    { "parents", PARAM_BOOL, .fallback = "true", .help = "create missing parent directories" },
    { 0 },
};

static bool verify_symlink_params(Call *call, Error *err)
{
    return host_check_link(call_str(call, "name"), call_str(call, "target"), err) ||
           call_blame(call, "target");
}
CALL_VERIFY(symlink_verify, verify_symlink_params)

static bool symlink_check(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name"), target = call_str(call, "target"), now = STR_EMPTY;
    FileInfo *info = ARENA_NEW(call->arena, FileInfo);
    if (!host_stat(call->host, path, info, err)) {
        return false;
    }
    if (!host_check_link(path, target, err)) {
        return false;
    }
    if (call->planning && info->kind == FILE_ABSENT &&
        !target_check_parents(call, path, call_bool(call, "parents"), err)) {
        return false;
    }
    outcome->state = STR("present");
    outcome->check_data = info;
    if (info->kind == FILE_LINK) {
        if (!host_read_link(call->host, call->arena, path, &now, err)) {
            return false;
        }
        if (str_eq(now, target)) {
            return true;
        }
    } else if (info->kind != FILE_ABSENT && !call_bool(call, "force")) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT " is a %s, not a symlink; set 'force: true' to replace it",
                         STR_ARG(path), file_kind_name(info->kind));
    } else if (info->kind != FILE_ABSENT) {
        outcome_change(call, outcome, "state", value_string(str_from_c(file_kind_name(info->kind))),
                       value_string(STR("link")));
    }
    if (call->planning && info->kind != FILE_ABSENT && !info->planned &&
        !target_check_replaceable(call, path, err)) {
        return false;
    }
    outcome->changed = true;
    outcome_change(call, outcome, "target", now.len > 0 ? value_string(now) : value_missing(),
                   value_string(target));
    outcome->comment = info->kind == FILE_ABSENT ? STR("created") : STR("updated");
    call_plan(call, path,
              &(PlannedFile){ .info = { .kind = FILE_LINK, .mode = 0777 }, .content = target });
    return true;
}

static bool symlink_apply(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name"), target = call_str(call, "target");
    const FileInfo *info = outcome->check_data;
    if (!call_journal(call, path, err)) {
        return false;
    }
    if (info->kind != FILE_ABSENT && info->kind != FILE_LINK) {
        outcome->changed = true;
        if (!host_remove(call->host, path, err)) {
            return false;
        }
    }
    bool ok = host_make_link(call->host, path, target, err);
    size_t slash = str_find_last(path, STR("/"));
    if (!ok && err->kind == ERROR_NOT_FOUND && slash > 0 && call_bool(call, "parents")) {
        ok = host_make_directory(call->host, str_slice(path, 0, slash), DIRECTORY_MODE_NEW, true,
                                 err) &&
             host_make_link(call->host, path, target, err);
    }
    outcome->changed = outcome->changed || ok;
    return ok;
}

static void symlink_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, symlink_params, params, claims);
    if (value_is_string(params[0])) { /* also anything in the directory that the link refers to */
        claims_add(arena, claims,
                   "provides:path:", arena_join(arena, value_str(params[0]), STR("/"), STR_EMPTY));
    }
}

/* --- file.copy ------------------------------------------------------------------------------- */

static const ParamSpec copy_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the copy" },
    { "source", PARAM_PATH, .aspect = "content@copy", .required = true,
      .help = "path of the file to copy" },
    FILE_WRITE_PARAMS,
    { 0 },
};

static bool copy_check(Call *call, Outcome *outcome, Error *err)
{
    Str source = call_str(call, "source"), content;
    FileInfo info;
    Target *target = ARENA_NEW(call->arena, Target);
    if (!target_read(call, call_str(call, "name"), target, err)) {
        return false;
    }
    if (!host_inspect(call->host, call->arena, source, FILE_CONTENT_MAX, &info, &content, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT && call_report_missing(call, "source", "path", source)) {
        outcome->changed = true;
        outcome->unknown = true;
        return true;
    }
    if (info.kind == FILE_ABSENT) {
        return error_set(err, ERROR_NOT_FOUND, "no file '%" STR_FMT "' on the machine",
                         STR_ARG(source));
    }
    if (info.kind != FILE_REGULAR) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file", STR_ARG(source),
                         file_kind_name(info.kind));
    }
    if (info.size > FILE_CONTENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes", STR_ARG(source),
                         FILE_CONTENT_MAX);
    }
    if ((info.mode & S_IROTH) == 0 && !host_check_content(call->host, source, &info, err)) {
        return call_blame(call, "source");
    }
    Value value = value_string(content);
    target_set_content(target, (info.mode & S_IROTH) != 0 ? value : value_with_secret(value));
    if (!target->has_mode) {
        target->has_mode = true;
        target->mode = info.mode & FILE_MODE_COPIED;
    }
    return target_check_one(call, target, outcome, err);
}

static void copy_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, copy_params, params, claims);
    claims_add_param(arena, claims, "needs:path:", params[1]);
}

/* --- file.absent ----------------------------------------------------------------------------- */

static const ParamSpec absent_params[] = {
    { "name", PARAM_PATH, .required = true,
      .help = "path of the file, link or directory to remove; a directory is removed with "
              "everything in it" },
    { 0 },
};

static bool verify_absent_path(Call *call, Error *err)
{
    return !str_eq(call_str(call, "name"), STR("/")) ||
           error_set(err, ERROR_INVALID, "the root directory cannot be removed") ||
           call_blame(call, "name");
}
CALL_VERIFY(absent_verify, verify_absent_path)

static bool absent_check(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name");
    FileInfo info;
    outcome->state = STR("absent");
    if (!verify_absent_path(call, err) || !host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (call->planning && info.kind != FILE_ABSENT && !info.planned &&
        !target_check_replaceable(call, path, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        outcome->changed = true;
        outcome_change(call, outcome, "state", value_string(str_from_c(file_kind_name(info.kind))),
                       value_string(STR("absent")));
        outcome->comment = STR("removed");
        call_plan(call, path, &(PlannedFile){ .info.kind = FILE_ABSENT });
    }
    return true;
}

static bool absent_apply(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name");
    if (!call_journal(call, path, err)) {
        return false;
    }
    outcome->changed = true; /* also true if only part of a tree was removed */
    return host_remove(call->host, path, err);
}

static void absent_claims(Arena *arena, const Value *params, List *claims)
{
    claims_add_param(arena, claims, "drops:path:", params[0]);
}

/* --- Module table ---------------------------------------------------------------------------- */

static const Action actions[] = {
    { "managed", "Ensure that a file has the given content, owner and mode.", managed_params,
      managed_check, managed_apply, .claims = managed_claims, .resource = "path name",
      .desired_state = "kind=file",
      .text = "At most one of 'content', 'template', 'source' and 'from' sets the content of\n"
              "the file. Without any, existing content is left unchanged and a new file is\n"
              "empty. With 'from', 'name' is the directory in which the published files are\n"
              "placed. A single published file can be renamed: 'name' is then its new path,\n"
              "which must not be a directory or end with '/'.\n"
              "\n"
              "Mode, owner and group of an existing file are left unchanged unless set. A new\n"
              "file has mode 0644, or 0600 if its content is secret. The file is replaced\n"
              "atomically, so a partial file is never visible. A symlink is replaced too, not\n"
              "followed.\n"
              "\n"
              "'validate' runs a command on the new content before it is used, with '%s'\n"
              "replaced by its path; if it fails, the old file is left unchanged and the\n"
              "difference is shown. A plan runs it too, on a temporary file; if it fails and\n"
              "earlier steps would change something, the step is unknown.\n"
              "\n"
              "If a file is not world-readable, before or after the change (0600, 0640), plan\n"
              "and apply report only that it changes; 'diff: true' shows the difference too.\n"
              "Secrets are never shown.\n",
      .example = "- name: greet users at login\n"
                 "  file.managed:\n"
                 "    - name: /etc/motd\n"
                 "    - content: |\n"
                 "        Welcome.\n"
                 "    - owner: root\n"
                 "    - mode: 0644\n" },
    { "content", "Read files so that other steps can write them elsewhere.", content_params,
      content_check, .query = content_query, .claims = content_claims,
      .text = "The files are published under the name of the step: file.managed with 'from:\n"
              "[{file: NAME}]' writes them with their modes. Links are skipped. The content of\n"
              "files that are not world-readable is treated as secret and is not shown in\n"
              "diffs.\n",
      .example = "- name: read the certificates\n"
                 "  file.content:\n"
                 "    - name: /etc/pki\n"
                 "    - recursive: true\n" },
    { "contents", "Read a file as text.", contents_params, contents_check, .query = contents_query,
      .claims = content_claims,
      .text =
          "As a macro it returns the content. It is secret if the file is not world-readable.\n",
      .example = "- name: read the host name\n"
                 "  file.contents:\n"
                 "    - name: /etc/hostname\n" },
    { "directory", "Ensure that a directory exists.", directory_params, directory_check,
      directory_apply, .claims = directory_claims, .resource = "path name",
      .desired_state = "kind=directory",
      .text =
          "With 'clean', everything in the directory is removed unless a step on this node\n"
          "manages it or it matches 'keep'. Nothing is removed where a step writes published\n"
          "files ('from'), because their names are not known in advance, or in a run of selected\n"
          "jobs ('--job'), because the files managed by other jobs are not known.\n",
      .example = "- name: data directory\n"
                 "  file.directory:\n"
                 "    - name: /srv/data\n"
                 "    - mode: 0750\n"
                 "    - recurse: true\n"
                 "    - file_mode: 0640\n" },
    { "symlink", "Ensure that a symlink exists.", symlink_params, symlink_check, symlink_apply,
      .verify_all = symlink_verify, .claims = symlink_claims, .resource = "path name",
      .desired_state = "kind=link",
      .example = "- name: use the current release\n"
                 "  file.symlink:\n"
                 "    - name: /srv/app\n"
                 "    - target: releases/1.4\n" },
    { "absent", "Ensure that a path does not exist.", absent_params, absent_check, absent_apply,
      .verify_all = absent_verify, .claims = absent_claims, .resource = "path name",
      .desired_state = "kind=absent",
      .text = "A directory is removed with everything in it, except for mounted file systems.\n",
      .example = "- name: no telnet configuration\n"
                 "  file.absent:\n"
                 "    - name: /etc/telnet\n" },
    { "line", "Ensure that a line is present in a file or absent from it.", line_params, line_check,
      target_apply_one, .verify_all = line_verify, .claims = line_claims, .resource = "path name",
      .part = "match|line", .part_kind = PART_LINE, .desired_state = "kind=file",
      .text = "With 'match', the last line that matches the pattern is replaced. Otherwise, if\n"
              "the file does not contain the line yet, it is inserted after the last line that\n"
              "matches 'after', before the first that matches 'before', or at the end. With\n"
              "'state: absent', all lines that equal 'line' or match 'match' are removed.\n",
      .example = "- name: no password logins\n"
                 "  file.line:\n"
                 "    - name: /etc/ssh/sshd_config\n"
                 "    - match: ^#?PasswordAuthentication\n"
                 "    - line: PasswordAuthentication no\n"
                 "    - create: true\n" },
    { "block", "Ensure that a block of lines is present in a file, between markers.", block_params,
      block_check, target_apply_one, .verify_all = block_verify, .claims = block_claims,
      .resource = "path name", .part = "marker", .desired_state = "kind=file",
      .text =
          "The block is found by its markers, so each block of a file needs a unique 'marker'.\n",
      .example = "- name: hosts in the cluster\n"
                 "  file.block:\n"
                 "    - name: /etc/hosts\n"
                 "    - content: |\n"
                 "        10.0.0.1 db1\n"
                 "        10.0.0.2 db2\n"
                 "    - create: true\n" },
    { "copy", "Ensure that a file is a copy of another file.", copy_params, copy_check,
      target_apply_one, .claims = copy_claims, .resource = "path name",
      .desired_state = "kind=file",
      .text = "Both files are on this machine. If 'mode' is not set, the copy has the mode of the\n"
              "original, without its set-user-ID, set-group-ID and sticky bits.\n",
      .example = "- name: start with the default configuration\n"
                 "  file.copy:\n"
                 "    - name: /etc/app.conf\n"
                 "    - source: /etc/app.conf.default\n" },
    { 0 },
};

const Module modules_file = {
    .name = "file",
    .help = "Files, directories and symlinks.",
    .id_param = "name",
    .actions = actions,
};
