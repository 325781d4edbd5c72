#include "modules/ssh/home_file.h"

#define FOLDER STR("/.ssh")

enum {
    CONTENT_MAX = 16 << 20,
    FOLDER_MODE = 0700
};

static bool refuse(const HomeFile *file, Str path, const char *what, Error *err)
{
    return error_set(err, ERROR_DENIED, "%" STR_FMT " %s: nothing is done there for user %u",
                     STR_ARG(path), what, file->uid);
}

/* Only the user and root may have made what stands on the way. */
static bool check_owner(const HomeFile *file, Str path, const FileInfo *info, Error *err)
{
    return info->uid == file->uid || info->uid == 0 ||
           refuse(file, path, "belongs to somebody else", err);
}

static bool look_at_home(HomeFile *file, Str home, Error *err)
{
    FileInfo info;
    Call *call = file->call;
    if (!host_stat(call->host, home, &info, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        file->missing = true;
        file->why = arena_format(call->arena, "the home %" STR_FMT " is not there", STR_ARG(home));
        return true;
    }
    if (info.kind != FILE_DIRECTORY) {
        return refuse(file, home, "is no directory", err);
    }
    return check_owner(file, home, &info, err) &&
           host_open_below(call->host, home, &file->below, err);
}

static bool look_at_folder(HomeFile *file, Str shown, Error *err)
{
    if (!host_stat(file->below, FOLDER, &file->folder, err)) {
        return false;
    }
    if (file->folder.kind == FILE_ABSENT) {
        return true;
    }
    if (file->folder.kind != FILE_DIRECTORY) {
        return refuse(file, shown, file->folder.kind == FILE_LINK ? "is a link" : "is no directory",
                      err);
    }
    return check_owner(file, shown, &file->folder, err);
}

static bool look_at_file(HomeFile *file, Error *err)
{
    Host *host = file->in_home ? file->below : file->call->host;
    if (!host_look(host, file->call->arena, file->path, CONTENT_MAX, &file->file, &file->content,
                   err)) {
        return false;
    }
    if (file->file.kind == FILE_ABSENT) {
        return true;
    }
    if (file->file.kind != FILE_REGULAR) {
        return refuse(file, file->shown, file->file.kind == FILE_LINK ? "is a link" : "is no file",
                      err);
    }
    if (file->file.size > CONTENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes",
                         STR_ARG(file->shown), CONTENT_MAX);
    }
    if (!file->in_home) {
        return true;
    }
    /* A private file of root that the user moved here would become readable by being copied. */
    if (file->file.uid != file->uid && (file->file.mode & S_IROTH) == 0) {
        return refuse(file, file->shown, "is a private file of somebody else", err);
    }
    return check_owner(file, file->shown, &file->file, err);
}

bool home_file_open(Call *call, Str user, Str name, HomeFile *out, Error *err)
{
    Account account;
    *out = (HomeFile){ .call = call, .in_home = true, .content = STR_EMPTY };
    if (!host_find_account(call->host, call->arena, user, &account, err)) {
        out->missing = err->kind == ERROR_NOT_FOUND;
        out->why = arena_copy(call->arena, str_from_c(err->text));
        return out->missing;
    }
    Str folder = arena_format(call->arena, "%" STR_FMT "/.ssh", STR_ARG(account.home));
    out->uid = account.uid;
    out->gid = account.gid;
    out->path = arena_format(call->arena, "/.ssh/%" STR_FMT, STR_ARG(name));
    out->shown =
        arena_format(call->arena, "%" STR_FMT "/%" STR_FMT, STR_ARG(folder), STR_ARG(name));
    if (!look_at_home(out, account.home, err)) {
        return false;
    }
    if (!out->missing && (!look_at_folder(out, folder, err) || !look_at_file(out, err))) {
        home_file_close(out);
        return false;
    }
    return true;
}

bool home_file_open_system(Call *call, Str path, HomeFile *out, Error *err)
{
    *out = (HomeFile){ .call = call, .path = path, .shown = path, .content = STR_EMPTY };
    return look_at_file(out, err);
}

void home_file_close(HomeFile *file)
{
    host_close(file->below);
    file->below = NULL;
}

bool home_file_is_loose(const HomeFile *file, mode_t mode)
{
    if (!file->in_home || file->missing || file->file.kind == FILE_ABSENT) {
        return false;
    }
    return file->folder.uid != file->uid || file->folder.mode != FOLDER_MODE ||
           file->file.uid != file->uid || file->file.mode != mode;
}

static bool settle_folder(HomeFile *file, Error *err)
{
    return (file->folder.kind == FILE_DIRECTORY ||
            host_make_directory(file->below, FOLDER, FOLDER_MODE, false, err)) &&
           host_set_owner(file->below, FOLDER, file->uid, file->gid, err) &&
           host_set_mode(file->below, FOLDER, FOLDER_MODE, err);
}

bool home_file_write(HomeFile *file, Str content, mode_t mode, Error *err)
{
    Call *call = file->call;
    FileWrite write = { .content = content,
                        .mode = mode,
                        .uid = file->in_home ? file->uid : HOST_KEEP_ID,
                        .gid = file->in_home ? file->gid : HOST_KEEP_ID,
                        .before = &file->file };
    if (!call_keep(call, file->shown, err)) {
        return false;
    }
    if (!file->in_home) {
        Str folder = str_slice(file->path, 0, str_find_last(file->path, STR("/")));
        return host_make_directory(call->host, folder, 0755, true, err) &&
               host_write(call->host, file->path, &write, err);
    }
    return (settle_folder(file, err) && host_write(file->below, file->path, &write, err)) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(file->shown));
}
