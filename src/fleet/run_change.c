/* Transactions on the record of a run: reads it, decides, and writes it unless it has changed. */
#include "fleet/run_change.h"

#include "base/suggest.h"
#include "cluster/change.h"
#include "store/keys.h"

typedef struct RunChange {
    ChangeRequest base;
    Str id, value; /* `value` is the record of a new run */
    bool now;      /* to cancel */
} RunChange;

static RunChange *request_new(const ClusterStore *cluster_store, Str id, ClusterDone *done,
                              void *context)
{
    RunChange *request = change_request_new(sizeof *request, cluster_store, done, context);
    request->id = arena_copy(&request->base.arena, id);
    return request;
}

static void start(RunChange *request, bool (*decide)(void *context, Change *change, Error *err))
{
    Str prefix = request->base.cluster_store.prefix;
    Str key = key_make(&request->base.arena, prefix, KEY_RUN, &request->id, 1);
    change_request_start(&request->base,
                         &(ChangeSpec){ .keys = &key, .key_count = 1, .decide = decide });
}

static bool decide_create(void *context, Change *change, Error *err)
{
    const RunChange *request = context;
    if (change_has(change, 0)) {
        return error_set(err, ERROR_CONFLICT, "run '%" STR_FMT "' already exists",
                         STR_ARG(request->id));
    }
    change_put(change, change_key(change, 0), request->value, 0);
    return true;
}

void fleet_run_create(const ClusterStore *cluster_store, const FleetRun *run, ClusterDone *done,
                      void *context)
{
    RunChange *request = request_new(cluster_store, str_from_c(run->id), done, context);
    Buf value = buf_make_in(&request->base.arena, BUF_UNLIMITED);
    fleet_run_print(run, &value);
    request->value = buf_str(&value);
    start(request, decide_create);
}

/* --- Jobs ------------------------------------------------------------------------------------- */

/* Returns the name of the job whose file this is; empty: none. */
static Str job_of(Str path, const char *ending)
{
    Str before = STR("jobs/"), after = str_from_c(ending);
    return str_starts(path, before) && str_ends(path, after)
               ? str_slice(path, before.len, path.len - after.len)
               : STR_EMPTY;
}

/* What is below a link is unknown here, and nodes have hints for another ending. */
static bool may_have_job(const Manifest *manifest, Str job)
{
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        const ManifestFile *file = &manifest->files[i];
        bool is_link = file->link.len > 0 &&
                       (str_eq_c(file->path, "jobs") || str_starts(file->path, STR("jobs/")));
        if (is_link || str_eq(job_of(file->path, ".yaml"), job) ||
            str_eq(job_of(file->path, ".yml"), job)) {
            return true;
        }
    }
    return false;
}

bool fleet_run_check_jobs(const FleetRun *run, const Manifest *manifest, uint32_t *index,
                          Error *err)
{
    for (*index = 0; *index < run->job_count; ++*index) {
        Str job = run->jobs[*index], suggestion;
        if (may_have_job(manifest, job)) {
            continue;
        }
        Suggest suggest = suggest_make(job);
        for (uint32_t i = 0; i < manifest->file_count; i++) {
            suggest_offer(&suggest, job_of(manifest->files[i].path, ".yaml"));
        }
        return suggest_found(&suggest, &suggestion)
                   ? error_set(err, ERROR_INVALID,
                               "version %s has no job '%" STR_FMT "'; did you mean '%" STR_FMT "'?",
                               run->version, STR_ARG(job), STR_ARG(suggestion))
                   : error_set(err, ERROR_INVALID, "version %s has no job '%" STR_FMT "'",
                               run->version, STR_ARG(job));
    }
    return true;
}

/* --- Canceling -------------------------------------------------------------------------------- */

static bool decide_cancel(void *context, Change *change, Error *err)
{
    const RunChange *request = context;
    FleetRun run;
    if (!change_has(change, 0)) {
        return error_set(err, ERROR_NOT_FOUND, "run '%" STR_FMT "' not found",
                         STR_ARG(request->id));
    }
    if (!fleet_run_read(change_arena(change), change_value(change, 0), &run, err)) {
        return false;
    }
    if (run.state == RUN_ENDED) {
        return error_set(err, ERROR_CONFLICT, "run '%s' has already ended", run.id);
    }
    if (!run.is_canceled || (request->now && !run.is_urgent)) {
        Buf value = buf_make_in(change_arena(change), BUF_UNLIMITED);
        run.is_canceled = true;
        run.is_urgent = request->now;
        fleet_run_print(&run, &value);
        change_put(change, change_key(change, 0), buf_str(&value), 0);
    }
    return true;
}

void fleet_run_cancel(const ClusterStore *cluster_store, Str id, bool now, ClusterDone *done,
                      void *context)
{
    Error err;
    if (!run_id_check(id, &err)) {
        done(context, &err);
        return;
    }
    RunChange *request = request_new(cluster_store, id, done, context);
    request->now = now;
    start(request, decide_cancel);
}
