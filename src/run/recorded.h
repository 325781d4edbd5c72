/* The content of the record of a run, written by the run and read anywhere.
 *
 *     {"format":"eden.record/1","run":ID,"at":TIME,"command":..,"node":..,"version":..,
 *      "site":{"path","digest"},"root":..,"order":MODE,"workers":N,"planning":bool,"result":..,
 *      "interrupted":bool,"timed_out":bool,"duration_ms":..,"facts":{..},"variables":{..},
 *      "graph":{"order":[vertex..],"next":[[vertex..]..]},"steps":[STEP..],"turns":[TURN..],
 *      "owed":[debt..]}
 *
 *     STEP  {"id","name","job","action","file","line","item","order":"first"|"last"|N,"waits":true,
 *            "reacts":true,"stage":N,"cost_ms":N,"retry":LIMIT,"owed":["watch"..],"edges":[EDGE..],
 *            "params":{NAME:{"line","file","value"|"template"|"bytes"}..},"values":{NAME:value..},
 *            "result", and the non-empty fields of `apply -o json`}
 *     EDGE  {"kind","to":STEP NUMBER,"any":true,"all":true,"origin","detail","file","line"}
 *     TURN  {"do":"start"|"finish"|"wake"|"give up","step":NUMBER,"phase":"check"|"run"|"react",
 *            "bar":..,"decision":"run"..,"react":true,"reason":..,"because":EDGE NUMBER,
 *            "params":"unknown"|"failed","asked":[{"condition","answer","text","limit"}..],
 *            "saw":["changed","unknown","failed","reacted"],"end":"acts"|"waits"|"ended",
 *            "result","pending","changed","reacted"}
 *
 * Steps are numbered from 1 in file order, edges from 1 through all steps. Vertices, from 0, are
 * the runs of all steps, followed by the checks of those that are the target of a prereq. Values
 * that are false, empty, "start", "run" or "ended" are omitted. A turn (model/turn.h) is one action
 * of the run; the decision and its reason come from decide(). */
#pragma once

#include "model/replay.h"
#include "run/record.h"
#include "run/run.h"

/* Fills a record with everything known about a finished run. */
void run_record_fill(RunRecord *record, Run *run);

typedef struct RecordedStep {
    Value value; /* the entire STEP */
    /* index in `turns` of the one that decided whether it runs; UINT32_MAX: none */
    uint32_t last_turn;
} RecordedStep;

typedef struct Recorded {
    Value value; /* the entire record */
    Recording recording;
    Turns turns;
    RecordedStep *steps; /* as many as the graph has */
} Recorded;

/* Reads a record. Fails with ERROR_INVALID if something that deciding needs is missing or
 * inconsistent. Everything is allocated in the arena. */
MUST_CHECK bool recorded_read(Arena *arena, Value record, Recorded *out, Error *err);
