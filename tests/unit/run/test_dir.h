/* A separate directory for every test, with files in it, and a list for problems. */
#pragma once

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/problems.h"
#include "lang/json.h"
#include "unit.h"

typedef struct TestDir {
    char path[64];
    Arena arena;
    Sources sources;
    Problems problems;
} TestDir;

static inline int test_dir_setup(void **state)
{
    TestDir *dir = test_calloc(1, sizeof *dir);
    strcpy(dir->path, "/tmp/eden-unit.XXXXXX");
    assert_non_null(mkdtemp(dir->path));
    arena_init(&dir->arena, ARENA_UNLIMITED);
    sources_init(&dir->sources, &dir->arena);
    problems_init(&dir->problems, &dir->arena);
    *state = dir;
    return 0;
}

static inline int test_dir_remove_one(const char *path, const struct stat *status, int type,
                                      struct FTW *ftw)
{
    return remove(path);
}

static inline int test_dir_teardown(void **state)
{
    TestDir *dir = *state;
    nftw(dir->path, test_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&dir->arena);
    test_free(dir);
    return 0;
}

#define TEST_IN_DIR(name) cmocka_unit_test_setup_teardown(name, test_dir_setup, test_dir_teardown)

/* "PATH/name" in the arena. */
static inline const char *test_dir_path(TestDir *dir, const char *name)
{
    return arena_copy_c(&dir->arena, arena_format(&dir->arena, "%s/%s", dir->path, name));
}

/* Parent directories are created. */
static inline void test_dir_put(TestDir *dir, const char *name, const char *text)
{
    char *path = arena_copy_c(&dir->arena, str_from_c(test_dir_path(dir, name)));
    for (char *slash = strchr(path + strlen(dir->path) + 1, '/'); slash != NULL;
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

static inline Str test_dir_json(TestDir *dir, Value v)
{
    Buf out = buf_make_in(&dir->arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&out, v, NULL, &err));
    return buf_str(&out);
}

/* "file:line:column message (hint)", one line per problem, without the directory. */
static inline Str test_dir_problems(TestDir *dir)
{
    Buf out = buf_make_in(&dir->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < dir->problems.count; i++) {
        const Problem *problem = &dir->problems.items[i];
        Str file = problem->file;
        if (str_starts(file, str_from_c(dir->path))) {
            file = str_from_offset(file, strlen(dir->path) + 1);
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
