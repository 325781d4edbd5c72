/* What this server knows of the cluster: a copy in memory of the keys that matter, as of one revision of
 * the store. One reader lists them page by page, watches, and lists again when the watch cannot go on;
 * everything else looks at the copy, without waiting, or follows it with a view. Loop thread.
 *
 * The copy is stale from the moment on at which the store cannot be read, does not answer, or takes no
 * writes, until all of that is over. It stays as it was meanwhile and never becomes empty: reads and
 * sessions go on with it. A store that is full still takes deletes, and what is known of it is current. */
#pragma once

#include "base/ordered.h"
#include "cluster/cluster_store.h"
#include "store/keys.h"

typedef struct StateEntry {
    Str key;
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    Str value; /* empty where only the revision is kept: what nobody reads here, and large values */
    bool has_value; /* else, of facts, it is what is kept of them (cluster/facts_digest.h) */
    int64_t create_revision, mod_revision, version, lease;
} StateEntry;

typedef struct StateAge {
    bool is_ready;          /* it knows something */
    int64_t revision;       /* of which it knows all */
    int64_t stale_since_ms; /* wall clock; 0: it is current */
    const char *why;        /* it is stale; else empty */
    /* It is stale because it does not hear of changes. Nothing may be decided by it that is written: what
     * it knows may no longer be so. Else the store itself refuses what it cannot write. */
    bool is_behind;
} StateAge;

typedef struct StateEvents {
    void (*ready)(void *context); /* once: it knows everything */
    void (*stale)(void *context, const Error *err);
    void (*current)(void *context); /* again, after it was stale */
    void *context;
    /* Whether the values of objects/<kind>/ are kept, beside those of the cluster's own kinds. NULL: no
     * other ones are. */
    bool (*keeps)(Str kind);
} StateEvents;

/* Begins to read; `at` and its prefix are copied. Only `stale` may be called within. */
State *state_new(const ClusterStore *at, const StateEvents *events);
/* Before the store is closed: it asks the store nothing any more, and who waits for it is called. What is
 * known stays. NULL is fine. */
void state_stop(State *state);
/* When all views are detached, before the store is closed or after it. NULL is fine. */
void state_free(State *state);
DEFINE_AUTO(State, state_free)

StateAge state_age(const State *state);
/* Looks at what the store says of itself, which is done every two seconds anyway. NULL is fine. */
void state_check(State *state);
/* Whether changes can be made at all; fails with ERROR_UNAVAILABLE, since when and why. */
MUST_CHECK bool state_takes_writes(const State *state, Error *err);

/* --- Looking --------------------------------------------------------------------------------- */

/* Entries are valid until the loop's next turn. NULL: not found. */
const StateEntry *state_find(const State *state, Str key);

typedef struct StateRange {
    const State *state;
    OrderedPlace place;
    Str prefix;
} StateRange;

/* All keys that start with `prefix`, from the one behind `after` on, which is a key or empty. */
StateRange state_range(const State *state, Str prefix, Str after);
const StateEntry *state_next(StateRange *range); /* NULL at the end */

/* --- Following ------------------------------------------------------------------------------- */

/* Somebody who builds something of their own out of the entries of some kinds. */
typedef struct StateView {
    uint64_t kinds; /* STATE_KIND of each */
    /* `before` is NULL for one that is new, `now` for one that is gone. In the order of the store. The
     * state's revision is that of before, until all that belongs together was told. Entries of the audit
     * log are told when they are new, and not kept. */
    void (*changed)(void *context, const StateEntry *now, const StateEntry *before);
    void (*settled)(void *context); /* all that belongs together was told; may be NULL */
    void (*aged)(void *context);    /* it became stale, or current again; may be NULL */
    /* All was read again, and only differences were told: of keys whose values are not kept, such as those
     * of the audit log, changes may be missing. May be NULL. */
    void (*reread)(void *context);
    void *context;
    struct StateView *next; /* of the state */
    bool is_touched;
} StateView;

#define STATE_KIND(kind) (UINT64_C(1) << (kind))

/* Tells all that is there already, then what changes. The view must stay where it is. */
void state_attach(State *state, StateView *view);
void state_detach(State *state, StateView *view); /* also when it is not attached */

/* Calls `seen` as soon as the copy is as new as `revision`, perhaps within: whoever has written sees
 * it then. Also when it is or falls behind, when the state is stopped, and when there is none. */
typedef void StateSeen(void *context);
void state_wait(State *state, int64_t revision, StateSeen *seen, void *context);
