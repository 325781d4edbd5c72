/* A sorted array of parsed runs. Results and orders have separate keys, which may arrive before or
 * after the record of their run, so a new entry looks them up in the state. */
#include "fleet/runs.h"

#include <stdlib.h>

#include "base/memory.h"

typedef struct Entry {
    RunEntry run;
    Arena arena; /* holds everything that the run refers to */
} Entry;

struct FleetRuns {
    State *state;
    StateView view;
    Arena arena;
    Str prefix;
    Entry **items; /* oldest first */
    uint32_t count, capacity;
};

/* --- The array ------------------------------------------------------------------------------- */

/* The index of the first entry whose ID is not before `id`. */
static uint32_t lower_bound(const FleetRuns *runs, Str id)
{
    uint32_t from = 0, to = runs->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (str_compare(runs->items[middle]->run.id, id) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static Entry *find(const FleetRuns *runs, Str id)
{
    uint32_t at = lower_bound(runs, id);
    return at < runs->count && str_eq(runs->items[at]->run.id, id) ? runs->items[at] : NULL;
}

static void insert(FleetRuns *runs, Entry *entry)
{
    uint32_t at = lower_bound(runs, entry->run.id);
    if (runs->count == runs->capacity) {
        runs->capacity = runs->capacity == 0 ? 64 : 2 * runs->capacity;
        runs->items = realloc(runs->items, runs->capacity * sizeof(runs->items[0]));
        if (runs->items == NULL) {
            memory_exhausted(runs->capacity * sizeof(runs->items[0]));
        }
    }
    memmove(&runs->items[at + 1], &runs->items[at], (runs->count - at) * sizeof(runs->items[0]));
    runs->items[at] = entry;
    runs->count++;
}

static void entry_free(Entry *entry)
{
    arena_clear(&entry->arena);
    free(entry);
}

/* --- Size ------------------------------------------------------------------------------------ */

static int64_t order_bytes(const FleetRun *run)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Order order = fleet_run_order(run);
    order_print(&order, &text);
    return (int64_t)text.len;
}

/* Includes orders that are not written yet. */
static int64_t entry_bytes(const RunEntry *entry)
{
    uint32_t orders =
        entry->record.state == RUN_PENDING ? entry->record.target_count : entry->order_count;
    return entry->bytes + entry->order_bytes * orders;
}

const RunEntry *fleet_runs_excess(const FleetRuns *runs)
{
    const RunEntry *oldest = NULL;
    uint64_t targets = 0;
    int64_t bytes = 0;
    for (uint32_t i = runs->count; i-- > 0;) {
        const RunEntry *run = &runs->items[i]->run;
        bool has_ended = run->record.state == RUN_ENDED && run->order_count == 0;
        oldest = has_ended && i + 1 < runs->count ? run : oldest;
        targets += run->record.target_count;
        bytes += entry_bytes(run);
    }
    bool is_full =
        runs->count > RUNS_RETAINED || targets > RUN_TARGETS_RETAINED || bytes > RUN_BYTES_RETAINED;
    return is_full ? oldest : NULL;
}

bool fleet_runs_allow(const FleetRuns *runs, const FleetRun *run, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    fleet_run_print(run, &text);
    int64_t bytes = (int64_t)text.len + order_bytes(run) * run->target_count, own_bytes = bytes;
    uint32_t own_count = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const RunEntry *entry = &runs->items[i]->run;
        bool is_own = entry->record.state != RUN_ENDED &&
                      str_eq(entry->record.requested_by, run->requested_by);
        own_count += is_own;
        own_bytes += is_own ? entry_bytes(entry) : 0;
        bytes += entry_bytes(entry);
    }
    if (runs->count >= RUNS_MAX || bytes > RUN_BYTES_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "there are too many runs, or they are too large: wait until some have "
                         "ended, or cancel some");
    }
    return (own_count < RUNS_PER_CALLER_MAX && own_bytes <= RUN_BYTES_PER_CALLER_MAX) ||
           error_set(err, ERROR_LIMIT,
                     "you have too many runs, or they are too large: wait until some have ended, "
                     "or cancel some");
}

/* --- Targets --------------------------------------------------------------------------------- */

bool run_entry_target(const RunEntry *entry, Str node, uint32_t *out)
{
    uint32_t from = 0, to = entry->record.target_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = str_compare(entry->record.targets[middle], node);
        if (order == 0) {
            *out = middle;
            return true;
        }
        if (order < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return false;
}

/* An unreadable result counts as a failure, because the node has reported something. */
static NodeOutcome outcome_of(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    NodeResult result;
    Error err;
    return node_result_read(&arena, text, &result, &err) ? result.outcome : NODE_FAILED;
}

static void set_result(RunEntry *run, uint32_t index, const StateEntry *result)
{
    RunTarget *target = &run->targets[index];
    if (target->has_result) {
        run->counts[target->outcome]--;
    } else {
        run->unreported--;
    }
    target->result = result;
    target->has_result = result != NULL;
    if (target->has_result) {
        target->outcome = outcome_of(result->value);
        run->counts[target->outcome]++;
    } else {
        run->unreported++;
    }
}

static void set_order(RunEntry *run, uint32_t index, const StateEntry *order)
{
    RunTarget *target = &run->targets[index];
    run->order_count -= target->order_revision > 0;
    target->order_revision = order != NULL ? order->mod_revision : 0;
    run->order_count += target->order_revision > 0;
}

/* Looks up keys that arrived before the record. */
static void find_reports(const FleetRuns *runs, RunEntry *run)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    run->unreported = run->record.target_count;
    for (uint32_t i = 0; i < run->record.target_count; i++) {
        Str node = run->record.targets[i];
        const StateEntry *order = state_find(
            runs->state, key_make(&arena, runs->prefix, KEY_ORDER, (Str[]){ node, run->id }, 2));
        const StateEntry *result = state_find(
            runs->state, key_make(&arena, runs->prefix, KEY_RUN_NODE, (Str[]){ run->id, node }, 2));
        set_order(run, i, order);
        if (result != NULL) {
            set_result(run, i, result);
        }
        arena_reset(&arena);
    }
}

