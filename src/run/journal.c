#include "run/journal.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/utc.h"
#include "sys/clock.h"

enum {
    JOURNAL_MAX = 512 << 20,
    /* a finished run leaves at most this much for the next one to read */
    JOURNAL_LONG = 64 << 10,
    JOURNAL_RESERVE = 256 << 10, /* preallocated disk space */
};

static const char journal_name[] = "journal";
/* the journal before it was last shortened, for debugging */
static const char former_name[] = "journal.1";

/* The mutex protects the members after it while workers act. */
struct Journal {
    pthread_mutex_t mutex;
    const Directory *state;
    AppendFile file;
    Arena arena; /* of the book */
    DebtBook book;
    Str boot;
    JournalRun run;
    bool is_new;  /* this process created the file */
    bool begun;   /* journal_begin() was called */
    bool written; /* its record is in the file */
};

/* --- Reading ------------------------------------------------------------------------------- */

static void apply(DebtBook *book, const JournalRecord *record)
{
    switch (record->kind) {
    case JOURNAL_BEGIN:
        /* A run that starts after an unfinished one has recovered it. */
        debt_book_recover(book, record->boot);
        debt_book_begin(book, record->run, record->boot, record->at_ms, record->debts,
                        record->debt_count);
        break;
    case JOURNAL_ACT: debt_book_start_action(book, record->step, record->at_ms); break;
    case JOURNAL_DONE: debt_book_finish_action(book, record->step, record->changed); break;
    case JOURNAL_PAID: debt_book_pay(book, record->step); break;
    case JOURNAL_OWED: debt_book_owe(book, &record->debts[0]); break;
    case JOURNAL_END: debt_book_end(book); break;
    case JOURNAL_KEPT:
    case JOURNAL_OTHER: break;
    }
}

/* Steps between the two records of their effect; several workers act at the same time. */
typedef VEC(Str) PendingEffect;

static void follow(PendingEffect *acting, const JournalRecord *record, Arena *arena)
{
    if (record->kind == JOURNAL_BEGIN) {
        acting->len = 0;
    } else if (record->kind == JOURNAL_ACT) {
        VEC_PUSH(arena, acting, arena_copy(arena, record->step));
    }
    for (uint32_t i = 0; record->kind == JOURNAL_DONE && i < acting->len; i++) {
        if (str_eq(acting->items[i], record->step)) {
            acting->items[i] = VEC_LAST(acting);
            acting->len--;
            break;
        }
    }
}

/* Returns "web#motd, web#reload". */
static Str join_names(const PendingEffect *acting, Arena *arena)
{
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < acting->len; i++) {
        buf_put(&names, i == 0 ? STR_EMPTY : STR(", "));
        buf_put(&names, acting->items[i]);
    }
    return buf_str(&names);
}

JournalScan journal_scan(Str text, DebtBook *book)
{
    /* Only what is copied into the book outlives its line. */
    AUTO_CLEAR(Arena) line;
    arena_init(&line, ARENA_UNLIMITED);
    JournalScan scan = { 0 };
    uint32_t damaged = 0;
    PendingEffect acting = { 0 };
    JournalRecord record;
    for (size_t at = 0;;) {
        arena_reset(&line);
        JournalLine found = journal_record_next(text, &at, &line, &record);
        if (found == JOURNAL_LINE_NONE || found == JOURNAL_LINE_TORN) {
            break;
        }
        if (found == JOURNAL_LINE_DAMAGED) {
            damaged++;
            continue;
        }
        apply(book, &record);
        follow(&acting, &record, book->arena);
        if (record.kind == JOURNAL_BEGIN) {
            scan.begun_ms = record.at_ms;
        }
        scan.records++;
        scan.valid_len = at;
        scan.damaged = damaged; /* damage after the last valid record is a torn tail */
    }
    scan.open_run = book->run_open ? book->run : STR_EMPTY;
    scan.acting = join_names(&acting, book->arena);
    return scan;
}

bool journal_read(const Directory *state, Arena *arena, DebtBook *out, Error *err)
{
    Str text;
    Error why;
    debt_book_init(out, arena);
    if (!directory_read(state, arena, journal_name, JOURNAL_MAX, &text, &why)) {
        if (why.kind == ERROR_NOT_FOUND) {
            return true;
        }
        *err = why;
        return false;
    }
    (void)journal_scan(text, out);
    return true;
}

/* --- Opening ------------------------------------------------------------------------------- */

