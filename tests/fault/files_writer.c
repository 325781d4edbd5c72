/* Writes files of runs and site versions, for simulated power failures; see test_power.py.
 *
 *     files_writer logs|blobs|runs|sites work DIRECTORY SEED COUNT
 *         writes, and prints what must persist from then on
 *     files_writer logs|blobs|runs|sites dump DIRECTORY COUNT
 *         prints what is there, as the program sees it; exits with 1 if anything torn is accepted
 *
 * Both print one of these per line:
 *     logs    next RUN NODE N       events of the node up to N - 1 are stored on the server
 *     blobs   blob N
 *     runs    run N STAGE           the stage of the run on its node, a number that only grows
 *     sites   site N                the files of a version */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/local_run.h"
#include "agent/site_cache.h"
#include "base/bug.h"
#include "fleet/run_logs.h"
#include "source/site_tree.h"

enum {
    RUNS = 3,
    NODES = 3,
    SITE_FILES = 6,
};

typedef struct World {
    Loop *loop;
    Arena arena;
    const char *path;
    Directory directory;
    uint64_t random_value;
    uint32_t count;
    bool is_dump;
} World;

static void check(bool holds, const Error *err)
{
    if (!holds) {
        fprintf(stderr, "files_writer: %s\n", err->text);
        exit(1);
    }
}

static void refute(bool is_wrong, const char *what, const char *which)
{
    if (is_wrong) {
        fprintf(stderr, "files_writer: %s: %s\n", what, which);
        exit(1);
    }
}

static uint64_t random_below(World *world, uint64_t below)
{
    world->random_value ^= world->random_value << 13;
    world->random_value ^= world->random_value >> 7;
    world->random_value ^= world->random_value << 17;
    return world->random_value % below;
}

/* In a single write, so that a printed line is always complete. */
PRINTF_LIKE(1, 2) static void print_line(const char *format, ...)
{
    char line[200];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    BUG_IF(len <= 0 || write(STDOUT_FILENO, line, (size_t)len) != len);
}

/* A text that identifies itself, with a length that depends on the identity. */
static Str filler(World *world, uint64_t what, size_t most)
{
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    size_t size = (size_t)(what * 2654435761u % most) + 20;
    while (text.len < size) {
        buf_put_format(&text, "%" PRIu64 " ", what);
    }
    return buf_str(&text);
}

/* --- Logs of runs on a server ----------------------------------------------------------------- */

typedef struct LogAppend {
    World *world;
    uint32_t *waiting;
    uint64_t *next;
    uint32_t run, node;
} LogAppend;

static void log_appended(void *context, uint64_t next, const Error *err)
{
    LogAppend *append = context;
    check(err == NULL, err);
    print_line("next r%u n%u %" PRIu64 "\n", append->run, append->node, next);
    *append->next = next;
    if (--*append->waiting == 0) {
        loop_stop(append->world->loop);
    }
}

static Str log_line(World *world, uint32_t run, uint32_t node, uint64_t n)
{
    Str text = filler(world, run * 1000000 + node * 100000 + n, 900);
    return arena_format(&world->arena,
                        "\"n\":%" PRIu64 ",\"at_ms\":1,\"event\":\"line\",\"text\":\"%" STR_FMT
                        "\"}\n",
                        n, STR_ARG(text));
}

static void append_some(World *world, RunLogs *logs, uint64_t next[RUNS][NODES])
{
    LogAppend appends[RUNS][NODES];
    uint32_t waiting = 0;
    for (uint32_t run = 0; run < RUNS; run++) {
        for (uint32_t node = 0; node < NODES; node++) {
            Buf lines = buf_make_in(&world->arena, BUF_UNLIMITED);
            Error err;
            for (uint64_t n = 0, some = world->is_dump ? 0 : random_below(world, 4); n < some;
                 n++) {
                buf_put_char(&lines, '{');
                buf_put(&lines, log_line(world, run, node, next[run][node] + n));
            }
            char id[8], name[8];
            snprintf(id, sizeof id, "r%u", run);
            snprintf(name, sizeof name, "n%u", node);
            appends[run][node] = (LogAppend){ world, &waiting, &next[run][node], run, node };
            RunLogLines appended = { str_from_c(id), str_from_c(name),
                                     lines.len > 0 ? next[run][node] : 0, buf_str(&lines) };
            check(run_logs_append(logs, &appended, log_appended, &appends[run][node], &err), &err);
            waiting++;
        }
    }
    loop_run(world->loop);
}

