#include "model/decide.h"

#include "base/enum_names.h"

DEFINE_ENUM_NAMES(
    StepResult, step_result, [RESULT_PENDING] = "pending", [RESULT_OK] = "ok",
    [RESULT_CHANGED] = "changed", [RESULT_FAILED] = "failed", [RESULT_SKIPPED] = "skipped",
    [RESULT_BLOCKED] = "blocked", [RESULT_WAITING] = "waiting", [RESULT_UNKNOWN] = "unknown")

static const char *const phase_names[] = {
    [PHASE_CHECK] = "check",
    [PHASE_RUN] = "run",
    [PHASE_REACT] = "react",
};

const char *work_phase_name(WorkPhase phase)
{
    return enum_names_get(phase_names, COUNT_OF(phase_names), (size_t)phase, "WorkPhase");
}

static const char *const decision_names[] = {
    [DECIDE_RUN] = "run",   [DECIDE_SKIP] = "skip",       [DECIDE_BLOCK] = "block",
    [DECIDE_WAIT] = "wait", [DECIDE_UNKNOWN] = "unknown",
};

const char *decision_kind_name(DecisionKind kind)
{
    return enum_names_get(decision_names, COUNT_OF(decision_names), (size_t)kind, "DecisionKind");
}

#define KIND(kind) ((uint16_t)(1u << (kind)))

enum {
    TRIGGERS = 1 << REQUISITE_WATCH | 1 << REQUISITE_ONCHANGES | 1 << REQUISITE_LISTEN
};

/* Summary of the targets of one kind. A kind with two forms (require and require_any) has two of
 * these. Pointers are to the first such edge. */
typedef struct TargetGroup {
    uint32_t count;
    uint32_t satisfied; /* targets with the required result: successful, changed or failed,
     * depending on the kind */
    uint32_t unknown_count;
    const Edge *fired;
    const Edge *bad;     /* failed or blocked */
    const Edge *waiting; /* waiting, or no result yet */
    const Edge *unknown;
    const Edge *last;
} TargetGroup;

enum {
    FORM_PLAIN,
    FORM_ANY,
    FORM_ALL,
    FORMS
};

typedef struct Decider {
    const Graph *graph;
    const StepStatus *statuses;
    Work work;
    bool planning;
    Arena *arena;
    TargetGroup groups[REQUISITE_KINDS][FORMS];
    const Edge *prereq_bad; /* a step that has this one as prereq, and failed or is blocked */
    const Edge *prereq_waiting;
    uint16_t fired;  /* triggers with a changed target, even if that failed afterwards */
    uint16_t failed; /* those whose changed target failed afterwards */
    Decision decision;
} Decider;

/* Without a reaction, watch is the same as require, and listen does nothing. */
static bool has_reaction(const Graph *graph, uint32_t step)
{
    return graph_step(graph, step)->spec->action->react != NULL;
}

/* The result of a target on which decisions are based. It may be missing only in decisions about
 * checks. */
static StepResult target_result(const StepStatus *status)
{
    return status->result != RESULT_PENDING ? status->result : status->pending;
}

static void set_first(const Edge **slot, const Edge *edge)
{
    if (*slot == NULL) {
        *slot = edge;
    }
}

