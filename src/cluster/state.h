/* What this server knows of the cluster: a copy in memory of the keys that matter, as of one revision of
 * the store. One reader lists them page by page, watches, and lists again when the watch cannot go on;
 * everything else looks at the copy, without waiting, or follows it with a view. Loop thread.
 *
 * When the store cannot be read, the copy stays as it was and is stale since then: it is read again and
 * again until that works. It never becomes empty. */
#pragma once

#include "base/ordered.h"
#include "cluster/cluster_store.h"
#include "store/keys.h"

typedef struct State State;

typedef struct StateEntry {
    Str key;
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    Str value; /* empty for kinds of which only the revision is kept: state_keeps_value() */
    int64_t create_revision, mod_revision, version, lease;
} StateEntry;

typedef struct StateAge {
    bool is_ready;          /* it knows something */
    int64_t revision;       /* of which it knows all */
    int64_t stale_since_ms; /* wall clock; 0: it is current */
    const char *why;        /* it is stale */
} StateAge;

typedef struct StateEvents {
    void (*ready)(void *context); /* once: it knows everything */
    void (*stale)(void *context, const Error *err);
    void (*current)(void *context); /* again, after it was stale */
    void *context;
} StateEvents;

/* Begins to read; `at` and its prefix are copied. Only `stale` may be called within. */
State *state_new(const ClusterStore *at, const StateEvents *events);
/* Before the store is closed, when all views are detached. NULL is fine. */
void state_free(State *state);
DEFINE_AUTO(State, state_free)

StateAge state_age(const State *state);
bool state_keeps_value(KeyKind kind);

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
    /* `before` is NULL for one that is new, `now` for one that is gone. In the order of the store. */
    void (*changed)(void *context, const StateEntry *now, const StateEntry *before);
    void (*settled)(void *context); /* all that belongs together was told; may be NULL */
    void *context;
    struct StateView *next; /* of the state */
    bool is_touched;
} StateView;

#define STATE_KIND(kind) (UINT64_C(1) << (kind))

/* Tells all that is there already, then what changes. The view must stay where it is. */
void state_attach(State *state, StateView *view);
void state_detach(State *state, StateView *view); /* also when it is not attached */

/* Calls `seen` as soon as the copy is as new as `revision`, perhaps within: whoever has written sees
 * it then. Also when it is or becomes stale, and when the state is freed. */
typedef void StateSeen(void *context);
void state_wait(State *state, int64_t revision, StateSeen *seen, void *context);
