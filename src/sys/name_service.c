#include "sys/name_service.h"

#include "sys/process.h"

enum {
    ANSWER_MAX = 1 << 20,
    TIMEOUT_MS = 30000,
    EXIT_NO_SUCH_KEY = 2
};

bool name_service_ask(Arena *arena, const char *database, Str key, Str *out, Error *err)
{
    const char *argv[] = { "getent", "--", database, arena_copy_c(arena, key), NULL };
    ProcessSpec spec = { .argv = argv, .timeout_ms = TIMEOUT_MS, .output_max = ANSWER_MAX };
    ProcessResult result;
    if (key.len == 0 || memchr(key.data, '\0', key.len) != NULL) {
        return error_set(err, ERROR_NOT_FOUND, "an empty name is nobody's");
    }
    if (!process_run(arena, &spec, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0) {
        return result.ending == PROCESS_EXITED && result.exit_code == EXIT_NO_SUCH_KEY
                   ? error_set(err, ERROR_NOT_FOUND,
                               "the name service (%s) does not know '%" STR_FMT "'", database,
                               STR_ARG(key))
                   : error_set(err, ERROR_UNAVAILABLE, "the name service does not answer");
    }
    *out = str_trim(result.out);
    return out->len > 0 || error_set(err, ERROR_NOT_FOUND,
                                     "the name service knows no '%" STR_FMT "'", STR_ARG(key));
}
