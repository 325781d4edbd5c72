/* The endpoints of the API, from routes.def: finds the one for a request. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

typedef struct ApiCall ApiCall;
typedef void RouteHandler(ApiCall *call);

enum {
    ROUTE_BODY_MAX = 64 << 10,
    ROUTE_VALUE_MAX = 4 << 20, /* a value of the store, in base64 or with escapes */
    ROUTE_BLOB_MAX = 16 << 20, /* a manifest, or many blobs */
    ROUTE_BLOB_IDS_MAX = 1 << 20,
    ROUTE_WEBHOOK_MAX = 1 << 20,
};

/* Content types of bodies, separated by spaces. */
#define ROUTE_JSON        "application/json"
#define ROUTE_BYTES       "application/octet-stream"
#define ROUTE_MERGE_PATCH "application/merge-patch+json application/json"

typedef enum RouteFlags {
    /* recorded in the audit log, with Eden-Reason, before it is executed */
    ROUTE_AUDITED = 1 << 0,
    ROUTE_IDEMPOTENT = 1 << 1,  /* supports Idempotency-Key: the response is stored for retries */
    ROUTE_CONDITIONAL = 1 << 2, /* supports If-Match and If-None-Match */
    ROUTE_WATCHABLE = 1 << 3,   /* can be a watch */
    ROUTE_QUIET = 1 << 4,       /* called frequently: logged at level debug */
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
    const char *kind, *verb; /* required permission; NULL: public */
    /* parameters of the query: "key [limit]", optional ones in []; may be NULL */
    const char *query;
    uint32_t body_max; /* bytes; 0: no body */
    const char *types; /* of the body; NULL: no body */
    uint32_t flags;    /* RouteFlags */
    RouteHandler *handler;
    const char *help;
} RouteRow;

extern const RouteRow route_rows[ROUTE_COUNT];

enum {
    ROUTE_METHODS_MAX = 5 /* per path */
};

typedef struct RouteMatch {
    const RouteRow *row;                     /* NULL: no row matches method and path */
    const RouteRow *rows[ROUTE_METHODS_MAX]; /* all rows that match the path */
    uint32_t row_count;
    Str part; /* value of the variable segment, decoded; never empty */
} RouteMatch;

/* Constant segments must match exactly, without %; variable ones are decoded once. HEAD matches
 * GET. Fails with ERROR_INVALID for an invalid path: empty segments, "." and "..", a malformed %,
 * bytes that must be encoded, and encoded "/" or control characters. */
MUST_CHECK bool route_match(Arena *arena, Str method, Str path, RouteMatch *out, Error *err);

/* The endpoint most similar to an unknown path; may be empty. */
Str route_suggest(Arena *arena, Str path);

bool route_is_public(const RouteRow *row);
/* False if its kind does not support the verb; the row is then ignored. */
bool route_is_offered(const RouteRow *row);
/* Whether it is one of the endpoints common to all kinds. */
bool route_is_kind_route(const RouteRow *row);

bool route_has(const RouteRow *row, RouteFlags flag);

/* Whether the row accepts this content type. `type` is the header "Content-Type" with its
 * parameters; NULL if missing. */
bool route_accepts_type(const RouteRow *row, const Str *type);
/* Iterates over the accepted content types; `rest` starts as the row's types. */
bool route_next_type(Str *rest, Str *type);
/* The largest body of all rows. */
uint32_t route_largest_body(void);

enum {
    ROUTE_PARAMETERS_MAX = 5
};

typedef struct RouteQuery {
    Str values[ROUTE_PARAMETERS_MAX]; /* in row order, decoded once; may be empty */
} RouteQuery;

/* "+" is literal. Fails with ERROR_INVALID if a parameter is missing, repeated, empty or
 * unknown. */
MUST_CHECK bool route_query(Arena *arena, const RouteRow *row, Str query, RouteQuery *out,
                            Error *err);
/* The value of a parameter; NULL if the row has no such parameter. */
const Str *route_parameter(const RouteRow *row, const RouteQuery *query, const char *name);
