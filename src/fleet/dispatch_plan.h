/* Decides what the leader does next for a run: which orders to write, withdraw or cancel, and when
 * the run has ended. Pure: takes a snapshot and returns one action, which the caller executes; then
 * it is called again when something has changed. */
#pragma once

#include "fleet/records.h"

/* One target, as of one revision of the store. */
typedef struct DispatchTarget {
    bool has_result;
    NodeOutcome outcome;    /* outcome of the stored result */
    int64_t order_revision; /* revision of the last change to its order; 0: it has no order */
    bool is_member;         /* it is still a node of the cluster */
    int64_t silent_ms;      /* time without a session; negative: it has one */
} DispatchTarget;

enum {
    DISPATCH_BATCH_MAX = 100,
    /* Time without a session after which a target is considered silent; longer than an overloaded
     * node needs to reconnect. */
    DISPATCH_SILENT_MS = 20 * 1000,
    /* Default time to wait for a silent target that has accepted its order; longer than a reboot
     * takes. Config can set a different time. */
    DISPATCH_LOST_MS = 15 * 60 * 1000,
    DISPATCH_LOST_MAX_MS =
        24 * 3600 * 1000, /* maximum of that setting; the minimum is DISPATCH_SILENT_MS */
};

typedef enum DispatchAction {
    DISPATCH_WAIT,     /* wait until something changes, or for `wait_ms` */
    DISPATCH_ORDER,    /* write the orders of `targets`, or rewrite them as canceled */
    DISPATCH_WITHDRAW, /* delete the orders of `targets` */
    DISPATCH_RUNNING,  /* all orders are written: the run is running */
    DISPATCH_END,      /* the run has ended */
} DispatchAction;

typedef struct DispatchStep {
    DispatchAction action;
    uint32_t targets[DISPATCH_BATCH_MAX]; /* indexes of targets */
    uint32_t target_count;
    int64_t wait_ms; /* 0: only until something changes */
} DispatchStep;

/* `canceled_revision` is the revision at which the run was canceled, or 0: orders written earlier
 * do not reflect this yet. `is_superseded`: a later version is being applied to all nodes, so
 * silent ones need not apply this one later. `lost_ms`: how long to wait for a silent target that
 * has accepted its order; 0: DISPATCH_LOST_MS. */
typedef struct DispatchRun {
    FleetRunState state;
    RunCause cause;
    int64_t canceled_revision;
    bool is_superseded;
    int64_t lost_ms;
} DispatchRun;

/* Whether the target is shown as silent. */
bool dispatch_is_silent(const DispatchTarget *target);
/* How long after the end of its session the run waits for the target. */
int64_t dispatch_wait_ms(const DispatchRun *run, const DispatchTarget *target);

void dispatch_plan(const DispatchRun *run, const DispatchTarget *targets, uint32_t count,
                   DispatchStep *out);
