#include "modules/service/job.h"

#include "base/buf.h"
#include "base/vec.h"
#include "modules/service/journal.h"
#include "modules/service/unit_name.h"
#include "sys/process.h"

enum {
    LOOK_MS = 1000,      /* how often a job is looked for whose end was not told */
    NEEDED_MAX = 8,      /* failed units that a failed one needs: told */
    CONDITIONS_MAX = 200 /* bytes */
};

static const struct {
    const char *method;
    const char *verb; /* "did not start" */
} jobs[] = {
    [UNIT_START] = { "StartUnit", "start" },
    [UNIT_STOP] = { "StopUnit", "stop" },
    [UNIT_RESTART] = { "RestartUnit", "restart" },
    [UNIT_RELOAD] = { "ReloadOrRestartUnit", "reload" },
};

typedef struct Running {
    Manager *manager;
    UnitStatus *unit;
    UnitJob job;
    JobPatience patience;
    Str path;            /* of the job */
    Str result;          /* "done", "failed", ...; empty: it goes on, or nobody told how it ended */
    int64_t deadline_us; /* negative: none */
    int64_t since_us;    /* of the wall clock */
    bool unmet;          /* its conditions did not hold, so that nothing was done */
    BusValue last_end;   /* properties of its service when it failed last; may be empty */
    Outcome *outcome;
} Running;

/* --- Failures -------------------------------------------------------------------------------- */

/* What systemd says with exit codes of its own, when the program could not even be started. */
static const char *exit_code_meaning(int64_t code)
{
    switch (code) {
    case 200: return "its working directory cannot be used";
    case 203: return "its program cannot be executed";
    case 209: return "its output cannot be set up";
    case 216: return "its group is not there";
    case 217: return "its user is not there";
    case 226: return "its view of the file system cannot be set up";
    case 238: return "its state directory cannot be made";
    default: return NULL;
    }
}

enum {
    EXITED = 1 /* CLD_EXITED; others are signals */
};

/* The command beside the main one that failed: of a list "ExecStartPre" and so on, each with its
 * path first, and last how it ended. */
static Str describe_command(Running *running, const BusValue *more)
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
                                    "its %s, %" STR_FMT ", ended with exit code %lld", lists[i],
                                    STR_ARG(bus_text(bus_item(command, 0))), (long long)status);
            }
        }
    }
    return STR("one of its commands failed");
}

static bool tells_failure(const BusValue *properties)
{
    Str result = bus_text(bus_find(properties, "Result"));
    return result.len > 0 && !str_eq(result, STR("success"));
}

/* Why a unit failed, in words: "it ended with exit code 3". */
static Str describe_failure(Running *running)
{
    BusValue more;
    Error err;
    Arena *arena = running->manager->call->arena;
    if (!manager_look_closer(running->manager, running->unit, &more, &err)) {
        return STR_EMPTY;
    }
    if (!tells_failure(&more) && tells_failure(&running->last_end)) {
        more = running->last_end; /* it was started again since */
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
                   ? arena_format(arena, "it ended with exit code %lld", (long long)status)
                   : describe_command(running, &more);
    }
    if ((str_eq(result, STR("signal")) || str_eq(result, STR("core-dump"))) && code > EXITED) {
        return arena_format(arena, "it was ended by %" STR_FMT,
                            STR_ARG(process_signal_name(arena, (int)status)));
    }
    if (str_eq(result, STR("timeout"))) {
        return STR("it took longer than its own time limit");
    }
    if (str_eq(result, STR("protocol"))) {
        return STR("it did not tell that it is ready, as its type asks for");
    }
    if (str_eq(result, STR("start-limit-hit"))) {
        return STR("it was started too often in a short time");
    }
    if (str_eq(result, STR("oom-kill"))) {
        return STR("it ran out of memory");
    }
    if (str_eq(result, STR("success")) && unit_is_stopped(running->unit)) {
        return STR("it ended at once, without an error; what only runs to its end is Type=oneshot");
    }
    return tells_failure(&more)
               ? arena_format(arena, "systemd says '%" STR_FMT "'", STR_ARG(result))
               : STR_EMPTY;
}

typedef VEC(Str) Names;

