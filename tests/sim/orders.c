/* Random sites in all ordering modes: see README.md.
 *
 *     sim_orders SEED COUNT
 *
 * The world consists of text cells, each claimed by the steps that change it, and a sum to which
 * any step may add. The text appended to a cell shows the order of the steps. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "model/expand.h"
#include "model/replay.h"
#include "run/executor.h"

enum {
    CELLS = 12,
    STEPS_MAX = 200,
    TEXT_MAX = 4096,
    MEMORY_MAX = 64 << 20
};

/* --- Random numbers -------------------------------------------------------------------------- */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

static bool one_in(uint64_t *state, uint32_t count)
{
    return below(state, count) == 0;
}

/* --- The world ------------------------------------------------------------------------------- */

typedef struct Cell {
    /* the step that changes it, plus 1; a second one means that a claim was violated */
    atomic_uint writer;
    atomic_uint reader; /* the last step that reads it, plus 1; others may read it, too */
    atomic_uint readers;
    char text[TEXT_MAX];
    uint32_t len;
} Cell;

typedef struct World {
    Cell cells[CELLS];
    atomic_llong sum;
    /* two steps, each plus 1, that used a cell at the same time; 0: none */
    atomic_uint_least64_t conflict;
    uint32_t order[STEPS_MAX]; /* time at which each step started to act; 0: it did not */
    uint32_t ended[STEPS_MAX];
    atomic_uint clock;
    atomic_uint merges; /* number of transactions of more than one step */
} World;

/* Found through the services that are passed with calls. */
static World *world_of(const Call *call)
{
    return call->services->context;
}

static Cell *cell_of(const Call *call)
{
    return &world_of(call)->cells[call_int(call, "name", 0)];
}

static void conflict(Call *call, uint32_t other)
{
    atomic_store(&world_of(call)->conflict, (uint64_t)other << 32 | (call->step + 1));
}

static void yield_randomly(const Call *call)
{
    if (call->step % 3 == 0) {
        sched_yield();
    }
}

static Cell *read_cell(Call *call)
{
    Cell *cell = cell_of(call);
    atomic_store(&cell->reader, call->step + 1);
    atomic_fetch_add(&cell->readers, 1);
    uint32_t other = atomic_load(&cell->writer);
    if (other != 0) {
        conflict(call, other);
    }
    yield_randomly(call);
    return cell;
}

static void fail_read(Cell *cell)
{
    atomic_fetch_sub(&cell->readers, 1);
}

static Cell *enter(Call *call)
{
    Cell *cell = cell_of(call);
    uint32_t other = atomic_exchange(&cell->writer, call->step + 1);
    if (other != 0) {
        conflict(call, other);
    }
    if (atomic_load(&cell->readers) != 0) {
        conflict(call, atomic_load(&cell->reader));
    }
    yield_randomly(call);
    return cell;
}

static void leave(Cell *cell)
{
    atomic_store(&cell->writer, 0);
}

static void put(Cell *cell, Str text)
{
    size_t room = TEXT_MAX - cell->len;
    size_t len = text.len < room ? text.len : room;
    memcpy(cell->text + cell->len, text.data, len);
    cell->len += (uint32_t)len;
}

static void begin(Call *call)
{
    World *world = world_of(call);
    world->order[call->step] = 1 + atomic_fetch_add(&world->clock, 1);
}

static void end(Call *call)
{
    World *world = world_of(call);
    world->ended[call->step] = 1 + atomic_fetch_add(&world->clock, 1);
}

static bool set_check(Call *call, Outcome *outcome, Error *err)
{
    Cell *cell = read_cell(call);
    outcome->changed = !str_eq(str_from(cell->text, cell->len), call_str(call, "text"));
    fail_read(cell);
    return true;
}

static bool set_apply(Call *call, Outcome *outcome, Error *err)
{
    begin(call);
    Cell *cell = enter(call);
    cell->len = 0;
    put(cell, call_str(call, "text"));
    outcome->changed = true;
    leave(cell);
    end(call);
    return true;
}

static bool always_check(Call *call, Outcome *outcome, Error *err)
{
    outcome->changed = true;
    return true;
}

