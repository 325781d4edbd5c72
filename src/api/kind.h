/* Kinds of objects: one file (kind_<name>.c) and one row (kinds.def) each. Endpoints, validation,
 * OpenAPI, command line tables and documentation are generated from the row.
 *
 * An object is {"metadata":{...},"spec":{...},"status":{...}}: `spec` is the desired state,
 * `status` the actual one. Loop thread. */
#pragma once

#include "api/api.h"
#include "api/routes.h"
#include "lang/record.h"
#include "lang/value.h"
#include "model/selector.h"

#define OBJECT_API_VERSION "v1alpha"

enum {
    OBJECT_UUID_TEXT = 36,
    OBJECT_NAME_MAX = 63,
    KIND_PAGE_DEFAULT = 500,
    KIND_PAGE_MAX = 1000,
    KIND_AFFECTED_MAX = 2,  /* objects affected by one change to a key */
    KIND_EXTERNAL_MAX = 16, /* objects of a kind outside of the store */
    KIND_COLUMNS_MAX = 32,
};

/* Verbs served by the common routes; every kind can be watched. */
typedef enum KindVerbs {
    KIND_LIST = 1 << 0,
    KIND_GET = 1 << 1,
    KIND_CREATE = 1 << 2, /* POST, or PUT of a new object */
    KIND_UPDATE = 1 << 3, /* PUT and PATCH */
    KIND_DELETE = 1 << 4,
} KindVerbs;

/* An object; everything is in the caller's arena. */
typedef struct KindItem {
    Str name;
    Value labels, annotations; /* maps of strings; may be missing */
    char uuid[OBJECT_UUID_TEXT + 1];
    int64_t revision;   /* of the last change; 0: unknown, or not in the store */
    int64_t created_ms; /* 0: unknown */
    Value spec, status; /* maps; may be missing */
    Value unknown;      /* fields of the record that were written by a newer server */
    /* why the record is unreadable (then only the name is valid); may be empty */
    Str error;
    bool labels_unreadable; /* the labels are unreadable, although other fields are readable */
    const Str *nodes;       /* of a kind with `is_about_nodes`: these */
    uint32_t node_count;
} KindItem;

typedef struct KindItems {
    const KindItem *items;
    uint32_t count;
    Str next;          /* start of the next page; empty: last page */
    uint64_t archived; /* logs: entries up to this number are archived */
    int64_t revision;  /* revision of the store that the items reflect */
} KindItems;

typedef struct KindPage {
    Str after;      /* `next` of the previous page; empty: first page */
    uint32_t limit; /* 1 to KIND_PAGE_MAX */
    /* Revision of the first page, so that all pages of a kind read from the store show the same
     * revision while the history has it; 0: this is the first page. */
    int64_t revision;
    /* An optimization: `list` may skip objects that do not match; the caller filters in any case.
     * NULL: all. */
    const Selector *selector;
} KindPage;

/* The desired state of an object, validated against the fields of its kind. */
typedef struct KindDraft {
    Str name; /* empty: the server assigns it */
    Value labels, annotations, spec;
    int64_t revision;        /* revision that the object must still have; 0: it must not exist */
    const KindItem *present; /* NULL: does not exist */
} KindDraft;

typedef void KindListed(void *context, const KindItems *items, const Error *err);
typedef void KindGetDone(void *context, const KindItem *item, const Error *err);

typedef struct Kind Kind;

/* A table column that is not a field of spec or status; those define their own. */
typedef struct KindColumn {
    const char *title;       /* NULL ends a list */
    const char *path;        /* "metadata.labels" */
    bool is_wide;            /* only with -o wide */
    const char *placeholder; /* shown if the value is missing; NULL: "-" */
} KindColumn;

struct Kind {
    const char *name;                 /* "Node" */
    const char *plural;               /* "nodes", used in URLs */
    const char *help;                 /* one sentence */
    uint32_t verbs;                   /* KindVerbs */
    const RecordField *spec, *status; /* fields; NULL: none */
    /* additional columns, after those of the fields; may be NULL */
    const KindColumn *columns;
    const char *name_help; /* what the name is; NULL: any name */
    bool is_labeled;       /* has labels and annotations */

    /* Validates the name of a new object; NULL: the server assigns it. Pure. */
    bool (*name_check)(Str name, Error *err);
    /* Validates rules that involve several fields; may be NULL. `problems` already contains those
     * of single fields. Pure. */
    void (*check)(Arena *arena, const KindDraft *draft, FieldProblems *problems);

