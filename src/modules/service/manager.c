#include "modules/service/manager.h"

#include "base/suggest.h"
#include "modules/service/unit_name.h"

enum {
    RELOAD_TIMEOUT_MS = 300000, /* generators may be slow */
    REOPEN_TRIES = 100,
    REOPEN_PAUSE_MS = 100
};

bool manager_open(Call *call, Manager *out, Error *err)
{
    *out = (Manager){ .call = call };
    if (!host_is_live(call->host)) {
        return error_set(
            err, ERROR_UNAVAILABLE,
            "units require the running system and cannot be used in another root (--root %s)",
            host_root(call->host));
    }
    FileInfo info;
    if (!host_stat(call->host, STR("/run/systemd/system"), &info, err)) {
        return false;
    }
    if (info.kind != FILE_DIRECTORY) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "not booted with systemd (/run/systemd/system does not exist)");
    }
    return bus_acquire(host_shared(call->host), BUS_SYSTEMD, &out->bus, err) ||
           error_wrap(err, "cannot connect to systemd");
}

bool manager_reopen(Manager *manager, Error *err)
{
    Call *call = manager->call;
    for (int tries = 0; tries < REOPEN_TRIES; tries++) {
        UnitStatus any;
        manager_close(manager);
        if (manager_open(call, manager, err) &&
            manager_get_unit(manager, STR("-.slice"), &any, err)) {
            return true;
        }
        if (!call_sleep(call, REOPEN_PAUSE_MS, err)) {
            return false;
        }
    }
    return false;
}

void manager_close(Manager *manager)
{
    if (manager->bus != NULL) {
        bus_release(host_shared(manager->call->host), TAKE(manager->bus));
    }
}

BusTimeout manager_timeout(const Manager *manager)
{
    return (BusTimeout){ .canceled = manager->call->canceled };
}

bool manager_call(Manager *manager, const char *member, const BusValue *args, uint32_t count,
                  BusValue *reply, Error *err)
{
    BusCall call = { .service = SYSTEMD,
                     .path = SYSTEMD_PATH,
                     .interface = SYSTEMD_MANAGER,
                     .member = member,
                     .args = args,
                     .arg_count = count };
    return bus_call(manager->bus, &call, manager_timeout(manager), manager->call->arena, reply,
                    err);
}

/* --- Unit state ------------------------------------------------------------------------------ */

/* Microseconds since 1970; 0 and UINT64_MAX mean never. */
static int64_t time_ms(const BusValue *properties, const char *name)
{
    int64_t us = bus_integer(bus_find(properties, name));
    return us == INT64_MAX ? 0 : us / 1000;
}

bool manager_get_unit(Manager *manager, Str name, UnitStatus *out, Error *err)
{
    BusValue reply, properties;
    Arena *arena = manager->call->arena;
    if (!manager_call(manager, "LoadUnit", (const BusValue[]){ bus_string(name) }, 1, &reply,
                      err)) {
        return false;
    }
    BusCall target = { .service = SYSTEMD,
                       .path = bus_text(bus_item(&reply, 0)),
                       .interface = SYSTEMD ".Unit" };
    if (!bus_get_all(manager->bus, &target, manager_timeout(manager), arena, &properties, err)) {
        return error_wrap(err, "%" STR_FMT, STR_ARG(name));
    }
    Str id = bus_text(bus_find(&properties, "Id"));
    *out = (UnitStatus){
        .name = id.len > 0 ? id : name,
        .path = target.path,
        .load = bus_text(bus_find(&properties, "LoadState")),
        .load_error = bus_text(bus_item(bus_find(&properties, "LoadError"), 1)),
        .active = bus_text(bus_find(&properties, "ActiveState")),
        .sub = bus_text(bus_find(&properties, "SubState")),
        .description = bus_text(bus_find(&properties, "Description")),
        .fragment = bus_text(bus_find(&properties, "FragmentPath")),
        .dropins = *bus_find(&properties, "DropInPaths"),
        .triggers = *bus_find(&properties, "TriggeredBy"),
        .needs_reload = bus_boolean(bus_find(&properties, "NeedDaemonReload")),
        .has_job = bus_integer(bus_item(bus_find(&properties, "Job"), 0)) != 0,
        .started_ms = time_ms(&properties, "InactiveExitTimestamp"),
        .since_ms = time_ms(&properties, "StateChangeTimestamp"),
    };
    return true;
}

bool manager_get_properties(Manager *manager, const UnitStatus *unit, BusValue *out, Error *err)
{
    Str kind = unit_name_kind(unit->name);
    Arena *arena = manager->call->arena;
    Str interface = arena_format(arena, SYSTEMD ".%c%" STR_FMT "%c", ascii_upper(kind.data[0]),
                                 STR_ARG(str_from_offset(kind, 1)), '\0');
    BusCall target = { .service = SYSTEMD, .path = unit->path, .interface = interface.data };
    return bus_get_all(manager->bus, &target, manager_timeout(manager), arena, out, err);
}

