#include "modules/ssh/home_file.h"

#define SSH_DIRECTORY STR("/.ssh")

enum {
    CONTENT_MAX = 16 << 20,
    SSH_DIRECTORY_MODE = 0700
};

static bool fail_unsafe(const HomeFile *file, Str path, const char *what, Error *err)
{
    return error_set(err, ERROR_DENIED, "%" STR_FMT " %s; refusing to use it for user %u",
                     STR_ARG(path), what, file->uid);
}

/* All path components must belong to the user or root. */
static bool check_owner(const HomeFile *file, Str path, const FileInfo *info, Error *err)
{
    return info->uid == file->uid || info->uid == 0 ||
           fail_unsafe(file, path, "belongs to another user", err);
}

static bool check_home(HomeFile *file, Str home, Error *err)
{
    FileInfo info;
    Call *call = file->call;
    if (!host_stat(call->host, home, &info, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        file->missing = true;
        file->home = home;
        file->missing_reason =
            arena_format(call->arena, "home directory %" STR_FMT " does not exist", STR_ARG(home));
        return true;
    }
    if (info.kind != FILE_DIRECTORY) {
        return fail_unsafe(file, home,
                           info.kind == FILE_LINK ? "is a symlink, not the home directory itself"
                                                  : "is not a directory",
                           err);
    }
    return check_owner(file, home, &info, err) &&
           host_open_below(call->host, home, &file->home_root, err);
}

/* Checks for a nonempty directory owned by root that the user cannot read. */
static bool is_hidden(HomeFile *file, bool *out, Error *err)
{
    Str *names;
    uint32_t count = 0;
    *out = false;
    if (file->ssh_directory.uid == file->uid ||
        (file->ssh_directory.mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH)) {
        return true;
    }
    bool listed = host_list(file->ssh_root, file->call->arena, STR("/"), 1, &names, &count, err);
    *out = !listed || count > 0;
    return listed || err->kind == ERROR_LIMIT;
}

static bool check_ssh_directory(HomeFile *file, Error *err)
{
    bool hidden;
    Str shown = str_slice(file->display_path, 0, str_find_last(file->display_path, STR("/")));
    if (!host_stat(file->home_root, SSH_DIRECTORY, &file->ssh_directory, err)) {
        return false;
    }
    if (file->ssh_directory.kind == FILE_ABSENT) {
        return true;
    }
    if (file->ssh_directory.kind != FILE_DIRECTORY) {
        return fail_unsafe(
            file, shown, file->ssh_directory.kind == FILE_LINK ? "is a link" : "is not a directory",
            err);
    }
    if (!host_open_below(file->home_root, SSH_DIRECTORY, &file->ssh_root, err) ||
        !host_stat(file->ssh_root, STR("/"), &file->ssh_directory, err) ||
        !check_owner(file, shown, &file->ssh_directory, err) || !is_hidden(file, &hidden, err)) {
        return false;
    }
    return !hidden || fail_unsafe(file, shown, "is a private directory of another user", err);
}

static bool check_file(HomeFile *file, Error *err)
{
    Host *host = file->in_home ? file->ssh_root : file->call->host;
    if (host == NULL) {
        return true;
    }
    if (!host_inspect(host, file->call->arena, file->path, CONTENT_MAX, &file->file, &file->content,
                      err)) {
        return false;
    }
    if (file->file.kind == FILE_ABSENT) {
        return true;
    }
    if (file->file.kind != FILE_REGULAR) {
        return fail_unsafe(file, file->display_path,
                           file->file.kind == FILE_LINK ? "is a link" : "is not a file", err);
    }
    if (file->file.size > CONTENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes",
                         STR_ARG(file->display_path), CONTENT_MAX);
    }
    if (!file->in_home) {
        return true;
    }
    /* If the user has moved a private file owned by root here, copying it would make it readable by
     * the user. */
    if (file->file.uid != file->uid && (file->file.mode & S_IROTH) == 0) {
        return fail_unsafe(file, file->display_path, "is a private file of another user", err);
    }
    return check_owner(file, file->display_path, &file->file, err);
}

