/* Debts: outstanding reactions to changes ("owed actions" for users).
 *
 * When step C changes something and step S watches it, listens to it or runs on its changes, S owes
 * its reaction until it has reacted. If the run ends before that (a crash, a failure in between),
 * the debt remains, and the next run pays it: no owed reaction is lost.
 *
 * The book is the state that a journal represents. It is fed with events in order, both by the run
 * that writes the journal and by the next one that reads it, and both get the same state:
 *
 *     begin   all edges that could become debts are noted
 *     act     C is about to change something: its edges are possible debts
 *     done    C has changed something (its edges are owed) or has not (they are not)
 *     pay     S has reacted, or does not need to
 *     end     the run is over; edges that were only noted are dropped
 *
 * A run that did not end is recovered: an effect without a recorded outcome counts as a change.
 * After a power failure even that is uncertain, because the last records may be lost: every noted
 * edge counts as owed, and paid debts are owed again, because the last effects may be lost too. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "lang/value.h"
#include "model/graph.h"

typedef enum DebtState {
    DEBT_NOTED,    /* an edge in the current run; nothing has happened */
    DEBT_POSSIBLE, /* the change is in progress */
    DEBT_OWED,
    DEBT_SETTLED, /* paid, or nothing changed; the cause may change something again */
} DebtState;

typedef struct Debt Debt;
struct Debt {
    Str step;           /* ID of the step that owes its reaction */
    Str cause;          /* ID of the step that changed something */
    RequisiteKind kind; /* REQUISITE_WATCH, REQUISITE_ONCHANGES or REQUISITE_LISTEN */
    Str unit;           /* the unit that the reaction restarts, "ssh"; empty if it restarts none */
    Str site; /* name of the site that both steps belong to; empty: unknown, or a file of steps */
    Str site_path; /* path of the site; empty: unknown */
    Str run;       /* run in which the change was made */
    Str boot;      /* boot ID at the time of the change */
    int64_t at_ms; /* time of the change, or start of the run */
    DebtState state;
    bool is_current;  /* an edge in the current run, not only one left over from an earlier run */
    bool paid;        /* paid in the current run: until its end the reaction may not be on disk */
    bool ended;       /* no longer in the book */
    Debt *next_owed;  /* of the same step */
    Debt *next_cause; /* of the same cause */
};

typedef struct DebtBook {
    Arena *arena;
    StrMap by_step;  /* step to its first Debt */
    StrMap by_cause; /* cause to its first Debt */
    VEC(Debt *) all; /* in order of creation, including those that have ended */
    Str run, boot;   /* of the current run; empty: none */
    bool run_open;
} DebtBook;

/* "watch", "onchanges", "listen"; NULL for other kinds, which owe nothing. */
const char *debt_kind_name(RequisiteKind kind);
bool debt_kind_from_name(Str name, RequisiteKind *out);

void debt_book_init(DebtBook *book, Arena *arena);

/* Copies the strings. Marks `edges`, all from one site, as noted; owed ones stay owed. */
void debt_book_begin(DebtBook *book, Str run, Str boot, int64_t at_ms, const Debt *edges,
                     uint32_t count);
void debt_book_start_action(DebtBook *book, Str cause, int64_t at_ms);
void debt_book_finish_action(DebtBook *book, Str cause, bool changed);
void debt_book_pay(DebtBook *book, Str step);
void debt_book_end(DebtBook *book);
/* Adds a debt that is known to be owed: the start of a compacted journal. */
void debt_book_owe(DebtBook *book, const Debt *debt);
/* Recovers a run that did not end; otherwise does nothing. */
void debt_book_recover(DebtBook *book, Str boot);

/* Kinds that `step` owes: 1 << REQUISITE_WATCH and so on, as in StepStatus. */
uint16_t debt_book_kinds(const DebtBook *book, Str step);
/* Iterates over owed debts, and with `possible` also over possible ones; NULL at the end. */
const Debt *debt_book_next(const DebtBook *book, uint32_t *pos, bool possible);
uint32_t debt_book_count(const DebtBook *book); /* number of owed ones */

/* --- Creating and ending debts ------------------------------------------------------------- */

/* Every edge of the graph that can become a debt; `site_path` is the path of its site. */
void debts_of_graph(Arena *arena, const Graph *graph, Str site, Str site_path, Debt **out,
                    uint32_t *count);
/* Whether it belongs to the site with that name at that path. Old debts have only the path. */
bool debt_belongs_to(const Debt *debt, Str site, Str site_path);

typedef enum DebtVerdict {
    DEBT_REMAINS,
    DEBT_LEFT_SITE, /* its step no longer exists */
    DEBT_RESTARTED, /* the unit has been started since, by any means */
} DebtVerdict;

/* Information about the step that owes. */
typedef struct DebtView {
    bool in_site; /* its site still contains the step, whether or not it is part of this run */
    Str boot;     /* current boot ID */
    int64_t unit_started_ms; /* last start of the unit; 0: unknown */
} DebtView;

DebtVerdict debt_verdict(const Debt *debt, const DebtView *view);
/* The reason why it ended: "the unit 'ssh' has been restarted since". */
Str debt_notice(Arena *arena, const Debt *debt, DebtVerdict verdict);

/* {"step","kind","cause","unit","site","run","since","state"}, for -o json. */
Value debt_value(Arena *arena, const Debt *debt);
