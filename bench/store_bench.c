/* Measures how many puts per second the embedded store completes, and their latency.
 *
 *     store_bench [DIRECTORY] [SECONDS]
 *
 * Each row has a number of puts of 256 bytes in flight, on 10,000 keys, in a separate store below
 * DIRECTORY (default: build/bench-data, so that the disk is that of the build). The first row is
 * the limit of the disk: overwriting a page and fdatasync, one after another. The last line is the
 * time that one change takes to reach 5,000 watches, without the disk. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/store.h"
#include "sys/clock.h"

enum {
    KEYS = 10000,
    VALUE = 256,
    PAGE = 4096,
    WARM_UP = 3000, /* number of puts until the write-ahead log has its final size */
    SAMPLES_MAX = 1 << 20,
    IN_FLIGHT_MAX = 256,
    WATCHES = 5000,
};

/* Replaces libc's fdatasync, also for SQLite. */
static atomic_ulong syncs;

int fdatasync(int __fildes)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(SYS_fdatasync, __fildes);
}

int fsync(int __fd)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(SYS_fsync, __fd);
}

typedef struct Bench Bench;

typedef struct Slot {
    Bench *bench;
    int64_t called_us;
} Slot;

struct Bench {
    Loop *loop;
    Store *store;
    Slot slots[IN_FLIGHT_MAX];
    uint64_t done, target_count; /* number of puts; 0: until the time is over */
    int64_t end_us;
    uint32_t running;
    uint32_t *samples; /* in microseconds */
    uint32_t sample_count;
};

static void fail(const char *what, const Error *err)
{
    fprintf(stderr, "store_bench: %s: %s\n", what, err == NULL ? "" : err->text);
    exit(1);
}

static void start(Slot *slot);

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    Slot *slot = context;
    Bench *bench = slot->bench;
    if (err != NULL) {
        fail("put", err);
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
    char key[64];
    int len = snprintf(key, sizeof key, "/eden/nodes/node%05llu",
                       (unsigned long long)(loop_random(slot->bench->loop) % KEYS));
    Error err;
    slot->called_us = clock_monotonic_us();
    if (!store_put(slot->bench->store, str_from(key, (size_t)len), str_from(value, VALUE), 0,
                   put_done, slot, &err)) {
        fail("call", &err);
    }
}