bool home_file_open(Call *call, Str user, Str name, HomeFile *out, Error *err)
{
    Account account;
    *out = (HomeFile){ .call = call, .in_home = true, .content = STR_EMPTY };
    if (!host_find_account(call->host, call->arena, user, &account, err)) {
        out->missing = err->kind == ERROR_NOT_FOUND;
        out->missing_reason = arena_copy(call->arena, str_from_c(err->text));
        return out->missing;
    }
    Str ssh_directory = arena_format(call->arena, "%" STR_FMT "/.ssh", STR_ARG(account.home));
    out->uid = account.uid;
    out->gid = account.gid;
    out->path = arena_join(call->arena, STR("/"), name, STR_EMPTY);
    out->display_path =
        arena_format(call->arena, "%" STR_FMT "/%" STR_FMT, STR_ARG(ssh_directory), STR_ARG(name));
    if (!check_home(out, account.home, err)) {
        return false;
    }
    if (!out->missing && (!check_ssh_directory(out, err) || !check_file(out, err))) {
        home_file_close(out);
        return false;
    }
    return true;
}

bool home_file_is_pending(HomeFile *file, Error *err)
{
    Call *call = file->call;
    bool is_pending = file->home.len > 0
                          ? call_report_missing(call, "user", "path", file->home)
                          : call_report_missing(call, "user", "user", call_str(call, "user"));
    return is_pending ||
           error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(file->missing_reason));
}

bool home_file_open_system(Call *call, Str path, HomeFile *out, Error *err)
{
    *out = (HomeFile){ .call = call, .path = path, .display_path = path, .content = STR_EMPTY };
    return check_file(out, err);
}

void home_file_close(HomeFile *file)
{
    host_close(file->ssh_root);
    host_close(file->home_root);
    file->ssh_root = NULL;
    file->home_root = NULL;
}

bool home_file_needs_fix(const HomeFile *file, mode_t mode)
{
    if (!file->in_home || file->missing || file->file.kind == FILE_ABSENT) {
        return false;
    }
    return file->ssh_directory.uid != file->uid || file->ssh_directory.mode != SSH_DIRECTORY_MODE ||
           file->file.uid != file->uid || file->file.mode != mode;
}

/* A directory that was just created is verified too: it may have been replaced. */
static bool ensure_ssh_directory(HomeFile *file, Error *err)
{
    if (file->ssh_root == NULL &&
        (!host_make_directory(file->home_root, SSH_DIRECTORY, SSH_DIRECTORY_MODE, false, err) ||
         !check_ssh_directory(file, err))) {
        return false;
    }
    if (file->ssh_root == NULL) {
        return error_set(err, ERROR_CONFLICT, "it was removed concurrently");
    }
    return host_set_owner(file->ssh_root, STR("/"), file->uid, file->gid, err) &&
           host_set_mode(file->ssh_root, STR("/"), SSH_DIRECTORY_MODE, err);
}

bool home_file_write(HomeFile *file, Str content, mode_t mode, Error *err)
{
    Call *call = file->call;
    FileWrite write = { .content = content,
                        .mode = mode,
                        .uid = file->in_home ? file->uid : HOST_KEEP_ID,
                        .gid = file->in_home ? file->gid : HOST_KEEP_ID,
                        .before = &file->file };
    if (!call_journal(call, file->display_path, err)) {
        return false;
    }
    if (!file->in_home) {
        Str ssh_directory = str_slice(file->path, 0, str_find_last(file->path, STR("/")));
        return host_make_directory(call->host, ssh_directory, 0755, true, err) &&
               host_write(call->host, file->path, &write, err);
    }
    return (ensure_ssh_directory(file, err) &&
            host_write(file->ssh_root, file->path, &write, err)) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(file->display_path));
}
