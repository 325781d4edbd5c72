#include "simulated_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/run_upload.h"
#include "base/memory.h"
#include "fleet/records.h"
#include "rpc/methods.h"
#include "rpc/run_append.h"
#include "sys/clock.h"

static const char *const steps[] = { "directory", "content", "template", "link" };

typedef struct SimulatedRun {
    const SimulatedNode *node;
    Arena arena;
    Order order;
    Buf lines;     /* lines that the server does not have yet */
    uint64_t from; /* number of the first of them */
    uint64_t next; /* number of the next event */
    size_t sent;   /* size of the lines in the current call; 0: no call is in progress */
    uint64_t sent_next;
    int64_t rate, total, logged; /* numbers of lines */
    int64_t started_us;
    bool is_at_once, has_ended;
    LoopTimer timer;
} SimulatedRun;

_Noreturn static void die(const char *what, const char *text)
{
    fprintf(stderr, "agents_bench: %s: %s\n", what, text);
    exit(1);
}

/* --- Results --------------------------------------------------------------------------------- */

static void report(const SimulatedRun *run, NodeOutcome outcome, const char *reason)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    int64_t now = clock_now_ms();
    bool is_over = node_outcome_is_final(outcome);
    NodeResult result = { .outcome = outcome,
                          .reason = str_from_c(reason),
                          .counts.ok = is_over ? COUNT_OF(steps) : 0,
                          .since_ms = now,
                          .started_ms = outcome == NODE_WAITING ? 0 : now,
                          .ended_ms = is_over ? now : 0,
                          .attempts = outcome != NODE_WAITING,
                          .logged = is_over ? run->next - 1 : 0,
                          .unknown = value_missing() };
    uint64_t sequence;
    Error err;
    node_result_print(&result, &text);
    if (!outbox_add(run->node->outbox, RECORD_RESULT, str_from_c(run->order.run), buf_str(&text),
                    &sequence, &err)) {
        die("result", err.text);
    }
    outbox_stored(run->node->outbox, sequence);
    session_link_wake(run->node->link);
}

/* --- Events ---------------------------------------------------------------------------------- */

static void put_head(SimulatedRun *run, const char *event)
{
    buf_put_format(&run->lines, "{\"n\":%llu,\"at_ms\":%lld,\"event\":\"%s\"",
                   (unsigned long long)run->next++, (long long)clock_now_ms(), event);
}

static void put_begin(SimulatedRun *run)
{
    put_head(run, "begin");
    buf_put_format(&run->lines,
                   ",\"run\":\"%s\",\"node\":\"%.*s\",\"site\":\"site\",\"mode\":\"apply\","
                   "\"attempt\":1,\"resumed\":false,\"step_count\":4,\"steps\":[\"four#directory\","
                   "\"four#content\",\"four#template\",\"four#link\"]}\n",
                   run->order.run, (int)run->node->name.len, run->node->name.data);
}

static void put_steps(SimulatedRun *run)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        put_head(run, "start");
        buf_put_format(&run->lines, ",\"step\":\"four#%s\"}\n", steps[i]);
        put_head(run, "step");
        buf_put_format(
            &run->lines,
            ",\"step\":\"four#%s\",\"id\":\"four#%s\",\"index\":%zu,\"name\":\"%s\",\"job\":"
            "\"four\","
            "\"item\":null,\"action\":\"file.managed\",\"result\":\"ok\",\"changed\":false,"
            "\"cause\":null,\"reason\":null,\"changes\":{},\"diff\":null,\"state\":\"present\","
            "\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":null,\"reacted\":false,\"tries\":1,"
            "\"run_order\":%zu,\"duration_ms\":0.1,\"error\":null}\n",
            steps[i], steps[i], i + 1, steps[i], i + 1);
    }
}

static void put_line(SimulatedRun *run)
{
    put_head(run, "line");
    buf_put_format(&run->lines,
                   ",\"step\":\"four#directory\",\"stream\":\"stdout\",\"text\":\"line %lld of a "
                   "program that prints about this many characters\"}\n",
                   (long long)run->logged++);
}

static void put_end(SimulatedRun *run)
{
    put_head(run, "end");
    buf_put(&run->lines, STR(",\"result\":\"ok\",\"interrupted\":false,\"timed_out\":false,"
                             "\"counts\":{\"ok\":4,\"changed\":0,\"failed\":0,\"skipped\":0,"
                             "\"blocked\":0,\"waiting\":0,\"unknown\":0},\"duration_ms\":1,"
                             "\"owed\":[],\"exit_code\":0,\"digest\":\"\"}\n"));
    run->has_ended = true;
}

