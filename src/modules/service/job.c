/* Runs a systemd job: subscribe to signals, queue the job, wait for JobRemoved or the deadline,
 * then check the state of the unit. Signals can be lost while systemd re-executes itself, so the
 * unit is polled as well, and a lost connection is reopened. See job.h for why the end of a job
 * does not prove that a service works. */
#include "modules/service/job.h"

#include "base/buf.h"
#include "base/vec.h"
#include "modules/service/journal.h"
#include "modules/service/unit_name.h"
#include "sys/process.h"

enum {
    POLL_INTERVAL_MS = 1000, /* how often to poll for a job whose end was not signaled */
    FAILED_NEEDS_MAX = 8,    /* maximum number of failed dependencies that are reported */
    CONDITIONS_MAX = 200     /* bytes */
};

static const struct {
    const char *method;
    const char *verb; /* "start": used as "did not start" */
} jobs[] = {
    [UNIT_START] = { "StartUnit", "start" },
    [UNIT_STOP] = { "StopUnit", "stop" },
    [UNIT_RESTART] = { "RestartUnit", "restart" },
    [UNIT_RELOAD] = { "ReloadOrRestartUnit", "reload" },
};

typedef struct JobRun {
    Manager *manager;
    UnitStatus *unit;
    UnitJob job;
    JobTimeouts timeouts;
    Str path; /* object path of the job */
    /* "done", "failed", ...; empty: still running, or its end was not signaled */
    Str result;
    int64_t deadline_us;    /* negative: none */
    int64_t since_us;       /* wall-clock time of the start of the job */
    bool conditions_failed; /* the conditions of the unit were not met, so nothing was done */
    BusValue last_failure;  /* properties of its service at the last failure; may be empty */
    Outcome *outcome;
} JobRun;

/* --- Failures -------------------------------------------------------------------------------- */

/* Exit codes that systemd itself uses if the program could not be started. */
static const char *exit_code_meaning(int64_t code)
{
    switch (code) {
    case 200: return "its working directory cannot be used";
    case 203: return "its program cannot be executed";
    case 209: return "its output cannot be set up";
    case 216: return "its group does not exist";
    case 217: return "its user does not exist";
    case 226: return "its file system namespace cannot be set up";
    case 238: return "its state directory cannot be created";
    default: return NULL;
    }
}

enum {
    EXITED = 1 /* CLD_EXITED; other values mean signals */
};

/* Finds the failed command other than the main one, in lists such as "ExecStartPre". Each entry has
 * the path first and the exit status last. */
static Str describe_command(JobRun *running, const BusValue *more)
{
    static const char *const lists[] = { "ExecCondition", "ExecStartPre", "ExecStart",
                                         "ExecStartPost", "ExecReload",   "ExecStop" };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const BusValue *list = bus_find(more, lists[i]);
        for (uint32_t j = 0; list->type == 'a' && j < list->count; j++) {
            const BusValue *command = bus_item(list, j);
            int64_t status = bus_integer(bus_item(command, 9));
            if (bus_integer(bus_item(command, 8)) == EXITED && status != 0) {
                return arena_format(running->manager->call->arena,
                                    "its %s, %" STR_FMT ", exited with code %lld", lists[i],
                                    STR_ARG(bus_text(bus_item(command, 0))), (long long)status);
            }
        }
    }
    return STR("one of its commands failed");
}

static bool shows_failure(const BusValue *properties)
{
    Str result = bus_text(bus_find(properties, "Result"));
    return result.len > 0 && !str_eq(result, STR("success"));
}

