/* The request for curl. Pure: validates the parameters and formats them as an option file, because
 * all users can see the arguments of a process. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "lang/value.h"

typedef struct Request {
    Str url;
    Str username, password; /* both empty: no authentication */
    Value headers;          /* map of names to strings; missing: none */
    Str ca;                 /* file with certificates; empty: the machine's own */
    int64_t max_size;
    bool dumps_header; /* the response header is written to standard error */
    bool only_head;    /* request only the header */
} Request;

/* Returns true if the address starts with https. */
bool request_is_encrypted(Str url);
/* Fails with ERROR_INVALID for anything that must not be passed to curl. */
MUST_CHECK bool request_check(const Request *request, Error *err);
/* Returns false if redirects must not be followed, because they would send a secret to another
 * server. curl handles what it recognizes (password, Authorization, Cookie), but not other
 * headers. */
bool request_follows(const Request *request);
/* Formats the options for standard input of `curl --config -`. After the body, curl writes a line
 * of REQUEST_STATUS and the status code to standard error. */
Str request_options(Arena *arena, const Request *request);
#define REQUEST_STATUS STR("eden-status ")