static void group_add(Decider *decider, const Edge *edge)
{
    const StepStatus *status = &decider->statuses[edge->to];
    bool prereq = edge->kind == REQUISITE_PREREQ;
    StepResult result = prereq ? status->pending : target_result(status);
    if (result == RESULT_PENDING && decider->work.phase == PHASE_CHECK) {
        return; /* it can only run later */
    }
    TargetGroup *group = &decider->groups[edge->kind][edge->any   ? FORM_ANY
                                                      : edge->all ? FORM_ALL
                                                                  : FORM_PLAIN];
    group->count++;
    group->last = edge;
    if ((KIND(edge->kind) & TRIGGERS) != 0 && status->changed) {
        decider->fired |= KIND(edge->kind);
        decider->failed |= result == RESULT_FAILED ? KIND(edge->kind) : 0;
    }
    bool fires = false, satisfies = false;
    switch (result) {
    case RESULT_PENDING:
    case RESULT_WAITING: set_first(&group->waiting, edge); break;
    case RESULT_UNKNOWN:
        set_first(&group->unknown, edge);
        group->unknown_count++;
        satisfies = edge->kind == REQUISITE_REQUIRE ||
                    (edge->kind == REQUISITE_WATCH && !has_reaction(decider->graph, edge->from));
        /* Outside of a plan, a possible change counts as a change. */
        fires = prereq && !decider->planning;
        break;
    case RESULT_FAILED:
    case RESULT_BLOCKED:
        set_first(&group->bad, edge);
        fires = edge->kind == REQUISITE_ONFAIL && result == RESULT_FAILED;
        break;
    case RESULT_CHANGED:
        satisfies = edge->kind == REQUISITE_REQUIRE || edge->kind == REQUISITE_WATCH;
        fires = edge->kind != REQUISITE_ONFAIL;
        break;
    case RESULT_OK:
    case RESULT_SKIPPED:
        satisfies = edge->kind == REQUISITE_REQUIRE || edge->kind == REQUISITE_WATCH;
        break;
    }
    group->satisfied += satisfies || fires;
    if (fires) {
        set_first(&group->fired, edge);
    }
}

/* The target of a prereq runs after the steps that have it as prereq, as if it required them. */
static void add_prereq_dependents(Decider *decider)
{
    if (decider->graph->check_of[decider->work.step] == VERTEX_NONE) {
        return;
    }
    IndexSlice edges = graph_edges_to(decider->graph, decider->work.step);
    for (uint32_t i = 0; i < edges.count; i++) {
        const Edge *edge = graph_edge(decider->graph, edges.items[i]);
        if (edge->kind != REQUISITE_PREREQ) {
            continue;
        }
        StepResult result = decider->statuses[edge->from].result;
        if (result == RESULT_FAILED || result == RESULT_BLOCKED) {
            set_first(&decider->prereq_bad, edge);
        } else if (result == RESULT_PENDING || result == RESULT_WAITING) {
            set_first(&decider->prereq_waiting, edge);
        }
    }
}

static Str step_name(const Decider *decider, uint32_t step)
{
    return graph_step_label(decider->graph, step, decider->work.step);
}

static bool set_decision(Decider *decider, DecisionKind kind, const Edge *edge, Str reason)
{
    decider->decision.kind = kind;
    decider->decision.decisive_edge = edge;
    decider->decision.reason = reason;
    return true;
}

static const char *describe_result(StepResult result)
{
    switch (result) {
    case RESULT_FAILED: return "failed";
    case RESULT_BLOCKED: return "is blocked";
    case RESULT_SKIPPED: return "was skipped";
    case RESULT_UNKNOWN: return "is not known before the run";
    case RESULT_WAITING: return "is waiting";
    case RESULT_CHANGED: return "changed";
    case RESULT_OK: return "did not change";
    case RESULT_PENDING: break;
    }
    return "has not run yet";
}

static const char *verb(const Edge *edge)
{
    switch ((RequisiteKind)edge->kind) {
    case REQUISITE_WATCH: return "watches";
    case REQUISITE_PREREQ: return "must run before";
    default: break;
    }
    return edge->origin == EDGE_RESULT ? "uses the result of" : "requires";
}

/* Formats "requires 'a', which failed". */
static Str describe_target(const Decider *decider, const Edge *edge)
{
    const StepStatus *status = &decider->statuses[edge->to];
    bool prereq = edge->kind == REQUISITE_PREREQ;
    Str name = step_name(decider, edge->to);
    return arena_format(decider->arena, "%s '%" STR_FMT "', which %s", verb(edge), STR_ARG(name),
                        describe_result(prereq ? status->pending : target_result(status)));
}

static Str describe_prereq(const Decider *decider, const Edge *edge)
{
    Str name = step_name(decider, edge->from);
    return arena_format(decider->arena, "'%" STR_FMT "', which must run before it, %s",
                        STR_ARG(name), describe_result(decider->statuses[edge->from].result));
}

