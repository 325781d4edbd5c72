#include "cli/matrix_fetch.h"

#include "cli/fleet_run.h"
#include "cli/kind_print.h"

enum {
    IDLE_TIMEOUT_MS = 60 * 1000,
    /* maximum number of requests for logs of single nodes; beyond that, the entire log is faster */
    REQUESTS_MAX = 32,
};

static int fetch_events(Invocation *invocation, Str target,
                        bool (*add_chunk)(void *context, Str bytes), void *context)
{
    ClusterStreamHandler handler = { .on_chunk = add_chunk,
                                     .context = context,
                                     .idle_timeout_ms = IDLE_TIMEOUT_MS };
    ClusterRefusal refusal = { .target = target };
    Error err;
    return cluster_stream(invocation, &(ClusterRequest){ .method = "GET", .target = target },
                          &handler, &refusal, &err)
               ? EXIT_OK
               : cluster_report_refusal(invocation, &refusal, &err);
}

static Str logs_of(const Invocation *invocation, Value run)
{
    return cluster_target_with(invocation->arena, "/v1/runs/", object_name(run), "/logs");
}

int matrix_fetch(Invocation *invocation, Value run, RunMatrix *matrix, FleetReport *out)
{
    List *nodes;
    int code = fleet_run_nodes(invocation, object_name(run), &nodes);
    if (code == EXIT_OK) {
        code = fetch_events(invocation, logs_of(invocation, run), run_matrix_add, matrix);
    }
    if (code != EXIT_OK) {
        return code;
    }
    for (uint32_t i = 0; i < nodes->len; i++) {
        run_matrix_add_node(matrix, nodes->items[i]);
    }
    run_matrix_finish(matrix);
    *out = (FleetReport){ .run = run, .nodes = nodes, .matrix = matrix };
    return EXIT_OK;
}

static Str logs_of_node(const Invocation *invocation, Value run, Str node)
{
    Str prefix =
        cluster_target_with(invocation->arena, "/v1/runs/", object_name(run), "/logs?node=");
    return cluster_target(invocation->arena, arena_copy_c(invocation->arena, prefix), node);
}

int matrix_fetch_node(Invocation *invocation, Value run, Str node, RunMatrix *matrix)
{
    int code =
        fetch_events(invocation, logs_of_node(invocation, run, node), run_matrix_add, matrix);
    if (code == EXIT_OK) {
        run_matrix_finish(matrix);
    }
    return code;
}

int fold_fetch(Invocation *invocation, Value run, const List *nodes, RunFold *fold)
{
    Arena *arena = invocation->arena;
    Str logs = logs_of(invocation, run);
    uint32_t at = 0;
    int code = EXIT_OK;
    run_fold_init(fold, arena, nodes);
    if (fold->digests.len > REQUESTS_MAX) {
        code = fetch_events(invocation, logs, run_fold_add, fold);
    } else {
        for (const StrMapEntry *entry;
             code == EXIT_OK && (entry = str_map_next(&fold->representatives, &at)) != NULL;) {
            code = fetch_events(invocation, logs_of_node(invocation, run, entry->key), run_fold_add,
                                fold);
        }
    }
    run_fold_finish(fold);
    return code;
}
