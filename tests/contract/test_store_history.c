/* Random histories, compared step by step with a model that is too simple to be wrong: a table of
 * every revision. Failures report the seed. */
#include <stdlib.h>

#include "base/vec.h"
#include "store_world.h"

enum {
    KEYS = 8,
    REVISIONS = 600,
    STEPS = 150,
    EVENTS = REVISIONS * KEYS,
};

typedef struct Cell {
    int64_t version, create, mod;
    uint32_t value;
} Cell;

typedef struct ModelEvent {
    int64_t revision;
    uint32_t key;
    bool deleted;
    uint32_t value;
    Cell before;
} ModelEvent;

typedef struct Model {
    Cell cells[REVISIONS][KEYS]; /* contents at each revision */
    int64_t revision, compacted;
    ModelEvent events[EVENTS];
    uint32_t event_count;
} Model;

typedef struct History {
    World *world;
    Model *model;
    Loop *rng; /* used only for its random numbers */
    uint64_t seed;
    uint32_t next_value;
} History;

static uint32_t pick(History *history, uint32_t below)
{
    return (uint32_t)(loop_random(history->rng) % below);
}

#define HOLDS(history, condition)                                                         \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fail_msg("seed %llu, revision %lld: %s", (unsigned long long)(history)->seed, \
                     (long long)(history)->model->revision, #condition);                  \
        }                                                                                 \
    } while (0)

/* Some keys are prefixes of others. */
static const char *const names[KEYS] = { "a", "a/", "a/b", "a/b/c", "a/c", "b", "b/", "c" };

static Str value_text(World *world, uint32_t value)
{
    return arena_format(&world->arena, "%u", value);
}

/* --- The model ------------------------------------------------------------------------------- */

static Cell *now(Model *model)
{
    return model->cells[model->revision];
}

/* Creates the row of the next revision as a copy of the current one. */
static Cell *next_cells(Model *model)
{
    assert_true(model->revision + 1 < REVISIONS);
    memcpy(model->cells[model->revision + 1], now(model), sizeof model->cells[0]);
    return model->cells[model->revision + 1];
}

static void model_put(Model *model, Cell *cells, uint32_t key, uint32_t value)
{
    int64_t revision = model->revision + 1;
    Cell *cell = &cells[key], before = *cell;
    *cell = (Cell){ before.version + 1, before.version == 0 ? revision : before.create, revision,
                    value };
    model->events[model->event_count++] = (ModelEvent){ revision, key, false, value, before };
}

static uint32_t model_delete(Model *model, Cell *cells, uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t key = from; key < to; key++) {
        if (cells[key].version > 0) {
            model->events[model->event_count++] =
                (ModelEvent){ model->revision + 1, key, true, 0, cells[key] };
            cells[key] = (Cell){ 0 };
            count++;
        }
    }
    return count;
}

/* --- Steps ----------------------------------------------------------------------------------- */

static void check_kv(History *history, const StoreKv *kv, uint32_t key, const Cell *cell)
{
    HOLDS(history, str_eq_c(kv->key, names[key]));
    HOLDS(history, kv->version == cell->version);
    HOLDS(history, world_nth(history->world, kv->create_revision) == cell->create);
    HOLDS(history, world_nth(history->world, kv->mod_revision) == cell->mod);
    HOLDS(history, str_eq(kv->value, value_text(history->world, cell->value)));
}

static void check_range(History *history, const StoreOpReply *reply, const Cell *cells,
                        uint32_t from, uint32_t to)
{
    uint32_t at = 0;
    for (uint32_t key = from; key < to; key++) {
        if (cells[key].version > 0) {
            HOLDS(history, at < reply->kv_count);
            check_kv(history, &reply->kvs[at++], key, &cells[key]);
        }
    }
    HOLDS(history, at == reply->kv_count && reply->count == at);
}

static Str end_name(uint32_t to)
{
    return to == KEYS ? STORE_ALL : str_from_c(names[to]);
}

static void step_read(History *history)
{
    Model *model = history->model;
    uint32_t from = pick(history, KEYS), to = from + 1 + pick(history, KEYS - from);
    int64_t revision = model->revision == 0 || pick(history, 2) == 0
                           ? 0
                           : 1 + pick(history, (uint32_t)model->revision);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = str_from_c(names[from]),
                   .end = end_name(to),
                   .revision = revision == 0 ? 0 : world_revision(history->world, revision) };
    Answer *answer = world_op(history->world, op);
    if (revision != 0 && revision < model->compacted) {
        HOLDS(history, answer->err.kind == ERROR_NOT_FOUND);
        return;
    }
    HOLDS(history, answer->err.kind == ERROR_NONE);
    HOLDS(history, answer->reply.revision >= world_revision(history->world, model->revision));
    check_range(history, &answer->reply.ops[0],
                model->cells[revision == 0 ? model->revision : revision], from, to);
}