/* Checks that every counted event exists once and is complete. */
static void check_log(World *world, RunLogs *logs, uint32_t run, uint32_t node, uint64_t next)
{
    AUTO(RunLogReader) *reader = NULL;
    Buf found = buf_make_in(&world->arena, BUF_UNLIMITED);
    Buf expected = buf_make_in(&world->arena, BUF_UNLIMITED);
    char id[8], name[8];
    bool is_end = false;
    Error err;
    snprintf(id, sizeof id, "r%u", run);
    snprintf(name, sizeof name, "n%u", node);
    check(run_log_read(logs, str_from_c(id), str_from_c(name), STR_EMPTY, &reader, &err), &err);
    while (!is_end) {
        check(run_log_reader_next(reader, 1 << 20, &found, &is_end, &err), &err);
    }
    for (uint64_t n = 1; n < next; n++) {
        buf_put_format(&expected, "{\"node\":\"%s\",", name);
        buf_put(&expected, log_line(world, run, node, n));
    }
    refute(!str_eq(buf_str(&found), buf_str(&expected)), "the log differs", name);
}

static void work_logs(World *world)
{
    uint64_t next[RUNS][NODES];
    RunLogs *logs;
    Error err;
    for (uint32_t i = 0; i < RUNS * NODES; i++) {
        next[i / NODES][i % NODES] = 1;
    }
    check(run_logs_open(world->loop, world->path, &logs, &err), &err);
    if (world->is_dump) {
        append_some(world, logs, next);
        for (uint32_t i = 0; i < RUNS * NODES; i++) {
            check_log(world, logs, i / NODES, i % NODES, next[i / NODES][i % NODES]);
        }
    }
    for (uint32_t i = 0; !world->is_dump && i < world->count; i++) {
        append_some(world, logs, next);
    }
    run_logs_close(logs);
}

/* --- Blobs ------------------------------------------------------------------------------------ */

static void work_blobs(World *world)
{
    BlobStore *blobs;
    Error err;
    check(blob_store_open(world->path, &blobs, &err), &err);
    for (uint32_t i = 0; i < world->count; i++) {
        Str data = filler(world, i, 5000), read;
        char id[BLOB_ID_TEXT + 1];
        blob_id_of(data, id);
        if (!world->is_dump) {
            check(blob_store_put(blobs, str_from_c(id), data, &err), &err);
            print_line("blob %u\n", i);
        } else if (blob_store_read(blobs, &world->arena, str_from_c(id), &read, &err)) {
            refute(!str_eq(read, data), "a torn blob is believed", id);
            print_line("blob %u\n", i);
        } else {
            check(err.kind == ERROR_NOT_FOUND, &err);
            refute(blob_store_has(blobs, str_from_c(id)), "a torn blob counts as existing", id);
        }
    }
    blob_store_close(blobs);
}

/* --- Runs on a node --------------------------------------------------------------------------- */

typedef enum Stage {
    STAGE_ACCEPTED,
    STAGE_STARTED,
    STAGE_CANCELED,
    STAGE_ENDED,
    STAGE_REPORTED,
    STAGE_REMOVED,
} Stage;

static Str print_order(World *world, uint32_t number, bool is_canceled)
{
    Str text = filler(world, number, 3000);
    return arena_format(&world->arena,
                        "{\"format\":\"eden.order/1\",\"run\":\"run-%u\",\"kind\":\"exec\","
                        "\"command\":[\"%" STR_FMT "\"],\"created_ms\":5%s}",
                        number, STR_ARG(text), is_canceled ? ",\"canceled\":true" : "");
}