static bool append_apply(Call *call, Outcome *outcome, Error *err)
{
    begin(call);
    Cell *cell = enter(call);
    put(cell, call_str(call, "text"));
    outcome->changed = true;
    leave(cell);
    end(call);
    return true;
}

static bool cell_react(Call *call, Outcome *outcome, Error *err)
{
    Cell *cell = enter(call);
    put(cell, STR("!"));
    put(cell, call_str(call, "text"));
    outcome->changed = true;
    leave(cell);
    return true;
}

/* Changes the cell, and fails. */
static bool fail_apply(Call *call, Outcome *outcome, Error *err)
{
    append_apply(call, outcome, err);
    return error_set(err, ERROR_OS, "fails");
}

/* Applies several steps at once, each as if it were alone. */
static void merge_cells(MergedCall *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        MergedCall *one = &calls[i];
        one->failed = !one->call->action->apply(one->call, one->outcome, one->error);
    }
    if (count > 1) {
        atomic_fetch_add(&world_of(calls[0].call)->merges, 1);
    }
}

static bool add_apply(Call *call, Outcome *outcome, Error *err)
{
    begin(call);
    atomic_fetch_add(&world_of(call)->sum, call_int(call, "number", 0));
    outcome->changed = true;
    end(call);
    return true;
}

static bool add_react(Call *call, Outcome *outcome, Error *err)
{
    atomic_fetch_add(&world_of(call)->sum, 1000000);
    outcome->changed = true;
    return true;
}

static void claim_cell(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims,
              value_string(arena_format(arena, "cell:%lld", (long long)params[0].integer)));
}

static const ParamSpec cell_params[] = {
    { "name", PARAM_INT, .required = true },
    { "text", PARAM_STRING, .required = true },
    { 0 },
};

static const ParamSpec add_params[] = {
    { "number", PARAM_INT, .required = true },
    { 0 },
};

static const Action actions[] = {
    { "set", "", cell_params, set_check, set_apply, cell_react, .claims = claim_cell },
    { "append", "", cell_params, always_check, append_apply, cell_react, .claims = claim_cell,
      .merge = merge_cells, .always_changes = true, .cost_ms = 10 },
    { "fail", "", cell_params, always_check, fail_apply, cell_react, .claims = claim_cell,
      .merge = merge_cells, .always_changes = true },
    { "add", "", add_params, always_check, add_apply, add_react, .always_changes = true,
      .cost_ms = 1 },
    { 0 },
};

static const Module module_sim = { "sim", "", NULL, actions };
static const Module *const modules[] = { &module_sim, NULL };

/* --- Sites ----------------------------------------------------------------------------------- */

static const char *const kinds[] = { "require",    "require",      "require",       "watch",
                                     "onchanges",  "onfail",       "prereq",        "listen",
                                     "watch",      "require_any",  "onchanges_any", "watch_any",
                                     "onfail_any", "onfail_all",   "require_in",    "watch_in",
                                     "listen_in",  "onchanges_in", "prereq_in",     "onfail_in" };

static void put_action(Buf *out, uint64_t *state, uint32_t number)
{
    uint32_t cell = below(state, CELLS);
    switch (below(state, 10)) {
    case 0: buf_put_format(out, "sim.fail: [{name: %u}, {text: 'f%u,'}]", cell, number); break;
    case 1:
    case 2:
    case 3:
        buf_put_format(out, "sim.set: [{name: %u}, {text: 't%u'}]", cell, below(state, 3));
        break;
    case 4:
    case 5: buf_put_format(out, "sim.add: [{number: %u}]", number); break;
    default: buf_put_format(out, "sim.append: [{name: %u}, {text: 'a%u,'}]", cell, number);
    }
}

