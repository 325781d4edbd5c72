/* Kinds of objects: one file (kind_<name>.c) and one row (kinds.def) each. Endpoints,
 * validation, OpenAPI, tables of the command line and documentation come from the row.
 *
 * An object is {"metadata":{...},"spec":{...},"status":{...}}: `spec` is the desired
 * state, `status` the actual one. Loop thread. */
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
    KIND_TOUCHED_MAX = 2,   /* objects that one change of a key is about */
    KIND_UNSTORED_MAX = 16, /* objects of a kind that are in no key */
    KIND_COLUMNS_MAX = 32,
};

/* What can be done with a kind beside what its own routes do; all can be watched. */
typedef enum KindVerbs {
    KIND_LIST = 1 << 0,
    KIND_GET = 1 << 1,
    KIND_CREATE = 1 << 2, /* POST, or PUT of what is not there */
    KIND_UPDATE = 1 << 3, /* PUT and PATCH */
    KIND_DELETE = 1 << 4,
} KindVerbs;

/* One object as it stands; all of it in the arena of who asked. */
typedef struct KindItem {
    Str name;
    Value labels, annotations; /* maps of texts; missing: none */
    char uuid[OBJECT_UUID_TEXT + 1];
    int64_t revision;   /* of its last change; 0: nobody knows, or the store has none of it */
    int64_t created_ms; /* 0: nobody knows */
    Value spec, status; /* maps; missing: none */
    Value unknown;      /* what a newer server wrote beside those into its record */
    Str error;          /* why it cannot be read, and is only its name; empty: it can */
    bool hides_labels;  /* it may have some, but they cannot be read, though the rest of it can */
} KindItem;

typedef struct KindItems {
    const KindItem *items;
    uint32_t count;
    Str next;          /* where the next page begins; empty: that was all */
    uint64_t archived; /* of a log: those up to this number are archived, and no longer there */
    int64_t revision;  /* of the store, as of which they are so */
} KindItems;

typedef struct KindPage {
    Str after;      /* `next` of the page before; empty: the first one */
    uint32_t limit; /* 1 to KIND_PAGE_MAX */
    /* That of the page before, for kinds that are read from the store, so that all pages are as of one,
     * as long as the store's log reaches back; 0: the first one. */
    int64_t revision;
    /* What it does not match may be left out already, and who asked leaves the rest out. NULL: none. */
    const Selector *selector;
} KindPage;

/* What somebody wants an object to be: checked against the fields of its kind. */
typedef struct KindDraft {
    Str name; /* empty: the server gives it one */
    Value labels, annotations, spec;
    int64_t revision; /* that it must still have: of the object the draft was made from; 0: there
                         must be none */
    const KindItem *present; /* NULL: there is none */
} KindDraft;

typedef void KindListed(void *context, const KindItems *items, const Error *err);
typedef void KindGot(void *context, const KindItem *item, const Error *err);

typedef struct Kind Kind;

/* A column of a table that is no field of spec or status: those say theirs themselves. */
typedef struct KindColumn {
    const char *title; /* NULL ends a list */
    const char *path;  /* "metadata.labels" */
    bool is_wide;      /* only in wide tables */
    const char *none;  /* what stands there when the object has nothing; NULL: "-" */
} KindColumn;

struct Kind {
    const char *name;                 /* "Node" */
    const char *plural;               /* "nodes": in addresses */
    const char *help;                 /* one sentence */
    uint32_t verbs;                   /* KindVerbs */
    const RecordField *spec, *status; /* what they may hold; NULL: nothing */
    const KindColumn *columns;        /* behind those of the fields; NULL: none */
    const char *name_help;            /* what its name is; NULL: any word */
    bool is_labeled;                  /* takes labels and annotations; else none are given to it */

    /* Of one that is made; NULL: the server gives it its name. Pure. */
    bool (*name_check)(Str name, Error *err);
    /* What more than its fields tell can be wrong with it; NULL: nothing. What is wrong with its fields
     * is among the problems already. Pure. */
    void (*check)(Arena *arena, const KindDraft *draft, FieldProblems *problems);

    /* From the state, without waiting; what is not there is ERROR_NOT_FOUND. What they give lives in
     * `arena`, or until the loop's next turn. */
    bool (*list)(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err);
    bool (*get)(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err);
    /* Instead of these, of kinds that are read from the store, since their values are large or many: each
     * calls `done` exactly once, in a later turn or within. */
    void (*ask_list)(const Kind *kind, const ApiSettings *settings, Arena *arena,
                     const KindPage *page, KindListed *done, void *context);
    void (*ask_get)(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                    KindGot *done, void *context);

