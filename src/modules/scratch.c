#include "modules/scratch.h"

bool scratch_make(Call *call, Scratch *out, Error *err)
{
    FileInfo info;
    Str path =
        arena_format(call->arena, "/tmp/.eden-call-%016llx", (unsigned long long)random_seed());
    *out = (Scratch){ .call = call };
    if (!host_make_directory(call->host, STR("/tmp"), 01777, true, err) ||
        !host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        return error_set(err, ERROR_CONFLICT, "'%" STR_FMT "' is there already", STR_ARG(path));
    }
    if (!host_make_directory(call->host, path, 0700, false, err)) {
        return false;
    }
    out->path = path;
    return true;
}

Str scratch_path(const Scratch *scratch, const char *name)
{
    return arena_format(scratch->call->arena, "%" STR_FMT "/%s", STR_ARG(scratch->path), name);
}

bool scratch_put(Scratch *scratch, const char *name, Str content, Str *path, Error *err)
{
    FileWrite write = {
        .content = content, .mode = 0600, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    *path = scratch_path(scratch, name);
    return host_write(scratch->call->host, *path, &write, err);
}

void scratch_remove(Scratch *scratch)
{
    Error err;
    Call *call = scratch->call;
    if (scratch->path.len > 0 && !host_remove(call->host, scratch->path, &err)) {
        call_progress(call, str_from_c(err.text)); /* whoever sweeps /tmp takes it */
    }
    scratch->path = STR_EMPTY;
}
