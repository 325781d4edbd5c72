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
    { 400, "invalid", "the request makes no sense" },
    { 401, "unauthenticated", "authentication required" },
    { 403, "denied", "who asks may not do that" },
    { 404, "not-found", "there is no such thing" },
    { 405, "method", "this address does not know that method" },
    { 408, "too-slow", "the request took too long to come" },
    { 409, "conflict", "it is not as the request takes it to be" },
    { 412, "precondition", "what the request rests on is not so" },
    { 413, "too-large", "the request is too large" },
    { 415, "media-type", "the body is of another type" },
    { 421, "misdirected", "this server has another name" },
    { 422, "unprocessable", "the request was made before, with another body" },
    { 429, "limit", "there are too many already" },
    { 431, "too-many-headers", "the head of the request is too large" },
    { 500, "failed", "the server failed" },
    { 501, "not-implemented", "no address here does that" },
    { 502, "outcome-unknown", "it may have happened; check before sending it again" },
    { 503, "unavailable", "it may work later" },
    { 504, "timeout", "it took too long" },
    { 505, "version", "this address answers HTTP/1.1 and newer" },
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