static bool is_waiting_to_restart(const UnitStatus *unit)
{
    return str_eq(unit->active, STR("activating")) && str_starts(unit->sub, STR("auto-restart"));
}

bool unit_is_running(const UnitStatus *unit)
{
    return str_eq(unit->active, STR("active")) || str_eq(unit->active, STR("reloading")) ||
           str_eq(unit->active, STR("refreshing"));
}

bool unit_is_failing(const UnitStatus *unit)
{
    return str_eq(unit->active, STR("failed")) || is_waiting_to_restart(unit);
}

bool unit_is_stopped(const UnitStatus *unit)
{
    return str_eq(unit->active, STR("inactive")) || str_eq(unit->active, STR("failed"));
}

bool unit_is_broken(const UnitStatus *unit)
{
    return str_eq(unit->load, STR("bad-setting")) || str_eq(unit->load, STR("error"));
}

Str unit_state(const UnitStatus *unit)
{
    return unit_is_running(unit)   ? STR("running")
           : unit_is_failing(unit) ? STR("failed")
                                   : STR("stopped");
}

/* --- Unit files ------------------------------------------------------------------------------ */

bool manager_file_state(Manager *manager, Str name, Str *out, Error *err)
{
    BusValue reply;
    if (manager_call(manager, "GetUnitFileState", (const BusValue[]){ bus_string(name) }, 1, &reply,
                     err)) {
        *out = bus_text(bus_item(&reply, 0));
        return true;
    }
    if (err->kind == ERROR_NOT_FOUND) {
        *out = STR_EMPTY;
        return true;
    }
    return false;
}

bool manager_change_file(Manager *manager, Str name, UnitFileChange change, Error *err)
{
    BusValue names = bus_strings(manager->call->arena, &name, 1);
    BusValue persistent = bus_bool(false), runtime = bus_bool(true), no_force = bus_bool(false);
    switch (change) {
    case UNIT_ENABLE:
        return manager_call(manager, "EnableUnitFiles",
                            (const BusValue[]){ names, persistent, no_force }, 3, NULL, err);
    case UNIT_DISABLE:
        return manager_call(manager, "DisableUnitFiles", (const BusValue[]){ names, persistent }, 2,
                            NULL, err);
    case UNIT_DISABLE_RUNTIME:
        return manager_call(manager, "DisableUnitFiles", (const BusValue[]){ names, runtime }, 2,
                            NULL, err);
    case UNIT_MASK:
        return manager_call(manager, "MaskUnitFiles",
                            (const BusValue[]){ names, persistent, no_force }, 3, NULL, err);
    case UNIT_UNMASK:
        return manager_call(manager, "UnmaskUnitFiles", (const BusValue[]){ names, persistent }, 2,
                            NULL, err);
    case UNIT_UNMASK_RUNTIME:
        return manager_call(manager, "UnmaskUnitFiles", (const BusValue[]){ names, runtime }, 2,
                            NULL, err);
    }
    return true;
}

bool manager_reload(Manager *manager, Error *err)
{
    BusCall call = {
        .service = SYSTEMD, .path = SYSTEMD_PATH, .interface = SYSTEMD_MANAGER, .member = "Reload"
    };
    BusTimeout timeout = manager_timeout(manager);
    timeout.timeout_ms = RELOAD_TIMEOUT_MS;
    return bus_call(manager->bus, &call, timeout, manager->call->arena, NULL, err) ||
           error_wrap(err, "daemon-reload");
}

/* --- Other queries --------------------------------------------------------------------------- */

bool manager_list(Manager *manager, Str pattern, BusValue *out, Error *err)
{
    BusValue reply;
    Arena *arena = manager->call->arena;
    const BusValue args[] = { bus_strings(arena, NULL, 0), bus_strings(arena, &pattern, 1) };
    if (!manager_call(manager, "ListUnitsByPatterns", args, 2, &reply, err)) {
        return false;
    }
    *out = *bus_item(&reply, 0);
    return true;
}

Str manager_suggest(Manager *manager, Str name)
{
    BusValue reply;
    Error err;
    Str best = STR_EMPTY;
    Suggest suggest = suggest_make(unit_name_base(name));
    if (!manager_call(manager, "ListUnitFiles", NULL, 0, &reply, &err)) {
        return best;
    }
    const BusValue *files = bus_item(&reply, 0);
    for (uint32_t i = 0; i < files->count; i++) {
        Str path = bus_text(bus_item(bus_item(files, i), 0));
        Str file = str_from_offset(path, str_find_last(path, STR("/")) + 1);
        Str before;
        if (str_find(file, STR("."), 0) == STR_NOT_FOUND ||
            !str_eq(unit_name_kind(file), unit_name_kind(name))) {
            continue;
        }
        bool had = suggest_found(&suggest, &before);
        Str now;
        suggest_offer(&suggest, unit_name_base(file));
        if (suggest_found(&suggest, &now) && (!had || now.data != before.data)) {
            best = file;
        }
    }
    return best;
}
