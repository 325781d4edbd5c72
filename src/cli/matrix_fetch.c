#include "cli/matrix_fetch.h"

#include "cli/fleet_run.h"
#include "cli/kind_print.h"

enum {
    IDLE_MS = 60 * 1000
};

static int fetch_events(Invocation *invocation, Str id, RunMatrix *matrix)
{
    Str target = cluster_target_with(invocation->arena, "/v1/runs/", id, "/logs");
    ClusterStreamHandler handler = { .on_chunk = run_matrix_take,
                                     .context = matrix,
                                     .idle_timeout_ms = IDLE_MS };
    ClusterRefusal refusal = { .target = target };
    Error err;
    return cluster_stream(invocation, &(ClusterRequest){ .method = "GET", .target = target },
                          &handler, &refusal, &err)
               ? EXIT_OK
               : cluster_report_refusal(invocation, &refusal, &err);
}

int matrix_fetch(Invocation *invocation, Value run, RunMatrix *matrix, FleetReport *out)
{
    List *nodes;
    int code = fleet_run_nodes(invocation, object_name(run), &nodes);
    if (code == EXIT_OK) {
        code = fetch_events(invocation, object_name(run), matrix);
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