static void warn(Problems *problems, const char *code, const Journal *journal, const char *text)
{
    problems_add_severity(problems, SEVERITY_WARNING, code, NULL, 0, 0, "%s", text)->file =
        arena_copy(problems->arena, str_from_c(journal->file.name));
}

/* Starts a new journal with the current debts and keeps the old one next to it. At every moment
 * there is a journal under the name, the old or the new one. */
static bool shorten(Journal *journal, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (uint32_t at = 0;;) {
        const Debt *debt = debt_book_next(&journal->book, &at, true);
        if (debt == NULL) {
            break;
        }
        Debt one = *debt;
        journal_record_put(&(JournalRecord){ .kind = JOURNAL_OWED,
                                             .at_ms = debt->at_ms,
                                             .run = debt->run,
                                             .boot = debt->boot,
                                             .name = debt->site,
                                             .path = debt->site_path,
                                             .debts = &one,
                                             .debt_count = 1 },
                           &text);
    }
    (void)directory_link(journal->state, journal_name, former_name);
    if (!directory_write(journal->state, journal_name, buf_str(&text), true, err)) {
        return false;
    }
    append_file_close(&journal->file);
    return append_file_open(journal->state, journal_name, &journal->file, err);
}

static void report_open_run(const Journal *journal, const JournalScan *scan, Problems *problems)
{
    Arena *arena = problems->arena;
    bool acting = scan->acting.len > 0;
    Str text = arena_format(arena,
                            "the last run did not finish: %" STR_FMT " of %" STR_FMT "%s%" STR_FMT
                            "; its owed actions are still owed%c",
                            STR_ARG(scan->open_run), STR_ARG(utc_text(arena, scan->begun_ms)),
                            acting ? " was interrupted in " : " was interrupted between steps",
                            STR_ARG(scan->acting), '\0');
    warn(problems, "E0704", journal, text.data);
}

/* Makes file and book consistent after an unfinished run. */
static bool recover(Journal *journal, const JournalScan *scan, Problems *problems, Error *err)
{
    bool torn = scan->valid_len < (size_t)journal->file.size;
    if (scan->damaged > 0) {
        warn(problems, "E0702", journal,
             "records of the journal are damaged; owed actions may be lost");
    }
    if (torn) {
        warn(problems, "E0703", journal,
             "the journal ended in an incomplete record, which was removed");
        if (!append_file_truncate(&journal->file, (int64_t)scan->valid_len, err)) {
            return false;
        }
    }
    if (scan->open_run.len > 0) {
        report_open_run(journal, scan, problems);
        /* If records are missing, less is known, as after a power failure. */
        debt_book_recover(&journal->book, scan->damaged > 0 ? STR_EMPTY : journal->boot);
    }
    if (scan->open_run.len > 0 && !shorten(journal, err)) {
        /* Disk full: the old journal remains valid until the machine reboots. */
        return journal->file.descriptor >= 0;
    }
    return true;
}

bool journal_open(const Directory *state, Str boot, Journal **out, Problems *problems, Error *err)
{
    AUTO(Journal) *journal = memory_new(sizeof *journal);
    pthread_mutex_init(&journal->mutex, NULL);
    journal->file.descriptor = -1;
    journal->state = state;
    arena_init(&journal->arena, ARENA_UNLIMITED);
    journal->boot = arena_copy(&journal->arena, boot);
    debt_book_init(&journal->book, &journal->arena);
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Str text;
    if (!append_file_open(state, journal_name, &journal->file, err) ||
        !append_file_read(&journal->file, &scratch, JOURNAL_MAX, &text, err)) {
        return false;
    }
    journal->is_new = text.len == 0;
    JournalScan scan = journal_scan(text, &journal->book);
    if (!recover(journal, &scan, problems, err)) {
        return false;
    }
    *out = TAKE(journal);
    return true;
}

void journal_close(Journal *journal)
{
    if (journal != NULL) {
        append_file_close(&journal->file);
        arena_clear(&journal->arena);
        pthread_mutex_destroy(&journal->mutex);
        free(journal);
    }
}

const DebtBook *journal_debts(const Journal *journal)
{
    return &journal->book;
}

/* --- Writing ------------------------------------------------------------------------------- */

static bool add(Journal *journal, JournalRecord *record, Error *err)
{
    AUTO_CLEAR(Buf) line = buf_make(JOURNAL_RECORD_MAX);
    journal_record_put(record, &line);
    if (line.overflow) {
        return error_set(err, ERROR_LIMIT, "journal record too long");
    }
    return append_file_add(&journal->file, buf_str(&line), err);
}

