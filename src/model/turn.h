/* What a run did with its schedule, turn by turn, and what was observed meanwhile: the part of a
 * run that is not in the site. With the graph, it is all that deciding again takes (replay.h). */
#pragma once

#include "base/vec.h"
#include "model/conclude.h"
#include "model/schedule.h"

typedef enum TurnKind {
    TURN_START,   /* the schedule handed a work out */
    TURN_JOIN,    /* the same, to be applied together with the one that was started before it */
    TURN_FINISH,  /* its action came back later */
    TURN_WAKE,    /* it was parked, and is ready again */
    TURN_GIVE_UP, /* it was parked, and the time was up */
} TurnKind;
const char *turn_kind_name(TurnKind kind);
bool turn_kind_from_name(Str name, TurnKind *out);

/* Where a turn leaves its work. */
typedef enum TurnEnd {
    TURN_ACTS,  /* a worker has it */
    TURN_WAITS, /* parked or, after waking, ready */
    TURN_ENDED,
} TurnEnd;
const char *turn_end_name(TurnEnd end);
bool turn_end_from_name(Str name, TurnEnd *out);

/* What kept a work from being decided about by its requisites and conditions. */
typedef enum TurnBar {
    BAR_NONE,
    BAR_INTERRUPTED, /* the run was to end */
    BAR_TARGET,      /* runOptions.target does not include this node */
    BAR_LEAVING,     /* a step asked for a restart of the machine: the rest follows after that */
} TurnBar;
const char *turn_bar_name(TurnBar bar);
bool turn_bar_from_name(Str name, TurnBar *out);

/* The conditions of a step, as a site calls them. */
typedef enum ConditionName {
    CONDITION_WHEN,
    CONDITION_SUCCESS,
    CONDITION_CONTINUE,
    CONDITION_UNTIL,
} ConditionName;
const char *condition_name(ConditionName condition);
bool condition_from_name(Str name, ConditionName *out);

typedef struct Asked {
    ConditionName condition;
    Answer answer;
    Str text;      /* as written */
    bool retries;  /* it may be asked again, `limit` times */
    int64_t limit; /* 0: for ever */
} Asked;

typedef enum TurnParams {
    PARAMS_OK,
    PARAMS_UNKNOWN, /* one needs what only a run can tell */
    PARAMS_FAILED,
} TurnParams;
const char *turn_params_name(TurnParams params);
bool turn_params_from_name(Str name, TurnParams *out);

typedef struct Turn {
    TurnKind kind;
    Work work;
    TurnBar bar;
    bool decided; /* `decision` is there; its edge is one of the graph's */
    Decision decision;
    TurnParams params;
    bool acted; /* `seen` is there */
    Observed seen;
    uint32_t first_asked; /* in Turns.asked: what was asked in this turn, in order */
    uint32_t asked_count;
    TurnEnd end;
    StepStatus status; /* of TURN_ENDED */
} Turn;

typedef struct Turns {
    VEC(Turn) list;
    VEC(Asked) asked;
} Turns;
