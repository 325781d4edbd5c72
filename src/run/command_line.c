#include "run/command_line.h"

#include <string.h>

#include "run/node_paths.h"
#include "sys/file.h"

typedef bool (*DefaultPath)(Arena *arena, const char *given, const char *root, const char **out,
                            Error *err);

static void put(Arena *arena, CommandWords *out, const char *option, Str value)
{
    VEC_PUSH(arena, out, (CommandWord){ option, value });
}

/* Adds the option, unless it has the default value for the root. */
static void put_directory(Arena *arena, CommandWords *out, const char *option, const char *path,
                          const char *root, DefaultPath find_default)
{
    Error err;
    const char *usual;
    Str absolute = file_absolute(arena, path);
    if (!find_default(arena, NULL, root, &usual, &err) ||
        !str_eq(file_absolute(arena, usual), absolute)) {
        put(arena, out, option, absolute);
    }
}

static void put_each(Arena *arena, CommandWords *out, const char *option, const char *const *values,
                     uint32_t count, bool are_paths)
{
    for (uint32_t i = 0; i < count; i++) {
        put(arena, out, option,
            are_paths ? file_absolute(arena, values[i]) : str_from_c(values[i]));
    }
}

void command_line_put(Arena *arena, const RunConfig *config, CommandWords *out)
{
    if (strcmp(config->root, "/") != 0) {
        put(arena, out, "root", file_absolute(arena, config->root));
    }
    put_directory(arena, out, "state-dir", config->state, config->root, node_state_path);
    put_directory(arena, out, "config-dir", config->etc, config->root, node_config_path);
    if (config->node != NULL) {
        put(arena, out, "node", str_from_c(config->node));
    }
    put_each(arena, out, "label", config->labels, config->label_count, false);
    put_each(arena, out, "vars", config->var_files, config->var_file_count, true);
    put_each(arena, out, "define", config->defines, config->define_count, false);
    for (uint32_t i = 0; i < config->job_count; i++) {
        put(arena, out, "job", config->jobs[i]);
    }
    if (config->order != MODE_ANSIBLE) {
        put(arena, out, "order", str_from_c(order_mode_name(config->order)));
    }
    put(arena, out, NULL, file_absolute(arena, config->path));
}

Str define_name(Str define)
{
    size_t equals = str_find(define, STR("="), 0);
    Str name = str_slice(define, 0, equals == STR_NOT_FOUND ? define.len : equals);
    return str_ends(name, STR(":")) ? str_slice(name, 0, name.len - 1) : name;
}