/* A comparison, a few puts and a deletion of a range if it holds, and a put if not. */
static void step_txn(History *history)
{
    World *world = history->world;
    Model *model = history->model;
    uint32_t compared = pick(history, KEYS);
    const Cell *cell = &now(model)[compared];
    int64_t guess = pick(history, 2) == 0 ? cell->mod : (int64_t)pick(history, 5);
    StoreCompare compare = { STORE_MOD_REVISION, STORE_EQUAL, str_from_c(names[compared]),
                             .number = guess == 0                ? 0
                                       : guess > model->revision ? INT64_MAX
                                                                 : world_revision(world, guess) };
    bool holds = cell->mod == guess;

    StoreOp success[4] = { 0 }, failure = { 0 };
    uint32_t values[4], count = 0, first = pick(history, KEYS), puts = 1 + pick(history, 3);
    for (; count < puts && first + count < KEYS; count++) {
        values[count] = ++history->next_value;
        success[count] = (StoreOp){ .kind = STORE_PUT,
                                    .key = str_from_c(names[first + count]),
                                    .value = value_text(world, values[count]),
                                    .previous = true };
    }
    uint32_t to = pick(history, first + 1);
    success[count] = (StoreOp){ .kind = STORE_DELETE, .key = STR("a"), .end = end_name(to) };
    failure = (StoreOp){ .kind = STORE_PUT,
                         .key = str_from_c(names[compared]),
                         .value = value_text(world, ++history->next_value) };
    StoreTxn txn = { &compare, 1, success, count + 1, &failure, 1 };
    Answer *answer = world_txn(world, &txn);
    HOLDS(history, answer->err.kind == ERROR_NONE);
    HOLDS(history, answer->reply.succeeded == holds);
    Cell *cells = next_cells(model);
    if (holds) {
        for (uint32_t i = 0; i < count; i++) {
            const StoreOpReply *reply = &answer->reply.ops[i];
            HOLDS(history, reply->kv_count == (cells[first + i].version > 0));
            if (reply->kv_count > 0) {
                check_kv(history, &reply->kvs[0], first + i, &cells[first + i]);
            }
            model_put(model, cells, first + i, values[i]);
        }
        HOLDS(history, answer->reply.ops[count].count == model_delete(model, cells, 0, to));
    } else {
        model_put(model, cells, compared, history->next_value);
    }
    model->revision++;
    HOLDS(history, world_nth(world, answer->reply.revision) == model->revision);
}

static void step_delete(History *history)
{
    Model *model = history->model;
    uint32_t from = pick(history, KEYS), to = from + 1 + pick(history, KEYS - from);
    StoreOp op = { .kind = STORE_DELETE, .key = str_from_c(names[from]), .end = end_name(to) };
    Answer *answer = world_op(history->world, op);
    uint32_t count = model_delete(model, next_cells(model), from, to);
    model->revision += count > 0;
    HOLDS(history, answer->err.kind == ERROR_NONE);
    HOLDS(history, answer->reply.ops[0].count == count);
    HOLDS(history,
          count == 0 || world_nth(history->world, answer->reply.revision) == model->revision);
}

static void step_put(History *history)
{
    Model *model = history->model;
    uint32_t key = pick(history, KEYS), value = ++history->next_value;
    StoreOp op = { .kind = STORE_PUT,
                   .key = str_from_c(names[key]),
                   .value = value_text(history->world, value) };
    Answer *answer = world_op(history->world, op);
    model_put(model, next_cells(model), key, value);
    model->revision++;
    HOLDS(history, answer->err.kind == ERROR_NONE);
    HOLDS(history, world_nth(history->world, answer->reply.revision) == model->revision);
}

static void step_compact(History *history)
{
    Model *model = history->model;
    if (model->revision == 0) {
        return;
    }
    int64_t to = 1 + pick(history, (uint32_t)model->revision);
    Answer *answer = world_compact(history->world, world_revision(history->world, to));
    HOLDS(history, answer->err.kind == (to <= model->compacted ? ERROR_NOT_FOUND : ERROR_NONE));
    model->compacted = to > model->compacted ? to : model->compacted;
}

/* --- Watches --------------------------------------------------------------------------------- */

typedef struct Witness {
    History *history;
    StoreWatch *watch;
    uint32_t next;     /* the next event that the model expects */
    uint32_t from, to; /* range of keys */
    uint32_t unacked;
    bool current;
    VEC(StoreEvent) seen;
    uint32_t checked;
} Witness;

static bool is_in_range(const Witness *witness, const ModelEvent *event)
{
    return event->key >= witness->from && event->key < witness->to;
}

/* Only records the event: the model is updated after the store has reported the change. */
static void watch_batch(void *context, const StoreBatch *batch)
{
    Witness *witness = context;
    Arena *arena = &witness->history->world->arena;
    HOLDS(witness->history, !batch->resync && batch->err == NULL);
    for (uint32_t i = 0; i < batch->count; i++) {
        StoreEvent event = batch->events[i];
        event.kv.key = arena_copy(arena, event.kv.key);
        event.kv.value = arena_copy(arena, event.kv.value);
        event.previous.key = arena_copy(arena, event.previous.key);
        event.previous.value = arena_copy(arena, event.previous.value);
        VEC_PUSH(arena, &witness->seen, event);
    }
    witness->current |= batch->count == 0;
    witness->unacked += batch->count > 0;
    world_wake(witness->history->world);
}