/* Describes why a unit failed: "it exited with code 3". */
static Str describe_failure(JobRun *running)
{
    BusValue more;
    Error err;
    Arena *arena = running->manager->call->arena;
    if (!manager_get_properties(running->manager, running->unit, &more, &err)) {
        return STR_EMPTY;
    }
    if (!shows_failure(&more) && shows_failure(&running->last_failure)) {
        more = running->last_failure; /* the unit has been restarted since */
    }
    Str result = bus_text(bus_find(&more, "Result"));
    int64_t code = bus_integer(bus_find(&more, "ExecMainCode"));
    int64_t status = bus_integer(bus_find(&more, "ExecMainStatus"));
    if (str_eq(result, STR("exit-code"))) {
        const char *meaning = code == EXITED ? exit_code_meaning(status) : NULL;
        if (meaning != NULL) {
            return arena_format(arena, "%s (exit code %lld)", meaning, (long long)status);
        }
        return code == EXITED && status != 0
                   ? arena_format(arena, "it exited with code %lld", (long long)status)
                   : describe_command(running, &more);
    }
    if ((str_eq(result, STR("signal")) || str_eq(result, STR("core-dump"))) && code > EXITED) {
        return arena_format(arena, "it was killed by %" STR_FMT,
                            STR_ARG(process_signal_name(arena, (int)status)));
    }
    if (str_eq(result, STR("timeout"))) {
        return STR("it exceeded its own time limit");
    }
    if (str_eq(result, STR("protocol"))) {
        return STR("it did not notify systemd that it is ready, as its type requires");
    }
    if (str_eq(result, STR("start-limit-hit"))) {
        return STR("it was started too often in a short time");
    }
    if (str_eq(result, STR("oom-kill"))) {
        return STR("it ran out of memory");
    }
    if (str_eq(result, STR("success")) && unit_is_stopped(running->unit)) {
        return STR("it exited immediately without an error; a service that is expected to exit "
                   "needs Type=oneshot");
    }
    return shows_failure(&more)
               ? arena_format(arena, "systemd reports '%" STR_FMT "'", STR_ARG(result))
               : STR_EMPTY;
}

typedef VEC(Str) Names;

/* Lists the required units that failed. */
static void find_failed_needs(JobRun *running, Names *out)
{
    static const char *const kinds[] = { "Requires", "Requisite", "BindsTo" };
    Manager *manager = running->manager;
    Arena *arena = manager->call->arena;
    BusCall of = { .service = SYSTEMD, .path = running->unit->path, .interface = SYSTEMD ".Unit" };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        BusValue names;
        Error err;
        if (!bus_get(manager->bus, &of, kinds[i], manager_timeout(manager), arena, &names, &err)) {
            continue;
        }
        for (uint32_t j = 0; j < names.count && out->len < FAILED_NEEDS_MAX; j++) {
            UnitStatus needed;
            Str name = bus_text(bus_item(&names, j));
            if (manager_get_unit(manager, name, &needed, &err) &&
                (unit_is_failing(&needed) || str_eq(needed.load, STR("not-found")) ||
                 str_eq(needed.load, STR("masked")))) {
                VEC_PUSH(arena, out, needed.name);
            }
        }
    }
}

/* Sets "app.service did not start: ...", with its journal. Always returns false. */
static bool fail(JobRun *running, ErrorKind kind, Str why, Error *err)
{
    Call *call = running->manager->call;
    Names units = { 0 };
    VEC_PUSH(call->arena, &units, running->unit->name);
    if (str_eq(running->result, STR("dependency"))) {
        find_failed_needs(running, &units);
        why = units.len > 1
                  ? arena_format(call->arena,
                                 "it requires %" STR_FMT ", which failed or does not exist",
                                 STR_ARG(units.items[1]))
                  : STR("a unit that it requires failed");
    }
    error_set(err, kind, "%" STR_FMT " did not %s%s%" STR_FMT, STR_ARG(running->unit->name),
              jobs[running->job].verb, why.len > 0 ? ": " : "", STR_ARG(why));
    running->outcome->state = unit_state(running->unit);
    if (!call_canceled(call)) {
        Str tail = journal_tail(call, units.items, units.len, running->since_us);
        journal_add_to_error(call, tail, units.items, units.len, running->outcome, err);
    }
    return false;
}

static bool fail_timeout(JobRun *running, Error *err)
{
    const UnitStatus *unit = running->unit;
    return fail(running, ERROR_TIMEOUT,
                arena_format(running->manager->call->arena,
                             "after %lld s it is still '%" STR_FMT "' (%" STR_FMT
                             "); systemd continues with the job",
                             (long long)(running->timeouts.timeout_ms / 1000),
                             STR_ARG(unit->active), STR_ARG(unit->sub)),
                err);
}

