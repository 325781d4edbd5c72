#include "api/problem_json.h"

#include "base/bug.h"
#include "base/json_out.h"
#include "base/vec.h"

static const int statuses[] = {
    [ERROR_INVALID] = 400, [ERROR_NOT_FOUND] = 404,   [ERROR_CONFLICT] = 409, [ERROR_DENIED] = 403,
    [ERROR_TIMEOUT] = 504, [ERROR_UNAVAILABLE] = 503, [ERROR_LIMIT] = 429,    [ERROR_OS] = 500,
    [ERROR_BUG] = 500,     [ERROR_UNKNOWN] = 502,
};

const ProblemCode problem_codes[] = {
    { 400, "invalid", "invalid request" },
    { 401, "unauthenticated", "authentication required" },
    { 403, "denied", "forbidden" },
    { 404, "not-found", "not found" },
    { 405, "method", "method not allowed" },
    { 408, "too-slow", "request timeout" },
    { 409, "conflict", "conflict" },
    { 412, "precondition", "precondition failed" },
    { 413, "too-large", "request body too large" },
    { 415, "media-type", "unsupported media type" },
    { 421, "misdirected", "misdirected request" },
    { 422, "unprocessable", "Idempotency-Key reused with a different request" },
    { 429, "limit", "limit exceeded" },
    { 431, "too-many-headers", "request headers too large" },
    { 500, "failed", "internal server error" },
    { 501, "not-implemented", "not implemented" },
    { 502, "outcome-unknown", "outcome unknown; check before retrying" },
    { 503, "unavailable", "service unavailable" },
    { 504, "timeout", "timeout" },
    { 505, "version", "HTTP version not supported" },
    { 0 },
};

int problem_status(ErrorKind kind)
{
    BUG_IF((size_t)kind >= COUNT_OF(statuses) || statuses[kind] == 0);
    return statuses[kind];
}

static const ProblemCode *code_of(int status)
{
    for (const ProblemCode *code = problem_codes; code->status != 0; code++) {
        if (code->status == status) {
            return code;
        }
    }
    BUG("no code for status %d", status);
}

static void put_fields(Buf *out, const FieldProblems *fields)
{
    json_out_open(out, "problems", '[');
    for (uint32_t i = 0; i < fields->count; i++) {
        json_out_open(out, NULL, '{');
        json_out_text(out, "pointer", fields->items[i].pointer);
        json_out_text(out, "detail", fields->items[i].text);
        if (fields->items[i].is_name) {
            json_out_text(out, "part", STR("name"));
        }
        if (fields->items[i].column > 0) {
            json_out_int(out, "column", fields->items[i].column);
        }
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

void problem_json_put(Buf *out, int status, Str detail, const FieldProblems *fields)
{
    const ProblemCode *code = code_of(status);
    json_out_open(out, NULL, '{');
    json_out_name(out, "type");
    buf_put_format(out, "\"urn:eden:problem:%s\"", code->code);
    json_out_text(out, "title", str_from_c(code->title));
    json_out_int(out, "status", status);
    json_out_text(out, "code", str_from_c(code->code));
    json_out_text(out, "detail", detail);
    if (fields != NULL) {
        put_fields(out, fields);
    }
    json_out_close(out, '}');
}

const char *problem_json_refuse(void *context, int status, const char *why, Buf *out)
{
    problem_json_put(out, status, str_from_c(why), NULL);
    buf_put_char(out, '\n');
    return PROBLEM_JSON_TYPE;
}