/* The next event of the model that the watch must receive; NULL: none. */
static const ModelEvent *expected_event(Witness *witness)
{
    Model *model = witness->history->model;
    while (witness->next < model->event_count &&
           !is_in_range(witness, &model->events[witness->next])) {
        witness->next++;
    }
    return witness->next == model->event_count ? NULL : &model->events[witness->next];
}

static void watch_check(Witness *witness)
{
    History *history = witness->history;
    for (; witness->checked < witness->seen.len; witness->checked++) {
        const StoreEvent *event = &witness->seen.items[witness->checked];
        const ModelEvent *expected = expected_event(witness);
        HOLDS(history, expected != NULL);
        witness->next++;
        HOLDS(history, event->deleted == expected->deleted);
        HOLDS(history, world_nth(history->world, event->kv.mod_revision) == expected->revision);
        HOLDS(history, str_eq_c(event->kv.key, names[expected->key]));
        HOLDS(history, event->has_previous == (expected->before.version > 0));
        if (event->has_previous) {
            check_kv(history, &event->previous, expected->key, &expected->before);
        }
        if (!event->deleted) {
            HOLDS(history, str_eq(event->kv.value, value_text(history->world, expected->value)));
        }
    }
}

static void watch_start(Witness *witness, History *history, int64_t from_revision)
{
    Model *model = history->model;
    *witness = (Witness){ .history = history, .from = pick(history, KEYS) };
    witness->to = witness->from + 1 + pick(history, KEYS - witness->from);
    while (witness->next < model->event_count &&
           model->events[witness->next].revision < from_revision) {
        witness->next++;
    }
    StoreWatchSpec spec = {
        .key = str_from_c(names[witness->from]),
        .end = end_name(witness->to),
        .from = from_revision > model->revision ? world_next_revision(history->world)
                                                : world_revision(history->world, from_revision),
        .previous = true,
        .done = watch_batch,
        .context = witness,
    };
    Error err;
    HOLDS(history, store_watch(history->world->store, &spec, &witness->watch, &err));
}

static void watch_ack(Witness *witness)
{
    for (; witness->unacked > 0; witness->unacked--) {
        store_watch_ack(witness->watch);
    }
}

/* Runs the loop until the watch has received all events. */
static void watch_finish(Witness *witness)
{
    World *world = witness->history->world;
    while (watch_check(witness), expected_event(witness) != NULL || !witness->current) {
        watch_ack(witness);
        if (world->backend->virtual_time) {
            uint32_t before = witness->seen.len;
            world_run_due(world);
            HOLDS(witness->history, witness->seen.len > before || witness->current);
        } else {
            loop_run(world->loop);
        }
    }
    store_watch_cancel(witness->watch);
}

static void play(World *world, uint64_t seed)
{
    Model *model = calloc(1, sizeof *model);
    History history = { world, model, loop_new_virtual(seed), seed, 0 };
    Witness slow;
    watch_start(&slow, &history, 1);
    for (int i = 0; i < STEPS; i++) {
        switch (pick(&history, 10)) {
        case 0:
        case 1:
        case 2: step_put(&history); break;
        case 3:
        case 4: step_txn(&history); break;
        case 5: step_delete(&history); break;
        case 6:
        case 7:
        case 8: step_read(&history); break;
        default:
            if (pick(&history, 3) == 0) {
                watch_ack(&slow);
            }
            break;
        }
        watch_check(&slow);
    }
    watch_finish(&slow);
    step_compact(&history);
    step_put(&history);
    /* Watches from every retained revision. */
    for (int64_t from = model->compacted + 1; from <= model->revision + 1; from++) {
        Witness witness;
        watch_start(&witness, &history, from);
        watch_finish(&witness);
    }
    for (int i = 0; i < 50; i++) {
        step_read(&history);
    }
    loop_free(history.rng);
    free(model);
}

/* Each history uses an empty store. */
static void random_histories_match_the_model(World *world)
{
    uint64_t seeds = world->backend->fails          ? 1
                     : world->backend->members > 0  ? 2
                     : !world->backend->on_disk     ? 60
                     : world->backend->virtual_time ? 4
                                                    : 2;
    const char *given = getenv("EDEN_STORE_SEED");
    uint64_t first = given == NULL ? 1 : strtoull(given, NULL, 10);
    Store *outer = world->store;
    for (uint64_t seed = first; seed < first + (given == NULL ? seeds : 1); seed++) {
        world_open_empty(world, seed);
        play(world, seed);
        store_close(world->store);
    }
    world->store = outer;
}

int main(void)
{
    static const StoreTest tests[] = { STORE_TEST(random_histories_match_the_model) };
    return store_tests_run("store histories", tests, COUNT_OF(tests));
}
