/* What curl is asked for. Pure: parameters are judged here, and written as a file of options for
 * it, because everybody can see the arguments of a program. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "lang/value.h"

typedef struct Request {
    Str url;
    Str username, password; /* both empty: none */
    Value headers;          /* a map of names to texts; missing: none */
    Str ca;                 /* a file with certificates; empty: those of the machine */
    int64_t max_size;
    bool tells_head; /* the head of the answer goes to standard error */
} Request;

/* Whether an address starts with https. */
bool request_is_encrypted(Str url);
/* Fails with ERROR_INVALID for what curl must not get. */
MUST_CHECK bool request_check(const Request *request, Error *err);
/* A redirect must not carry a secret to a server that it was not meant for. curl takes care of
 * what it knows (a password, Authorization, Cookie), but not of other headers. */
bool request_follows(const Request *request);
/* The options, for standard input of `curl --config -`. After the body, a line of REQUEST_STATUS
 * and the number of the answer goes to standard error. */
Str request_options(Arena *arena, const Request *request);
#define REQUEST_STATUS STR("eden-status ")
