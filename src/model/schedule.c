#include "model/schedule.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/enum_names.h"
#include "base/heap.h"

DEFINE_ENUM_NAMES(
    OrderMode,
    order_mode, [MODE_ANSIBLE] = "ansible", [MODE_JUSTDOIT] = "justdoit", [MODE_GENIUS] = "genius")

typedef enum VertexState {
    VERTEX_WAITING, /* for other vertices */
    VERTEX_READY,
    VERTEX_RUNNING,
    VERTEX_PARKED,
    VERTEX_DONE,
} VertexState;

/* Barriers: all vertices of one set must finish before any vertex of another set starts. Used
 * instead of an edge between each pair. */
typedef enum Barrier {
    BARRIER_FIRST,   /* `order: first` before the others */
    BARRIER_LAST,    /* the others before `order: last` */
    BARRIER_SOURCES, /* mode genius: repositories before packages */
    BARRIERS
} Barrier;

typedef VEC(uint32_t) VertexVec;

struct Schedule {
    Arena *arena;
    const Graph *graph;
    OrderMode mode;
    uint32_t workers;
    StepStatus *statuses;
    uint8_t *state;        /* VertexState */
    uint32_t *wait_counts; /* for each vertex: number of vertices and barriers it still waits for */
    uint8_t *barriers_before; /* for each vertex: barriers that wait for it, as bits */
    bool *occupies_worker;    /* occupies a worker */
    uint32_t *urgency;        /* for each vertex, unique; lower runs first */
    uint32_t barrier_wait_counts[BARRIERS];
    VertexVec after_barrier[BARRIERS]; /* vertices after each barrier */
    /* Ready vertices by urgency, separate for those that need a worker. */
    Heap ready, ready_free;
    VertexVec completing; /* done, but their successors are not released yet */
    uint32_t done;
    uint32_t running, busy_workers;
    VertexVec listeners;    /* steps, in the order of their reactions */
    uint32_t next_listener; /* next candidate */
    bool reacting;
};

static const Action *vertex_action(const Schedule *schedule, uint32_t vertex)
{
    return graph_step(schedule->graph, schedule->graph->vertices[vertex].step)->spec->action;
}

static bool needs_worker(const Schedule *schedule, uint32_t vertex)
{
    return schedule->mode == MODE_ANSIBLE || schedule->graph->vertices[vertex].check ||
           !vertex_action(schedule, vertex)->may_sleep;
}

static void make_ready(Schedule *schedule, uint32_t vertex)
{
    schedule->state[vertex] = VERTEX_READY;
    heap_push(schedule->arena,
              needs_worker(schedule, vertex) ? &schedule->ready : &schedule->ready_free,
              schedule->urgency[vertex], vertex);
}

/* Decrements its wait count. A step whose check failed has its result already. */
static void release(Schedule *schedule, uint32_t vertex)
{
    BUG_IF(schedule->wait_counts[vertex] == 0);
    if (--schedule->wait_counts[vertex] > 0) {
        return;
    }
    Vertex v = schedule->graph->vertices[vertex];
    if (!v.check && schedule->statuses[v.step].result != RESULT_PENDING) {
        VEC_PUSH(schedule->arena, &schedule->completing, vertex);
    } else {
        make_ready(schedule, vertex);
    }
}

static void open_barrier(Schedule *schedule, Barrier barrier)
{
    for (uint32_t i = 0; i < schedule->after_barrier[barrier].len; i++) {
        release(schedule, schedule->after_barrier[barrier].items[i]);
    }
}

/* Releases the successors of `vertex`, and of everything that finishes immediately as a result. */
static void complete(Schedule *schedule, uint32_t vertex)
{
    VEC_PUSH(schedule->arena, &schedule->completing, vertex);
    while (schedule->completing.len > 0) {
        uint32_t done = VEC_POP(&schedule->completing);
        schedule->state[done] = VERTEX_DONE;
        schedule->done++;
        IndexSlice next = graph_next(schedule->graph, done);
        for (uint32_t i = 0; i < next.count; i++) {
            release(schedule, next.items[i]);
        }
        for (int barrier = 0; barrier < BARRIERS; barrier++) {
            if ((schedule->barriers_before[done] >> barrier & 1) != 0 &&
                --schedule->barrier_wait_counts[barrier] == 0) {
                open_barrier(schedule, (Barrier)barrier);
            }
        }
    }
}