/* --- Waiting --------------------------------------------------------------------------------- */

static bool deadline_passed(const JobRun *running)
{
    return running->deadline_us >= 0 && clock_monotonic_us() >= running->deadline_us;
}

/* Waits for the next signal, at most until `until_us` and the deadline. Returns false with
 * ERROR_TIMEOUT if none arrived, with another error if waiting failed. */
static bool next_signal(JobRun *running, int64_t until_us, BusSignal *out, Error *err)
{
    Manager *manager = running->manager;
    if (running->deadline_us >= 0 && running->deadline_us < until_us) {
        until_us = running->deadline_us;
    }
    int64_t left_ms = (until_us - clock_monotonic_us() + 999) / 1000;
    BusTimeout timeouts = { .timeout_ms = left_ms > 0 ? left_ms : 1,
                            .canceled = manager->call->canceled };
    if (!bus_wait(manager->bus, timeouts, manager->call->arena, out, err)) {
        return false;
    }
    /* Afterward systemd may have unloaded the unit, and these properties with it. */
    const BusValue *properties = bus_item(&out->args, 1);
    const BusValue *condition = bus_find(properties, "ConditionResult");
    if (str_eq(out->member, STR("PropertiesChanged"))) {
        running->conditions_failed =
            condition->type == 'b' ? !condition->boolean : running->conditions_failed;
        running->last_failure = shows_failure(properties) ? *properties : running->last_failure;
    }
    return true;
}

static bool subscribe_signals(JobRun *running, Error *err)
{
    Manager *manager = running->manager;
    BusMatch removed = { .service = SYSTEMD,
                         .path = SYSTEMD_PATH,
                         .interface = SYSTEMD_MANAGER,
                         .member = "JobRemoved" };
    BusMatch changed = { .service = SYSTEMD,
                         .path = running->unit->path,
                         .interface = "org.freedesktop.DBus.Properties",
                         .member = "PropertiesChanged" };
    BusTimeout timeouts = manager_timeout(manager);
    bus_unsubscribe_all(manager->bus);
    if (!bus_subscribe(manager->bus, &removed, timeouts, err) ||
        !bus_subscribe(manager->bus, &changed, timeouts, err)) {
        return false;
    }
    /* A reused connection is already subscribed. */
    return manager_call(manager, "Subscribe", NULL, 0, NULL, err) ||
           str_eq(bus_error_name(manager->bus), STR(SYSTEMD ".AlreadySubscribed"));
}

/* Reconnects after the connection was lost, unless the run was canceled. Signals sent in between
 * are missed. */
static bool reconnect(JobRun *running, Error *err)
{
    Manager *manager = running->manager;
    return err->kind == ERROR_UNAVAILABLE && !call_canceled(manager->call) &&
           manager_reopen(manager, err) && subscribe_signals(running, err);
}

static bool refresh_unit(JobRun *running, Error *err)
{
    Manager *manager = running->manager;
    Str name = running->unit->name;
    return manager_get_unit(manager, name, running->unit, err) ||
           (reconnect(running, err) && manager_get_unit(manager, name, running->unit, err));
}

/* Waits for the end of the job. systemd signals it, except while it re-executes itself, so the unit
 * is also polled for a pending job. */
static bool wait_for_end(JobRun *running, Error *err)
{
    for (;;) {
        BusSignal signal;
        if (next_signal(running, clock_monotonic_us() + POLL_INTERVAL_MS * 1000, &signal, err)) {
            if (str_eq(signal.member, STR("JobRemoved")) &&
                str_eq(bus_text(bus_item(&signal.args, 1)), running->path)) {
                running->result = bus_text(bus_item(&signal.args, 3));
                return true;
            }
            if (!deadline_passed(running)) {
                continue;
            }
        } else if (err->kind != ERROR_TIMEOUT && !reconnect(running, err)) {
            return error_wrap(err, "waiting for %" STR_FMT, STR_ARG(running->unit->name));
        }
        if (!refresh_unit(running, err)) {
            return false;
        }
        if (!running->unit->has_job) {
            return true;
        }
        if (deadline_passed(running)) {
            return fail_timeout(running, err);
        }
    }
}

