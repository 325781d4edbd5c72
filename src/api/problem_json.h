/* Errors as in RFC 9457: "application/problem+json". Pure. */
#pragma once

#include "base/error.h"
#include "lang/record.h"

#define PROBLEM_JSON_TYPE "application/problem+json"

/* What programs may rely on; title and detail are for people. */
typedef struct ProblemCode {
    int status;
    const char *code;
    const char *title;
} ProblemCode;

extern const ProblemCode problem_codes[]; /* the status 0 ends them */

/* Of any kind but ERROR_NONE. */
int problem_status(ErrorKind kind);
/* {"type":"urn:eden:problem:not-found","title":...,"status":404,"code":"not-found","detail":...}, and
 * what is wrong with each field unless `fields` is NULL. A status that no code is made for is a bug
 * of the caller. */
void problem_json_put(Buf *out, int status, Str detail, const FieldProblems *fields);
/* The same for `refuse` of HttpServerOptions: what is no HTTP, or too much of it, has met no address
 * yet. Gives the type. */
const char *problem_json_refuse(void *context, int status, const char *why, Buf *out);
