/* Converts error responses (application/problem+json) to problems: one table maps codes of the API
 * to those of `eden explain`. Pure. */
#pragma once

#include "base/error.h"
#include "base/problems.h"
#include "lang/record.h"
#include "lang/value.h"

typedef struct RefusalRow {
    /* code of the API, such as "not-found"; NULL in the last row, which matches everything else */
    const char *code;
    int status;
    ErrorKind kind;      /* determines the exit code */
    const char *problem; /* "E0853" */
    const char *hint;    /* "" if the server's message is sufficient */
    const char *
        /* hint for requests about an object, where "{}" is replaced by the plural ("nodes");
         * NULL: use `hint` */
        of_kind;
} RefusalRow;

/* Returns the last row if no other matches. */
const RefusalRow *refusal_row_of_status(int status);

/* The request that was refused. */
typedef struct RefusedRequest {
    Str plural;             /* "nodes"; may be empty */
    const Sources *sources; /* NULL: it did not come from a file */
    Value document;         /* as written in the file */
} RefusedRequest;

/* Adds problems for a response: `response` is the JSON problem, or any other value if there is
 * none; then only `err` is used. Invalid fields become separate problems with their locations in
 * the document. */
void refusal_add(Problems *problems, const RefusedRequest *request, Value response,
                 const Error *err);
/* The same for fields found invalid before a request was sent. */
void refusal_add_fields(Problems *problems, const RefusedRequest *request,
                        const FieldProblems *fields);