/* --- Results --------------------------------------------------------------------------------- */

/* Returns true if the end of the job does not show whether the unit works, so that it must be
 * watched. */
static bool is_inconclusive(const BusValue *more, const UnitStatus *unit)
{
    Str type = bus_text(bus_find(more, "Type"));
    return str_eq(unit->active, STR("active")) && str_eq(unit->sub, STR("running")) &&
           (str_eq(type, STR("simple")) || str_eq(type, STR("exec")) || str_eq(type, STR("idle")));
}

/* Waits until the state has not changed for a while. A transitional state is waited out. */
static bool wait_until_stable(JobRun *running, int64_t until_us, Error *err)
{
    for (;;) {
        BusSignal signal;
        bool between = !unit_is_running(running->unit) && !unit_is_stopped(running->unit) &&
                       !unit_is_failing(running->unit);
        bool over = clock_monotonic_us() >= until_us || deadline_passed(running);
        if (!between && (over || !unit_is_running(running->unit))) {
            return true;
        }
        if (between && deadline_passed(running)) {
            return fail_timeout(running, err);
        }
        int64_t slice_us = clock_monotonic_us() + POLL_INTERVAL_MS * 1000;
        if (!next_signal(running, between || slice_us < until_us ? slice_us : until_us, &signal,
                         err) &&
            err->kind != ERROR_TIMEOUT && !reconnect(running, err)) {
            return error_wrap(err, "watching %" STR_FMT, STR_ARG(running->unit->name));
        }
        if (!refresh_unit(running, err)) {
            return false;
        }
    }
}

static void put_condition(Buf *out, const BusValue *one)
{
    buf_put_format(out, "%s%" STR_FMT "=%s%" STR_FMT, out->len > 0 ? ", " : "",
                   STR_ARG(bus_text(bus_item(one, 0))), bus_boolean(bus_item(one, 2)) ? "!" : "",
                   STR_ARG(bus_text(bus_item(one, 3))));
}

/* Describes the conditions of the unit ("ConditionPathExists=") that were not met; all of them if
 * systemd does not record which. */
static Str describe_conditions(JobRun *running)
{
    Manager *manager = running->manager;
    Arena *arena = manager->call->arena;
    Buf failed = buf_make_in(arena, CONDITIONS_MAX), all = buf_make_in(arena, CONDITIONS_MAX);
    BusValue conditions;
    Error err;
    BusCall of = { .service = SYSTEMD, .path = running->unit->path, .interface = SYSTEMD ".Unit" };
    if (!bus_get(manager->bus, &of, "Conditions", manager_timeout(manager), arena, &conditions,
                 &err)) {
        return STR("its conditions are not met");
    }
    for (uint32_t i = 0; conditions.type == 'a' && i < conditions.count; i++) {
        const BusValue *one = bus_item(&conditions, i);
        put_condition(&all, one);
        if (bus_integer(bus_item(one, 4)) < 0) {
            put_condition(&failed, one);
        }
    }
    return arena_format(arena, "its condition is not met: %" STR_FMT,
                        STR_ARG(buf_str(failed.len > 0 ? &failed : &all)));
}

/* Whether the unit has Type=oneshot without RemainAfterExit, has finished, and is therefore
 * inactive. */
static bool is_finished_oneshot(const UnitStatus *unit, const BusValue *more)
{
    return str_eq(unit->active, STR("inactive")) &&
           str_eq(bus_text(bus_find(more, "Type")), STR("oneshot")) &&
           str_eq(bus_text(bus_find(more, "Result")), STR("success"));
}

