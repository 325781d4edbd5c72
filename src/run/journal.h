/* The journal of a node: what runs did, written before and after each effect, and what is owed.
 *
 * Lifecycle of a run; act, kept, done and paid may be called from any thread:
 *
 *     journal_open        reads the journal, truncates a torn tail, recovers an unfinished run
 *     journal_begin       describes the run; nothing is written yet
 *     journal_act         before a step changes something
 *     journal_kept        the previous state (run/keep.h)
 *     journal_done        after the effect, with its outcome
 *     journal_paid        after a reaction, or when a debt ends otherwise
 *     journal_end         shortens the journal if it has grown
 *     journal_close
 *
 * A run that changes nothing never writes. The first journal_act writes the begin record with all
 * edges that may become debts and waits until it is on disk. After that, one write per record is
 * enough: a killed process loses nothing, because the kernel has it, and after a power failure
 * (another boot, no end record) all those edges count as owed.
 *
 * If a record cannot be written (disk full), the function fails and the journal is unchanged: a
 * step that cannot be journaled must not act. Space is preallocated, so that a run can still free
 * some. The writer must hold the lock (run/lock.h). */
#pragma once

#include "base/problems.h"
#include "run/journal_record.h"
#include "sys/append_file.h"

typedef struct Journal Journal;

/* `boot` identifies the current boot (the fact boot_id). Damaged records, in which a debt may have
 * been lost, and an unfinished run are reported as warnings. */
MUST_CHECK bool journal_open(const Directory *state, Str boot, Journal **out, Problems *problems,
                             Error *err);
void journal_close(Journal *journal); /* NULL is allowed */
DEFINE_AUTO(Journal, journal_close)

/* The current debts. Valid until the journal is closed; must not be read while workers act. */
const DebtBook *journal_debts(const Journal *journal);

typedef struct JournalRun {
    Str id;
    Str site;          /* digest */
    Str name;          /* of the site; may be empty */
    Str path;          /* location of the site */
    Str command;       /* informational */
    const Debt *edges; /* from debts_of_graph(); borrowed until the journal is closed */
    uint32_t edge_count;
} JournalRun;

void journal_begin(Journal *journal, const JournalRun *run);
MUST_CHECK bool journal_act(Journal *journal, Str step, Str action, Error *err);
MUST_CHECK bool journal_kept(Journal *journal, Str step, const KeptState *kept, Error *err);
MUST_CHECK bool journal_done(Journal *journal, Str step, Str result, bool changed, Error *err);
/* Ends all debts of `step`: it reacted (no reason), or for the given reason. Writes nothing if it
 * has none, and does nothing while it owes one of the kinds in `unless` (see debt_book_kinds()). */
MUST_CHECK bool journal_paid(Journal *journal, Str step, uint16_t unless, Str reason, Error *err);
/* Call this after the effects themselves are on disk. */
MUST_CHECK bool journal_end(Journal *journal, Str result, Error *err);

/* Reads the journal without changing anything, even while a run is writing to it. A missing journal
 * counts as empty. */
MUST_CHECK bool journal_read(const Directory *state, Arena *arena, DebtBook *out, Error *err);

/* --- For tests and tools ------------------------------------------------------------------- */

typedef struct JournalScan {
    size_t valid_len; /* bytes up to the end of the last valid record */
    uint32_t records; /* number of valid records */
    uint32_t damaged; /* number of damaged lines before that end */
    Str open_run;     /* ID of an unfinished run; may be empty */
    int64_t begun_ms; /* when the last run started */
    Str acting;       /* steps whose effect has no outcome, separated by ", " */
} JournalScan;

/* Feeds every record to the book. Pure. */
JournalScan journal_scan(Str text, DebtBook *book);