static void put_requisites(Buf *out, uint64_t *state, uint32_t number, uint32_t count, bool tame)
{
    uint32_t used[3], kind_count = below(state, 3);
    for (uint32_t i = 0; i < kind_count; i++) {
        uint32_t kind = below(state, COUNT_OF(kinds));
        bool again = false;
        for (uint32_t j = 0; j < i; j++) {
            again = again || strcmp(kinds[used[j]], kinds[kind]) == 0;
        }
        used[i] = kind;
        bool in = strstr(kinds[kind], "_in") != NULL;
        bool prereq = strncmp(kinds[kind], "prereq", 6) == 0;
        /* A reversed requisite makes the other step wait for this one, so the other one must come
         * later. */
        uint32_t low = in != prereq ? number + 1 : 0, high = in != prereq ? count : number;
        if (!tame && one_in(state, 16)) {
            low = 0;
            high = count;
        }
        if (again || low >= high || (prereq && tame)) {
            continue;
        }
        buf_put_format(out, ", %s: [", kinds[kind]);
        uint32_t targets = 1 + below(state, 3);
        for (uint32_t j = 0; j < targets; j++) {
            uint32_t target = low + below(state, high - low);
            if (target != number) {
                buf_put_format(out, "{step: s%u}, ", target);
            } else if (j == 0) {
                buf_put_format(out, "{step: s%u}, ", number == low ? high - 1 : low);
            }
        }
        buf_put(out, STR("]"));
    }
}

/* A site without references against the file order and without prereq: what a prereq waits for must
 * not wait for its owner. */
static void make_site(Buf *out, uint64_t seed, bool tame)
{
    uint64_t state = seed;
    uint32_t count = 2 + below(&state, STEPS_MAX - 1);
    buf_put(out, STR("steps:\n"));
    for (uint32_t i = 0; i < count; i++) {
        buf_put_format(out, "- {name: s%u, ", i);
        put_action(out, &state, i);
        if (!one_in(&state, 3)) {
            put_requisites(out, &state, i, count, tame);
        }
        if (one_in(&state, 25)) {
            buf_put_format(out, ", conditions: {when: {condition: '1 == %u'}}", below(&state, 2));
        }
        if (one_in(&state, 40)) {
            static const char *const orders[] = { "first", "last", "7", "3" };
            buf_put_format(out, ", order: %s", orders[below(&state, COUNT_OF(orders))]);
        }
        buf_put(out, STR("}\n"));
    }
}

typedef struct Loaded {
    Arena arena;
    Sources sources;
    Problems problems;
    Templates *templates;
    Rendered rendered;
    Str text;
    Graph *graph;
} Loaded;

static bool read_text(void *context, Str path, Str *text, Error *err)
{
    *text = ((Loaded *)context)->text;
    return true;
}

/* Returns false for a cycle, which random sites may contain. Any other error is a bug. */
static bool load_site(Loaded *loaded, Str text)
{
    *loaded = (Loaded){ .text = text };
    arena_init(&loaded->arena, MEMORY_MAX);
    sources_init(&loaded->sources, &loaded->arena);
    problems_init(&loaded->problems, &loaded->arena);
    TemplateSettings settings = dynamic_template_settings();
    loaded->templates = templates_new(&settings);
    loaded->rendered = rendered_make(&settings.limits);
    SiteLoad load = { .arena = &loaded->arena,
                      .sources = &loaded->sources,
                      .templates = loaded->templates,
                      .modules = modules,
                      .reader = { .context = loaded, .read = read_text },
                      .problems = &loaded->problems };
    Site *site;
    Steps steps;
    Expansion expansion = { 0 };
    bool ok =
        site_load_file(&load, STR("steps.yaml"), &site) && site_expand(site, &expansion, &steps);
    if (ok &&
        graph_build(&loaded->arena, &steps, &loaded->sources, &loaded->graph, &loaded->problems)) {
        return true;
    }
    for (uint32_t i = 0; i < loaded->problems.count; i++) {
        const Problem *problem = &loaded->problems.items[i];
        if (problem->severity == SEVERITY_ERROR && !str_eq(problem->code, STR("E0403"))) {
            printf("%.*s: %.*s\n", (int)problem->code.len, problem->code.data,
                   (int)problem->message.len, problem->message.data);
            ok = false;
        }
    }
    if (!ok) {
        exit(1);
    }
    return false;
}

static void unload_site(Loaded *loaded)
{
    rendered_clear(&loaded->rendered);
    templates_free(loaded->templates);
    arena_clear(&loaded->arena);
}

/* --- Runs ------------------------------------------------------------------------------------ */

