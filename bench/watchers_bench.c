/* Many clients that watch one server, each on a separate connection. Started by bench/api:
 *
 *     watchers_bench ADDRESS COUNT CA REQUEST
 *
 * ADDRESS is a TCP address, with the CA of the server in the file CA, or a Unix socket, with "-".
 * REQUEST is the request of each client, verbatim. Prints these lines, and reads lines in between:
 *
 *     live              all have received the start of a response with status 200
 *     (a word)          input: a word that only occurs in the next change
 *     waits
 *     told LAST MEDIAN  when the last client has received it, and half of them: CLOCK_MONOTONIC in
 *                       microseconds; then the next word, until the end of the input */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/connection.h"
#include "net/watch.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    AT_ONCE = 64, /* maximum number of connections being opened */
    WORD_MAX = 64,
    PEM_MAX = 1 << 20,
};

typedef struct Bench Bench;

typedef struct Watcher {
    Bench *bench;
    Connection *connection;
    char tail[WORD_MAX]; /* end of the data that was read, shorter than the word */
    size_t tail_len;
    bool is_live, has_reported;
} Watcher;

struct Bench {
    Loop *loop;
    Address address;
    TlsContext *tls;
    Str request;
    Watcher *watchers;
    uint32_t count, started, live, notified;
    int64_t *times;
    char word[WORD_MAX];
    Watch *input;
};

_Noreturn static void die(const char *what, const char *text)
{
    fprintf(stderr, "watchers_bench: %s: %s\n", what, text);
    exit(1);
}

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

static int by_time(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static void report(Bench *bench)
{
    char line[100];
    qsort(bench->times, bench->count, sizeof *bench->times, by_time);
    snprintf(line, sizeof line, "told %lld %lld", (long long)bench->times[bench->count - 1],
             (long long)bench->times[bench->count / 2]);
    say(line);
}

/* Searches for the word, which may be split between two reads. */
static bool contains_word(Watcher *watcher, Str bytes)
{
    size_t len = strlen(watcher->bench->word);
    char joint[2 * WORD_MAX];
    if (len == 0) {
        return false;
    }
    size_t more = bytes.len < len - 1 ? bytes.len : len - 1;
    memcpy(joint, watcher->tail, watcher->tail_len);
    memcpy(joint + watcher->tail_len, bytes.data, more);
    size_t joined = watcher->tail_len + more;
    bool found = memmem(joint, joined, watcher->bench->word, len) != NULL ||
                 memmem(bytes.data, bytes.len, watcher->bench->word, len) != NULL;
    Str rest = bytes.len >= len - 1 ? bytes : str_from(joint, joined);
    watcher->tail_len = rest.len < len - 1 ? rest.len : len - 1;
    memcpy(watcher->tail, rest.data + rest.len - watcher->tail_len, watcher->tail_len);
    return found;
}

static void start_more(Bench *bench);

static void ready(void *context)
{
    Watcher *watcher = context;
    connection_write(watcher->connection, watcher->bench->request);
}

static void received(void *context, Str bytes)
{
    Watcher *watcher = context;
    Bench *bench = watcher->bench;
    if (!watcher->is_live) {
        if (!str_starts(bytes, STR("HTTP/1.1 200 "))) {
            fprintf(stderr, "%.*s\n", (int)bytes.len, bytes.data);
            die("answer", "not what was hoped for");
        }
        watcher->is_live = true;
        if (++bench->live == bench->count) {
            say("live");
        }
        start_more(bench);
    }
    if (!watcher->has_reported && contains_word(watcher, bytes)) {
        watcher->has_reported = true;
        bench->times[bench->notified++] = clock_monotonic_us();
        if (bench->notified == bench->count) {
            report(bench);
        }
    }
}

static void nothing(void *context)
{
}

static void closed(void *context, const Error *why)
{
    die("connection", why->kind == ERROR_NONE ? "ended" : why->text);
}

static const ConnectionEvents events = { ready, received, nothing, closed };

static void start_more(Bench *bench)
{
    while (bench->started < bench->count && bench->started - bench->live < AT_ONCE) {
        Watcher *watcher = &bench->watchers[bench->started++];
        watcher->bench = bench;
        watcher->connection = connection_connect(
            &(ConnectionOptions){ .loop = bench->loop,
                                  .tls = bench->tls,
                                  .tls_host = bench->tls == NULL ? NULL : "127.0.0.1",
                                  .open_timeout_ms = 60000,
                                  .events = &events,
                                  .context = watcher },
            &bench->address);
    }
}

static void input_arrived(void *context, bool readable, bool writable)
{
    Bench *bench = context;
    char line[WORD_MAX];
    ssize_t got = read(STDIN_FILENO, line, sizeof line - 1);
    if (got <= 1) {
        loop_stop(bench->loop);
        return;
    }
    line[got - 1] = '\0';
    memcpy(bench->word, line, sizeof line);
    bench->notified = 0;
    for (uint32_t i = 0; i < bench->count; i++) {
        bench->watchers[i].has_reported = false;
        bench->watchers[i].tail_len = 0;
    }
    say("waits");
}

static void set_up(Bench *bench, char **argv)
{
    AUTO_CLEAR(Arena) arena;
    TlsMaterial material = { 0 };
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    bool has_tls = strcmp(argv[3], "-") != 0;
    if (!address_parse(str_from_c(argv[1]), 0, &bench->address, &err) ||
        !watch_new(bench->loop, STDIN_FILENO, input_arrived, bench, &bench->input, &err)) {
        die("start", err.text);
    }
    watch_set(bench->input, true, false);
    if (has_tls &&
        (!file_read(&arena, argv[3], PEM_MAX, &material.ca, &err) ||
         !tls_context_new(bench->loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "http/1.1" },
                          &material, &bench->tls, &err))) {
        die("certificates", err.text);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("see bench/api\n", stderr);
        return 64;
    }
    Bench bench = { .loop = loop_new() };
    bench.count = (uint32_t)strtoul(argv[2], NULL, 10);
    bench.request = str_from_c(argv[4]);
    bench.watchers = calloc(bench.count, sizeof *bench.watchers);
    bench.times = calloc(bench.count, sizeof *bench.times);
    set_up(&bench, argv);
    start_more(&bench);
    loop_run(bench.loop);
    for (uint32_t i = 0; i < bench.started; i++) {
        connection_free(bench.watchers[i].connection);
    }
    free(bench.watchers);
    free(bench.times);
    tls_context_free(bench.tls);
    watch_free(bench.input);
    loop_free(bench.loop);
    return 0;
}