/* --- Following the state --------------------------------------------------------------------- */

static void remove_run(FleetRuns *runs, Str id)
{
    uint32_t at = lower_bound(runs, id);
    if (at < runs->count && str_eq(runs->items[at]->run.id, id)) {
        entry_free(runs->items[at]);
        runs->count--;
        memmove(&runs->items[at], &runs->items[at + 1],
                (runs->count - at) * sizeof(runs->items[0]));
    }
}

static void put_run(FleetRuns *runs, const StateEntry *now)
{
    Entry *entry = memory_new(sizeof *entry);
    RunEntry *run = &entry->run;
    Error err;
    arena_init(&entry->arena, ARENA_UNLIMITED);
    run->id = arena_copy(&entry->arena, now->parts[0]);
    run->revision = now->mod_revision;
    Str text = arena_copy(&entry->arena, now->value);
    if (!fleet_run_read(&entry->arena, text, &run->record, &err)) {
        run->record = (FleetRun){ .state = RUN_ENDED };
        run->error = arena_copy(&entry->arena, str_from_c(err.text));
    }
    run->bytes = (int64_t)now->value.len;
    run->order_bytes = run->error.len == 0 ? order_bytes(&run->record) : 0;
    run->targets =
        arena_alloc_zero(&entry->arena, (run->record.target_count + 1) * sizeof(RunTarget));
    find_reports(runs, run);
    remove_run(runs, run->id);
    insert(runs, entry);
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    FleetRuns *runs = context;
    const StateEntry *either = now != NULL ? now : before;
    uint32_t index;
    if (either->kind == KEY_RUN) {
        if (now != NULL) {
            put_run(runs, now);
        } else {
            remove_run(runs, before->parts[0]);
        }
        return;
    }
    bool is_order = either->kind == KEY_ORDER;
    Entry *entry = find(runs, either->parts[is_order ? 1 : 0]);
    if (entry == NULL || !run_entry_target(&entry->run, either->parts[is_order ? 0 : 1], &index)) {
        return;
    }
    if (is_order) {
        set_order(&entry->run, index, now);
    } else {
        set_result(&entry->run, index, now);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

FleetRuns *fleet_runs_new(State *state, Str prefix)
{
    FleetRuns *runs = memory_new(sizeof *runs);
    arena_init(&runs->arena, ARENA_UNLIMITED);
    runs->state = state;
    runs->prefix = arena_copy(&runs->arena, prefix);
    runs->view = (StateView){
        .kinds = STATE_KIND(KEY_RUN) | STATE_KIND(KEY_RUN_NODE) | STATE_KIND(KEY_ORDER),
        .changed = changed,
        .context = runs,
    };
    state_attach(state, &runs->view);
    return runs;
}

void fleet_runs_free(FleetRuns *runs)
{
    if (runs == NULL) {
        return;
    }
    state_detach(runs->state, &runs->view);
    for (uint32_t i = 0; i < runs->count; i++) {
        entry_free(runs->items[i]);
    }
    free(runs->items);
    arena_clear(&runs->arena);
    free(runs);
}

/* --- Reading --------------------------------------------------------------------------------- */

bool fleet_runs_are_current(const FleetRuns *runs)
{
    StateAge age = state_age(runs->state);
    return age.is_ready && !age.is_behind;
}

const RunEntry *fleet_runs_find(const FleetRuns *runs, Str id)
{
    const Entry *entry = find(runs, id);
    return entry == NULL ? NULL : &entry->run;
}

bool fleet_runs_resolve(const FleetRuns *runs, Str prefix, const RunEntry **out, Error *err)
{
    uint32_t at = lower_bound(runs, prefix);
    if (prefix.len == 0 || at == runs->count || !str_starts(runs->items[at]->run.id, prefix)) {
        return error_set(err, ERROR_NOT_FOUND, "run '%" STR_FMT "' not found", STR_ARG(prefix));
    }
    if (!str_eq(runs->items[at]->run.id, prefix) && at + 1 < runs->count &&
        str_starts(runs->items[at + 1]->run.id, prefix)) {
        return error_set(err, ERROR_CONFLICT, "several runs match '%" STR_FMT "'", STR_ARG(prefix));
    }
    *out = &runs->items[at]->run;
    return true;
}

uint32_t fleet_runs_count(const FleetRuns *runs)
{
    return runs->count;
}

const RunEntry *fleet_runs_at(const FleetRuns *runs, uint32_t index)
{
    return &runs->items[runs->count - 1 - index]->run;
}

uint32_t fleet_runs_after(const FleetRuns *runs, Str id)
{
    return runs->count - lower_bound(runs, id);
}

void fleet_runs_add_versions(void *context, StrMap *out)
{
    const FleetRuns *runs = context;
    for (uint32_t i = 0; i < runs->count; i++) {
        const RunEntry *run = &runs->items[i]->run;
        Str version = str_from_c(run->record.version);
        if ((run->record.state != RUN_ENDED || run->order_count > 0) && version.len > 0) {
            str_map_put(out, arena_copy(out->arena, version), NULL);
        }
    }
}
