/* Decides what the agent does next with its orders: which runs start, wait, are interrupted,
 * started again or abandoned. Pure: its owner (orders.h) performs the action and calls it again
 * until there is nothing to do.
 *
 * Applies and plans run one after another, oldest first. Commands (exec) have a separate queue, so
 * that they can be executed while an apply hangs. */
#pragma once

#include "fleet/records.h"

enum {
    QUEUE_ATTEMPTS_MAX = 3,           /* maximum number of starts of an interrupted run */
    QUEUE_CANCEL_MS = 30 * 1000,      /* time for running steps to finish after a cancel */
    QUEUE_STOP_MS = 10 * 1000,        /* time for a runner to exit after its steps were stopped */
    QUEUE_LOCK_MS = 1000,             /* interval of attempts to acquire a lock */
    QUEUE_REBOOT_MS = 10 * 60 * 1000, /* maximum time for the machine to shut down */
    QUEUE_FETCH_MS = 10 * 1000,       /* delay before a site is fetched again */
};

typedef enum QueuePhase {
    QUEUE_ACCEPTED, /* no runner: not started, or to be started again */
    QUEUE_STARTED,  /* a runner was started */
    QUEUE_ENDED,    /* the outcome is known */
} QueuePhase;

/* The end of the events of a run. */
typedef enum QueueTail {
    TAIL_NONE,        /* this attempt has not started */
    TAIL_OPEN,        /* it has started */
    TAIL_REBOOTING,   /* it is waiting for the machine to restart */
    TAIL_INTERRUPTED, /* it was ended by a signal */
    TAIL_ENDED,
} QueueTail;

typedef enum QueueSite {
    SITE_UNNEEDED,
    SITE_MISSING,
    SITE_FETCHING,
    SITE_READY,
    SITE_FAILED, /* the fetch failed at `fetched_ms` */
} QueueSite;

typedef struct QueueRun {
    const Order *order;
    bool is_withdrawn; /* the server has deleted the order */
    QueuePhase phase;
    bool has_runner;  /* a process is running */
    bool was_watched; /* this agent has observed the exit of the runner */
    bool is_locked;   /* it ended before it started, because another run held the lock */
    QueueTail tail;
    bool is_same_boot;      /* the machine has not restarted since the last start */
    uint32_t attempts;      /* number of starts */
    uint32_t interruptions; /* number of runners that were lost */
    uint32_t signals;       /* 1: the runner was interrupted; 2: its steps were stopped */
    int64_t signaled_ms;    /* when that was */
    int64_t started_ms, reboot_ms, fetched_ms;
    QueueSite site;
} QueueRun;

typedef struct QueueView {
    const QueueRun *runs; /* oldest first */
    uint32_t count;
    bool is_locked; /* a run that is not in the list holds the lock */
    int64_t now_ms;
} QueueView;

typedef enum QueueActionKind {
    QUEUE_WAIT,         /* wait until `check_ms`, or until something changes */
    QUEUE_FORGET,       /* delete the run: the server no longer wants it, and it has not started */
    QUEUE_FETCH,        /* fetch its site */
    QUEUE_START,        /* start the runner */
    QUEUE_REQUEUE,      /* the runner has exited: treat the run as accepted again */
    QUEUE_INTERRUPT,    /* running steps may finish, others do not start */
    QUEUE_STOP,         /* running steps get SIGTERM, and SIGKILL soon after */
    QUEUE_KILL,         /* SIGKILL to all of its processes */
    QUEUE_STORE_RESULT, /* store the result with `outcome` and `reason` */
    /* store the result of the last event; `outcome` is NODE_CANCELED if it was canceled */
    QUEUE_STORE_LAST_RESULT,
} QueueActionKind;

typedef struct QueueAction {
    QueueActionKind kind;
    uint32_t run;
    bool counts; /* QUEUE_REQUEUE: counts as an interruption */
    NodeOutcome outcome;
    const char *reason;
    int64_t check_ms; /* QUEUE_WAIT; INT64_MAX: wait for a change only */
} QueueAction;

QueueAction queue_decide(const QueueView *view);

/* The reason why an accepted run does not start, and the index of the run that it waits for, or
 * UINT32_MAX. */
typedef enum QueueWait {
    WAIT_NONE, /* it is about to start */
    WAIT_RUN,
    WAIT_LOCK,
    WAIT_SITE,
} QueueWait;
QueueWait queue_wait(const QueueView *view, uint32_t run, uint32_t *blocking_run);
