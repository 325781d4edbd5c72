/* The record of a run: enough to repeat its decisions on another machine, and to explain them. A
 * JSON document in the subdirectory `runs` of the state directory, one file per run, of which the
 * newest are kept; recorded.h describes the content.
 *
 * It is written as text, section by section, because a large run should not pay for a tree that is
 * printed once. The file contains no secrets: a marked value becomes "(secret)", and other values
 * are searched for secrets of the run. */
#pragma once

#include "base/buf.h"
#include "lang/value.h"
#include "run/secrets.h"
#include "sys/directory.h"

enum {
    RECORDS_RETAINED = 20,
    RECORDS_SHARE = 16, /* records use at most 1/16 of the disk */
    RECORD_ID_MAX = 64,
};

typedef struct RunRecord {
    Str id;
    Buf text;
    Secrets *secrets; /* texts are searched for these; NULL: only marked values are hidden */
    bool failed;      /* a value could not be printed: */
    Error error;
} RunRecord;

/* A new ID that sorts by time: "20260131T081530.250-3f2a". */
Str run_id_make(Arena *arena);
/* The same for this time and this random number. */
Str run_id_format(Arena *arena, int64_t ms, uint64_t random);

void run_record_init(RunRecord *record, Str id);
void run_record_clear(RunRecord *record);
DEFINE_AUTO_CLEAR(RunRecord, run_record_clear)

/* Adds a section such as "facts"; each section once. */
void run_record_set(RunRecord *record, const char *section, Value value);
void run_record_set_text(RunRecord *record, const char *section, Str text);
/* The same for a section that the caller writes to the returned buffer, as JSON. */
Buf *run_record_begin(RunRecord *record, const char *section);
/* A value within such a section, without secrets. */
void run_record_put(RunRecord *record, Value value);

/* Writes the record and removes the oldest beyond `kept`, or beyond their share of the disk. */
MUST_CHECK bool run_record_save(RunRecord *record, const Directory *state, uint32_t kept,
                                Error *err);

/* The IDs of all records, oldest first. */
MUST_CHECK bool run_records_list(const Directory *state, Arena *arena, Str **ids, uint32_t *count,
                                 Error *err);
/* The record of a run: an ID, a unique prefix of one, or empty for the last. Fails with
 * ERROR_NOT_FOUND, ERROR_CONFLICT (ambiguous prefix) or ERROR_INVALID. */
MUST_CHECK bool run_record_load(const Directory *state, Arena *arena, Str id, Value *out,
                                Error *err);
/* Reads a record from any file. Fails like file_read(), and with ERROR_INVALID. */
MUST_CHECK bool run_record_read(const char *path, Arena *arena, Value *out, Error *err);
