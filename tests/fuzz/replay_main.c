/* Feeds every file below the directories (or the files) named on the command line to one fuzz
 * target, each exactly once and sorted by name: the corpus as a regression test that needs neither
 * clang nor libFuzzer. A file is one input; a file whose name ends in .lines has one input per
 * line, in the format described in lines.py.
 *
 * Every input is a heap block of its exact size, so that AddressSanitizer detects a read past the
 * end. To find the input that crashes: with REPLAY_VERBOSE in the environment, each name is printed
 * before the input runs. */
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Replay {
    char **paths;
    size_t count;
    size_t room;
} Replay;

/* nftw passes no context to its callback, hence the one file-wide variable. */
static Replay replay;

static void fail(const char *path)
{
    fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    exit(1);
}

static int collect(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    if (kind != FTW_F || path[ftw->base] == '.') {
        return 0;
    }
    if (replay.count == replay.room) {
        replay.room = replay.room == 0 ? 1024 : replay.room * 2;
        replay.paths = realloc(replay.paths, replay.room * sizeof *replay.paths);
        if (replay.paths == NULL) {
            fail(path);
        }
    }
    replay.paths[replay.count] = strdup(path);
    if (replay.paths[replay.count] == NULL) {
        fail(path);
    }
    replay.count++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_input(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) {
        fail("memory");
    }
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c == '\0' ? NULL : strchr(digits, c);
    return found == NULL ? -1 : (int)(found - digits);
}

/* Replaces the escapes in the line and returns its new length. */
static size_t unescape(const char *path, size_t number, char *line, size_t len)
{
    size_t to = 0;
    for (size_t at = 0; at < len; at++) {
        char c = line[at];
        if (c == '\\') {
            char kind = ++at < len ? line[at] : '\0';
            int high = kind == 'x' && len - at > 2 ? hex_digit(line[at + 1]) : -1;
            int low = high >= 0 ? hex_digit(line[at + 2]) : -1;
            if (low >= 0) {
                c = (char)(high << 4 | low);
                at += 2;
            } else if (kind == 'n' || kind == 'r') {
                c = kind == 'n' ? '\n' : '\r';
            } else if (kind != '\\') {
                fprintf(stderr, "replay: %s:%zu: there is no such escape\n", path, number);
                exit(1);
            }
        }
        line[to++] = c;
    }
    return to;
}

static size_t run_lines(const char *path, char *data, size_t size, bool verbose)
{
    size_t count = 0, number = 0;
    for (char *line = data, *end; line < data + size; line = end + 1) {
        end = memchr(line, '\n', (size_t)(data + size - line));
        end = end == NULL ? data + size : end;
        number++;
        if (line == end || line[0] == '#') {
            continue;
        }
        if (verbose) {
            fprintf(stderr, "%s:%zu\n", path, number);
        }
        run_input((uint8_t *)line, unescape(path, number, line, (size_t)(end - line)));
        count++;
    }
    return count;
}

/* How many inputs the file had. */
static size_t run_file(const char *path, bool verbose)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (file == NULL || fstat(fileno(file), &info) != 0) {
        fail(path);
    }
    size_t size = (size_t)info.st_size, count = 1;
    char *data = malloc(size == 0 ? 1 : size);
    if (data == NULL || fread(data, 1, size, file) != size) {
        fail(path);
    }
    fclose(file);
    const char *suffix = strrchr(path, '.');
    if (suffix != NULL && strcmp(suffix, ".lines") == 0) {
        count = run_lines(path, data, size, verbose);
    } else {
        if (verbose) {
            fprintf(stderr, "%s\n", path);
        }
        run_input((uint8_t *)data, size);
    }
    free(data);
    return count;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (nftw(argv[i], collect, 16, FTW_PHYS) != 0) {
            fail(argv[i]);
        }
    }
    if (replay.count == 0) {
        fprintf(stderr, "replay: no input found\n");
        return 1;
    }
    qsort(replay.paths, replay.count, sizeof *replay.paths, by_name);

    bool verbose = getenv("REPLAY_VERBOSE") != NULL;
    size_t inputs = 0;
    for (size_t i = 0; i < replay.count; i++) {
        inputs += run_file(replay.paths[i], verbose);
        free(replay.paths[i]);
    }
    free(replay.paths);
    printf("%zu inputs replayed\n", inputs);
    return 0;
}
