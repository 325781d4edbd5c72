/* systemd for modules: state of units, jobs and unit files, over D-Bus. */
#pragma once

#include "modules/call.h"
#include "sys/bus.h"

typedef struct Manager {
    Call *call;
    Bus *bus;
} Manager;

/* Fails with ERROR_UNAVAILABLE if the machine was not booted with systemd, or systemd is not
 * responding. */
MUST_CHECK bool manager_open(Call *call, Manager *out, Error *err);
/* Reconnects after the connection was lost: systemd drops it when it re-executes itself, for
 * instance during an upgrade. Retries for a few seconds. */
MUST_CHECK bool manager_reopen(Manager *manager, Error *err);
void manager_close(Manager *manager); /* even if opening it failed */
DEFINE_AUTO_CLEAR(Manager, manager_close)

typedef struct UnitStatus {
    Str name; /* its primary name, even if queried by an alias */
    Str path; /* D-Bus object path */
    Str load; /* "loaded", "not-found", "masked", "bad-setting", "error" */
    Str load_error;
    Str active; /* "active", "inactive", "failed", "activating", ... */
    Str sub;    /* "running", "exited", "auto-restart", ... */
    Str description;
    Str fragment;       /* file it was loaded from; empty: none */
    BusValue dropins;   /* drop-ins it was loaded with */
    BusValue triggers;  /* sockets, timers and paths that can start it */
    bool needs_reload;  /* its files have changed since systemd loaded it */
    bool has_job;       /* it is being started or stopped */
    int64_t started_ms; /* when it left the inactive state, since 1970; 0: never since boot */
    int64_t since_ms;   /* when it entered its current state; 0: unknown */
} UnitStatus;

/* Loads the unit if necessary. A missing unit has `load` "not-found". */
MUST_CHECK bool manager_get_unit(Manager *manager, Str name, UnitStatus *out, Error *err);
/* Reads properties of its type, such as Type and Result of a service; empty for some types. */
MUST_CHECK bool manager_get_properties(Manager *manager, const UnitStatus *unit, BusValue *out,
                                       Error *err);

bool unit_is_running(const UnitStatus *unit); /* active, or about to be restarted */
bool unit_is_failing(const UnitStatus *unit); /* failed, or waiting to be restarted */
bool unit_is_stopped(const UnitStatus *unit); /* none of its processes is running or about to run */
bool unit_is_broken(const UnitStatus *unit);  /* systemd cannot load its files */
Str unit_state(const UnitStatus *unit);       /* "running", "stopped", "failed" */

/* "enabled", "disabled", "static", "masked", ...; read from disk. Empty if there is no file. */
MUST_CHECK bool manager_file_state(Manager *manager, Str name, Str *out, Error *err);

/* Changes to unit files: "EnableUnitFiles" etc. */
typedef enum UnitFileChange {
    UNIT_ENABLE,
    UNIT_DISABLE,
    UNIT_DISABLE_RUNTIME, /* until the next boot, like the two below */
    UNIT_MASK,
    UNIT_UNMASK,
    UNIT_UNMASK_RUNTIME,
} UnitFileChange;
MUST_CHECK bool manager_change_file(Manager *manager, Str name, UnitFileChange change, Error *err);
/* Reloads all unit files: daemon-reload. */
MUST_CHECK bool manager_reload(Manager *manager, Error *err);

/* Lists the loaded units that match; the first item of each item in `out` is its name. */
MUST_CHECK bool manager_list(Manager *manager, Str pattern, BusValue *out, Error *err);
/* Returns a similarly named unit file; empty if there is none. */
Str manager_suggest(Manager *manager, Str name);

/* For direct calls. */
#define SYSTEMD         "org.freedesktop.systemd1"
#define SYSTEMD_PATH    STR("/org/freedesktop/systemd1")
#define SYSTEMD_MANAGER SYSTEMD ".Manager"
BusTimeout manager_timeout(const Manager *manager);
MUST_CHECK bool manager_call(Manager *manager, const char *member, const BusValue *args,
                             uint32_t count, BusValue *reply, Error *err);