/* Decides after the end of the job whether the unit is running. */
static bool check_started(JobRun *running, Error *err)
{
    BusValue more;
    UnitStatus *unit = running->unit;
    if (!manager_get_properties(running->manager, unit, &more, err)) {
        return false;
    }
    int64_t restarts = bus_integer(bus_find(&more, "NRestarts"));
    int64_t settle_us = is_inconclusive(&more, unit) ? running->timeouts.settle_ms * 1000 : 0;
    if (!wait_until_stable(running, clock_monotonic_us() + settle_us, err) ||
        !manager_get_properties(running->manager, unit, &more, err)) {
        return false;
    }
    if (running->conditions_failed && unit_is_stopped(unit)) {
        return fail(running, ERROR_CONFLICT, describe_conditions(running), err);
    }
    bool again = bus_integer(bus_find(&more, "NRestarts")) > restarts;
    if (again || unit_is_failing(unit)) {
        Str why = describe_failure(running);
        if (again || !unit_is_stopped(unit)) {
            why = arena_format(running->manager->call->arena,
                               "%" STR_FMT "%ssystemd keeps restarting it", STR_ARG(why),
                               why.len > 0 ? ", and " : "");
        }
        return fail(running, ERROR_OS, why, err);
    }
    if (unit_is_running(unit) || is_finished_oneshot(unit, &more)) {
        return true;
    }
    return fail(running, ERROR_OS, describe_failure(running), err);
}

static bool check_result(JobRun *running, Error *err)
{
    UnitStatus *unit = running->unit;
    Str result = running->result;
    if (!refresh_unit(running, err)) {
        return false;
    }
    bool done = result.len == 0 || str_eq(result, STR("done")) || str_eq(result, STR("skipped"));
    if (!done) {
        Str why = str_eq(result, STR("canceled")) ? STR("another process canceled the job")
                                                  : describe_failure(running);
        why = why.len > 0 ? why
                          : arena_format(running->manager->call->arena,
                                         "systemd reports '%" STR_FMT "'", STR_ARG(result));
        return fail(running, ERROR_OS, why, err);
    }
    if (running->job != UNIT_STOP) {
        return check_started(running, err);
    }
    return wait_until_stable(running, 0, err) &&
           (unit_is_stopped(unit) || fail(running, ERROR_OS, STR("it is running again"), err));
}

bool unit_watch_recent(Manager *manager, UnitStatus *unit, int64_t settle_ms, Error *err)
{
    int64_t age_ms = clock_now_ms() - unit->started_ms;
    BusValue more;
    if (!unit_is_running(unit) || age_ms < 0 || age_ms >= settle_ms ||
        !str_eq(unit_name_kind(unit->name), STR("service"))) {
        return true;
    }
    if (!manager_get_properties(manager, unit, &more, err)) {
        return false;
    }
    int64_t restarts = bus_integer(bus_find(&more, "NRestarts"));
    if (restarts == 0) {
        return true;
    }
    if (!call_sleep(manager->call, settle_ms - age_ms, err) ||
        !manager_get_unit(manager, unit->name, unit, err) ||
        !manager_get_properties(manager, unit, &more, err)) {
        return false;
    }
    if (bus_integer(bus_find(&more, "NRestarts")) > restarts) {
        unit->active = STR("activating");
        unit->sub = STR("auto-restart");
    }
    return true;
}

bool unit_job_run(Manager *manager, UnitStatus *unit, UnitJob job, JobTimeouts timeouts,
                  Outcome *outcome, Error *err)
{
    JobRun running = {
        .manager = manager,
        .unit = unit,
        .job = job,
        .timeouts = timeouts,
        .deadline_us =
            timeouts.timeout_ms > 0 ? clock_monotonic_us() + timeouts.timeout_ms * 1000 : -1,
        .since_us = clock_now_ms() * 1000,
        .outcome = outcome,
    };
    BusValue reply;
    if (!subscribe_signals(&running, err)) {
        return false;
    }
    const BusValue args[] = { bus_string(unit->name), bus_string(STR("replace")) };
    if (!manager_call(manager, jobs[job].method, args, 2, &reply, err)) {
        return error_wrap(err, "%" STR_FMT " did not %s", STR_ARG(unit->name), jobs[job].verb);
    }
    outcome->changed = true;
    running.path = bus_text(bus_item(&reply, 0));
    bool ok = wait_for_end(&running, err) && check_result(&running, err);
    bus_unsubscribe_all(manager->bus);
    return ok;
}
