/* Measures how many puts per second a store completes through gRPC and mutual TLS, their latency,
 * and the CPU time of both sides. The client of bench/cluster, for this server and for etcd:
 *
 *     puts_bench eden|etcd PORT PID IN_FLIGHT CONNECTIONS SECONDS CERT KEY CA
 *
 * IN_FLIGHT puts of 256 bytes are always in flight, on 10,000 keys, spread over the connections.
 * PID is the server's. Prints puts per second, the median and the 99th percentile of the latency in
 * microseconds, and the CPU time per put of the server and of this program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "etcd.pb-c.h"
#include "net/grpc_client.h"
#include "rpc/access.h"
#include "service/store_message.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    KEYS = 10000,
    VALUE = 256,
    WARM_UP = 3000, /* number of puts before the measurement starts */
    IN_FLIGHT_MAX = 512,
    CONNECTIONS_MAX = 64,
    SAMPLES_MAX = 1 << 20,
    PEM_MAX = 1 << 20,
    TIMEOUT_MS = 30000,
};

typedef struct Bench Bench;

typedef struct Slot {
    Bench *bench;
    GrpcClient *client;
    int64_t called_us;
} Slot;

struct Bench {
    Loop *loop;
    Arena arena;
    TlsContext *tls;
    bool is_etcd;
    GrpcClient *clients[CONNECTIONS_MAX];
    uint32_t client_count;
    Slot slots[IN_FLIGHT_MAX];
    Buf request;
    uint64_t done, target_count; /* number of puts; 0: until the time is over */
    int64_t end_us;
    uint32_t running;
    uint32_t *samples; /* in microseconds */
    uint32_t sample_count;
};

_Noreturn static void die(const char *what, const char *text)
{
    fprintf(stderr, "puts_bench: %s: %s\n", what, text);
    exit(1);
}

/* --- Puts ------------------------------------------------------------------------------------ */

static void encode_put(Bench *bench, Str key, Str value)
{
    buf_reset(&bench->request);
    if (bench->is_etcd) {
        Etcdserverpb__PutRequest put = ETCDSERVERPB__PUT_REQUEST__INIT;
        put.key = (ProtobufCBinaryData){ key.len, (uint8_t *)key.data };
        put.value = (ProtobufCBinaryData){ value.len, (uint8_t *)value.data };
        uint8_t bytes[VALUE + 128];
        size_t len = etcdserverpb__put_request__pack(&put, bytes);
        buf_put(&bench->request, str_from((const char *)bytes, len));
    } else {
        StoreOp op = { .kind = STORE_PUT, .key = key, .value = value };
        txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &bench->request);
    }
}

static void start(Slot *slot);

static void put_done(void *context, GrpcStatus status, Str text, Str response)
{
    Slot *slot = context;
    Bench *bench = slot->bench;
    if (status != GRPC_OK) {
        die("put", arena_copy_c(&bench->arena, text));
    }
    int64_t now = clock_monotonic_us();
    bench->done++;
    if (bench->sample_count < SAMPLES_MAX) {
        bench->samples[bench->sample_count++] = (uint32_t)(now - slot->called_us);
    }
    if (bench->target_count > 0 ? bench->done < bench->target_count : now < bench->end_us) {
        start(slot);
    } else if (--bench->running == 0) {
        loop_stop(bench->loop);
    }
}

static void start(Slot *slot)
{
    static const char value[VALUE] = "{\"state\":\"running\"}";
    Bench *bench = slot->bench;
    char key[64];
    int len = snprintf(key, sizeof key, "/bench/nodes/node%05llu",
                       (unsigned long long)(loop_random(bench->loop) % KEYS));
    encode_put(bench, str_from(key, (size_t)len), str_from(value, VALUE));
    Error err;
    slot->called_us = clock_monotonic_us();
    const char *path = bench->is_etcd ? "/etcdserverpb.KV/Put" : method_rows[METHOD_STORE_TXN].path;
    if (!grpc_client_unary(slot->client, path, buf_str(&bench->request), TIMEOUT_MS, put_done, slot,
                           &err)) {
        die("call", err.text);
    }
}

static void run(Bench *bench, uint32_t in_flight)
{
    bench->done = bench->sample_count = 0;
    bench->running = in_flight;
    for (uint32_t i = 0; i < in_flight; i++) {
        bench->slots[i] = (Slot){ bench, bench->clients[i % bench->client_count], 0 };
        start(&bench->slots[i]);
    }
    loop_run(bench->loop);
}