/* Appends the lines that are due, and the end event after the last one. */
static void put_due(SimulatedRun *run)
{
    int64_t due = run->is_at_once ? run->total
                                  : (clock_monotonic_us() - run->started_us) * run->rate / 1000000;
    for (due = due < run->total ? due : run->total; run->logged < due;) {
        put_line(run);
    }
    if (run->logged == run->total && !run->has_ended) {
        put_end(run);
    }
}

/* --- Uploading ------------------------------------------------------------------------------- */

static void free_run(SimulatedRun *run)
{
    buf_clear(&run->lines);
    arena_clear(&run->arena);
    free(run);
}

static void appended(void *context, GrpcStatus status, Str text, Str response)
{
    SimulatedRun *run = context;
    uint64_t next = 0;
    Error err;
    if (status == GRPC_RESOURCE_EXHAUSTED) { /* too many nodes send at the same time */
        run->sent = 0;
        loop_timer_start(&run->timer, UPLOAD_RETRY_MS);
        return;
    }
    if (status != GRPC_OK) {
        die("append", arena_copy_c(&run->arena, text));
    }
    if (!run_append_reply_decode(response, &next, &err) || next != run->sent_next) {
        die("append", "the server expects another event");
    }
    run->lines.len -= run->sent;
    memmove(run->lines.data, run->lines.data + run->sent, run->lines.len);
    run->from = next;
    run->sent = 0;
    if (run->has_ended && run->lines.len == 0) {
        report(run, NODE_OK, "");
        free_run(run);
        return;
    }
    loop_timer_start(&run->timer, run->lines.len > 0 ? 0 : UPLOAD_SETTLE_MS);
}

/* As many complete lines as fit into one call. */
static Str whole_lines(const SimulatedRun *run, uint64_t *count)
{
    Str all = buf_str(&run->lines);
    size_t at = 0;
    *count = 0;
    for (size_t end; (end = str_find(all, STR("\n"), at)) != STR_NOT_FOUND && end < UPLOAD_BYTES;) {
        at = end + 1;
        ++*count;
    }
    return str_slice(all, 0, at);
}

static void upload(void *context)
{
    SimulatedRun *run = context;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    uint64_t count;
    Error err;
    put_due(run);
    Str lines = whole_lines(run, &count);
    if (lines.len == 0) {
        loop_timer_start(&run->timer, UPLOAD_SETTLE_MS);
        return;
    }
    GrpcClient *client = session_link_client(run->node->link);
    run->sent = lines.len;
    run->sent_next = run->from + count;
    run_append_encode(&(RunAppend){ run->node->name, str_from_c(run->order.run), run->from, lines },
                      &request);
    if (client == NULL ||
        !grpc_client_unary(client, method_rows[METHOD_RUNS_APPEND].path, buf_str(&request),
                           UPLOAD_CALL_MS, appended, run, &err)) {
        die("append", client == NULL ? "no session" : err.text);
    }
}

/* --- Orders ---------------------------------------------------------------------------------- */

static void start(SimulatedRun *run)
{
    const Order *order = &run->order;
    int64_t seconds;
    run->from = run->next = 1;
    run->started_us = clock_monotonic_us();
    put_begin(run);
    if (order->kind != RUN_KIND_EXEC) {
        report(run, NODE_WAITING, "fetching the version");
        put_steps(run);
    } else if (order->command_count == 3 && str_to_i64(order->command[1], &run->rate) &&
               str_to_i64(order->command[2], &seconds)) {
        run->is_at_once = seconds == 0;
        run->total = run->is_at_once ? run->rate : run->rate * seconds;
    } else {
        die("order", "unknown command");
    }
    report(run, NODE_RUNNING, "");
    loop_timer_start(&run->timer, UPLOAD_SETTLE_MS);
}

void simulated_order(const SimulatedNode *node, const Change *change)
{
    if (change->deleted) {
        return;
    }
    SimulatedRun *run = memory_new(sizeof *run);
    Error err;
    run->node = node;
    run->lines = buf_make(BUF_UNLIMITED);
    arena_init(&run->arena, ARENA_UNLIMITED);
    loop_timer_init(&run->timer, node->loop, upload, run);
    if (!order_read(&run->arena, arena_copy(&run->arena, change->value), &run->order, &err)) {
        die("order", err.text);
    }
    start(run);
}