static void run(Bench *bench, uint32_t in_flight)
{
    bench->done = bench->sample_count = 0;
    bench->running = in_flight;
    for (uint32_t i = 0; i < in_flight; i++) {
        bench->slots[i].bench = bench;
        start(&bench->slots[i]);
    }
    loop_run(bench->loop);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void measure(const char *directory, uint32_t in_flight, double seconds)
{
    static Bench bench;
    Error err;
    char index[4096];
    snprintf(index, sizeof index, "%s/store-%d-%u", directory, (int)getpid(), in_flight);
    bench = (Bench){ .loop = loop_new(), .samples = calloc(SAMPLES_MAX, sizeof(uint32_t)) };
    if (bench.samples == NULL || !store_open_sqlite(bench.loop, index, NULL, &bench.store, &err)) {
        fail("open", &err);
    }
    bench.target_count = WARM_UP;
    run(&bench, 64);
    bench.target_count = 0;
    uint64_t commits = store_status(bench.store).commits;
    unsigned long synced = atomic_load(&syncs);
    int64_t started = clock_monotonic_us(), cpu = cpu_us();
    bench.end_us = started + (int64_t)(seconds * 1e6);
    run(&bench, in_flight);
    double took = (double)(clock_monotonic_us() - started) / 1e6;
    double puts = (double)bench.done;
    qsort(bench.samples, bench.sample_count, sizeof(uint32_t), by_size);
    uint64_t half = bench.sample_count / 2, most = (uint64_t)bench.sample_count * 99 / 100;
    printf("| %u in flight | %.0f | %.3f | %.3f | %.0f | %.2f | %.2f |\n", in_flight, puts / took,
           (double)(atomic_load(&syncs) - synced) / puts,
           (double)(store_status(bench.store).commits - commits) / puts,
           (double)(cpu_us() - cpu) / puts, bench.samples[half] / 1000.0,
           bench.samples[most] / 1000.0);
    fflush(stdout);
    store_close(bench.store);
    loop_free(bench.loop);
    free(bench.samples);
    static const char *const files[] = { "store.db", "store.db-wal", "store.db-shm", "store.lock" };
    for (unsigned i = 0; i < COUNT_OF(files); i++) {
        char file[4200];
        snprintf(file, sizeof file, "%s/%s", index, files[i]);
        unlink(file);
    }
    rmdir(index);
}

/* --- Watches --------------------------------------------------------------------------------- */

typedef struct Watching {
    Loop *loop;
    uint32_t current, told;
} Watching;

static void watch_batch(void *context, const StoreBatch *batch)
{
    Watching *watching = context;
    watching->current += batch->count == 0;
    watching->told += batch->count;
    if (watching->told == WATCHES || (watching->told == 0 && watching->current == WATCHES)) {
        loop_stop(watching->loop);
    }
}

static void ignore_done(void *context, const StoreReply *reply, const Error *err)
{
}

/* Measures how long a change takes to reach all watches of its key. */
static void measure_watches(void)
{
    static StoreWatch *watches[WATCHES];
    Watching watching = { .loop = loop_new() };
    Store *store = store_open_memory(watching.loop, NULL);
    Error err;
    for (uint32_t i = 0; i < WATCHES; i++) {
        StoreWatchSpec spec = {
            .key = STR("/eden/"), .end = STR("/eden0"), .done = watch_batch, .context = &watching
        };
        if (!store_watch(store, &spec, &watches[i], &err)) {
            fail("watch", &err);
        }
    }
    loop_run(watching.loop);
    int64_t started = clock_monotonic_us();
    if (!store_put(store, STR("/eden/current_version"), STR("2"), 0, ignore_done, NULL, &err)) {
        fail("put", &err);
    }
    loop_run(watching.loop);
    printf("\nOne change told to %d watches: %.2f ms.\n", WATCHES,
           (double)(clock_monotonic_us() - started) / 1000);
    for (uint32_t i = 0; i < WATCHES; i++) {
        store_watch_cancel(watches[i]);
    }
    store_close(store);
    loop_free(watching.loop);
}

static void measure_disk(const char *directory, double seconds)
{
    char index[4096], page[PAGE] = { 0 };
    snprintf(index, sizeof index, "%s/disk-%d", directory, (int)getpid());
    int file = open(index, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        fail(index, NULL);
    }
    for (int i = 0; i < 1000; i++) {
        if (pwrite(file, page, sizeof page, (off_t)i * PAGE) != PAGE) {
            fail(index, NULL);
        }
    }
    fsync(file);
    int64_t started = clock_monotonic_us(), now = started;
    uint64_t done = 0;
    for (; now < started + (int64_t)(seconds * 1e6); now = clock_monotonic_us()) {
        page[0]++;
        if (pwrite(file, page, sizeof page, (off_t)(done % 1000) * PAGE) != PAGE) {
            fail(index, NULL);
        }
        fdatasync(file);
        done++;
    }
    printf("| the disk alone | %.0f | 1 | | | | |\n", (double)done * 1e6 / (double)(now - started));
    close(file);
    unlink(index);
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "build/bench-data";
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 5;
    mkdir(directory, 0755);
    printf("| puts | per second | fsyncs per put | commits per put | CPU us per put | median ms |"
           " 99 %% ms |\n|--|--|--|--|--|--|--|\n");
    measure_disk(directory, seconds < 2 ? seconds : 2);
    measure(directory, 1, seconds);
    measure(directory, 16, seconds);
    measure(directory, 64, seconds);
    measure(directory, 256, seconds);
    measure_watches();
    return 0;
}
