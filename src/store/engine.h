/* What a backend keeps: the keys as they are now, the log of all changes, the leases. Functions
 * wait, and belong to the thread that holds the engine.
 *
 * A change has an id: its revision and its number within that, so that ids grow as changes do. The
 * row of a key has the id of its last change; a deleted key stays as a row with version 0 until its
 * deletion is purged. A change has the id of the one before it of the same key. So a value is
 * there once, and going back in time means following ids. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum {
    ID_BITS = 20 /* of an id are the number within the revision */
};

static inline int64_t id_make(int64_t revision, int64_t number)
{
    return revision << ID_BITS | number;
}
/* What a change takes, more or less, beside its key and value. */
enum {
    CHANGE_OVERHEAD = 64
};

static inline int64_t id_revision(int64_t id)
{
    return id >> ID_BITS;
}

typedef struct KeyRow {
    Str key;
    int64_t id; /* 0: there is no such row */
    int64_t version, create_revision, lease;
} KeyRow;

typedef struct ChangeRow {
    int64_t id;
    Str key;
    Str value;
    bool deleted;
    int64_t version, create_revision, lease;
    int64_t before; /* the id of the change before; 0: none. It may have been purged since */
} ChangeRow;

typedef struct EngineState {
    int64_t revision;
    int64_t compacted; /* nobody reads as of an earlier revision, or watches from this one on */
    int64_t purged;    /* the id up to which rows that nobody can ask for are gone */
    /* Known to the writer alone: */
    int64_t log_bytes; /* of the changes behind `compacted` */
    int64_t log_start; /* of those that were compacted since the store was opened */
} EngineState;

typedef struct KeyWalk {
    Str key, end; /* as of a StoreOp */
    bool descending;
    int64_t lease; /* if not 0: those of that lease, in any order, whatever their key */
} KeyWalk;

/* False ends the walk; rows are borrowed for the call. Nothing may be changed meanwhile. */
typedef bool KeyVisit(void *context, const KeyRow *row);
typedef bool ChangeVisit(void *context, const ChangeRow *row);
typedef bool SizeVisit(void *context, int64_t id, int64_t bytes);
typedef void LeaseVisit(void *context, int64_t id, int64_t ttl_s);

typedef struct Engine Engine;

typedef struct EngineKind {
    /* All that follows lies between begin and commit or rollback, and sees one state. */
    bool (*begin)(Engine *engine, bool writing, Error *err);
    /* Durable when true; as if nothing had happened when false. */
    bool (*commit)(Engine *engine, Error *err);
    void (*rollback)(Engine *engine);
    /* A part that can be taken back by itself. */
    bool (*mark)(Engine *engine, Error *err);
    bool (*keep)(Engine *engine, Error *err);
    bool (*undo)(Engine *engine, Error *err);

    bool (*get_state)(Engine *engine, EngineState *out, Error *err);
    /* Only compacted and purged: the revision follows from the log. */
    bool (*set_state)(Engine *engine, const EngineState *state, Error *err);

    bool (*find_key)(Engine *engine, Str key, KeyRow *out, Error *err); /* `out->key` is `key` */
    bool (*walk_keys)(Engine *engine, const KeyWalk *walk, KeyVisit *visit, void *context,
                      Error *err);
    bool (*set_key)(Engine *engine, const KeyRow *row, Error *err);
    bool (*drop_key)(Engine *engine, Str key, Error *err);

    /* `out` is borrowed until the next call of get_change or a writing one; id 0: there is none. */
    bool (*get_change)(Engine *engine, int64_t id, ChangeRow *out, Error *err);
    bool (*walk_changes)(Engine *engine, int64_t from_id, ChangeVisit *visit, void *context,
                         Error *err);
    /* How large they are, without reading their values. */
    bool (*walk_sizes)(Engine *engine, int64_t from_id, SizeVisit *visit, void *context,
                       Error *err);
    bool (*add_change)(Engine *engine, const ChangeRow *row, Error *err);
    bool (*drop_change)(Engine *engine, int64_t id, Error *err);

    bool (*has_lease)(Engine *engine, int64_t id, bool *out, Error *err);
    bool (*add_lease)(Engine *engine, int64_t id, int64_t ttl_s, Error *err);
    bool (*drop_lease)(Engine *engine, int64_t id, Error *err);
    bool (*walk_leases)(Engine *engine, LeaseVisit *visit, void *context, Error *err);

    /* Outside of begin and commit. Called by whoever writes after the answers are out. */
    void (*tidy)(Engine *engine);
    int64_t (*bytes)(Engine *engine);
    int64_t (*spare)(Engine *engine); /* bytes in its file that are free to be used again */
    void (*close)(Engine *engine);
} EngineKind;

struct Engine {
    const EngineKind *kind;
    /* Writing makes no sense any more before the store is opened anew: `broken_text` says why. */
    bool broken;
    bool full;  /* the last failure was for want of room */
    bool tight; /* there is little room: what gathers beside the file is to stay small */
    bool lost;  /* and that is why: its files are not those any more that would be opened then */
    char broken_text[200];
};
