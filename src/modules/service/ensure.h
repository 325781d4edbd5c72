/* The desired state of a unit for service.ensure, and the actions to get there. Decisions are pure:
 * ensure_decide.c uses only the collected state. */
#pragma once

#include "modules/service/job.h"

typedef enum DesiredState {
    DESIRED_ANY,
    DESIRED_STARTED,
    DESIRED_STOPPED,
    DESIRED_RESTARTED,
    DESIRED_RELOADED,
} DesiredState;

typedef struct ServiceRequest {
    Str name; /* full name with suffix */
    DesiredState state;
    bool has_enabled, enabled;
    bool has_masked, masked;
    bool reload; /* reload in reaction to a change */
    JobTimeouts timeouts;
} ServiceRequest;

typedef struct ServiceState {
    UnitStatus unit; /* not queried if `load` is empty */
    Str file_state;  /* see manager_file_state */
} ServiceState;

typedef struct ServicePlan {
    bool changes_file[6]; /* indexed by UnitFileChange, in this order */
    bool reloads;         /* the unit files are as desired, but systemd has not reloaded them */
    bool has_job;
    UnitJob job;
} ServicePlan;

/* Reads the parameters. Fails with ERROR_INVALID if they contradict each other. */
MUST_CHECK bool ensure_read(Call *call, ServiceRequest *out, Error *err);
/* Decides what to do. Fails if that is impossible, with ERROR_NOT_FOUND if there is no such unit;
 * during a plan, an earlier step may still create it. */
MUST_CHECK bool ensure_decide(const ServiceRequest *request, const ServiceState *found,
                              bool planning, ServicePlan *out, Error *err);
bool service_plan_is_empty(const ServicePlan *plan);
/* Sets changes, comment and the resulting state. */
void ensure_describe(Call *call, const ServiceRequest *request, const ServiceState *found,
                     const ServicePlan *plan, Outcome *outcome);

/* Returns true if a unit file in that state is enabled, or masked. */
bool file_state_is_enabled(Str state);
bool file_state_is_masked(Str state);
