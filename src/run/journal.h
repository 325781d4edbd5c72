/* The journal of a node: what runs did, written before and after each effect, and what is owed.
 *
 * Life of a run; act, kept, done and paid may be called from any thread:
 *
 *     journal_open        reads what is there, cuts a torn tail, recovers a run that did not end
 *     journal_begin       tells what the run is; nothing is written yet
 *     journal_act         before a step changes something
 *     journal_kept        what was there before (run/keep.h)
 *     journal_done        after it, with what became of it
 *     journal_paid        after a reaction, or when a debt ends otherwise
 *     journal_end         shortens the journal when it has grown
 *     journal_close
 *
 * A run that changes nothing never writes. The first journal_act writes the begin with all edges
 * that may become debts and waits until that is on the disk; after it, one write per record is
 * enough: a killed process loses nothing, because the kernel has it, and after a power failure
 * (another boot, no end) all those edges count as owed.
 *
 * When a record cannot be written (a full disk), the function fails and the journal is as before:
 * a step that cannot be journalled must not act. Space is set aside beforehand, so that a run can
 * free some. The lock (run/lock.h) must be held by whoever writes. */
#pragma once

#include "base/problems.h"
#include "run/journal_record.h"
#include "sys/append_file.h"

typedef struct Journal Journal;

/* `boot` tells one boot from another (the fact boot_id). Damaged records, in which a debt may have
 * been lost, and a run that did not end are told as warnings. */
MUST_CHECK bool journal_open(const Directory *state, Str boot, Journal **out, Problems *problems,
                             Error *err);
void journal_close(Journal *journal); /* NULL is fine */
DEFINE_AUTO(Journal, journal_close)

/* What is owed. Valid until the journal is closed, and not to be read while workers act. */
const DebtBook *journal_debts(const Journal *journal);

typedef struct JournalRun {
    Str id;
    Str site;          /* digest */
    Str name;          /* of the site; empty: it has none */
    Str path;          /* where the site lies */
    Str command;       /* for people */
    const Debt *edges; /* debts_of_graph(); borrowed until the journal is closed */
    uint32_t edge_count;
} JournalRun;

void journal_begin(Journal *journal, const JournalRun *run);
MUST_CHECK bool journal_act(Journal *journal, Str step, Str action, Error *err);
MUST_CHECK bool journal_kept(Journal *journal, Str step, const KeptState *kept, Error *err);
MUST_CHECK bool journal_done(Journal *journal, Str step, Str result, bool changed, Error *err);
/* All debts of `step` end: it reacted (no reason), or for the reason given. Writes nothing when it
 * has none, and does nothing as long as it owes one of the kinds in `unless`, as debt_book_kinds
 * has them. */
MUST_CHECK bool journal_paid(Journal *journal, Str step, uint16_t unless, Str reason, Error *err);
/* After the effects themselves are on the disk. */
MUST_CHECK bool journal_end(Journal *journal, Str result, Error *err);

/* What the journal says, without changing anything; for looking, also while a run writes. A
 * missing journal is an empty one. */
MUST_CHECK bool journal_read(const Directory *state, Arena *arena, DebtBook *out, Error *err);

/* --- For tests and tools ------------------------------------------------------------------- */

typedef struct JournalScan {
    size_t whole;     /* bytes up to the end of the last whole record */
    uint32_t records; /* whole ones */
    uint32_t damaged; /* lines before that end which are not */
    Str open_run;     /* the id of a run without end; empty: none */
    int64_t begun_ms; /* when the last run began */
    Str acting;       /* steps whose effect has no outcome, with ", " between them */
} JournalScan;

/* Feeds every record to the book. Pure. */
JournalScan journal_scan(Str text, DebtBook *book);
