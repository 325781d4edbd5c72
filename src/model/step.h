/* Steps as a site writes them (StepSpec), and as a run has them (Step): one for each item of
 * forEach, numbered in file order. */
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
    REQUISITE_ORDER, /* implicit: after the target, whatever became of it; users cannot write it */
    REQUISITE_KINDS
} RequisiteKind;
const char *requisite_kind_name(RequisiteKind kind);

typedef enum ReferenceKind {
    REFERENCE_STEP,   /* step: NAME */
    REFERENCE_JOB,    /* job: NAME, all its steps */
    REFERENCE_MODULE, /* MODULE: NAME or id */
} ReferenceKind;

/* One entry under a requisite key. `any` and `all` as the key says: require_any, onfail_all;
 * `in` for the reversed forms, where this step is the target. */
typedef struct Requisite {
    RequisiteKind kind;
    bool any, all, in;
    ReferenceKind reference;
    Str module;  /* of REFERENCE_MODULE */
    Str pattern; /* a name, an id, or a glob of these: *, ?, [abc]; * also matches '/' */
    Value place; /* the reference as written */
} Requisite;

typedef enum OrderKind {
    ORDER_FIRST,
    ORDER_NUMBER, /* before steps without order */
    ORDER_NONE,
    ORDER_LAST,
} OrderKind;

typedef struct Retry {
    int64_t interval_ms;
    int64_t limit; /* further tries; 0: for ever */
    Dynamic until; /* of runOptions.retry only; kind DYNAMIC_CONSTANT and null when absent */
    bool given;
} Retry;

typedef struct Condition {
    bool given;
    Dynamic test;
    Retry retry;
} Condition;
extern const Condition condition_none; /* not given */

typedef struct Serialize {
    bool given;
    int64_t count; /* 0 when `percent` is given */
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
    int64_t target_limit;     /* 0: none */
    int64_t timeout_ms;       /* 0: none */
    Retry retry;
} RunOptions;

typedef struct Job Job;

typedef struct StepSpec {
    const Job *job;
    uint32_t number; /* in its file, from 0 */
    Str name;        /* as written or made from action and id; templates in it are not allowed */
    Value place;     /* the whole step; for messages */
    Value name_place;
    Value action_place;
    const Module *module;
    const Action *action;
    const Dynamic **params; /* by position in the action's row; NULL where not given */
    uint64_t params_set;    /* bit i: params[i] is given */
    bool params_unread; /* they have no form, and a problem says so: what is missing is not known */
    /* By position: what needs no run, converted: constants and the row's fallbacks. Missing where
     * a template must be evaluated, and where there is neither. The resolved kinds as written. */
    const Value *values;
    /* Never NULL. Most steps say nothing here, so what says nothing is shared. */
    const Condition *when, *success, *proceed; /* `proceed` is written `continue` */
    const RunOptions *run;
    Requisite *requisites;
    uint32_t requisite_count;
    OrderKind order;
    int64_t order_number;
    Dynamic for_each; /* null constant when absent, missing when it was wrong */
    bool has_for_each;
    bool secret; /* what it gives is */
} StepSpec;

/* The condition with which a base file or a file of jobs names a job, and those under which that
 * file itself was reached. */
typedef struct JobGate {
    Condition when; /* may be not given */
    const struct JobGate *outer;
} JobGate;

/* A job whose steps stand before step number `before` of the one that includes it. */
typedef struct JobInclude {
    Str name;
    Value place;
    uint32_t before;
} JobInclude;

/* A file of steps, reached by the run once. */
struct Job {
    Str name; /* "kubeadm/kubernetes-master" */
    Str path; /* of the file, for messages */
    StepSpec *steps;
    uint32_t step_count;
    JobInclude *includes;
    uint32_t include_count;
    /* The ways by which the run came here: its steps may run when all conditions of one of them
     * hold. Ways without any condition are not in the list, and make it empty. */
    const JobGate **gates;
    uint32_t gate_count;
};

/* A file of jobs (`jobs:`): what `job: NAME` means when NAME is such a file. */
typedef struct JobGroup {
    Str name;
    const Job **jobs; /* all of this run that it leads to, each once */
    uint32_t job_count;
} JobGroup;

/* A step of a run. */
typedef struct Step {
    uint32_t index; /* in the run, from 0, in file order */
    const StepSpec *spec;
    Str id;     /* "job#name", with "[key]" for an instance of forEach */
    Str name;   /* without the job, with "[key]" */
    Value item; /* of forEach; missing when there is none */
    Str key;    /* of the item; empty when there is none */
    Str *ids;   /* what the id parameter holds, for MODULE: ID; empty when it needs the run */
    uint32_t id_count;
    List *claims; /* resources, as the action names them; NULL: none */
    /* As spec->values, with what could be evaluated at load for this instance: ids, paths, owner
     * and group. */
    const Value *values;
    uint16_t untargeted; /* requisites that mean nobody: 1 << REQUISITE_ONCHANGES and so on */
} Step;

typedef struct Steps {
    Step *items;
    uint32_t count;
    const Job **jobs; /* reached, also those without steps, in order */
    uint32_t job_count;
    const JobGroup *groups;
    uint32_t group_count;
    const StepSpec **idle; /* whose forEach gives nothing: known by name, and nobody */
    uint32_t idle_count;
    bool
        without_node; /* templates in ids stayed as they are: such a step may be anybody's target */
    bool unread;      /* a file of jobs could not be read, so that there may be more */
    bool broken; /* of something that is wrong: there for finding more of it, never to be run */
} Steps;