typedef struct Ended {
    Arena arena;
    World world;
    const StepReport *reports;
    Executor *executor;
} Ended;

static DynamicOutcome evaluate(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                               Arena *arena, Value *out, Problems *problems)
{
    Loaded *loaded = context;
    return dynamic_evaluate(dynamic, value_map(map_new(arena, 0)), &loaded->sources,
                            &loaded->rendered, arena, out, problems);
}

static DynamicOutcome params(void *context, uint32_t step, Arena *arena, Value *out,
                             Problems *problems)
{
    const Step *of = graph_step(((Loaded *)context)->graph, step);
    for (uint32_t i = 0; i < action_param_count(of->spec->action); i++) {
        out[i] = of->values[i];
    }
    return DYNAMIC_OK;
}

static Ended *run_site(Loaded *loaded, OrderMode mode, uint32_t workers)
{
    Ended *ended = calloc(1, sizeof *ended);
    arena_init(&ended->arena, ARENA_UNLIMITED);
    CallServices services = { .context = &ended->world };
    RunCoreSettings settings = { .graph = loaded->graph,
                                 .order = mode,
                                 .workers = workers,
                                 .max_wait_us = -1,
                                 .services = &services,
                                 .environment = {
                                     .context = loaded, .evaluate = evaluate, .params = params } };
    ended->executor = executor_new(&ended->arena, &settings);
    executor_run(ended->executor, -1, NULL);
    ended->reports = run_core_reports(executor_core(ended->executor));
    return ended;
}

static void ended_free(Ended *ended)
{
    executor_free(ended->executor);
    arena_clear(&ended->arena);
    free(ended);
}

/* --- Invariants ------------------------------------------------------------------------------ */

static uint32_t failures;
static uint64_t merges; /* number of transactions of more than one step, in all runs */

#define SAY(...)             \
    do {                     \
        failures++;          \
        printf(__VA_ARGS__); \
        putchar('\n');       \
    } while (0)

static void compare(uint64_t seed, const char *what, const Loaded *loaded, const Ended *a,
                    const Ended *b)
{
    for (uint32_t i = 0; i < loaded->graph->steps.count; i++) {
        const StepStatus *x = &a->reports[i].status, *y = &b->reports[i].status;
        if (x->result != y->result || x->changed != y->changed || x->reacted != y->reacted) {
            SAY("seed %llu, %s: s%u is %s%s and %s%s", (unsigned long long)seed, what, i,
                step_result_name(x->result), x->reacted ? " (reacted)" : "",
                step_result_name(y->result), y->reacted ? " (reacted)" : "");
            return;
        }
    }
    for (uint32_t i = 0; i < CELLS; i++) {
        const Cell *x = &a->world.cells[i], *y = &b->world.cells[i];
        if (!str_eq(str_from(x->text, x->len), str_from(y->text, y->len))) {
            SAY("seed %llu, %s: cell %u is\n  %.*s\n  %.*s", (unsigned long long)seed, what, i,
                (int)x->len, x->text, (int)y->len, y->text);
        }
    }
    if (atomic_load(&a->world.sum) != atomic_load(&b->world.sum)) {
        SAY("seed %llu, %s: the sums differ", (unsigned long long)seed, what);
    }
}

static void compare_order(uint64_t seed, const Loaded *loaded, const Ended *a, const Ended *b)
{
    for (uint32_t i = 0; i < loaded->graph->steps.count; i++) {
        const StepReport *x = &a->reports[i], *y = &b->reports[i];
        if (x->run_order != y->run_order || a->world.order[i] != b->world.order[i] ||
            !str_eq(x->reason, y->reason)) {
            SAY("seed %llu: two runs in mode ansible differ at s%u", (unsigned long long)seed, i);
            return;
        }
    }
}