/* The units that it requires and that failed. */
static void find_failed_needs(Running *running, Names *out)
{
    static const char *const kinds[] = { "Requires", "Requisite", "BindsTo" };
    Manager *manager = running->manager;
    Arena *arena = manager->call->arena;
    BusCall of = { .service = SYSTEMD, .path = running->unit->path, .interface = SYSTEMD ".Unit" };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        BusValue names;
        Error err;
        if (!bus_get(manager->bus, &of, kinds[i], manager_patience(manager), arena, &names, &err)) {
            continue;
        }
        for (uint32_t j = 0; j < names.count && out->len < NEEDED_MAX; j++) {
            UnitStatus needed;
            Str name = bus_text(bus_item(&names, j));
            if (manager_look(manager, name, &needed, &err) &&
                (unit_is_failing(&needed) || str_eq(needed.load, STR("not-found")) ||
                 str_eq(needed.load, STR("masked")))) {
                VEC_PUSH(arena, out, needed.name);
            }
        }
    }
}

/* "app.service did not start: ...", with its journal. Always false. */
static bool fail(Running *running, ErrorKind kind, Str why, Error *err)
{
    Call *call = running->manager->call;
    Names units = { 0 };
    VEC_PUSH(call->arena, &units, running->unit->name);
    if (str_eq(running->result, STR("dependency"))) {
        find_failed_needs(running, &units);
        why = units.len > 1
                  ? arena_format(call->arena, "it needs %" STR_FMT ", which is not there or failed",
                                 STR_ARG(units.items[1]))
                  : STR("something that it needs failed");
    }
    error_set(err, kind, "%" STR_FMT " did not %s%s%" STR_FMT, STR_ARG(running->unit->name),
              jobs[running->job].verb, why.len > 0 ? ": " : "", STR_ARG(why));
    running->outcome->state = unit_state(running->unit);
    if (!call_cancelled(call)) {
        Str tail = journal_tail(call, units.items, units.len, running->since_us);
        journal_tell(call, tail, units.items, units.len, running->outcome, err);
    }
    return false;
}

static bool fail_late(Running *running, Error *err)
{
    const UnitStatus *unit = running->unit;
    return fail(running, ERROR_TIMEOUT,
                arena_format(running->manager->call->arena,
                             "after %lld s it is still '%" STR_FMT "' (%" STR_FMT
                             "); systemd goes on with it",
                             (long long)(running->patience.timeout_ms / 1000),
                             STR_ARG(unit->active), STR_ARG(unit->sub)),
                err);
}

/* --- Waiting --------------------------------------------------------------------------------- */

static bool is_late(const Running *running)
{
    return running->deadline_us >= 0 && clock_monotonic_us() >= running->deadline_us;
}

/* Waits for the next signal, at most until `until_us` and the deadline. False: none came, or it
 * could not be waited for; `err->kind` is ERROR_TIMEOUT in the first case. */
static bool next_signal(Running *running, int64_t until_us, BusSignal *out, Error *err)
{
    Manager *manager = running->manager;
    if (running->deadline_us >= 0 && running->deadline_us < until_us) {
        until_us = running->deadline_us;
    }
    int64_t left_ms = (until_us - clock_monotonic_us() + 999) / 1000;
    BusPatience patience = { .timeout_ms = left_ms > 0 ? left_ms : 1,
                             .cancelled = manager->call->cancelled };
    if (!bus_wait(manager->bus, patience, manager->call->arena, out, err)) {
        return false;
    }
    /* Once it is over, systemd may have forgotten the unit and this with it. */
    const BusValue *properties = bus_item(&out->args, 1);
    const BusValue *condition = bus_find(properties, "ConditionResult");
    if (str_eq(out->member, STR("PropertiesChanged"))) {
        running->unmet = condition->type == 'b' ? !condition->boolean : running->unmet;
        running->last_end = tells_failure(properties) ? *properties : running->last_end;
    }
    return true;
}

static bool expect_signals(Running *running, Error *err)
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
    BusPatience patience = manager_patience(manager);
    bus_forget(manager->bus);
    if (!bus_expect(manager->bus, &removed, patience, err) ||
        !bus_expect(manager->bus, &changed, patience, err)) {
        return false;
    }
    /* A connection that is used again has done so already. */
    return manager_call(manager, "Subscribe", NULL, 0, NULL, err) ||
           str_eq(bus_error_name(manager->bus), STR(SYSTEMD ".AlreadySubscribed"));
}

/* After the connection was lost, unless the run was cancelled. What was told meanwhile is missed. */
static bool reconnect(Running *running, Error *err)
{
    Manager *manager = running->manager;
    return err->kind == ERROR_UNAVAILABLE && !call_cancelled(manager->call) &&
           manager_reopen(manager, err) && expect_signals(running, err);
}