static void work_run(World *world, uint32_t number)
{
    LocalRun *run;
    Error err;
    Str reason = filler(world, number, 400);
    NodeResult result = {
        .outcome = NODE_FAILED, .reason = reason, .since_ms = 1, .unknown = value_missing()
    };
    char id[20];
    snprintf(id, sizeof id, "run-%u", number);
    check(local_run_create(&world->directory, str_from_c(id), print_order(world, number, false), 7,
                           &run, &err),
          &err);
    print_line("run %u %d\n", number, STAGE_ACCEPTED);
    run->state.phase = QUEUE_STARTED;
    run->state.attempts = 1;
    check(local_run_put_command(&world->directory, run, &err) &&
              local_run_save(&world->directory, run, &err),
          &err);
    print_line("run %u %d\n", number, STAGE_STARTED);
    check(local_run_put_order(&world->directory, run, print_order(world, number, true), &err),
          &err);
    print_line("run %u %d\n", number, STAGE_CANCELED);
    check(local_run_conclude(&world->directory, run, &result, &err), &err);
    print_line("run %u %d\n", number, STAGE_ENDED);
    run->state.is_reported = true;
    check(local_run_save(&world->directory, run, &err), &err);
    print_line("run %u %d\n", number, STAGE_REPORTED);
    if (random_below(world, 3) == 0) {
        print_line("run %u %d\n", number, STAGE_REMOVED); /* the run may be removed from now on */
        local_run_remove(&world->directory, str_from_c(id));
    }
    local_run_free(run);
}

static void dump_run(World *world, Str id)
{
    LocalRun *run;
    Error err;
    if (!local_run_load(&world->directory, id, &run, &err)) {
        check(err.kind == ERROR_NOT_FOUND, &err);
        return;
    }
    uint32_t number = (uint32_t)strtoul(id.data + strlen("run-"), NULL, 10);
    refute(!str_eq(run->order.command[0], filler(world, number, 3000)), "torn order", id.data);
    refute(run->has_result && !str_eq(run->result.reason, filler(world, number, 400)),
           "torn result", id.data);
    print_line("run %u %d\n", number,
               run->state.is_reported              ? STAGE_REPORTED
               : run->has_result                   ? STAGE_ENDED
               : run->order.is_canceled            ? STAGE_CANCELED
               : run->state.phase == QUEUE_STARTED ? STAGE_STARTED
                                                   : STAGE_ACCEPTED);
    local_run_free(run);
}