/* Blocked if a kind that needs all targets has a bad one, or a kind that needs any target can no
 * longer get one. */
static bool decide_block(Decider *decider)
{
    static const uint8_t kinds[] = { REQUISITE_REQUIRE, REQUISITE_WATCH, REQUISITE_PREREQ };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int form = 0; form < FORMS; form++) {
            const TargetGroup *group = &decider->groups[kinds[i]][form];
            if (group->bad == NULL) {
                continue;
            }
            bool one_is_enough = form == FORM_ANY || kinds[i] == REQUISITE_PREREQ;
            bool may_fire = group->waiting != NULL || group->unknown != NULL;
            bool is_satisfied =
                kinds[i] == REQUISITE_PREREQ ? group->fired != NULL : group->satisfied > 0;
            if (one_is_enough && (is_satisfied || may_fire)) {
                continue;
            }
            return set_decision(decider, DECIDE_BLOCK, group->bad,
                                describe_target(decider, group->bad));
        }
    }
    if (decider->prereq_bad != NULL) {
        return set_decision(decider, DECIDE_BLOCK, decider->prereq_bad,
                            describe_prereq(decider, decider->prereq_bad));
    }
    return false;
}

static bool decide_wait(Decider *decider)
{
    for (int kind = 0; kind < REQUISITE_KINDS; kind++) {
        for (int form = 0; form < FORMS; form++) {
            const Edge *edge = decider->groups[kind][form].waiting;
            if (edge != NULL && kind != REQUISITE_LISTEN && kind != REQUISITE_USE) {
                Str name = step_name(decider, edge->to);
                return set_decision(
                    decider, DECIDE_WAIT, edge,
                    arena_format(decider->arena, "waits for '%" STR_FMT "'", STR_ARG(name)));
            }
        }
    }
    if (decider->prereq_waiting != NULL) {
        Str name = step_name(decider, decider->prereq_waiting->from);
        return set_decision(
            decider, DECIDE_WAIT, decider->prereq_waiting,
            arena_format(decider->arena, "waits for '%" STR_FMT "'", STR_ARG(name)));
    }
    return false;
}

/* Whether the trigger of this kind and form has fired. */
static bool has_fired(const TargetGroup *group, int form)
{
    return form == FORM_ALL ? group->satisfied == group->count : group->fired != NULL;
}

static bool is_owed(const Decider *decider, RequisiteKind kind)
{
    return (decider->statuses[decider->work.step].owed & KIND(kind)) != 0;
}

static Str describe_skip(const Decider *decider, RequisiteKind kind, const TargetGroup *group)
{
    const char *what = kind == REQUISITE_ONCHANGES ? "changed"
                       : kind == REQUISITE_ONFAIL  ? "failed"
                                                   : "will change";
    if (group->count > 1) {
        return arena_format(decider->arena, "%s of the %u steps under '%s' %s",
                            kind == REQUISITE_ONFAIL && group->fired ? "not all" : "none",
                            group->count, requisite_kind_name(kind), what);
    }
    Str name = step_name(decider, group->last->to);
    StepResult result = kind == REQUISITE_PREREQ
                            ? decider->statuses[group->last->to].pending
                            : target_result(&decider->statuses[group->last->to]);
    if (kind == REQUISITE_PREREQ && result == RESULT_OK) {
        return arena_format(decider->arena, "'%" STR_FMT "' will not change", STR_ARG(name));
    }
    if (kind == REQUISITE_ONFAIL && (result == RESULT_OK || result == RESULT_CHANGED)) {
        return arena_format(decider->arena, "'%" STR_FMT "' did not fail", STR_ARG(name));
    }
    return arena_format(decider->arena, "'%" STR_FMT "' %s", STR_ARG(name),
                        describe_result(result));
}

/* Whether the step has this kind, and all its targets are steps that this node does not have. */
static bool has_no_targets(const Decider *decider, RequisiteKind kind)
{
    const Step *step = graph_step(decider->graph, decider->work.step);
    const TargetGroup *groups = decider->groups[kind];
    return (step->kinds_without_targets & KIND(kind)) != 0 && groups[FORM_PLAIN].count == 0 &&
           groups[FORM_ANY].count == 0 && groups[FORM_ALL].count == 0;
}

