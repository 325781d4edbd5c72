/* One record of the journal, as a line of text:
 *
 *     5c1f00d2 {"t":"act","at":1760000000000,"step":"web#motd"}
 *
 * that is the CRC-32C of the JSON text in hexadecimal, a blank, the JSON text, and a line end. A
 * line whose checksum is wrong, or that has no end, was torn or damaged. People can read it, and
 * so can any tool that reads lines. Pure: texts to records and back. */
#pragma once

#include "base/buf.h"
#include "model/debts.h"

typedef enum JournalKind {
    JOURNAL_BEGIN, /* a run starts to act; all edges that may become debts */
    JOURNAL_ACT,   /* a step is about to change something */
    JOURNAL_KEPT,  /* what was there before */
    JOURNAL_DONE,  /* what became of the step */
    JOURNAL_PAID,  /* a step reacted, or need not */
    JOURNAL_OWED,  /* a debt from before this journal was shortened */
    JOURNAL_END,   /* the run is over */
    JOURNAL_OTHER, /* written by a later version; skipped */
} JournalKind;

/* What stood at a path before it was changed. */
typedef struct KeptState {
    Str path;
    Str kind;    /* "absent", "file", "directory", "link", "other" */
    Str content; /* of a file: its name in the store, SHA-256; empty when it was not kept */
    Str target;  /* of a link */
    int64_t size;
    uint32_t mode, uid, gid;
} KeptState;

typedef struct JournalRecord {
    JournalKind kind;
    int64_t at_ms;
    Str run;        /* begin, owed, end */
    Str boot;       /* begin, owed */
    Str site;       /* begin: the digest of the site */
    Str name;       /* begin, owed: of the site; empty: it has none */
    Str path;       /* begin, owed: where the site lies */
    Str command;    /* begin: for people */
    Str step;       /* act, kept, done, paid, owed */
    Str action;     /* act: "file.managed" */
    Str result;     /* done, end: "changed", "failed" ... */
    Str reason;     /* paid: why without a reaction; empty: it reacted */
    bool changed;   /* done */
    KeptState kept; /* kept */
    Debt *debts;    /* begin: edges; owed: one debt */
    uint32_t debt_count;
} JournalRecord;

enum {
    JOURNAL_RECORD_MAX = 64 << 20 /* bytes of one record; the first of a run has all its edges */
};

/* Appends the line. */
void journal_record_put(const JournalRecord *record, Buf *out);

typedef enum JournalLine {
    JOURNAL_LINE_OK,
    JOURNAL_LINE_DAMAGED, /* the checksum or the content is wrong */
    JOURNAL_LINE_TORN,    /* no line end: the text ends in it */
    JOURNAL_LINE_NONE,    /* the text is used up */
} JournalLine;

/* Reads the line at `*at` and moves `*at` behind it. Strings are in `arena` or borrow `text`. */
JournalLine journal_record_next(Str text, size_t *at, Arena *arena, JournalRecord *out);
