/* systemd as modules see it: what a unit is like, jobs, unit files. All of it over D-Bus. */
#pragma once

#include "modules/call.h"
#include "sys/bus.h"

typedef struct Manager {
    Call *call;
    Bus *bus;
} Manager;

/* ERROR_UNAVAILABLE where systemd does not run the machine, or cannot be reached. */
MUST_CHECK bool manager_open(Call *call, Manager *out, Error *err);
/* Once more, after the connection was lost: systemd ends it when it replaces itself, as it does
 * when it is upgraded. Tries for some seconds. */
MUST_CHECK bool manager_reopen(Manager *manager, Error *err);
void manager_close(Manager *manager); /* also one that could not be opened */
DEFINE_AUTO_CLEAR(Manager, manager_close)

typedef struct UnitStatus {
    Str name; /* its own, where it was asked for by an alias */
    Str path; /* on the bus */
    Str load; /* "loaded", "not-found", "masked", "bad-setting", "error" */
    Str load_error;
    Str active; /* "active", "inactive", "failed", "activating", ... */
    Str sub;    /* "running", "exited", "auto-restart", ... */
    Str description;
    Str fragment;       /* the file it was loaded from; empty: none */
    BusValue dropins;   /* the drop-ins that were read with it */
    BusValue triggers;  /* the sockets, timers and paths that start it */
    bool needs_reload;  /* its files have changed since systemd read them */
    bool has_job;       /* it is being started or stopped right now */
    int64_t started_ms; /* when it left the state inactive, since 1970; 0: not since the boot */
    int64_t since_ms;   /* when it came to the state it is in; 0: not known */
} UnitStatus;

/* Loads the unit if need be; one that is not there has `load` "not-found". */
MUST_CHECK bool manager_look(Manager *manager, Str name, UnitStatus *out, Error *err);
/* What only some kinds of units have, such as Type and Result; empty for others. */
MUST_CHECK bool manager_look_closer(Manager *manager, const UnitStatus *unit, BusValue *out,
                                    Error *err);

bool unit_is_running(const UnitStatus *unit); /* active, or about to be so again */
bool unit_is_failing(const UnitStatus *unit); /* failed, or waiting to be tried again */
bool unit_is_stopped(const UnitStatus *unit); /* nothing of it runs or is about to */
bool unit_is_broken(const UnitStatus *unit);  /* systemd can make no sense of its files */
Str unit_state(const UnitStatus *unit);       /* "running", "stopped", "failed" */

/* "enabled", "disabled", "static", "masked", ...; read from the disk. Empty: there is no file. */
MUST_CHECK bool manager_file_state(Manager *manager, Str name, Str *out, Error *err);

/* What is done to unit files: "EnableUnitFiles" and the like. */
typedef enum UnitFileChange {
    UNIT_ENABLE,
    UNIT_DISABLE,
    UNIT_DISABLE_RUNTIME, /* until the next boot, as the two that follow */
    UNIT_MASK,
    UNIT_UNMASK,
    UNIT_UNMASK_RUNTIME,
} UnitFileChange;
MUST_CHECK bool manager_change_file(Manager *manager, Str name, UnitFileChange change, Error *err);
/* Reads all unit files again: daemon-reload. */
MUST_CHECK bool manager_reload(Manager *manager, Error *err);

/* The units that are loaded and match, as items of `out`, each with its name as first item. */
MUST_CHECK bool manager_list(Manager *manager, Str pattern, BusValue *out, Error *err);
/* The name of a unit file that is nearly the same; empty: there is none. */
Str manager_suggest(Manager *manager, Str name);

/* For calls of one's own. */
#define SYSTEMD         "org.freedesktop.systemd1"
#define SYSTEMD_PATH    STR("/org/freedesktop/systemd1")
#define SYSTEMD_MANAGER SYSTEMD ".Manager"
BusPatience manager_patience(const Manager *manager);
MUST_CHECK bool manager_call(Manager *manager, const char *member, const BusValue *args,
                             uint32_t count, BusValue *reply, Error *err);
