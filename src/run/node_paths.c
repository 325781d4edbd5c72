#include "run/node_paths.h"

#include "sys/tree.h"

static bool locate(Arena *arena, const char *given, const char *root, const char *path,
                   const char **out, Error *err)
{
    AUTO_CLEAR(Tree) tree = { .descriptor = -1 };
    Error ignored;
    if (given != NULL) {
        *out = given;
        return true;
    }
    if (!tree_open(root, &tree, &ignored)) {
        *out = arena_copy_c(arena, arena_format(arena, "%s%s", root, path));
        return true;
    }
    return tree_locate(&tree, arena, path, out, err);
}

bool node_state_path(Arena *arena, const char *given, const char *root, const char **out,
                     Error *err)
{
    return locate(arena, given, root, "/var/lib/eden", out, err);
}

const char *node_home_path(Arena *arena, const char *root)
{
    const char *path;
    Error ignored;
    return node_state_path(arena, NULL, root, &path, &ignored) ? path : NULL;
}

bool node_config_path(Arena *arena, const char *given, const char *root, const char **out,
                      Error *err)
{
    return locate(arena, given, root, "/etc/eden", out, err);
}

const char *node_trust_path(const char *given)
{
    return given != NULL ? given : "/etc/eden";
}
