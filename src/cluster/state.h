/* A copy in memory of the cluster's keys, as of one revision of the store. One reader lists them
 * page by page, watches them, and lists again if the watch cannot continue; everything else reads
 * the copy, without waiting, or follows it with a view. Loop thread only.
 *
 * The copy is stale while the store cannot be read, is not responding, or accepts no writes. In the
 * meantime, it stays as it was and never becomes empty: reads and sessions continue with it. A full
 * store still accepts deletes, and its copy is current. */
#pragma once

#include "base/ordered.h"
#include "cluster/cluster_store.h"
#include "lang/record.h"
#include "store/keys.h"

typedef struct StateEntry {
    Str key;
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    Str value;      /* empty if only the revision is stored: for unused keys, and large values */
    bool has_value; /* false; for facts, `value` is their digest (cluster/facts_digest.h) */
    int64_t create_revision, mod_revision, version, lease;
} StateEntry;

typedef struct StateAge {
    bool is_ready;          /* the first full list was loaded */
    int64_t revision;       /* all changes up to this revision are included */
    int64_t stale_since_ms; /* wall clock; 0: it is current */
    const char *why;        /* why it is stale; otherwise empty */
    /* Stale because it receives no changes, so it may be out of date: no write may be decided from
     * it. If it is stale for another reason, the store itself rejects writes. */
    bool is_behind;
} StateAge;

typedef struct StateEvents {
    void (*ready)(void *context); /* called once, when the first list is complete */
    void (*stale)(void *context, const Error *err);
    void (*current)(void *context); /* called when the copy is current again after it was stale */
    void *context;
    /* Whether the values of objects/<kind>/ are stored, in addition to those of the cluster's own
     * kinds. NULL: no others are. */
    bool (*stores_values)(Str kind);
} StateEvents;

/* Starts reading. `cluster_store` is copied, including its prefix. Only `stale` may be called
 * during this call. */
State *state_new(const ClusterStore *cluster_store, const StateEvents *events);
/* Must be called before the store is closed: sends no more requests to the store, and notifies
 * everyone who waits. The copy remains readable. NULL is allowed. */
void state_stop(State *state);
/* Must be called when all views are detached, before or after the store is closed. NULL is
 * allowed. */
void state_free(State *state);
DEFINE_AUTO(State, state_free)

StateAge state_age(const State *state);
/* Checks the status of the store now, which also happens every two seconds. NULL is allowed. */
void state_check(State *state);
/* Whether changes are possible at all. Fails with ERROR_UNAVAILABLE, with time and reason. */
MUST_CHECK bool state_accepts_writes(const State *state, Error *err);

/* --- Reading --------------------------------------------------------------------------------- */

/* Entries are valid until the next iteration of the loop. NULL if not found. */
const StateEntry *state_find(const State *state, Str key);
/* Reads the record under this key, with strings in the arena. Returns its revision; or 0 and an
 * `out` that is all zeros if there is none, or it cannot be read. */
int64_t state_record(const State *state, Str key, const RecordFormat *format, Arena *arena,
                     void *out);

typedef struct StateRange {
    const State *state;
    OrderedCursor cursor;
    Str prefix;
} StateRange;

/* All keys with this prefix, starting after the key `after`, which may be empty. */
StateRange state_range(const State *state, Str prefix, Str after);
const StateEntry *state_next(StateRange *range); /* NULL at the end */

/* --- Views ----------------------------------------------------------------------------------- */

/* A subscriber that builds its own data structures from the entries of some kinds. */
typedef struct StateView {
    uint64_t kinds; /* STATE_KIND of each */
    /* `before` is NULL for a new entry, `now` for a deleted one. In store order. The state has its
     * previous revision until all changes of a revision were reported. Entries of the audit log are
     * reported when they are new, but not stored. */
    void (*changed)(void *context, const StateEntry *now, const StateEntry *before);
    void (*settled)(void *context);     /* all changes of a revision were reported; may be NULL */
    void (*age_changed)(void *context); /* the state became stale, or current again; may be NULL */
    /* Everything was listed again, and only differences were reported: changes of keys without
     * stored values, such as those of the audit log, may be missing. May be NULL. */
    void (*reread)(void *context);
    void *context;
    struct StateView *next; /* owned by the state */
    bool is_touched;
} StateView;

#define STATE_KIND(kind) (UINT64_C(1) << (kind))

/* Reports all existing entries, then the changes. The view must not be moved. */
void state_attach(State *state, StateView *view);
void state_detach(State *state, StateView *view); /* no effect if it is not attached */

/* Calls `seen` as soon as the copy has reached `revision`, possibly within this call, so that a
 * caller sees its own write. Also called if the copy is or becomes stale, when the state is
 * stopped, and if there is no state. */
typedef void StateReached(void *context);
void state_wait(State *state, int64_t revision, StateReached *seen, void *context);

/* --- Reading the store ----------------------------------------------------------------------- */

/* Reads values that are not in the state: values that are large or numerous. See store_txn. While
 * the state is stale the read does not wait for writes, because a hanging one would block it, and
 * the result is marked as possibly out of date anyway. */
MUST_CHECK bool cluster_read(const ClusterStore *cluster_store, const StoreOp *ops, uint32_t count,
                             StoreDone *done, void *context, Error *err);
