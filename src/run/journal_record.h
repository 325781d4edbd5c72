/* One record of the journal, as a line of text:
 *
 *     5c1f00d2 {"t":"act","at":1760000000000,"step":"web#motd"}
 *
 * that is, the CRC-32C of the JSON text in hexadecimal, a space, the JSON text, and a newline. A
 * line with a wrong checksum or without a newline was damaged or torn. Pure. */
#pragma once

#include "base/buf.h"
#include "model/debts.h"

typedef enum JournalKind {
    JOURNAL_BEGIN, /* a run starts to act; has all edges that may become debts */
    JOURNAL_ACT,   /* a step is about to change something */
    JOURNAL_KEPT,  /* the previous state */
    JOURNAL_DONE,  /* the outcome of a step */
    JOURNAL_PAID,  /* a step reacted, or no longer needs to */
    JOURNAL_OWED,  /* a debt from before this journal was shortened */
    JOURNAL_END,   /* the run finished */
    JOURNAL_OTHER, /* written by a newer version; skipped */
} JournalKind;

/* The state of a path before it was changed. */
typedef struct KeptState {
    Str path;
    Str kind;    /* "absent", "file", "directory", "link", "other" */
    Str content; /* for a file: its name in the store, a SHA-256; empty if it was not kept */
    Str target;  /* for a link */
    int64_t size;
    uint32_t mode, uid, gid;
} KeptState;

typedef struct JournalRecord {
    JournalKind kind;
    int64_t at_ms;
    Str run;        /* begin, owed, end */
    Str boot;       /* begin, owed */
    Str site;       /* begin: digest of the site */
    Str name;       /* begin, owed: name of the site; may be empty */
    Str path;       /* begin, owed: location of the site */
    Str command;    /* begin: informational */
    Str step;       /* act, kept, done, paid, owed */
    Str action;     /* act: "file.managed" */
    Str result;     /* done, end: "changed", "failed" ... */
    Str reason;     /* paid: reason without a reaction; empty: it reacted */
    bool changed;   /* done */
    KeptState kept; /* kept */
    Debt *debts;    /* begin: edges; owed: one debt */
    uint32_t debt_count;
} JournalRecord;

enum {
    JOURNAL_RECORD_MAX = 64 << 20 /* in bytes; the first record of a run has all its edges */
};

/* Appends the line. */
void journal_record_put(const JournalRecord *record, Buf *out);

typedef enum JournalLine {
    JOURNAL_LINE_OK,
    JOURNAL_LINE_DAMAGED, /* wrong checksum or content */
    JOURNAL_LINE_TORN,    /* no newline before the end of the text */
    JOURNAL_LINE_NONE,    /* end of the text */
} JournalLine;

/* Reads the line at `*at` and advances `*at`. Strings are in `arena` or borrowed from `text`. */
JournalLine journal_record_next(Str text, size_t *at, Arena *arena, JournalRecord *out);