/* Skipped: a trigger has not fired, and no unknown target could still fire it. */
static bool decide_skip(Decider *decider)
{
    static const uint8_t kinds[] = { REQUISITE_ONCHANGES, REQUISITE_ONFAIL, REQUISITE_PREREQ };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        RequisiteKind kind = (RequisiteKind)kinds[i];
        if (has_no_targets(decider, kind) && !is_owed(decider, kind)) {
            return set_decision(decider, DECIDE_SKIP, NULL,
                                arena_format(decider->arena,
                                             "none of the steps under '%s' are on this node",
                                             requisite_kind_name(kind)));
        }
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int form = 0; form < FORMS; form++) {
            const TargetGroup *group = &decider->groups[kinds[i]][form];
            bool may_fire =
                group->unknown_count > 0 &&
                (form != FORM_ALL || group->satisfied + group->unknown_count == group->count);
            if (group->count == 0 || has_fired(group, form) || may_fire ||
                is_owed(decider, (RequisiteKind)kinds[i])) {
                continue;
            }
            return set_decision(decider, DECIDE_SKIP, group->last,
                                describe_skip(decider, (RequisiteKind)kinds[i], group));
        }
    }
    return false;
}

static bool decide_unknown(Decider *decider)
{
    static const uint8_t kinds[] = { REQUISITE_ONCHANGES, REQUISITE_ONFAIL, REQUISITE_PREREQ,
                                     REQUISITE_WATCH };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int form = 0; form < FORMS; form++) {
            const TargetGroup *group = &decider->groups[kinds[i]][form];
            if (group->unknown == NULL || has_fired(group, form) ||
                is_owed(decider, (RequisiteKind)kinds[i]) ||
                (kinds[i] == REQUISITE_WATCH &&
                 !has_reaction(decider->graph, decider->work.step))) {
                continue;
            }
            Str name = step_name(decider, group->unknown->to);
            return set_decision(decider, DECIDE_UNKNOWN, group->unknown,
                                arena_format(decider->arena,
                                             "depends on the result of '%" STR_FMT "'",
                                             STR_ARG(name)));
        }
    }
    return false;
}

static void decide_run(Decider *decider)
{
    static const struct {
        uint8_t kind;
        const char *what;
    } reasons[] = { { REQUISITE_WATCH, "changed" },
                    { REQUISITE_ONCHANGES, "changed" },
                    { REQUISITE_ONFAIL, "failed" },
                    { REQUISITE_PREREQ, "will change" } };
    set_decision(decider, DECIDE_RUN, NULL, STR_EMPTY);
    for (size_t i = 0; i < COUNT_OF(reasons) && decider->decision.decisive_edge == NULL; i++) {
        for (int form = 0; form < FORMS; form++) {
            const Edge *edge = decider->groups[reasons[i].kind][form].fired;
            if (edge != NULL) {
                Str name = step_name(decider, edge->to);
                set_decision(decider, DECIDE_RUN, edge,
                             arena_format(decider->arena, "'%" STR_FMT "' %s", STR_ARG(name),
                                          reasons[i].what));
                break;
            }
        }
    }
    if (decider->decision.decisive_edge == NULL &&
        (is_owed(decider, REQUISITE_WATCH) || is_owed(decider, REQUISITE_ONCHANGES))) {
        decider->decision.reason = STR("owed from an earlier run");
    }
}

/* A reaction at the end requires a step that could have run: a failed step may be fixed by it, a
 * blocked one must not be touched, and a skipped one is left alone. */
static bool may_react(StepResult own)
{
    return own == RESULT_OK || own == RESULT_CHANGED || own == RESULT_FAILED ||
           own == RESULT_UNKNOWN;
}

typedef struct ListenState {
    const Edge *fired;
    const Edge *failed; /* it changed, and failed afterwards */
    bool unknown, owed;
} ListenState;