/* --- Setup ---------------------------------------------------------------------------------- */

/* Extends the marks to all dependencies or, with `forward`, to all dependents. */
static void propagate(const Graph *graph, bool *marked, bool forward)
{
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        uint32_t vertex = graph->order[forward ? i : graph->vertex_count - 1 - i];
        IndexSlice next = graph_next(graph, vertex);
        for (uint32_t j = 0; j < next.count; j++) {
            if (forward) {
                marked[next.items[j]] |= marked[vertex];
            } else {
                marked[vertex] |= marked[next.items[j]];
            }
        }
    }
}

static void add_before_barrier(Schedule *schedule, Barrier barrier, uint32_t vertex)
{
    schedule->barriers_before[vertex] |= (uint8_t)(1u << barrier);
    schedule->barrier_wait_counts[barrier]++;
}

static void add_after_barrier(Schedule *schedule, Barrier barrier, uint32_t vertex)
{
    schedule->wait_counts[vertex]++;
    VEC_PUSH(schedule->arena, &schedule->after_barrier[barrier], vertex);
}

/* Marks the vertices of steps with this order, or of actions with this stage. */
static bool mark_order(const Graph *graph, StepOrderKind order, bool *marked)
{
    bool any = false;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        marked[i] = graph_step(graph, graph->vertices[i].step)->spec->order == order;
        any |= marked[i];
    }
    return any;
}

static bool mark_stage(const Graph *graph, ActionStage stage, bool *marked)
{
    bool any = false;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        marked[i] = graph_step(graph, graph->vertices[i].step)->spec->action->stage == stage;
        any |= marked[i];
    }
    return any;
}

/* Assigns vertices to barriers. None of them closes a cycle: the vertices before a barrier never
 * wait for those after it, neither through the graph nor through earlier barriers. */
static void set_barriers(Schedule *schedule, Arena *scratch)
{
    const Graph *graph = schedule->graph;
    uint32_t count = graph->vertex_count;
    bool *first = arena_alloc_zero(scratch, count); /* and all their dependencies */
    bool *last = arena_alloc_zero(scratch, count);
    bool *late = arena_alloc_zero(scratch, count);    /* last, and all their dependents */
    bool *sources = arena_alloc_zero(scratch, count); /* and all their dependencies */
    if (mark_order(graph, ORDER_FIRST, first)) {
        propagate(graph, first, false);
        for (uint32_t i = 0; i < count; i++) {
            if (first[i]) {
                add_before_barrier(schedule, BARRIER_FIRST, i);
            } else {
                add_after_barrier(schedule, BARRIER_FIRST, i);
            }
        }
    }
    if (mark_order(graph, ORDER_LAST, last)) {
        for (uint32_t i = 0; i < count; i++) {
            last[i] = last[i] && !first[i];
            late[i] = last[i];
        }
        propagate(graph, late, true);
        for (uint32_t i = 0; i < count; i++) {
            if (last[i]) {
                add_after_barrier(schedule, BARRIER_LAST, i);
            } else if (!late[i]) {
                add_before_barrier(schedule, BARRIER_LAST, i);
            }
        }
    }
    if (schedule->mode == MODE_GENIUS && mark_stage(graph, STAGE_SOURCES, sources)) {
        for (uint32_t i = 0; i < count; i++) {
            sources[i] = sources[i] && !late[i];
        }
        propagate(graph, sources, false);
        for (uint32_t i = 0; i < count; i++) {
            if (sources[i]) {
                add_before_barrier(schedule, BARRIER_SOURCES, i);
            } else if (!first[i] && vertex_action(schedule, i)->stage == STAGE_PACKAGES) {
                add_after_barrier(schedule, BARRIER_SOURCES, i);
            }
        }
    }
    for (int barrier = 0; barrier < BARRIERS; barrier++) {
        if (schedule->barrier_wait_counts[barrier] == 0) {
            for (uint32_t i = 0; i < schedule->after_barrier[barrier].len; i++) {
                schedule->wait_counts[schedule->after_barrier[barrier].items[i]]--;
            }
            schedule->after_barrier[barrier].len = 0;
        }
    }
}