/* A step acts after everything that it depends on, except steps of which it is a prereq. */
static void check_edges(uint64_t seed, const char *what, const Loaded *loaded, const Ended *ended)
{
    const World *world = &ended->world;
    uint64_t pair = atomic_load(&world->conflict);
    if (pair != 0) {
        SAY("seed %llu, %s: s%u and s%u were at one cell at the same time",
            (unsigned long long)seed, what, (uint32_t)(pair >> 32) - 1, (uint32_t)pair - 1);
    }
    for (uint32_t i = 0; i < loaded->graph->edge_count; i++) {
        const Edge *edge = &loaded->graph->edges[i];
        uint32_t early = edge->to, late = edge->from;
        if (edge->kind == REQUISITE_LISTEN || edge->kind == REQUISITE_USE) {
            continue;
        }
        if (edge->kind == REQUISITE_PREREQ) {
            early = edge->from;
            late = edge->to;
        }
        if (world->order[early] != 0 && world->order[late] != 0 &&
            world->ended[early] > world->order[late]) {
            SAY("seed %llu, %s: s%u acted before s%u had ended", (unsigned long long)seed, what,
                late, early);
            return;
        }
    }
}

/* Replaying the observations results in the same decisions. */
static void check_replay(uint64_t seed, const char *what, OrderMode mode, uint32_t workers,
                         const Loaded *loaded, Ended *ended)
{
    uint32_t count = loaded->graph->steps.count;
    StepStatus *results = ARENA_ARRAY(&ended->arena, StepStatus, count);
    for (uint32_t i = 0; i < count; i++) {
        results[i] = ended->reports[i].status;
    }
    Recording recording = { .graph = loaded->graph,
                            .order = mode,
                            .workers = workers,
                            .turns = run_core_turns(executor_core(ended->executor)),
                            .results = results };
    Replay replay = replay_run(&recording, &ended->arena);
    if (replay.differs) {
        SAY("seed %llu, %s: a replay differs at s%u: %.*s", (unsigned long long)seed, what,
            replay.step, (int)replay.difference.len, replay.difference.data);
    }
}

typedef struct Way {
    const char *name;
    OrderMode mode;
    uint32_t workers;
} Way;

static const Way ways[] = {
    { "ansible", MODE_ANSIBLE, 1 },   { "ansible again", MODE_ANSIBLE, 4 },
    { "justdoit", MODE_JUSTDOIT, 8 }, { "justdoit, one worker", MODE_JUSTDOIT, 1 },
    { "genius", MODE_GENIUS, 8 },     { "genius, two workers", MODE_GENIUS, 2 },
};

/* Returns whether the site could be run. */
static bool try_site(uint64_t seed, bool tame, bool show)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    make_site(&text, seed, tame);
    Loaded loaded;
    bool ok = load_site(&loaded, buf_str(&text));
    if (ok) {
        if (show) {
            fwrite(text.data, 1, text.len, stdout);
        }
        Ended *first = run_site(&loaded, ways[0].mode, ways[0].workers);
        check_edges(seed, ways[0].name, &loaded, first);
        for (uint32_t i = 1; i < COUNT_OF(ways); i++) {
            Ended *other = run_site(&loaded, ways[i].mode, ways[i].workers);
            check_edges(seed, ways[i].name, &loaded, other);
            compare(seed, ways[i].name, &loaded, first, other);
            check_replay(seed, ways[i].name, ways[i].mode, ways[i].workers, &loaded, other);
            merges += atomic_load(&other->world.merges);
            if (ways[i].mode == MODE_ANSIBLE) {
                compare_order(seed, &loaded, first, other);
            }
            ended_free(other);
        }
        ended_free(first);
    }
    unload_site(&loaded);
    return ok;
}

int main(int count, char **args)
{
    uint64_t seed = count > 1 ? strtoull(args[1], NULL, 10) : 1;
    uint64_t sites = count > 2 ? strtoull(args[2], NULL, 10) : 1;
    uint32_t cycles = 0;
    for (uint64_t i = 0; i < sites && failures < 10; i++) {
        if (!try_site(seed + i, false, sites == 1)) {
            cycles++;
            BUG_IF(!try_site(seed + i, true, sites == 1));
        }
    }
    if (sites >= 100 && merges == 0) {
        SAY("no two steps were ever applied together");
    }
    printf("%llu sites, %u of them first with a cycle, %llu merged transactions, %u failures\n",
           (unsigned long long)sites, cycles, (unsigned long long)merges, failures);
    return failures > 0 ? 1 : 0;
}