/* --- What it costs --------------------------------------------------------------------------- */

/* CPU time of a process with its threads, in microseconds. */
static int64_t cpu_us(const char *pid)
{
    char path[64], line[1024];
    unsigned long long user, system;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        die(path, "cannot be read");
    }
    fclose(file);
    /* The process name is in parentheses, and may contain any character. */
    const char *rest = strrchr(line, ')');
    if (rest == NULL || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                               &user, &system) != 2) {
        die(path, "is not as expected");
    }
    return (int64_t)(user + system) * (1000000 / sysconf(_SC_CLK_TCK));
}

static int64_t own_cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void measure(Bench *bench, const char *pid, uint32_t in_flight, double seconds)
{
    bench->target_count = WARM_UP;
    run(bench, 64);
    bench->target_count = 0;
    int64_t server = cpu_us(pid), own = own_cpu_us(), started = clock_monotonic_us();
    bench->end_us = started + (int64_t)(seconds * 1e6);
    run(bench, in_flight);
    double took = (double)(clock_monotonic_us() - started) / 1e6, puts = (double)bench->done;
    server = cpu_us(pid) - server;
    own = own_cpu_us() - own;
    qsort(bench->samples, bench->sample_count, sizeof(uint32_t), by_size);
    uint64_t half = bench->sample_count / 2, most = (uint64_t)bench->sample_count * 99 / 100;
    printf("%.1f %u %u %.1f %.1f\n", puts / took, bench->samples[half], bench->samples[most],
           (double)server / puts, (double)own / puts);
}

/* --- Connections ----------------------------------------------------------------------------- */

static void closed(void *context, const Error *why)
{
    die("connection", why->text);
}

static void load_tls(Bench *bench, char **files)
{
    TlsMaterial material = { 0 };
    Error err = { 0 };
    if (!file_read(&bench->arena, files[0], PEM_MAX, &material.certificate, &err) ||
        !file_read(&bench->arena, files[1], PEM_MAX, &material.key, &err) ||
        !file_read(&bench->arena, files[2], PEM_MAX, &material.ca, &err) ||
        !tls_context_new(bench->loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "h2" },
                         &material, &bench->tls, &err)) {
        die("certificates", err.text);
    }
}

static void connect_all(Bench *bench, uint16_t port)
{
    static const Http2Header metadata[] = { { { PROTOCOL_HEADER, sizeof PROTOCOL_HEADER - 1 },
                                              { "1", 1 } } };
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = bench->loop;
    options.address = (Address){ .kind = ADDRESS_IP, .host = "127.0.0.1", .port = port };
    options.tls = bench->tls;
    options.metadata = metadata;
    options.metadata_count = COUNT_OF(metadata);
    options.closed = closed;
    for (uint32_t i = 0; i < bench->client_count; i++) {
        bench->clients[i] = grpc_client_new(&options);
    }
}

static uint32_t number(const char *text, uint32_t most)
{
    unsigned long value = strtoul(text, NULL, 10);
    if (value == 0 || value > most) {
        die("number", text);
    }
    return (uint32_t)value;
}

int main(int argc, char **argv)
{
    if (argc != 10) {
        fputs("see bench/cluster\n", stderr);
        return 64;
    }
    static Bench bench;
    bench.loop = loop_new();
    arena_init(&bench.arena, ARENA_UNLIMITED);
    bench.is_etcd = strcmp(argv[1], "etcd") == 0;
    bench.request = buf_make(BUF_UNLIMITED);
    bench.samples = calloc(SAMPLES_MAX, sizeof(uint32_t));
    bench.client_count = number(argv[5], CONNECTIONS_MAX);
    load_tls(&bench, argv + 7);
    connect_all(&bench, (uint16_t)number(argv[2], UINT16_MAX));
    measure(&bench, argv[3], number(argv[4], IN_FLIGHT_MAX), strtod(argv[6], NULL));
    for (uint32_t i = 0; i < bench.client_count; i++) {
        grpc_client_free(bench.clients[i]);
    }
    tls_context_free(bench.tls);
    loop_free(bench.loop);
    buf_clear(&bench.request);
    free(bench.samples);
    arena_clear(&bench.arena);
    return 0;
}