static bool look_again(Running *running, Error *err)
{
    Manager *manager = running->manager;
    Str name = running->unit->name;
    return manager_look(manager, name, running->unit, err) ||
           (reconnect(running, err) && manager_look(manager, name, running->unit, err));
}

/* Until the job is over. systemd tells, unless it was just replacing itself: so now and then the
 * unit is asked whether it still has a job. */
static bool await_end(Running *running, Error *err)
{
    for (;;) {
        BusSignal signal;
        if (next_signal(running, clock_monotonic_us() + LOOK_MS * 1000, &signal, err)) {
            if (str_eq(signal.member, STR("JobRemoved")) &&
                str_eq(bus_text(bus_item(&signal.args, 1)), running->path)) {
                running->result = bus_text(bus_item(&signal.args, 3));
                return true;
            }
            if (!is_late(running)) {
                continue;
            }
        } else if (err->kind != ERROR_TIMEOUT && !reconnect(running, err)) {
            return error_wrap(err, "waiting for %" STR_FMT, STR_ARG(running->unit->name));
        }
        if (!look_again(running, err)) {
            return false;
        }
        if (!running->unit->has_job) {
            return true;
        }
        if (is_late(running)) {
            return fail_late(running, err);
        }
    }
}

/* --- The end --------------------------------------------------------------------------------- */

/* Whether it is over with the unit only after a while, as the job's end says nothing. */
static bool tells_nothing(const BusValue *more, const UnitStatus *unit)
{
    Str type = bus_text(bus_find(more, "Type"));
    return str_eq(unit->active, STR("active")) && str_eq(unit->sub, STR("running")) &&
           (str_eq(type, STR("simple")) || str_eq(type, STR("exec")) || str_eq(type, STR("idle")));
}

