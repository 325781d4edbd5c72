#include "sys/name_service.h"

#include "sys/file.h"
#include "sys/process.h"

enum {
    OUTPUT_MAX = 1 << 20,
    TIMEOUT_MS = 30000,
    EXIT_NO_SUCH_KEY = 2,
    /* The same column in passwd and group. */
    NAME_FIELD = 0,
    ID_FIELD = 2,
    FIELDS_MAX = 3,
};

/* The line with that name or number in a file like /etc/passwd. */
static bool find_line(Str text, Str key, Str *out)
{
    Str line;
    while (str_split_next(&text, '\n', &line)) {
        Str rest = line, field;
        for (int i = 0; i < FIELDS_MAX && str_split_next(&rest, ':', &field); i++) {
            if ((i == NAME_FIELD || i == ID_FIELD) && str_eq(field, key)) {
                *out = line;
                return true;
            }
        }
    }
    return false;
}

/* A machine without getent, such as one with busybox only or a minimal image, has its users in
 * files. */
static bool query_files(Arena *arena, const char *database, Str key, Str *out, Error *err)
{
    Str path = arena_format(arena, "/etc/%s", database), text;
    Error unread;
    bool has_people = strcmp(database, "passwd") == 0 || strcmp(database, "group") == 0;
    return (has_people && file_read(arena, path.data, OUTPUT_MAX, &text, &unread) &&
            find_line(text, key, out)) ||
           error_set(err, ERROR_NOT_FOUND,
                     "getent is not installed, so '%" STR_FMT "' cannot be looked up (%s)",
                     STR_ARG(key), database);
}

bool name_service_query(Arena *arena, const char *database, Str key, Str *out, Error *err)
{
    const char *argv[] = { "getent", "--", database, arena_copy_c(arena, key), NULL };
    ProcessSpec spec = { .argv = argv, .timeout_ms = TIMEOUT_MS, .output_max = OUTPUT_MAX };
    ProcessResult result;
    if (key.len == 0 || memchr(key.data, '\0', key.len) != NULL) {
        return error_set(err, ERROR_NOT_FOUND, "the name is empty");
    }
    if (!process_run(arena, &spec, &result, err)) {
        return err->kind == ERROR_NOT_FOUND && query_files(arena, database, key, out, err);
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0) {
        return result.ending == PROCESS_EXITED && result.exit_code == EXIT_NO_SUCH_KEY
                   ? error_set(err, ERROR_NOT_FOUND,
                               "the name service (%s) has no entry '%" STR_FMT "'", database,
                               STR_ARG(key))
                   : error_set(err, ERROR_UNAVAILABLE, "the name service is not responding");
    }
    *out = str_trim(result.out);
    return out->len > 0 || error_set(err, ERROR_NOT_FOUND,
                                     "the name service has no entry '%" STR_FMT "'", STR_ARG(key));
}