void journal_begin(Journal *journal, const JournalRun *run)
{
    BUG_IF(journal->begun);
    Arena *arena = &journal->arena;
    journal->begun = true;
    journal->run = (JournalRun){ .id = arena_copy(arena, run->id),
                                 .site = arena_copy(arena, run->site),
                                 .name = arena_copy(arena, run->name),
                                 .path = arena_copy(arena, run->path),
                                 .command = arena_copy(arena, run->command),
                                 .edges = run->edges,
                                 .edge_count = run->edge_count };
    debt_book_begin(&journal->book, journal->run.id, journal->boot, clock_now_ms(), run->edges,
                    run->edge_count);
}

/* A run without edges cannot owe anything, so its records need not survive a power failure. */
static bool sync_if_owing(Journal *journal, Error *err)
{
    return journal->run.edge_count == 0 || append_file_sync(&journal->file, err);
}

static bool write_begin(Journal *journal, Error *err)
{
    BUG_IF(!journal->begun);
    if (journal->written) {
        return true;
    }
    append_file_reserve(&journal->file, JOURNAL_RESERVE);
    JournalRecord record = { .kind = JOURNAL_BEGIN,
                             .at_ms = clock_now_ms(),
                             .run = journal->run.id,
                             .boot = journal->boot,
                             .site = journal->run.site,
                             .name = journal->run.name,
                             .path = journal->run.path,
                             .command = journal->run.command,
                             .debts = (Debt *)journal->run.edges,
                             .debt_count = journal->run.edge_count };
    if (!add(journal, &record, err) || !sync_if_owing(journal, err)) {
        return false;
    }
    if (journal->is_new && journal->run.edge_count > 0) {
        directory_sync(journal->state);
    }
    journal->written = true;
    return true;
}

bool journal_act(Journal *journal, Str step, Str action, Error *err)
{
    JournalRecord record = {
        .kind = JOURNAL_ACT, .at_ms = clock_now_ms(), .step = step, .action = action
    };
    pthread_mutex_lock(&journal->mutex);
    bool ok = write_begin(journal, err) && add(journal, &record, err);
    if (ok) {
        debt_book_start_action(&journal->book, step, record.at_ms);
    }
    pthread_mutex_unlock(&journal->mutex);
    return ok;
}

bool journal_kept(Journal *journal, Str step, const KeptState *kept, Error *err)
{
    return add(journal,
               &(JournalRecord){
                   .kind = JOURNAL_KEPT, .at_ms = clock_now_ms(), .step = step, .kept = *kept },
               err);
}

bool journal_done(Journal *journal, Str step, Str result, bool changed, Error *err)
{
    JournalRecord record = { .kind = JOURNAL_DONE,
                             .at_ms = clock_now_ms(),
                             .step = step,
                             .result = result,
                             .changed = changed };
    pthread_mutex_lock(&journal->mutex);
    BUG_IF(!journal->written);
    debt_book_finish_action(&journal->book, step, changed);
    bool ok = add(journal, &record, err);
    pthread_mutex_unlock(&journal->mutex);
    return ok;
}

bool journal_paid(Journal *journal, Str step, uint16_t unless, Str reason, Error *err)
{
    JournalRecord record = {
        .kind = JOURNAL_PAID, .at_ms = clock_now_ms(), .step = step, .reason = reason
    };
    pthread_mutex_lock(&journal->mutex);
    uint16_t owed = debt_book_kinds(&journal->book, step);
    bool ok = true;
    if ((owed & unless) == 0) {
        debt_book_pay(&journal->book, step);
        ok = owed == 0 || add(journal, &record, err);
    }
    pthread_mutex_unlock(&journal->mutex);
    return ok;
}

bool journal_end(Journal *journal, Str result, Error *err)
{
    bool written = journal->written;
    journal->written = false;
    journal->begun = false;
    debt_book_end(&journal->book);
    if (!written) {
        return true;
    }
    JournalRecord record = {
        .kind = JOURNAL_END, .at_ms = clock_now_ms(), .run = journal->run.id, .result = result
    };
    if (!add(journal, &record, err) || !sync_if_owing(journal, err)) {
        return false;
    }
    return journal->file.size <= JOURNAL_LONG || shorten(journal, err);
}
