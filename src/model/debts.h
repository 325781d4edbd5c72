/* Debts: reactions that a change owes and that did not happen yet.
 *
 * When step C changes something and step S watches it, listens to it or runs on its changes, S owes
 * its reaction until it reacted. If the run ends before that (a crash, a failure in between), the
 * debt stands, and the next run pays it: nothing owed is lost.
 *
 * The book is what a journal amounts to. It is fed with what happened, in order, by the run that
 * writes the journal and by the next one that reads it; both come to the same state:
 *
 *     begin   all edges that could become debts are noted
 *     act     C is about to change something: its edges are possible debts
 *     done    C has changed something (its edges are owed) or has not (they are not)
 *     pay     S reacted, or was told that it need not
 *     end     the run is over; what was only noted is gone
 *
 * A run that did not end is recovered: an effect without outcome counts as a change. After a power
 * failure even that is not known, because the last records may be lost, so that everything noted
 * counts; and what was paid is owed again, because the last effects may be lost too. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "lang/value.h"
#include "model/graph.h"

typedef enum DebtState {
    DEBT_NOTED,    /* an edge of the open run; nothing has happened */
    DEBT_POSSIBLE, /* the change is being made */
    DEBT_OWED,
    DEBT_SETTLED, /* paid, or there was no change; the cause may change something again */
} DebtState;

typedef struct Debt Debt;
struct Debt {
    Str step;           /* the id of who owes its reaction */
    Str cause;          /* the id of the step that changed something */
    RequisiteKind kind; /* REQUISITE_WATCH, REQUISITE_ONCHANGES or REQUISITE_LISTEN */
    Str unit;           /* the unit that the reaction restarts, "ssh"; empty: it is none */
    Str site;      /* the name of the site that has both; empty: not known, or a file of steps */
    Str home;      /* where that lies; empty: not known */
    Str run;       /* in which the change was made */
    Str boot;      /* during which the change was made */
    int64_t at_ms; /* when it was made, or the run began */
    DebtState state;
    bool edge;        /* of the open run, and not only left from an earlier one */
    bool paid;        /* during the open run: before its end the disk may not have the reaction */
    bool ended;       /* no longer in the book */
    Debt *next_owed;  /* of the same step */
    Debt *next_cause; /* of the same cause */
};

typedef struct DebtBook {
    Arena *arena;
    StrMap by_step;  /* to the first Debt of a step */
    StrMap by_cause; /* to the first Debt of a cause */
    VEC(Debt *) all; /* in the order of their making; ended ones too */
    Str run, boot;   /* of the run that is open; empty: none is */
    bool open;
} DebtBook;

/* "watch", "onchanges", "listen"; NULL for the kinds that owe nothing. */
const char *debt_kind_name(RequisiteKind kind);
bool debt_kind_from_name(Str name, RequisiteKind *out);

void debt_book_init(DebtBook *book, Arena *arena);

/* Strings are copied. `edges`, all of one site, are taken as noted; those that are owed already
 * stay so. */
void debt_book_begin(DebtBook *book, Str run, Str boot, int64_t at_ms, const Debt *edges,
                     uint32_t count);
void debt_book_act(DebtBook *book, Str cause, int64_t at_ms);
void debt_book_done(DebtBook *book, Str cause, bool changed);
void debt_book_pay(DebtBook *book, Str step);
void debt_book_end(DebtBook *book);
/* A debt that is known to stand: how a shortened journal starts. */
void debt_book_owe(DebtBook *book, const Debt *debt);
/* For a run that did not end; does nothing otherwise. */
void debt_book_recover(DebtBook *book, Str boot);

/* What `step` owes: 1 << REQUISITE_WATCH and so on, as StepStatus has it. */
uint16_t debt_book_kinds(const DebtBook *book, Str step);
/* Walks the debts that are owed, and possible ones when asked for; NULL at the end. */
const Debt *debt_book_next(const DebtBook *book, uint32_t *at, bool possible);
uint32_t debt_book_count(const DebtBook *book); /* owed ones */

/* --- Where debts come from, and where they end --------------------------------------------- */

/* Every edge of the graph that can become a debt; `home` is where its site lies. */
void debts_of_graph(Arena *arena, const Graph *graph, Str site, Str home, Debt **out,
                    uint32_t *count);
/* Whether it belongs to the site of that name at that place. Of old debts only the place is known. */
bool debt_is_of(const Debt *debt, Str site, Str home);

typedef enum DebtVerdict {
    DEBT_STANDS,
    DEBT_LEFT_SITE, /* its step is no longer there */
    DEBT_RESTARTED, /* the unit has been started since, by whomever */
} DebtVerdict;

/* What is known of the step that owes. */
typedef struct DebtView {
    bool in_site; /* its site still has the step, whether or not it is part of this run */
    Str boot;     /* the running one */
    int64_t unit_started_ms; /* when the unit was started last; 0: not known */
} DebtView;

DebtVerdict debt_judge(const Debt *debt, const DebtView *view);
/* "the unit 'ssh' was restarted since": the notice with which it ends. */
Str debt_notice(Arena *arena, const Debt *debt, DebtVerdict verdict);

/* {"step","kind","cause","unit","site","run","since","state"}, for -o json. */
Value debt_value(Arena *arena, const Debt *debt);
