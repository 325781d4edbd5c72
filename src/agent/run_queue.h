/* Decides what the agent does next with the orders that it has: which runs start, wait, are
 * interrupted, started again or given up. Pure: its owner (orders.h) performs the action, notes what
 * became of it, and asks again until there is nothing to do.
 *
 * Applies and plans run one after another, oldest first. Commands (exec) have a queue of their own,
 * so that one can be executed while an apply hangs. */
#pragma once

#include "fleet/records.h"

enum {
    QUEUE_ATTEMPTS_MAX = 3,          /* how often an interrupted run is started */
    QUEUE_CANCEL_MS = 30 * 1000,     /* for running steps to finish after a cancel */
    QUEUE_STOP_MS = 10 * 1000,       /* for a runner whose steps were stopped to end */
    QUEUE_LOCK_MS = 1000,            /* how often a lock that is held is tried */
    QUEUE_LEAVE_MS = 10 * 60 * 1000, /* time for a machine to go down */
    QUEUE_FETCH_MS = 10 * 1000,      /* delay before a site is fetched again */
};

typedef enum QueuePhase {
    QUEUE_ACCEPTED, /* no runner; not started, or to be started again */
    QUEUE_STARTED,  /* a runner was started */
    QUEUE_ENDED,    /* the outcome is known */
} QueuePhase;

/* The end of the events of a run. */
typedef enum QueueTail {
    TAIL_NONE,        /* this attempt has not begun */
    TAIL_OPEN,        /* it has begun */
    TAIL_LEAVING,     /* it waits for the machine to restart */
    TAIL_INTERRUPTED, /* it has ended because of a signal */
    TAIL_ENDED,
} QueueTail;

typedef enum QueueSite {
    SITE_UNNEEDED,
    SITE_MISSING,
    SITE_FETCHING,
    SITE_READY,
    SITE_FAILED, /* at `fetched_ms` */
} QueueSite;

typedef struct QueueRun {
    const Order *order;
    bool is_withdrawn; /* the server has deleted the order */
    QueuePhase phase;
    bool has_runner;  /* a process is running */
    bool was_watched; /* the runner has ended, and this agent saw it */
    bool is_locked;   /* it has ended before it began, because another run held the lock */
    QueueTail tail;
    bool is_same_boot;      /* the machine has not restarted since the last start */
    uint32_t attempts;      /* number of starts */
    uint32_t interruptions; /* number of runners that were lost */
    uint32_t signals;       /* 1: the runner was interrupted; 2: its steps were stopped */
    int64_t signaled_ms;    /* when that was */
    int64_t started_ms, left_ms, fetched_ms;
    QueueSite site;
} QueueRun;

typedef struct QueueView {
    const QueueRun *runs; /* oldest first */
    uint32_t count;
    bool is_locked; /* a run that is none of these holds the lock */
    int64_t now_ms;
} QueueView;

typedef enum QueueDo {
    QUEUE_REST,      /* until `look_ms`, or until something happens */
    QUEUE_FORGET,    /* delete the run: the server no longer wants it, and it has not started */
    QUEUE_FETCH,     /* its site */
    QUEUE_START,     /* the runner */
    QUEUE_REQUEUE,   /* the runner is gone: as if it had been accepted just now */
    QUEUE_INTERRUPT, /* running steps may finish, others do not start */
    QUEUE_STOP,      /* running steps get SIGTERM, and SIGKILL soon after */
    QUEUE_KILL,      /* SIGKILL to all of its processes */
    QUEUE_CONCLUDE,  /* with `outcome` and `reason` */
    QUEUE_ADOPT_END, /* with what the last event says; `outcome` is NODE_CANCELED if it was canceled */
} QueueDo;

typedef struct QueueAction {
    QueueDo act;
    uint32_t run;
    bool counts; /* QUEUE_REQUEUE: the runner was lost */
    NodeOutcome outcome;
    const char *reason;
    int64_t look_ms; /* QUEUE_REST; INT64_MAX: there is nothing to wait for */
} QueueAction;

QueueAction queue_decide(const QueueView *view);

/* Why an accepted run does not start, and the index of the run that it waits for, or UINT32_MAX. */
typedef enum QueueWait {
    WAIT_NOT, /* it is about to start */
    WAIT_BEHIND,
    WAIT_LOCK,
    WAIT_SITE,
} QueueWait;
QueueWait queue_wait(const QueueView *view, uint32_t run, uint32_t *behind);
