/* Errors as in RFC 9457: "application/problem+json". Pure. */
#pragma once

#include "base/error.h"
#include "lang/record.h"

#define PROBLEM_JSON_TYPE "application/problem+json"

/* The stable part of an error; title and detail may change. */
typedef struct ProblemCode {
    int status;
    const char *code;
    const char *title;
} ProblemCode;

extern const ProblemCode problem_codes[]; /* ends with status 0 */

/* Any kind except ERROR_NONE. */
int problem_status(ErrorKind kind);
/* {"type":"urn:eden:problem:not-found","title":...,"status":404,"code":"not-found","detail":...},
 * with field problems unless `fields` is NULL. A status without a code is a bug. */
void problem_json_put(Buf *out, int status, Str detail, const FieldProblems *fields);
/* `write_error` of HttpServerOptions: errors before a request reaches a route, such as malformed
 * HTTP. Returns the content type. */
const char *problem_json_refuse(void *context, int status, const char *why, Buf *out);
