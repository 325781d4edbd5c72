/* What a server refuses or fails with (application/problem+json), as problems that a user can do
 * something about: one table from the codes of the API to those of `eden explain`. Pure. */
#pragma once

#include "base/error.h"
#include "base/problems.h"
#include "lang/record.h"
#include "lang/value.h"

typedef struct RefusalRow {
    const char *code; /* of the API: "not-found"; NULL ends the table, and is for all else */
    int status;
    ErrorKind kind;      /* which has the exit code */
    const char *problem; /* "E0853" */
    const char *hint;    /* what to do; "" when the server says all there is to say */
    const char *of_kind; /* the same for an object, "{}" stands for "nodes"; NULL: no other one */
} RefusalRow;

/* The last row when there is no other. */
const RefusalRow *refusal_row_of_status(int status);

/* What was refused. */
typedef struct RefusedRequest {
    Str plural;             /* "nodes"; empty: not known */
    const Sources *sources; /* NULL: it was not in a file */
    Value document;         /* as it stands there */
} RefusedRequest;

/* Adds what the server has said: `answer` is the problem as JSON, or anything else when there is none;
 * then `err` is all that is known. Fields that are wrong are problems of their own, at their places in
 * the document. */
void refusal_add(Problems *problems, const RefusedRequest *request, Value answer, const Error *err);
/* The same for what was found wrong before a server was asked. */
void refusal_add_fields(Problems *problems, const RefusedRequest *request,
                        const FieldProblems *fields);
