/* Measures the graph: resolving requisites, ordering steps, deciding and scheduling.
 *
 *     graph_bench [chain|random] COUNT [SEED]
 *
 * Creates COUNT steps in ten jobs, each of which has an ID, claims a path and requires up to three
 * others (`random`) or the previous one (`chain`), and prints CPU milliseconds: for building the
 * graph, and for an entire run in each mode with steps that take no time. The best of five. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/schedule.h"

enum {
    SAMPLES = 5,
    JOBS = 10,
    REQUISITES = 3
};

static const ParamSpec no_params[] = { { 0 } };
static const Action actions[] = { { .name = "do", .params = no_params }, { 0 } };
static const Module module = { .name = "file", .id_param = "name", .actions = actions };

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static Steps make_steps(Arena *arena, uint32_t count, bool chain, uint64_t seed)
{
    Job *jobs = arena_alloc_zero(arena, JOBS * sizeof *jobs);
    Steps steps = { .items = arena_alloc_zero(arena, count * sizeof(Step)), .count = count };
    StepSpec *specs = arena_alloc_zero(arena, count * sizeof *specs);
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i].name = arena_format(arena, "web/job%u", i);
    }
    for (uint32_t i = 0; i < count; i++) {
        Step *step = &steps.items[i];
        StepSpec *spec = &specs[i];
        spec->job = &jobs[(uint64_t)i * JOBS / count];
        spec->module = &module;
        spec->action = actions;
        spec->order = ORDER_NONE;
        spec->name = arena_format(arena, "write file number %u", i);
        spec->requisites = arena_alloc_zero(arena, REQUISITES * sizeof(Requisite));
        uint32_t wanted = i == 0 ? 0 : chain ? 1 : next_random(&seed) % (REQUISITES + 1);
        for (uint32_t j = 0; j < wanted; j++) {
            uint32_t other = chain ? i - 1 : next_random(&seed) % i;
            Requisite *requisite = &spec->requisites[spec->requisite_count++];
            requisite->kind = (RequisiteKind)(chain ? 0 : next_random(&seed) % 2);
            requisite->reference = j == 1 ? REFERENCE_MODULE : REFERENCE_STEP;
            requisite->module = STR("file");
            requisite->pattern = j == 1 ? steps.items[other].ids[0] : specs[other].name;
        }
        *step = (Step){ .index = i, .spec = spec, .name = spec->name, .item = value_missing() };
        step->id = arena_format(arena, "%" STR_FMT "#%" STR_FMT, STR_ARG(spec->job->name),
                                STR_ARG(spec->name));
        step->ids = ARENA_NEW(arena, Str);
        step->ids[0] = arena_format(arena, "/srv/www/site%u/index%u.html", i % 100, i);
        step->id_count = 1;
        step->claims = list_new(arena, 2);
        list_push(arena, step->claims,
                  value_string(arena_format(arena, "path:%" STR_FMT, STR_ARG(step->ids[0]))));
        list_push(arena, step->claims, value_string(STR("needs:user:www-data")));
    }
    return steps;
}

static void run_all(Arena *arena, const Graph *graph, OrderMode mode)
{
    Schedule *schedule = schedule_new(arena, graph, mode, 8);
    Work work;
    while (schedule_next(schedule, &work)) {
        Decision decision = decide(graph, work, schedule_statuses(schedule), false, arena);
        StepStatus status = { .result =
                                  decision.kind == DECIDE_RUN ? RESULT_CHANGED : RESULT_BLOCKED,
                              .changed = true };
        schedule_done(schedule, work, &status);
    }
    if (!schedule_is_finished(schedule)) {
        fprintf(stderr, "graph_bench: the schedule is not finished\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: graph_bench chain|random COUNT [SEED]\n");
        return 64;
    }
    bool chain = strcmp(argv[1], "chain") == 0;
    uint32_t count = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    double best_build = 1e9, best_run[MODE_GENIUS + 1] = { 1e9, 1e9, 1e9 };
    for (int sample = 0; sample < SAMPLES; sample++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Sources sources;
        sources_init(&sources, &arena);
        Problems problems;
        problems_init(&problems, &arena);
        Steps steps = make_steps(&arena, count, chain, seed);
        double start = cpu_ms();
        Graph *graph;
        if (!graph_build(&arena, &steps, &sources, &graph, &problems)) {
            fprintf(stderr, "graph_bench: %.*s\n", STR_ARG(problems.items[0].message));
            return 1;
        }
        double built = cpu_ms() - start;
        best_build = built < best_build ? built : best_build;
        for (OrderMode mode = MODE_ANSIBLE; mode <= MODE_GENIUS; mode++) {
            start = cpu_ms();
            run_all(&arena, graph, mode);
            double ran = cpu_ms() - start;
            best_run[mode] = ran < best_run[mode] ? ran : best_run[mode];
        }
    }
    printf("%s %u: build %.2f", argv[1], count, best_build);
    for (OrderMode mode = MODE_ANSIBLE; mode <= MODE_GENIUS; mode++) {
        printf(", %s %.2f", order_mode_name(mode), best_run[mode]);
    }
    printf(" ms\n");
    return 0;
}
