/* JSON text to value tree: ours beside jansson's, on three kinds of documents.
 *
 *     json_bench [RUNS]
 *
 * prints one line for each: name, MB/s ours, MB/s jansson, ratio. CPU time of reading alone, the
 * median of RUNS (7); freeing is outside the clock for both. jansson checks no duplicate keys
 * here, as by default, and we do. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "lang/json.h"

enum {
    TARGET_BYTES = 2 << 20,
    RUNS_MAX = 99
};

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A list of objects with ten keys: what an inventory or an API answer looks like. */
static void write_mixed(Buf *out, uint64_t *seed)
{
    uint64_t r = next_random(seed);
    buf_put_format(out,
                   "{\"id\": %llu, \"name\": \"node-%03u\", \"address\": \"10.%u.%u.%u\", "
                   "\"active\": %s, \"load\": %u.%02u, \"roles\": [\"web\", \"proxy\", \"cache\"], "
                   "\"owner\": null, \"labels\": {\"zone\": \"z%u\", \"rack\": \"r%u\", "
                   "\"tier\": \"front\"}, \"ports\": [80, 443, %u], \"comment\": "
                   "\"Serves the \\\"shop\\\" of region %u; see the runbook before a restart\"}",
                   (unsigned long long)(r >> 20), (unsigned)(r % 1000), (unsigned)(r >> 8 & 255),
                   (unsigned)(r >> 16 & 255), (unsigned)(r >> 24 & 255),
                   (r & 1) != 0 ? "true" : "false", (unsigned)(r % 9), (unsigned)(r % 97),
                   (unsigned)(r % 4), (unsigned)(r % 40), (unsigned)(1024 + r % 60000),
                   (unsigned)(r % 12));
}

static void write_strings(Buf *out, uint64_t *seed)
{
    static const char *const words[] = { "configuration", "of",      "the",  "edge",
                                         "caf\xc3\xa9",   "cluster", "must", "converge",
                                         "twice",         "before" };
    buf_put_char(out, '"');
    for (uint64_t i = 0, count = 4 + next_random(seed) % 16; i < count; i++) {
        buf_put_c(out, words[next_random(seed) % COUNT_OF(words)]);
        buf_put_c(out, next_random(seed) % 40 == 0 ? "\\n" : " ");
    }
    buf_put_char(out, '"');
}

static void write_numbers(Buf *out, uint64_t *seed)
{
    uint64_t r = next_random(seed);
    switch (r % 3) {
    case 0: buf_put_format(out, "%llu", (unsigned long long)(r >> (1 + r % 60))); break;
    case 1: buf_put_format(out, "%.6f", (double)(int64_t)r / 1e15); break;
    default: buf_put_format(out, "%.17g", (double)(int64_t)r / 1e13); break;
    }
}

typedef struct Document {
    const char *name;
    void (*write_item)(Buf *out, uint64_t *seed);
} Document;

static const Document documents[] = {
    { "mixed", write_mixed },
    { "strings", write_strings },
    { "numbers", write_numbers },
};

static void write_document(const Document *document, Buf *out)
{
    uint64_t seed = 42;
    buf_put_char(out, '[');
    while (out->len < TARGET_BYTES) {
        document->write_item(out, &seed);
        buf_put_c(out, ",\n");
    }
    buf_put_c(out, "null]");
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double time_ours(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value value;
    Error err;
    double start = cpu_seconds();
    if (!json_parse_text(&arena, text, NULL, &value, &err)) {
        fprintf(stderr, "json_bench: %s\n", err.text);
        exit(1);
    }
    return cpu_seconds() - start;
}

static double time_jansson(Str text)
{
    json_error_t error;
    double start = cpu_seconds();
    json_t *value = json_loadb(text.data, text.len, 0, &error);
    double used = cpu_seconds() - start;
    if (value == NULL) {
        fprintf(stderr, "json_bench: jansson: %s\n", error.text);
        exit(1);
    }
    json_decref(value);
    return used;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_rate(double (*measure)(Str text), Str text, int runs)
{
    double times[RUNS_MAX];
    measure(text); /* warms caches and the allocator */
    for (int i = 0; i < runs; i++) {
        times[i] = measure(text);
    }
    qsort(times, (size_t)runs, sizeof times[0], by_size);
    return (double)text.len / 1e6 / times[runs / 2];
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 7;
    if (runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "usage: json_bench [RUNS]\n");
        return 64;
    }
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        write_document(&documents[i], &text);
        double ours = median_rate(time_ours, buf_str(&text), runs);
        double theirs = median_rate(time_jansson, buf_str(&text), runs);
        printf("%-8s %7.0f MB/s %7.0f MB/s %6.1fx\n", documents[i].name, ours, theirs,
               ours / theirs);
    }
    return 0;
}
