/* The record of a run: enough to decide the same again, far from the machine. A JSON document in
 * the folder `runs` of the state directory, one file per run, the last ones kept.
 *
 *     {"format":"eden.record/1","run":ID,"at":..,"node":..,"site":{"path","digest"},"facts":{..},
 *      "variables":{..},"observations":{..},"decisions":[..],"result":..}
 *
 * Whoever runs decides what stands in the sections. Secrets do not get into the file: a value that
 * is marked becomes the text "(secret)". */
#pragma once

#include "lang/value.h"
#include "sys/directory.h"

enum {
    RECORDS_KEPT = 20,
    RECORDS_SHARE = 16, /* of the disk, at most one part in so many */
    RECORD_ID_MAX = 64,
};

typedef struct RunRecord {
    Arena *arena;
    Str id;
    Map *sections;
} RunRecord;

/* A new id that sorts by time: "20260131T081530-3f2a". */
Str run_id_make(Arena *arena);

void run_record_init(RunRecord *record, Arena *arena, Str id);
/* Sets a section, "facts" and so on; borrowed until the record is saved. */
void run_record_set(RunRecord *record, const char *section, Value value);
/* Writes the record and drops the oldest beyond `kept`, or beyond their share of the disk. */
MUST_CHECK bool run_record_save(const RunRecord *record, const Directory *state, uint32_t kept,
                                Error *err);

/* The ids of the records that there are, oldest first. */
MUST_CHECK bool run_records_list(const Directory *state, Arena *arena, Str **ids, uint32_t *count,
                                 Error *err);
/* The record of a run: an id, the unique beginning of one, or empty for the last. Fails with
 * ERROR_NOT_FOUND, ERROR_CONFLICT (several begin so) or ERROR_INVALID. */
MUST_CHECK bool run_record_load(const Directory *state, Arena *arena, Str id, Value *out,
                                Error *err);