typedef struct UrgentVertex {
    uint64_t chain; /* cost of the longest chain from here */
    uint32_t vertex;
    uint32_t position;
} UrgentVertex;

static int compare_urgent(const void *a, const void *b)
{
    const UrgentVertex *x = a, *y = b;
    if (x->chain != y->chain) {
        return x->chain > y->chain ? -1 : 1;
    }
    return x->position < y->position ? -1 : 1;
}

static void set_urgency(Schedule *schedule, Arena *scratch)
{
    const Graph *graph = schedule->graph;
    if (schedule->mode != MODE_GENIUS) {
        memcpy(schedule->urgency, graph->position, graph->vertex_count * sizeof(uint32_t));
        return;
    }
    uint64_t *chains = graph_chain_costs(graph, scratch);
    UrgentVertex *urgent = ARENA_ARRAY(scratch, UrgentVertex, graph->vertex_count);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        urgent[i] =
            (UrgentVertex){ .chain = chains[i], .vertex = i, .position = graph->position[i] };
    }
    qsort(urgent, graph->vertex_count, sizeof *urgent, compare_urgent);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        schedule->urgency[urgent[i].vertex] = i;
    }
}

static void find_listeners(Schedule *schedule)
{
    const Graph *graph = schedule->graph;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        Vertex vertex = graph->vertices[graph->order[i]];
        Edges edges = graph_edges(graph, vertex.step);
        for (uint32_t j = 0; !vertex.check && j < edges.count; j++) {
            if (edges.items[j].kind == REQUISITE_LISTEN) {
                VEC_PUSH(schedule->arena, &schedule->listeners, vertex.step);
                break;
            }
        }
    }
}

/* After everything has run: advances to the next step that reacts. */
static void find_reaction(Schedule *schedule)
{
    if (schedule->done < schedule->graph->vertex_count || schedule->running > 0) {
        return;
    }
    while (schedule->next_listener < schedule->listeners.len &&
           !decide_reacts(schedule->graph, schedule->listeners.items[schedule->next_listener],
                          schedule->statuses)) {
        schedule->next_listener++;
    }
}

Schedule *schedule_new(Arena *arena, const Graph *graph, OrderMode mode, uint32_t workers)
{
    BUG_IF(workers == 0);
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    uint32_t count = graph->vertex_count;
    Schedule *schedule = ARENA_NEW(arena, Schedule);
    schedule->arena = arena;
    schedule->graph = graph;
    schedule->mode = mode;
    schedule->workers = mode == MODE_ANSIBLE ? 1 : workers;
    schedule->statuses = arena_alloc_zero(arena, graph->steps.count * sizeof(StepStatus));
    schedule->state = arena_alloc_zero(arena, count);
    schedule->wait_counts = arena_alloc_zero(arena, count * sizeof(uint32_t));
    schedule->barriers_before = arena_alloc_zero(arena, count);
    schedule->occupies_worker = arena_alloc_zero(arena, count * sizeof(bool));
    schedule->urgency = ARENA_ARRAY(arena, uint32_t, count);
    VEC_RESERVE(arena, &schedule->completing, count);
    for (uint32_t i = 0; i < graph->next_start[count]; i++) {
        schedule->wait_counts[graph->next[i]]++;
    }
    set_barriers(schedule, &scratch);
    set_urgency(schedule, &scratch);
    find_listeners(schedule);
    for (uint32_t i = 0; i < count; i++) {
        if (schedule->wait_counts[i] == 0) {
            make_ready(schedule, i);
        }
    }
    find_reaction(schedule);
    return schedule;
}

void schedule_set_owed(Schedule *schedule, uint32_t step, uint16_t owed)
{
    schedule->statuses[step].owed = owed;
}

/* --- During the run ------------------------------------------------------------------------- */

static uint32_t work_vertex(const Schedule *schedule, Work work)
{
    return work.phase == PHASE_CHECK ? schedule->graph->check_of[work.step] : work.step;
}

static void start(Schedule *schedule, uint32_t vertex, bool occupies_worker, Work *out)
{
    Vertex v = schedule->graph->vertices[vertex];
    schedule->state[vertex] = VERTEX_RUNNING;
    schedule->occupies_worker[vertex] = occupies_worker;
    schedule->busy_workers += occupies_worker;
    schedule->running++;
    *out = (Work){ .step = v.step, .phase = v.check ? PHASE_CHECK : PHASE_RUN };
}

