/* A separate directory for a test that needs files, and helpers to create files. */
#pragma once

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "unit.h"

typedef struct Scratch {
    Arena arena;
    char path[64];
} Scratch;

static inline int scratch_set_up(void **state)
{
    Scratch *scratch = calloc(1, sizeof *scratch);
    arena_init(&scratch->arena, ARENA_UNLIMITED);
    strcpy(scratch->path, "/tmp/eden_unit.XXXXXX");
    *state = scratch;
    return mkdtemp(scratch->path) == NULL ? -1 : 0;
}

static inline int scratch_remove_one(const char *path, const struct stat *status, int type,
                                     struct FTW *ftw)
{
    return remove(path);
}

static inline int scratch_tear_down(void **state)
{
    Scratch *scratch = *state;
    int failed = nftw(scratch->path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&scratch->arena);
    free(scratch);
    return failed;
}

/* The path of `name` below the directory. */
static inline const char *scratch_place(Scratch *scratch, const char *name)
{
    return arena_format(&scratch->arena, "%s/%s%c", scratch->path, name, '\0').data;
}

/* Creates the parent directories of `name`, which starts without "/". */
static inline const char *scratch_reach(Scratch *scratch, const char *name)
{
    char *place = arena_copy_c(&scratch->arena, str_from_c(scratch_place(scratch, name)));
    for (char *slash = place + strlen(scratch->path) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        mkdir(place, 0755);
        *slash = '/';
    }
    return place;
}

static inline void scratch_put(Scratch *scratch, const char *name, const char *text)
{
    FILE *file = fopen(scratch_reach(scratch, name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void scratch_link(Scratch *scratch, const char *name, const char *target)
{
    assert_int_equal(symlink(target, scratch_reach(scratch, name)), 0);
}
