/* Runs on libuv's threads and uses the system's name service (sys/name_service.h), so that a static
 * binary resolves the same hosts as any other program. */
#include "net/resolve.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/bug.h"
#include "base/memory.h"
#include "sys/name_service.h"

enum {
    ANSWER_MAX = 64 << 10
};

struct Resolve {
    uv_work_t work;
    ResolveDone *done; /* NULL once canceled */
    void *context;
    uint16_t port;
    uint32_t count;
    SocketAddress addresses[RESOLVE_MAX];
    Error error;
    char name[ADDRESS_HOST_MAX + 1];
};

static void push(Resolve *resolve, Str ip)
{
    Address address;
    Error ignored;
    if (resolve->count < RESOLVE_MAX && address_parse(ip, resolve->port, &address, &ignored) &&
        address.kind == ADDRESS_IP) {
        resolve->addresses[resolve->count++] = address_to_socket(&address);
    }
}

/* Runs on a worker thread. The loop does not access the request until this is done. */
static void resolve_name(uv_work_t *work)
{
    Resolve *resolve = work->data;
    if (strcmp(resolve->name, "localhost") == 0) {
        push(resolve, STR("127.0.0.1"));
        push(resolve, STR("::1"));
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ANSWER_MAX);
    Str answer, line;
    if (!name_service_query(&arena, "ahosts", str_from_c(resolve->name), &answer,
                            &resolve->error)) {
        error_wrap(&resolve->error, RESOLVE_UNKNOWN);
        return;
    }
    while (str_split_next(&answer, '\n', &line)) {
        if (str_find(line, STR("STREAM"), 0) != STR_NOT_FOUND) {
            push(resolve, str_slice(line, 0, str_find(line, STR(" "), 0)));
        }
    }
    if (resolve->count == 0) {
        error_set(&resolve->error, ERROR_NOT_FOUND, RESOLVE_UNKNOWN);
    }
}

static void lookup_done(uv_work_t *work, int status)
{
    Resolve *resolve = work->data;
    if (resolve->done != NULL) {
        resolve->done(resolve->context, resolve->addresses, resolve->count, &resolve->error);
    }
    free(resolve);
}

Resolve *resolve_start(Loop *loop, const char *name, uint16_t port, ResolveDone *done,
                       void *context)
{
    Resolve *resolve = memory_new(sizeof *resolve);
    resolve->work.data = resolve;
    resolve->done = done;
    resolve->context = context;
    resolve->port = port;
    snprintf(resolve->name, sizeof resolve->name, "%s", name);
    /* The first task starts the worker threads, which inherit the signal mask: signals must be
     * delivered to the thread that waits for them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = uv_queue_work(loop_uv(loop), &resolve->work, resolve_name, lookup_done);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        BUG("cannot queue work on the loop");
    }
    return resolve;
}

void resolve_cancel(Resolve *resolve)
{
    if (resolve != NULL) {
        resolve->done = NULL;
        /* A running request finishes by itself. */
        uv_cancel((uv_req_t *)&resolve->work);
    }
}