static void work_runs(World *world)
{
    Str *ids;
    uint32_t count;
    Error err;
    if (!world->is_dump) {
        for (uint32_t i = 0; i < world->count; i++) {
            work_run(world, i);
        }
        return;
    }
    check(local_runs_list(world->path, &world->arena, &ids, &count, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        dump_run(world, ids[i]);
    }
}

/* --- Versions of the site on a node ----------------------------------------------------------- */

static GrpcClient *no_client(void *context)
{
    return NULL;
}

typedef struct Fetched {
    World *world;
    const char *path;
} Fetched;

static void site_fetched(void *context, const char *path, const Error *err)
{
    Fetched *fetched = context;
    check(path != NULL, err);
    fetched->path = arena_copy_c(&fetched->world->arena, str_from_c(path));
    loop_stop(fetched->world->loop);
}

/* The manifest of a version. Its blobs are added to the store, unless that is NULL. */
static Manifest make_site(World *world, uint32_t number, BlobStore *blobs,
                          char id[BLOB_ID_TEXT + 1])
{
    Manifest manifest = { .files = ARENA_ARRAY(&world->arena, ManifestFile, SITE_FILES),
                          .file_count = SITE_FILES };
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    Error err;
    for (uint32_t i = 0; i < SITE_FILES; i++) {
        Str data = filler(world, i % 2 == 0 ? i : number * 100 + i, 3000);
        char blob[BLOB_ID_TEXT + 1];
        blob_id_of(data, blob);
        manifest.files[i] = (ManifestFile){
            .path = arena_format(&world->arena, "jobs/%u/file", i),
            .mode = "0644",
            .size = (int64_t)data.len,
            .blobs = ARENA_NEW(&world->arena, Str),
            .blob_count = 1,
        };
        manifest.files[i].blobs[0] = arena_copy(&world->arena, str_from_c(blob));
        if (blobs != NULL) {
            check(blob_store_put(blobs, str_from_c(blob), data, &err), &err);
        }
    }
    manifest_print(&manifest, &text);
    blob_id_of(buf_str(&text), id);
    if (blobs != NULL) {
        check(blob_store_put(blobs, str_from_c(id), buf_str(&text), &err), &err);
    }
    return manifest;
}

static void stop(void *context)
{
    loop_stop(context);
}

/* No server is needed: either all blobs of a version were received, or the fetch waits for one. */
static void fetch_site(World *world, SiteCache *cache, uint32_t number, BlobStore *blobs)
{
    char id[BLOB_ID_TEXT + 1], version[MANIFEST_NAME_TEXT + 1];
    Manifest manifest = make_site(world, number, blobs, id);
    Fetched fetched = { .world = world };
    LoopTimer timer;
    Error err;
    snprintf(version, sizeof version, "%.12s", id);
    SiteFetch *fetch = site_cache_fetch(cache, &(SiteRequest){ .manifest = id, .version = version },
                                        site_fetched, &fetched);
    loop_timer_init(&timer, world->loop, stop, world->loop);
    while (fetched.path == NULL && site_cache_status(cache).why.kind == ERROR_NONE) {
        loop_timer_start(&timer, 1);
        loop_run(world->loop);
    }
    loop_timer_stop(&timer);
    if (fetched.path == NULL) {
        site_fetch_cancel(fetch);
        return;
    }
    check(site_tree_verify(&manifest, fetched.path, &err), &err);
    print_line("site %u\n", number);
}

static void work_sites(World *world)
{
    SiteCacheOptions options = { .loop = world->loop,
                                 .directory = world->path,
                                 .client = no_client };
    SiteCache *cache;
    BlobStore *blobs;
    Error err;
    const char *path =
        arena_copy_c(&world->arena, arena_format(&world->arena, "%s/blobs", world->path));
    check(site_cache_open(&options, &cache, &err) && blob_store_open(path, &blobs, &err), &err);
    for (uint32_t i = 0; i < world->count; i++) { /* fetched versions replace older ones */
        fetch_site(world, cache, world->is_dump ? world->count - 1 - i : i,
                   world->is_dump ? NULL : blobs);
    }
    site_cache_close(cache);
    blob_store_close(blobs);
}

/* --- Main ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*work)(World *world);
} subjects[] = {
    { "logs", work_logs },
    { "blobs", work_blobs },
    { "runs", work_runs },
    { "sites", work_sites },
};

int main(int argc, char **argv)
{
    World world = { .is_dump = argc == 5 && strcmp(argv[2], "dump") == 0 };
    Error err;
    for (size_t i = 0; i < COUNT_OF(subjects) && argc == (world.is_dump ? 5 : 6); i++) {
        if (strcmp(argv[1], subjects[i].name) != 0) {
            continue;
        }
        world.loop = loop_new();
        world.path = argv[3];
        world.random_value = world.is_dump ? 1 : strtoull(argv[4], NULL, 10) | 1;
        world.count = (uint32_t)strtoul(argv[argc - 1], NULL, 10);
        arena_init(&world.arena, ARENA_UNLIMITED);
        check(directory_make(world.path, &world.directory, &err), &err);
        subjects[i].work(&world);
        directory_close(&world.directory);
        arena_clear(&world.arena);
        loop_free(world.loop);
        return 0;
    }
    fprintf(stderr, "usage: files_writer SUBJECT work|dump DIRECTORY ...\n");
    return 64;
}