    /* Synchronous reads from the state; ERROR_NOT_FOUND if missing. Results are valid in `arena` or
     * until the next loop iteration. */
    bool (*list)(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err);
    bool (*get)(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err);
    /* Asynchronous alternative for kinds read from the store, because values are large or many:
     * calls `done` exactly once, possibly before it returns. */
    void (*list_async)(const Kind *kind, const ApiSettings *settings, Arena *arena,
                       const KindPage *page, KindListed *done, void *context);
    void (*get_async)(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                      KindGetDone *done, void *context);

    /* Each must end in kind_create_done(), kind_update_done(), kind_remove_done() or a response.
     * Fails with ERROR_CONFLICT if the object no longer has the expected revision. */
    void (*create)(const Kind *kind, ApiCall *call, const KindDraft *draft);
    void (*update)(const Kind *kind, ApiCall *call, const KindDraft *draft);
    void (*remove)(const Kind *kind, ApiCall *call, const KindItem *present);

    /* For watches: the prefixes of the keys that affect objects of the kind, for `which` from 0
     * until the result is empty; and the name of the object that such a key belongs to, or
     * false. */
    Str (*watch_prefix)(const Kind *kind, Arena *arena, Str prefix, uint32_t which);
    bool (*key_to_name)(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name);
    /* Alternative to key_to_name() if names are part of the value: returns the number of objects
     * that a change affects, including those of the previous value. */
    uint32_t (*event_to_names)(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                               Str names[KIND_AFFECTED_MAX]);
    /* Names of current objects that are not in the store; such an object never changes. Call
     * feed_check_external() when the set changes. Returns their number. May be NULL. */
    uint32_t (*external)(const ApiSettings *settings, Arena *arena, Str names[KIND_EXTERNAL_MAX]);
    /* An append-only log: names are increasing numbers, and lists start with the newest. A watch
     * starts with the newest entries only, and deletions are not reported. */
    bool is_log;
    /* Selectors of roles refer to the nodes that its objects concern, instead of their names and
     * labels; create checks permission for each. */
    bool is_about_nodes;
    /* Limits of a kind with stored_list() etc. (api/kind_stored.h); 0: STORED_OBJECTS_MAX,
     * STORED_BYTES_MAX. */
    uint32_t objects_max;
    size_t bytes_max;
    /* Objects are named after nodes, and lists can be selected by facts
     * (membership/facts_selector.h) if the caller may list facts. */
    bool selects_facts;
};

/* Uses either variant: calls `done` exactly once, possibly before it returns. Results are valid in
 * `arena` or during the call. */
void kind_list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
               KindListed *done, void *context);
void kind_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
              KindGetDone *done, void *context);

/* Status fields for kinds whose objects can be unreadable. */
#define KIND_UNREADABLE_FIELDS                                      \
    { .name = "state",                                              \
      .type = RECORD_CHOICE,                                        \
      .choices = "unreadable",                                      \
      .column = { "STATE", "good" },                                \
      .help = "present only if the stored object cannot be read" }, \
    {                                                               \
        .name = "error", .help = "why it cannot be read"            \
    }

/* Whether selectors apply: an unreadable object may have any labels. */
bool kind_item_shows_labels(const KindItem *item);

/* Table columns after the name: those of spec and status, late ones last, then the additional ones
 * of the row. Returns their number. */
uint32_t kind_columns(Arena *arena, const Kind *kind, bool wide, KindColumn out[KIND_COLUMNS_MAX]);

/* By plural or name; NULL if not found. */
const Kind *kind_find(Str name);
/* In the order of kinds.def; ends with NULL. */
extern const Kind *const kinds[];

/* Returns the number of objects that the change affects. */
uint32_t kind_affected(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                       Str names[KIND_AFFECTED_MAX]);

/* --- Objects --------------------------------------------------------------------------------- */

/* Derived from the kind and a unique string: the same input gives the same UUID. */
void object_uuid(const Kind *kind, Str unique, char out[OBJECT_UUID_TEXT + 1]);
MUST_CHECK bool object_name_check(Str name, Error *err);
/* As JSON. */
void object_print(Arena *arena, Buf *out, const Kind *kind, const KindItem *item);

/* Copies a string into the spec or status of an object being built. */
void object_set_text(Arena *arena, Map *map, const char *name, Str text);

/* --- For create, update and remove ------------------------------------------------------------ */

/* Responds with the created object, which may include one-time secrets. */
void kind_respond_created(ApiCall *call, const KindItem *item);
/* Responds with the current object; 201 if it is new. */
void kind_changed(ApiCall *call, Str name, bool is_new);
/* Responds with the new object, or the error. On ERROR_CONFLICT, a request that may also update
 * reads the object again. */
void kind_create_done(ApiCall *call, Str name, const Error *err);
/* ClusterDone callbacks for a change to the call's object, based on its revision. On ERROR_CONFLICT
 * the object is read again, and the request is retried or rejected. */
void kind_update_done(void *context, const Error *err);
void kind_remove_done(void *context, const Error *err);
