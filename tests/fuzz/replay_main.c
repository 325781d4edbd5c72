/* Feeds every file below the folders (or the files) named on the command line to one fuzz target,
 * each exactly once and in the order of their names: the corpus as a regression test that needs
 * neither clang nor libFuzzer.
 *
 * Every input lies in a heap block of its own exact size, so that AddressSanitizer sees a read
 * past the end. A crash names its input: with REPLAY_VERBOSE in the environment each name is
 * printed before the input is run. */
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

/* nftw hands its callback no context, hence the one file-wide variable. */
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

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (file == NULL || fstat(fileno(file), &info) != 0) {
        fail(path);
    }
    size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size == 0 ? 1 : size);
    if (data == NULL || fread(data, 1, size, file) != size) {
        fail(path);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
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
    for (size_t i = 0; i < replay.count; i++) {
        if (verbose) {
            fprintf(stderr, "%s\n", replay.paths[i]);
        }
        run_file(replay.paths[i]);
        free(replay.paths[i]);
    }
    free(replay.paths);
    printf("%zu inputs replayed\n", replay.count);
    return 0;
}
