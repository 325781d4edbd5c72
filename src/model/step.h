/* Steps as written in a site (StepSpec), and as part of a run (Step): one for each item of forEach,
 * numbered in file order. */
#pragma once

#include "base/source.h"
#include "model/dynamic.h"
#include "model/module.h"
#include "model/selector.h"

/* In the order of the truth table. */
typedef enum RequisiteKind {
    REQUISITE_REQUIRE,
    REQUISITE_WATCH,
    REQUISITE_PREREQ,
    REQUISITE_ONCHANGES,
    REQUISITE_ONFAIL,
    REQUISITE_LISTEN,
    REQUISITE_USE,
    REQUISITE_ORDER, /* implicit: after the target, whatever its result; users cannot write it */
    REQUISITE_KINDS
} RequisiteKind;
const char *requisite_kind_name(RequisiteKind kind);

typedef enum ReferenceKind {
    REFERENCE_STEP,   /* step: NAME */
    REFERENCE_JOB,    /* job: NAME, all its steps */
    REFERENCE_MODULE, /* MODULE: NAME or id */
} ReferenceKind;

/* One entry under a requisite key. `any` and `all` according to the key: require_any, onfail_all;
 * `in` for the reversed forms, in which this step is the target. */
typedef struct Requisite {
    RequisiteKind kind;
    bool any, all, in;
    ReferenceKind reference;
    Str module;     /* of REFERENCE_MODULE */
    Str pattern;    /* name, ID, or a glob for these: *, ?, [abc]; * also matches '/' */
    Value location; /* the reference as written */
} Requisite;

typedef enum StepOrderKind {
    ORDER_FIRST,
    ORDER_NUMBER, /* before steps without an order */
    ORDER_NONE,
    ORDER_LAST,
} StepOrderKind;

typedef struct Retry {
    int64_t interval_ms;
    int64_t limit; /* further attempts; 0: no limit */
    Dynamic until; /* for runOptions.retry only; kind DYNAMIC_CONSTANT and null if absent */
    bool is_set;
} Retry;

typedef struct Condition {
    bool is_set;
    Dynamic test;
    Retry retry;
} Condition;
extern const Condition condition_none; /* absent */

typedef struct Serialize {
    bool is_set;
    int64_t count; /* 0 if `percent` is set */
    int64_t percent;
    bool fail_after_all_ran;
    int64_t max_failures; /* -1: not given */
} Serialize;

typedef struct RunOptions {
    bool sync;
    bool eventual; /* consistency: eventual */
    bool fail_after_all_ran;
    Serialize serialize;
    const Selector **targets; /* `target.hosts`: any of them */
    uint32_t target_count;    /* 0: every node */
    int64_t target_limit;     /* 0: no limit */
    int64_t timeout_ms;       /* 0: no limit */
    Retry retry;
} RunOptions;

typedef struct Job Job;

typedef struct StepSpec {
    const Job *job;
    uint32_t index_in_file; /* index in its file */
    Str name;               /* as written, or derived from action and ID; without templates */
    Value location;         /* location of the step, for messages */
    Value name_location;
    Value action_location;
    const Module *module;
    const Action *action;
    const Dynamic **params;          /* by index in the action's row; NULL if not set */
    uint64_t params_set;             /* bit i: params[i] is set */
    uint64_t params_by_foreign_name; /* set under a name from another tool, which is reported */
    bool params_unreadable;          /* invalid, and reported: cannot tell which are missing */
    bool params_invalid; /* some are, and reported: cross-parameter checks are skipped */
    /* By index: converted values that do not depend on the run: constants and the row's defaults.
     * Missing if a template must be evaluated, and if there is neither. Resolved types as
     * written. */
    const Value *values;
    /* Never NULL. Most steps have none, so absent ones are shared. */
    const Condition *when, *success, *proceed; /* `proceed` is written `continue` */
    const RunOptions *run;
    Requisite *requisites;
    uint32_t requisite_count;
    StepOrderKind order;
    int64_t order_number;
    Dynamic for_each; /* null constant if absent, missing if invalid */
    bool has_for_each;
    bool secret; /* its output is secret */
} StepSpec;

/* The condition with which a base file or a job file includes a job, and those under which that
 * file itself was reached. */
typedef struct JobGate {
    Condition when; /* may be absent */
    const struct JobGate *outer;
} JobGate;

/* A job whose steps come before step number `before` of the job that includes it. */
typedef struct JobInclude {
    Str name;
    Value location;
    uint32_t before;
} JobInclude;

/* A file of steps, which a run contains once. */
struct Job {
    Str name; /* "kubeadm/kubernetes-master" */
    Str path; /* path of the file, for messages */
    StepSpec *steps;
    uint32_t step_count;
    JobInclude *includes;
    uint32_t include_count;
    /* The paths that lead to this job: its steps may run if all conditions of one path are true. If
     * there is a path without conditions, the list is empty. */
    const JobGate **gates;
    uint32_t gate_count;
    /* The selector of an entry that lists the job without conditions, "*" if any entry has it;
     * empty: none, or several nested selectors. */
    Str selector;
};

/* A file of jobs (`jobs:`): the target of `job: NAME` if NAME is such a file. */
typedef struct JobGroup {
    Str name;
    const Job **jobs; /* all jobs of this run that can be reached from it, each once */
    uint32_t job_count;
} JobGroup;

/* A step in a run. */
typedef struct Step {
    uint32_t index; /* index in the run, in file order */
    const StepSpec *spec;
    Str id;     /* "job#name", with "[key]" for an instance of forEach */
    Str name;   /* without the job, with "[key]" */
    Value item; /* of forEach; missing if there is none */
    Str key;    /* of the item; empty if there is none */
    Str *ids;   /* values of the ID parameter, for MODULE: ID; empty if they depend on the run */
    uint32_t id_count;
    List *claims; /* resources, as named by the action; NULL: none */
    /* As spec->values, with what could be evaluated at load time for this instance: IDs, paths,
     * owner and group. */
    const Value *values;
    /* kinds of requisites whose targets are not on this node: 1 << REQUISITE_ONCHANGES and so on */
    uint16_t kinds_without_targets;
} Step;

typedef struct Steps {
    Step *items;
    uint32_t count;
    const Job **jobs; /* in order, including those without steps */
    uint32_t job_count;
    const JobGroup *groups;
    uint32_t group_count;
    /* steps whose forEach is empty: their names are known, but they have no instances */
    const StepSpec **empty_for_each;
    uint32_t empty_for_each_count;
    bool
        /* templates in IDs were not evaluated: such a step may be the target of anything */
        without_node;
    bool has_unread_files; /* a job file could not be read, so there may be more */
    bool is_invalid;       /* parts of it are invalid: only for finding more problems, never run */
} Steps;
