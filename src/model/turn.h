/* Records the decisions of a run, turn by turn, and what was observed: the part of a run that is
 * not in the site. Together with the graph this is sufficient to repeat all decisions
 * (replay.h). */
#pragma once

#include "base/vec.h"
#include "model/conclude.h"
#include "model/schedule.h"

typedef enum TurnKind {
    TURN_START,   /* the schedule handed out work */
    TURN_JOIN,    /* the same, to be applied together with the previous TURN_START */
    TURN_FINISH,  /* its action completed */
    TURN_WAKE,    /* it was parked, and is ready again */
    TURN_GIVE_UP, /* it was parked, and timed out */
} TurnKind;
const char *turn_kind_name(TurnKind kind);
bool turn_kind_from_name(Str name, TurnKind *out);

/* State of the work after a turn. */
typedef enum TurnEnd {
    TURN_ACTS,  /* running on a worker */
    TURN_WAITS, /* parked or, after waking, ready */
    TURN_ENDED,
} TurnEnd;
const char *turn_end_name(TurnEnd end);
bool turn_end_from_name(Str name, TurnEnd *out);

/* A reason why requisites and conditions were not considered. */
typedef enum TurnOverride {
    OVERRIDE_NONE,
    OVERRIDE_INTERRUPTED, /* the run was interrupted */
    OVERRIDE_TARGET,      /* runOptions.target does not include this node */
    OVERRIDE_REBOOT,      /* a step requested a reboot: the remaining steps run after it */
    OVERRIDE_WAIT, /* it waits for something outside of the run, or has done so for too long */
} TurnOverride;
const char *turn_override_name(TurnOverride override);
bool turn_override_from_name(Str name, TurnOverride *out);

/* The conditions of a step, by their names in a site. */
typedef enum ConditionName {
    CONDITION_WHEN,
    CONDITION_SUCCESS,
    CONDITION_CONTINUE,
    CONDITION_UNTIL,
} ConditionName;
const char *condition_name(ConditionName condition);
bool condition_from_name(Str name, ConditionName *out);

typedef struct ConditionEvaluation {
    ConditionName condition;
    Answer answer;
    Str text;      /* as written */
    bool retries;  /* it can be evaluated again, `limit` times */
    int64_t limit; /* 0: no limit */
} ConditionEvaluation;

typedef enum TurnParams {
    PARAMS_OK,
    PARAMS_UNKNOWN, /* one depends on values that are known only in a run */
    PARAMS_FAILED,
} TurnParams;
const char *turn_params_name(TurnParams params);
bool turn_params_from_name(Str name, TurnParams *out);

typedef struct Turn {
    TurnKind kind;
    Work work;
    TurnOverride override;
    bool decided; /* `decision` is set; its edge belongs to the graph */
    Decision decision;
    TurnParams params;
    bool has_observation; /* `observation` is set */
    Observation observation;
    uint32_t first_evaluation; /* in Turns.evaluations: evaluations in this turn, in order */
    uint32_t evaluation_count;
    TurnEnd end;
    StepStatus status; /* for TURN_ENDED */
} Turn;

typedef struct Turns {
    VEC(Turn) list;
    VEC(ConditionEvaluation) evaluations;
} Turns;