    /* Each ends in kind_create_done, kind_update_done, kind_remove_done or an answer of its own. A
     * revision of the draft, or of what is removed, that is not the object's any more is
     * ERROR_CONFLICT. */
    void (*create)(const Kind *kind, ApiCall *call, const KindDraft *draft);
    void (*update)(const Kind *kind, ApiCall *call, const KindDraft *draft);
    void (*remove)(const Kind *kind, ApiCall *call, const KindItem *present);

    /* For watches: what all keys of the store that tell of its objects start with, from `which` 0 on;
     * empty: there are no more. And the object that such a key belongs to; false: none. */
    Str (*watched)(const Kind *kind, Arena *arena, Str prefix, uint32_t which);
    bool (*touched)(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name);
    /* Instead of that, when objects are called by what a key holds: all that the change may be about,
     * with what was there before. Gives how many. */
    uint32_t (*touched_by)(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                           Str names[KIND_TOUCHED_MAX]);
    /* Those that are in no key, at present; feed_look_again when they are others: under one name nothing
     * changes. Gives how many. NULL: there are none such. */
    uint32_t (*unstored)(const ApiSettings *settings, Arena *arena, Str names[KIND_UNSTORED_MAX]);
    /* Objects are only added, called by numbers that grow, and a list has the newest first. There may be
     * any number of them, so a watch begins with the newest ones only; that old ones go is not told. */
    bool is_log;
    /* Its objects are called like nodes, and lists of them can be selected by facts (membership/facts_selector.h)
     * by who may list facts. */
    bool selects_facts;
};

/* Either way: calls `done` exactly once, in a later turn or within. What it is given lives in `arena`, or
 * for the call. */
void kind_list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
               KindListed *done, void *context);
void kind_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name, KindGot *done,
              void *context);

/* What the status of objects says that cannot be read: for the fields of kinds that have such. */
#define KIND_UNREADABLE_FIELDS                                      \
    { .name = "state",                                              \
      .type = RECORD_CHOICE,                                        \
      .choices = "unreadable",                                      \
      .column = { "STATE", "good" },                                \
      .help = "present only if the stored object cannot be read" }, \
    {                                                               \
        .name = "error", .help = "why it cannot be read"            \
    }

/* Whether selectors can be asked about it: what cannot be read may have any labels. */
bool kind_item_shows_labels(const KindItem *item);

/* The columns of a table of its objects behind the name: those of spec and status, with the late ones
 * behind, and the further ones of the row. Gives how many. */
uint32_t kind_columns(Arena *arena, const Kind *kind, bool wide, KindColumn out[KIND_COLUMNS_MAX]);

/* By its plural or its name; NULL: there is none. */
const Kind *kind_find(Str name);
/* In the order of kinds.def; ends with NULL. */
extern const Kind *const kinds[];

/* Which objects the change is about; gives how many. */
uint32_t kind_touched(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                      Str names[KIND_TOUCHED_MAX]);

/* --- Objects --------------------------------------------------------------------------------- */

/* Of its kind and what tells it from all others; the same for the same. */
void object_uuid(const Kind *kind, Str unique, char out[OBJECT_UUID_TEXT + 1]);
MUST_CHECK bool object_name_check(Str name, Error *err);
/* As JSON. */
void object_print(Arena *arena, Buf *out, const Kind *kind, const KindItem *item);

/* A copy of the text, in the spec or status of an object that is being made. */
void object_set_text(Arena *arena, Map *map, const char *name, Str text);

/* --- For create, update and remove ------------------------------------------------------------ */

/* Answers that it is made: with `item`, which may hold what is shown this once. */
void kind_answer_made(ApiCall *call, const KindItem *item);
/* Answers with the object as it is now, with 201 when it is new. */
void kind_changed(ApiCall *call, Str name, bool is_new);
/* The same of one that was to be made under this name, or what went wrong. ERROR_CONFLICT, when others
 * were quicker: a request that may change it too looks at it anew. */
void kind_create_done(ApiCall *call, Str name, const Error *err);
/* Each a ClusterDone for a change of the object that the call names, which rests on the revision that
 * it had. ERROR_CONFLICT: it is looked at anew, and what was asked for is tried once more or refused. */
void kind_update_done(void *context, const Error *err);
void kind_remove_done(void *context, const Error *err);
