#include "run/state_path.h"

const char *state_path(Arena *arena, const char *given, const char *root)
{
    if (given != NULL) {
        return given;
    }
    bool slash = str_ends(str_from_c(root), STR("/"));
    return arena_format(arena, "%s%svar/lib/eden%c", root, slash ? "" : "/", '\0').data;
}
