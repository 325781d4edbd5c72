/* The addresses of the API, from routes.def: which one a request means. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

typedef struct ApiCall ApiCall;
typedef void RouteHandler(ApiCall *call);

enum {
    ROUTE_BODY_MAX = 64 << 10,
    ROUTE_VALUE_MAX = 4 << 20, /* a value of the store, in base64 or with escapes */
};

typedef enum Route {
#define ROUTE(constant, method, pattern, kind, verb, query, body_max, handler, help) \
    ROUTE_##constant,
#include "api/routes.def"
#undef ROUTE
    ROUTE_COUNT
} Route;

typedef struct RouteRow {
    const char *name; /* its constant */
    const char *method;
    const char *pattern;
    const char *kind, *verb; /* what its caller must be allowed; NULL: anybody may */
    const char *query; /* parameters behind "?": "key [limit]", in [] those that need not be there;
                          NULL: there are none */
    uint32_t body_max; /* bytes; 0: no body */
    RouteHandler *handler;
    const char *help;
} RouteRow;

extern const RouteRow route_rows[ROUTE_COUNT];

enum {
    ROUTE_METHODS_MAX = 5 /* of one path */
};

typedef struct RouteMatch {
    const RouteRow *row;                     /* NULL: the method does not fit, or nothing does */
    const RouteRow *rows[ROUTE_METHODS_MAX]; /* all that fit the path */
    uint32_t row_count;
    Str part; /* what stands where the pattern has <>, decoded; never empty */
} RouteMatch;

/* Words must be written as in the pattern, without %; what varies is decoded once. HEAD is as GET.
 * Fails with ERROR_INVALID for what is no path: empty words, "." and "..", a wrong %, bytes that must
 * be encoded, and "/" or control characters that were. */
MUST_CHECK bool route_match(Arena *arena, Str method, Str path, RouteMatch *out, Error *err);

/* The address that is nearest to a path that none has; empty: none is near. */
Str route_near(Arena *arena, Str path);

bool route_is_public(const RouteRow *row);
/* False: as if it were not there, since its kind does not offer that. */
bool route_is_offered(const RouteRow *row);
/* Whether it is one of those that every kind has. */
bool route_is_of_kinds(const RouteRow *row);

/* What a row means beside its path, its query and its body. */
bool route_takes_match(const RouteRow *row);  /* If-Match, If-None-Match */
bool route_keeps_answer(const RouteRow *row); /* for who asks again with the same Idempotency-Key */
bool route_is_recorded(const RouteRow *row);  /* in the audit log, with Eden-Reason */
bool route_watches(const RouteRow *row);      /* its kind can be watched by it */

enum {
    ROUTE_PARAMETERS_MAX = 5
};

typedef struct RouteQuery {
    Str values[ROUTE_PARAMETERS_MAX]; /* in the row's order, decoded once; empty: not given */
} RouteQuery;

/* "+" is itself. Fails with ERROR_INVALID: one is missing, twice there, or empty, or the row has no
 * such one. */
MUST_CHECK bool route_query(Arena *arena, const RouteRow *row, Str query, RouteQuery *out,
                            Error *err);
/* The value of one; NULL: the row has none of that name. */
const Str *route_parameter(const RouteRow *row, const RouteQuery *query, const char *name);
