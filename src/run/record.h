/* The record of a run: enough to decide the same again, far from the machine, and to tell why. A
 * JSON document in the folder `runs` of the state directory, one file per run, the last ones kept:
 * what it holds is recorded.h's.
 *
 * It is written section by section, as text, because a large run should not pay for a tree that is
 * printed once. Secrets do not get into the file: a value that is marked becomes the text
 * "(secret)", and values that are not are searched for what the run knows. */
#pragma once

#include "base/buf.h"
#include "lang/value.h"
#include "run/secrets.h"
#include "sys/directory.h"

enum {
    RECORDS_KEPT = 20,
    RECORDS_SHARE = 16, /* of the disk, at most one part in so many */
    RECORD_ID_MAX = 64,
};

typedef struct RunRecord {
    Str id;
    Buf text;
    Secrets *secrets; /* that texts are searched for; NULL: what is marked is hidden, no more */
    bool failed;      /* a value could not be printed: */
    Error error;
} RunRecord;

/* A new id that sorts by time: "20260131T081530.250-3f2a". */
Str run_id_make(Arena *arena);

void run_record_init(RunRecord *record, Str id);
void run_record_clear(RunRecord *record);
DEFINE_AUTO_CLEAR(RunRecord, run_record_clear)

/* Adds a section, "facts" and so on, each once. */
void run_record_set(RunRecord *record, const char *section, Value value);
void run_record_set_text(RunRecord *record, const char *section, Str text);
/* The same for a section that the caller writes, as JSON, to what this returns. */
Buf *run_record_begin(RunRecord *record, const char *section);
/* A value within such a section, secrets hidden. */
void run_record_put(RunRecord *record, Value value);

/* Writes the record and drops the oldest beyond `kept`, or beyond their share of the disk. */
MUST_CHECK bool run_record_save(RunRecord *record, const Directory *state, uint32_t kept,
                                Error *err);

/* The ids of the records that there are, oldest first. */
MUST_CHECK bool run_records_list(const Directory *state, Arena *arena, Str **ids, uint32_t *count,
                                 Error *err);
/* The record of a run: an id, the unique beginning of one, or empty for the last. Fails with
 * ERROR_NOT_FOUND, ERROR_CONFLICT (several begin so) or ERROR_INVALID. */
MUST_CHECK bool run_record_load(const Directory *state, Arena *arena, Str id, Value *out,
                                Error *err);
/* Any file that holds a record. Fails with what sys/file says, and with ERROR_INVALID. */
MUST_CHECK bool run_record_read(const char *path, Arena *arena, Value *out, Error *err);