/* As long as nothing happens to it. A unit that is in between two states is waited for. */
static bool await_rest(Running *running, int64_t until_us, Error *err)
{
    for (;;) {
        BusSignal signal;
        bool between = !unit_is_running(running->unit) && !unit_is_stopped(running->unit) &&
                       !unit_is_failing(running->unit);
        bool over = clock_monotonic_us() >= until_us || is_late(running);
        if (!between && (over || !unit_is_running(running->unit))) {
            return true;
        }
        if (between && is_late(running)) {
            return fail_late(running, err);
        }
        int64_t slice_us = clock_monotonic_us() + LOOK_MS * 1000;
        if (!next_signal(running, between || slice_us < until_us ? slice_us : until_us, &signal,
                         err) &&
            err->kind != ERROR_TIMEOUT && !reconnect(running, err)) {
            return error_wrap(err, "watching %" STR_FMT, STR_ARG(running->unit->name));
        }
        if (!look_again(running, err)) {
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

/* The conditions of the unit ("ConditionPathExists=") that did not hold; all of them, where systemd
 * does not remember. */
static Str describe_conditions(Running *running)
{
    Manager *manager = running->manager;
    Arena *arena = manager->call->arena;
    Buf failed = buf_make_in(arena, CONDITIONS_MAX), all = buf_make_in(arena, CONDITIONS_MAX);
    BusValue conditions;
    Error err;
    BusCall of = { .service = SYSTEMD, .path = running->unit->path, .interface = SYSTEMD ".Unit" };
    if (!bus_get(manager->bus, &of, "Conditions", manager_patience(manager), arena, &conditions,
                 &err)) {
        return STR("its conditions do not hold");
    }
    for (uint32_t i = 0; conditions.type == 'a' && i < conditions.count; i++) {
        const BusValue *one = bus_item(&conditions, i);
        put_condition(&all, one);
        if (bus_integer(bus_item(one, 4)) < 0) {
            put_condition(&failed, one);
        }
    }
    return arena_format(arena, "its condition does not hold: %" STR_FMT,
                        STR_ARG(buf_str(failed.len > 0 ? &failed : &all)));
}

/* Type=oneshot without RemainAfterExit has done all that it does, and is inactive. */
static bool ran_to_its_end(const UnitStatus *unit, const BusValue *more)
{
    return str_eq(unit->active, STR("inactive")) &&
           str_eq(bus_text(bus_find(more, "Type")), STR("oneshot")) &&
           str_eq(bus_text(bus_find(more, "Result")), STR("success"));
}

/* The job is over: does the unit run? */
static bool judge_start(Running *running, Error *err)
{
    BusValue more;
    UnitStatus *unit = running->unit;
    if (!manager_look_closer(running->manager, unit, &more, err)) {
        return false;
    }
    int64_t restarts = bus_integer(bus_find(&more, "NRestarts"));
    int64_t settle_us = tells_nothing(&more, unit) ? running->patience.settle_ms * 1000 : 0;
    if (!await_rest(running, clock_monotonic_us() + settle_us, err) ||
        !manager_look_closer(running->manager, unit, &more, err)) {
        return false;
    }
    if (running->unmet && unit_is_stopped(unit)) {
        return fail(running, ERROR_CONFLICT, describe_conditions(running), err);
    }
    bool again = bus_integer(bus_find(&more, "NRestarts")) > restarts;
    if (again || unit_is_failing(unit)) {
        Str why = describe_failure(running);
        if (again || !unit_is_stopped(unit)) {
            why = arena_format(running->manager->call->arena,
                               "%" STR_FMT "%ssystemd starts it again and again", STR_ARG(why),
                               why.len > 0 ? ", and " : "");
        }
        return fail(running, ERROR_OS, why, err);
    }
    if (unit_is_running(unit) || ran_to_its_end(unit, &more)) {
        return true;
    }
    return fail(running, ERROR_OS, describe_failure(running), err);
}

static bool judge(Running *running, Error *err)
{
    UnitStatus *unit = running->unit;
    Str result = running->result;
    if (!look_again(running, err)) {
        return false;
    }
    bool done = result.len == 0 || str_eq(result, STR("done")) || str_eq(result, STR("skipped"));
    if (!done) {
        Str why = str_eq(result, STR("canceled")) ? STR("another process canceled the job")
                                                  : describe_failure(running);
        why = why.len > 0 ? why
                          : arena_format(running->manager->call->arena,
                                         "systemd says '%" STR_FMT "'", STR_ARG(result));
        return fail(running, ERROR_OS, why, err);
    }
    if (running->job != UNIT_STOP) {
        return judge_start(running, err);
    }
    return await_rest(running, 0, err) &&
           (unit_is_stopped(unit) || fail(running, ERROR_OS, STR("it runs again"), err));
}

bool unit_watch_young(Manager *manager, UnitStatus *unit, int64_t settle_ms, Error *err)
{
    int64_t age_ms = clock_now_ms() - unit->started_ms;
    BusValue more;
    if (!unit_is_running(unit) || age_ms < 0 || age_ms >= settle_ms ||
        !str_eq(unit_name_kind(unit->name), STR("service"))) {
        return true;
    }
    if (!manager_look_closer(manager, unit, &more, err)) {
        return false;
    }
    int64_t restarts = bus_integer(bus_find(&more, "NRestarts"));
    if (restarts == 0) {
        return true;
    }
    if (!call_sleep(manager->call, settle_ms - age_ms, err) ||
        !manager_look(manager, unit->name, unit, err) ||
        !manager_look_closer(manager, unit, &more, err)) {
        return false;
    }
    if (bus_integer(bus_find(&more, "NRestarts")) > restarts) {
        unit->active = STR("activating");
        unit->sub = STR("auto-restart");
    }
    return true;
}

bool unit_job_run(Manager *manager, UnitStatus *unit, UnitJob job, JobPatience patience,
                  Outcome *outcome, Error *err)
{
    Running running = {
        .manager = manager,
        .unit = unit,
        .job = job,
        .patience = patience,
        .deadline_us =
            patience.timeout_ms > 0 ? clock_monotonic_us() + patience.timeout_ms * 1000 : -1,
        .since_us = clock_now_ms() * 1000,
        .outcome = outcome,
    };
    BusValue reply;
    if (!expect_signals(&running, err)) {
        return false;
    }
    const BusValue args[] = { bus_string(unit->name), bus_string(STR("replace")) };
    if (!manager_call(manager, jobs[job].method, args, 2, &reply, err)) {
        return error_wrap(err, "%" STR_FMT " did not %s", STR_ARG(unit->name), jobs[job].verb);
    }
    outcome->changed = true;
    running.path = bus_text(bus_item(&reply, 0));
    bool ok = await_end(&running, err) && judge(&running, err);
    bus_forget(manager->bus);
    return ok;
}