static ListenState listen_evaluate(const Graph *graph, uint32_t step, const StepStatus *statuses)
{
    if (!has_reaction(graph, step)) {
        return (ListenState){ 0 };
    }
    ListenState listen = { .owed = (statuses[step].owed & KIND(REQUISITE_LISTEN)) != 0 };
    Edges edges = graph_edges(graph, step);
    for (uint32_t i = 0; i < edges.count; i++) {
        const Edge *edge = &edges.items[i];
        if (edge->kind != REQUISITE_LISTEN) {
            continue;
        }
        const StepStatus *status = &statuses[edge->to];
        if (status->result == RESULT_CHANGED) {
            set_first(&listen.fired, edge);
        } else if (status->result == RESULT_FAILED && status->changed) {
            set_first(&listen.failed, edge);
        }
        listen.unknown |= status->result == RESULT_UNKNOWN;
    }
    return listen;
}

static Decision decide_reaction(const Graph *graph, uint32_t step, const StepStatus *statuses,
                                Arena *arena)
{
    ListenState listen = listen_evaluate(graph, step, statuses);
    StepResult own = statuses[step].result;
    Decision decision = { .kind = DECIDE_SKIP, .decisive_edge = listen.fired };
    if (listen.owed || ((listen.fired != NULL || listen.failed != NULL) && own != RESULT_SKIPPED)) {
        decision.owes = KIND(REQUISITE_LISTEN);
    }
    if (listen.fired != NULL || listen.owed) {
        decision.kind = may_react(own) ? DECIDE_RUN : DECIDE_SKIP;
        decision.react = decision.kind == DECIDE_RUN;
    } else if (listen.unknown && may_react(own)) {
        decision.kind = DECIDE_UNKNOWN;
    }
    if (listen.fired != NULL) {
        Str name = graph_step_label(graph, listen.fired->to, step);
        decision.reason = arena_format(arena, "'%" STR_FMT "' changed", STR_ARG(name));
    } else if (listen.owed) {
        decision.reason = STR("owed from an earlier run");
    } else {
        decision.reason = STR("nothing that it listens to has changed");
    }
    return decision;
}

bool decide_reacts(const Graph *graph, uint32_t step, const StepStatus *statuses)
{
    ListenState listen = listen_evaluate(graph, step, statuses);
    return (listen.owed || listen.fired != NULL || listen.unknown) &&
           may_react(statuses[step].result);
}

Decision decide(const Graph *graph, Work work, const StepStatus *statuses, bool planning,
                Arena *arena)
{
    if (work.phase == PHASE_REACT) {
        return decide_reaction(graph, work.step, statuses, arena);
    }
    Decider decider = {
        .graph = graph, .statuses = statuses, .work = work, .planning = planning, .arena = arena
    };
    Edges edges = graph_edges(graph, work.step);
    for (uint32_t i = 0; i < edges.count; i++) {
        if (edges.items[i].kind != REQUISITE_USE && edges.items[i].kind != REQUISITE_LISTEN) {
            group_add(&decider, &edges.items[i]);
        }
    }
    if (work.phase == PHASE_RUN) {
        add_prereq_dependents(&decider);
    }
    if (!decide_block(&decider) && !decide_wait(&decider) && !decide_skip(&decider) &&
        !decide_unknown(&decider)) {
        decide_run(&decider);
        decider.decision.react = has_reaction(graph, work.step) &&
                                 (decider.groups[REQUISITE_WATCH][FORM_PLAIN].fired != NULL ||
                                  decider.groups[REQUISITE_WATCH][FORM_ANY].fired != NULL ||
                                  is_owed(&decider, REQUISITE_WATCH));
    }
    /* A skipped step owes nothing, unless its cause changed and failed afterwards. */
    bool skipped = decider.decision.kind == DECIDE_SKIP;
    decider.decision.owes =
        (skipped ? decider.failed : decider.fired) | (statuses[work.step].owed & TRIGGERS);
    if (!has_reaction(graph, work.step)) {
        decider.decision.owes &= KIND(REQUISITE_ONCHANGES);
    }
    return decider.decision;
}
