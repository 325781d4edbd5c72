/* The endpoints of the API, from routes.def: finds the one for a request. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

typedef struct ApiCall ApiCall;
typedef void RouteHandler(ApiCall *call);

enum {
    ROUTE_BODY_MAX = 64 << 10,
    ROUTE_VALUE_MAX = 4 << 20, /* a value of the store, in base64 or with escapes */
};

/* What a body may be, as "Content-Type" says it, separated by blanks. */
#define ROUTE_JSON        "application/json"
#define ROUTE_MERGE_PATCH "application/merge-patch+json application/json"

typedef enum RouteFlags {
    ROUTE_AUDITED = 1 << 0,     /* in the audit log, with Eden-Reason, before it is done */
    ROUTE_IDEMPOTENT = 1 << 1,  /* takes Idempotency-Key: its answer is kept for who asks again */
    ROUTE_CONDITIONAL = 1 << 2, /* takes If-Match and If-None-Match */
    ROUTE_WATCHABLE = 1 << 3,   /* its kind can be watched by it */
    ROUTE_QUIET = 1 << 4,       /* may be called often: in the log of the server at level debug */
} RouteFlags;

typedef enum Route {
#define ROUTE(constant, method, pattern, kind, verb, query, body_max, types, flags, handler, help) \
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
    const char *types; /* of the body; NULL: no body */
    uint32_t flags;    /* RouteFlags */
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

bool route_has(const RouteRow *row, RouteFlags flag);

/* Whether a body may be of this type. `type` is the field "Content-Type", which may have parameters; NULL:
 * there is none. */
bool route_takes_type(const RouteRow *row, const Str *type);
/* The types that a body may have, one after another; `rest` is the row's types at first. */
bool route_next_type(Str *rest, Str *type);
/* The largest body that any row takes. */
uint32_t route_largest_body(void);

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
