#include "agent/departure.h"

#include <stdlib.h>

#include "base/memory.h"
#include "rpc/methods.h"
#include "service/nodes_service.h"

/* The call in progress; may outlive the departure. */
typedef struct Asking {
    Departure *departure; /* NULL once it is freed */
} Asking;

struct Departure {
    DepartureOptions options;
    Asking *asking; /* NULL once it has completed */
    LoopTimer timer;
    bool is_known;
    Error outcome; /* ERROR_NONE: the node was removed */
};

static void conclude(Departure *departure, ErrorKind kind, Str text)
{
    if (!departure->is_known) {
        departure->is_known = true;
        error_set(&departure->outcome, kind, "%" STR_FMT, STR_ARG(text));
        loop_timer_start(&departure->timer, 0);
    }
}

static void timer_runs(void *context)
{
    Departure *departure = context;
    Error err;
    if (departure->is_known) {
        err = departure->outcome;
    } else {
        error_set(&err, ERROR_TIMEOUT,
                  "the server did not respond in time; it may still remove this node");
    }
    departure->options.left(departure->options.context, err.kind == ERROR_NONE ? NULL : &err);
}

static void answered(void *context, GrpcStatus status, Str text, Str response)
{
    Asking *asking = context;
    Departure *departure = asking->departure;
    free(asking);
    if (departure == NULL) {
        return;
    }
    departure->asking = NULL;
    if (status == GRPC_OK) {
        conclude(departure, ERROR_NONE, STR_EMPTY);
    } else if (status != GRPC_UNAVAILABLE && status != GRPC_CANCELLED) {
        conclude(departure, grpc_status_kind(status), text);
    }
}

void departure_moved(Departure *departure, SessionNodeState state, const Error *why)
{
    if (departure->asking != NULL) {
        return;
    }
    if (state == SESSION_LIVE) {
        conclude(departure, ERROR_UNAVAILABLE,
                 STR("the connection was lost before the server removed this node; try again"));
    } else if (state == SESSION_WAITING && why->kind == ERROR_DENIED) {
        conclude(departure, ERROR_NONE, STR_EMPTY);
    }
}

bool departure_new(const DepartureOptions *options, Departure **out, Error *err)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    leave_request_encode(options->node, &request);
    Departure *departure = memory_new(sizeof *departure);
    Asking *asking = memory_new(sizeof *asking);
    departure->options = *options;
    departure->asking = asking;
    asking->departure = departure;
    loop_timer_init(&departure->timer, options->loop, timer_runs, departure);
    if (!grpc_client_unary(options->client, method_rows[METHOD_NODES_LEAVE].path, buf_str(&request),
                           DEPARTURE_MS, answered, asking, err)) {
        free(asking);
        free(departure);
        return false;
    }
    loop_timer_start(&departure->timer, DEPARTURE_MS);
    *out = departure;
    return true;
}

void departure_free(Departure *departure)
{
    if (departure == NULL) {
        return;
    }
    if (departure->asking != NULL) {
        departure->asking->departure = NULL;
    }
    loop_timer_stop(&departure->timer);
    free(departure);
}
