/* Saves a store whose file was removed or replaced while it was open.
 *
 * The data is complete as long as a process has the file open, so it is copied to a separate file.
 * That file replaces the lost one unless another file exists under its name. */
#include <libgen.h>
#include <stdio.h>

#include "store/local_store.h"
#include "store/sqlite_engine.h"
#include "sys/file.h"
#include "sys/file_commit.h"

#define RESCUED ".rescued" /* suffix to the path of the database */

typedef struct DatabaseFiles {
    const char *rescued, *temporary;
    const char *log, *index; /* files of the database */
} DatabaseFiles;

static DatabaseFiles files_of(Arena *arena, const char *path)
{
    return (DatabaseFiles){ arena_format(arena, "%s" RESCUED "%c", path, '\0').data,
                            arena_format(arena, "%s" RESCUED ".new%c", path, '\0').data,
                            arena_format(arena, "%s-wal%c", path, '\0').data,
                            arena_format(arena, "%s-shm%c", path, '\0').data };
}

bool rescue_exists(const char *path)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return file_exists(files_of(&arena, path).rescued);
}

/* The rest of the log is removed first, because it would be applied to the new file. */
bool rescue_adopt(const char *path, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DatabaseFiles paths = files_of(&arena, path);
    file_remove(paths.log);
    file_remove(paths.index);
    return file_commit(paths.rescued, path, err);
}

/* The directory may have been removed with its content. Its parent is not recreated, because it is
 * not ours. */
static bool make_parent(Arena *arena, const char *path, Error *err)
{
    AUTO_CLEAR(Directory) parent = { .descriptor = -1 };
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    char *directory = dirname((char *)arena_copy_c(arena, str_from_c(path)));
    const char *name = basename((char *)arena_copy_c(arena, str_from_c(directory)));
    return directory_open(dirname(directory), &parent, err) &&
           directory_make_child(&parent, name, &own, err);
}

static bool save(Engine *engine, const DatabaseFiles *paths, Error *err)
{
    EngineState state;
    bool done = file_write_private(paths->temporary, STR_EMPTY, err) &&
                sqlite_engine_copy_open(engine, paths->temporary, err) &&
                sqlite_engine_check(paths->temporary, NULL, NULL, &state, err) &&
                file_commit(paths->temporary, paths->rescued, err);
    if (!done) {
        file_remove(paths->temporary);
    }
    return done;
}

void rescue_run(Engine *engine, const char *path, StoreLostFile *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DatabaseFiles paths = files_of(&arena, path);
    Error err;
    *out = (StoreLostFile){ .is_lost = true };
    if (!make_parent(&arena, path, &err) || !save(engine, &paths, &err)) {
        error_set(&out->why, ERROR_UNAVAILABLE,
                  "the store of this cluster is lost: %s or its log was removed or replaced while "
                  "it was open. This server still has all of the data and keeps trying to save "
                  "it; do not stop it until that succeeds: %.200s",
                  path, err.text);
        return;
    }
    out->is_saved = true;
    bool is_free = !file_exists(path) || sqlite_engine_is_in_place(engine, false);
    if (is_free && rescue_adopt(path, &err)) {
        error_set(&out->why, ERROR_UNAVAILABLE,
                  "%s or its log was removed while it was open. All acknowledged writes were "
                  "saved there again; the server continues with them after a restart",
                  path);
        return;
    }
    rescue_refuse(path, &out->why);
}

bool rescue_refuse(const char *path, Error *err)
{
    return error_set(err, ERROR_CONFLICT,
                     "%s was replaced while a server had it open, and the server saved its own "
                     "copy as %.100s" RESCUED
                     ". To continue with the saved copy, move the current file away; to continue "
                     "with the current file, move the saved copy away",
                     path, strrchr(path, '/') + 1);
}