static bool next_reaction(Schedule *schedule, Work *out)
{
    if (schedule->done < schedule->graph->vertex_count || schedule->running > 0 ||
        schedule->next_listener == schedule->listeners.len) {
        return false;
    }
    *out = (Work){ .step = schedule->listeners.items[schedule->next_listener++],
                   .phase = PHASE_REACT };
    schedule->reacting = true;
    schedule->running++;
    return true;
}

bool schedule_next(Schedule *schedule, Work *out)
{
    if (schedule->ready_free.len > 0) {
        start(schedule, (uint32_t)heap_pop(&schedule->ready_free).value, false, out);
        return true;
    }
    if (schedule->ready.len > 0 && schedule->busy_workers < schedule->workers) {
        start(schedule, (uint32_t)heap_pop(&schedule->ready).value, true, out);
        return true;
    }
    return next_reaction(schedule, out);
}

uint32_t schedule_join(Schedule *schedule, Work first, Work *out)
{
    const Action *action = graph_step(schedule->graph, first.step)->spec->action;
    if (schedule->mode != MODE_GENIUS || action->merge == NULL || first.phase != PHASE_RUN) {
        return 0;
    }
    /* Items are popped in order of urgency; those that cannot join are pushed back. */
    Heap *ready = needs_worker(schedule, first.step) ? &schedule->ready : &schedule->ready_free;
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    HeapItem *rest = ARENA_ARRAY(&scratch, HeapItem, ready->len);
    uint32_t rest_len = 0, joined = 0;
    while (ready->len > 0 && joined < JOIN_MAX) {
        HeapItem item = heap_pop(ready);
        uint32_t vertex = (uint32_t)item.value;
        if (vertex_action(schedule, vertex) == action && !schedule->graph->vertices[vertex].check) {
            start(schedule, vertex, false, &out[joined++]);
        } else {
            rest[rest_len++] = item;
        }
    }
    for (uint32_t i = 0; i < rest_len; i++) {
        heap_push(schedule->arena, ready, rest[i].key, rest[i].value);
    }
    return joined;
}

static void stop(Schedule *schedule, uint32_t vertex)
{
    BUG_IF(schedule->state[vertex] != VERTEX_RUNNING);
    schedule->busy_workers -= schedule->occupies_worker[vertex];
    schedule->occupies_worker[vertex] = false;
    schedule->running--;
}

static void store_status(Schedule *schedule, Work work, const StepStatus *status)
{
    StepStatus *stored = &schedule->statuses[work.step];
    if (work.phase == PHASE_CHECK) {
        BUG_IF(status->pending == RESULT_PENDING);
        stored->pending = status->pending;
        stored->result = status->pending == RESULT_FAILED ? RESULT_FAILED : RESULT_PENDING;
        return;
    }
    BUG_IF(status->result == RESULT_PENDING);
    stored->result = status->result;
    stored->changed = status->changed;
    stored->reacted = status->reacted;
}

void schedule_done(Schedule *schedule, Work work, const StepStatus *status)
{
    store_status(schedule, work, status);
    if (work.phase == PHASE_REACT) {
        BUG_IF(!schedule->reacting);
        schedule->reacting = false;
        schedule->running--;
        find_reaction(schedule);
        return;
    }
    uint32_t vertex = work_vertex(schedule, work);
    if (schedule->state[vertex] != VERTEX_PARKED) {
        stop(schedule, vertex);
    }
    complete(schedule, vertex);
    find_reaction(schedule);
}

void schedule_park(Schedule *schedule, Work work)
{
    uint32_t vertex = work_vertex(schedule, work);
    stop(schedule, vertex);
    schedule->state[vertex] = VERTEX_PARKED;
}

void schedule_requeue(Schedule *schedule, Work work)
{
    uint32_t vertex = work_vertex(schedule, work);
    BUG_IF(schedule->state[vertex] != VERTEX_PARKED);
    make_ready(schedule, vertex);
}

bool schedule_is_finished(const Schedule *schedule)
{
    return schedule->done == schedule->graph->vertex_count && schedule->running == 0 &&
           schedule->next_listener == schedule->listeners.len;
}

const StepStatus *schedule_statuses(const Schedule *schedule)
{
    return schedule->statuses;
}
