/* A separate folder for every test, with files in it, and a list for problems. */
#pragma once

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/problems.h"
#include "lang/json.h"
#include "unit.h"

typedef struct Folder {
    char path[64];
    Arena arena;
    Sources sources;
    Problems problems;
} Folder;

static inline int folder_setup(void **state)
{
    Folder *folder = test_calloc(1, sizeof *folder);
    strcpy(folder->path, "/tmp/eden-unit.XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    arena_init(&folder->arena, ARENA_UNLIMITED);
    sources_init(&folder->sources, &folder->arena);
    problems_init(&folder->problems, &folder->arena);
    *state = folder;
    return 0;
}

static inline int folder_remove_one(const char *path, const struct stat *status, int type,
                                    struct FTW *ftw)
{
    return remove(path);
}

static inline int folder_teardown(void **state)
{
    Folder *folder = *state;
    nftw(folder->path, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&folder->arena);
    test_free(folder);
    return 0;
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

/* "PATH/name" in the arena. */
static inline const char *folder_path(Folder *folder, const char *name)
{
    return arena_copy_c(&folder->arena, arena_format(&folder->arena, "%s/%s", folder->path, name));
}

/* Parent directories are created. */
static inline void folder_put(Folder *folder, const char *name, const char *text)
{
    char *path = arena_copy_c(&folder->arena, str_from_c(folder_path(folder, name)));
    for (char *slash = strchr(path + strlen(folder->path) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline Str folder_json(Folder *folder, Value v)
{
    Buf out = buf_make_in(&folder->arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&out, v, NULL, &err));
    return buf_str(&out);
}

/* "file:line:column message (hint)", one line per problem, without the folder. */
static inline Str folder_problems(Folder *folder)
{
    Buf out = buf_make_in(&folder->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < folder->problems.count; i++) {
        const Problem *problem = &folder->problems.items[i];
        Str file = problem->file;
        if (str_starts(file, str_from_c(folder->path))) {
            file = str_from_offset(file, strlen(folder->path) + 1);
        }
        buf_put_format(&out, "%" STR_FMT ":%u:%u %" STR_FMT, STR_ARG(file), problem->line,
                       problem->column, STR_ARG(problem->message));
        if (problem->hint.len > 0) {
            buf_put_format(&out, " (%" STR_FMT ")", STR_ARG(problem->hint));
        }
        buf_put_char(&out, '\n');
    }
    return buf_str(&out);
}
