#include "modules/scratch.h"

#include "sys/process.h"

#define DIRECTORY "/tmp"
#define START     ".eden-call-"

enum {
    ENTRIES_MAX = 100000,
    MODE = 0700
};

typedef struct SweepState {
    bool done;
} SweepState;

static const SharedKind swept_kind = { sizeof(SweepState), NULL };

/* "/tmp/.eden-call-812-0123456789abcdef": returns true if process 812 no longer exists. A file of
 * that name may belong to the user it was created for. */
static bool is_stale(Call *call, Str name, Str path, uint32_t uid)
{
    FileInfo info, process;
    Error err;
    int64_t pid;
    Str digits = str_from_offset(name, STR(START).len);
    digits = str_slice(digits, 0, str_find(digits, STR("-"), 0));
    if (!str_starts(name, STR(START)) || !str_to_i64(digits, &pid) || pid <= 0 ||
        !host_stat(call->host, path, &info, &err) || info.mode != MODE ||
        !(info.kind == FILE_REGULAR || (info.kind == FILE_DIRECTORY && info.uid == uid))) {
        return false; /* any user can create such names */
    }
    Str proc_path = arena_format(call->arena, "/proc/%lld", (long long)pid);
    return host_stat(call->host, proc_path, &process, &err) && process.kind == FILE_ABSENT;
}

/* Files left by a killed eden may contain secrets. Once per run is enough. */
static void sweep(Call *call, uint32_t uid)
{
    SweepState *swept = shared_lock(host_shared(call->host), &swept_kind);
    Str *names;
    uint32_t count = 0;
    Error err;
    if (swept->done || call->planning || !host_is_live(call->host) ||
        !host_list(call->host, call->arena, STR(DIRECTORY), ENTRIES_MAX, &names, &count, &err)) {
        count = 0;
    }
    swept->done = swept->done || !call->planning;
    for (uint32_t i = 0; i < count; i++) {
        Str path = arena_format(call->arena, DIRECTORY "/%" STR_FMT, STR_ARG(names[i]));
        if (is_stale(call, names[i], path, uid) && !host_remove(call->host, path, &err)) {
            call_progress(call, str_from_c(err.text));
        }
    }
    shared_unlock(host_shared(call->host), &swept_kind);
}

void scratch_remove(Scratch *scratch)
{
    Error err;
    Call *call = scratch->call;
    if (scratch->path.len > 0 && !host_remove(call->host, scratch->path, &err)) {
        call_progress(call, str_from_c(err.text)); /* the next run will retry */
    }
    scratch->path = STR_EMPTY;
}

static Str make_path(Call *call)
{
    return arena_format(call->arena, DIRECTORY "/" START "%lld-%016llx",
                        (long long)process_own_pid(), (unsigned long long)random_seed());
}

bool scratch_put_program(Call *call, Str content, uint32_t uid, uint32_t gid, Str *path, Error *err)
{
    FileWrite write = { .content = content, .mode = MODE, .uid = uid, .gid = gid };
    *path = make_path(call);
    if (!host_make_directory(call->host, STR(DIRECTORY), 01777, true, err) ||
        !host_write(call->host, *path, &write, err)) {
        return false;
    }
    sweep(call, process_own_user());
    return true;
}

bool scratch_make(Call *call, Scratch *out, Error *err)
{
    FileInfo info;
    Str path = make_path(call);
    *out = (Scratch){ .call = call };
    if (!host_make_directory(call->host, STR(DIRECTORY), 01777, true, err) ||
        !host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        return error_set(err, ERROR_CONFLICT, "'%" STR_FMT "' already exists", STR_ARG(path));
    }
    if (!host_make_directory(call->host, path, MODE, false, err)) {
        return false;
    }
    out->path = path;
    sweep(call, process_own_user());
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
