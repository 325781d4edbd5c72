/* Measures what an idle connection costs a server: mutual TLS, HTTP/2 and one open call, like the
 * session of an agent. Started by bench/connections:
 *
 *     connections_bench server CERT KEY CA          prints its port, and its memory use for each
 *                                                   line of input
 *     connections_bench clients PORT N CERT KEY CA  N connections from one process, until the end
 *                                                   of its input */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net/grpc_client.h"
#include "net/grpc_server.h"
#include "net/watch.h"
#include "sys/file.h"

enum {
    PEM_MAX = 1 << 20
};

typedef struct Bench {
    Loop *loop;
    Arena arena;
    TlsContext *tls;
    GrpcServer *server;
    GrpcClient **clients;
    uint32_t wanted, started, answered;
    uint16_t port;
    Watch *input;
} Bench;

static void die(const Error *err)
{
    fprintf(stderr, "connections_bench: %s\n", err->text);
    exit(1);
}

static void load_tls(Bench *bench, TlsRole role, char **files)
{
    TlsMaterial material;
    Error err = { 0 };
    if (!file_read(&bench->arena, files[0], PEM_MAX, &material.certificate, &err) ||
        !file_read(&bench->arena, files[1], PEM_MAX, &material.key, &err) ||
        !file_read(&bench->arena, files[2], PEM_MAX, &material.ca, &err)) {
        die(&err);
    }
    material.ca_pin = STR_EMPTY;
    if (!tls_context_new(bench->loop, &(TlsOptions){ .role = role, .protocol = "h2" }, &material,
                         &bench->tls, &err)) {
        die(&err);
    }
}

static size_t resident(void)
{
    size_t size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%zu %zu", &size, &pages) != 2) {
        exit(1);
    }
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A line of input is a request; the end of input ends the program. */
static void requested(void *context, bool can_read, bool can_write)
{
    Bench *bench = context;
    char line[100];
    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        loop_stop(bench->loop);
        return;
    }
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("%u %zu %zu %lld\n", grpc_server_counts(bench->server).connections, resident(),
           mallinfo2().uordblks, (long long)cpu.tv_sec * 1000000 + cpu.tv_nsec / 1000);
    fflush(stdout);
}

static void watch_input(Bench *bench, WatchReady *ready)
{
    Error err;
    if (!watch_new(bench->loop, STDIN_FILENO, ready, bench, &bench->input, &err)) {
        die(&err);
    }
    watch_set(bench->input, true, false);
}

/* Every call gets one message, which notifies its client that it is established, and nothing
 * more. */
static void session_started(GrpcCall *call)
{
    Error err;
    if (!grpc_call_send(call, STR("welcome"), &err)) {
        die(&err);
    }
}

static const GrpcHandler session = { .started = session_started };
static const GrpcMethod methods[] = { { "/bench.B/Session", GRPC_BIDI_STREAM, 1000, &session } };

static void serve(Bench *bench)
{
    GrpcServerOptions options = grpc_server_defaults();
    ListenerOptions listener = listener_defaults();
    const Listener *listening;
    Address address = { .kind = ADDRESS_IP, .host = "127.0.0.1" };
    Error err;
    options.loop = bench->loop;
    options.methods = methods;
    options.method_count = COUNT_OF(methods);
    bench->server = grpc_server_new(&options);
    listener.tls = bench->tls;
    listener.per_origin_max = listener.connections_max;
    if (!grpc_server_listen(bench->server, &listener, &address, &listening, &err)) {
        die(&err);
    }
    watch_input(bench, requested);
    printf("%u\n", listener_port(listening));
    fflush(stdout);
    loop_run(bench->loop);
    grpc_server_free(bench->server);
}

static void connect_next(Bench *bench);

static void answered(GrpcCall *call, Str message)
{
    Bench *bench = grpc_call_data(call);
    if (++bench->answered == bench->wanted) {
        printf("ready\n");
        fflush(stdout);
    }
    connect_next(bench);
}

static const GrpcHandler client_handler = { .message = answered };

static void client_closed(void *context, const Error *why)
{
    die(why);
}

static void connect_next(Bench *bench)
{
    GrpcClientOptions options = grpc_client_defaults();
    GrpcCall *call;
    Error err;
    if (bench->started == bench->wanted) {
        return;
    }
    options.loop = bench->loop;
    options.tls = bench->tls;
    options.address = (Address){ .kind = ADDRESS_IP, .host = "127.0.0.1", .port = bench->port };
    options.closed = client_closed;
    GrpcClient *client = grpc_client_new(&options);
    bench->clients[bench->started++] = client;
    if (!grpc_client_start(client, "/bench.B/Session", GRPC_BIDI_STREAM, &client_handler, bench, 0,
                           &call, &err)) {
        die(&err);
    }
}

static void input_ended(void *context, bool can_read, bool can_write)
{
    Bench *bench = context;
    loop_stop(bench->loop);
}

static void connect_all(Bench *bench)
{
    enum {
        AT_ONCE = 16
    };
    bench->clients = calloc(bench->wanted, sizeof(GrpcClient *));
    for (int i = 0; i < AT_ONCE; i++) {
        connect_next(bench);
    }
    watch_input(bench, input_ended);
    loop_run(bench->loop);
    for (uint32_t i = 0; i < bench->started; i++) {
        grpc_client_free(bench->clients[i]);
    }
    free(bench->clients);
}

int main(int argc, char **argv)
{
    Bench bench = { .loop = loop_new() };
    arena_init(&bench.arena, ARENA_UNLIMITED);
    if (argc == 5 && strcmp(argv[1], "server") == 0) {
        load_tls(&bench, TLS_SERVER, argv + 2);
        serve(&bench);
    } else if (argc == 7 && strcmp(argv[1], "clients") == 0) {
        bench.port = (uint16_t)strtoul(argv[2], NULL, 10);
        bench.wanted = (uint32_t)strtoul(argv[3], NULL, 10);
        load_tls(&bench, TLS_CLIENT, argv + 4);
        connect_all(&bench);
    } else {
        fputs("see bench/connections\n", stderr);
        return 64;
    }
    watch_free(bench.input);
    tls_context_free(bench.tls);
    loop_free(bench.loop);
    arena_clear(&bench.arena);
    return 0;
}
