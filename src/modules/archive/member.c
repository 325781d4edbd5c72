#include "modules/archive/member.h"

#include "base/buf.h"
#include "base/utf8.h"

static bool next_part(Str *rest, Str *part)
{
    while (rest->len > 0) {
        size_t slash = str_find(*rest, STR("/"), 0);
        *part = str_slice(*rest, 0, slash);
        *rest = slash == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(*rest, slash + 1);
        if (part->len > 0 && !str_eq(*part, STR("."))) {
            return true;
        }
    }
    return false;
}

static bool fail_member(Str name, const char *why, Error *err)
{
    return error_set(err, ERROR_INVALID, "'%" STR_FMT "' in the archive %s",
                     STR_ARG(str_slice(name, 0, 100)), why);
}

bool member_path(Arena *arena, Str name, uint32_t strip, Str *out, Error *err)
{
    Buf path = buf_make_in(arena, BUF_UNLIMITED);
    Str rest = name, part;
    uint32_t depth = 0;
    if (!utf8_is_valid(name) || memchr(name.data, '\0', name.len) != NULL) {
        return error_set(err, ERROR_INVALID, "a name in the archive is not UTF-8");
    }
    if (name.len == 0 || name.len > MEMBER_NAME_MAX) {
        return fail_member(
            name, name.len == 0 ? "has an empty name" : "has a name that is too long", err);
    }
    if (name.data[0] == '/') {
        return fail_member(name, "is outside the directory: the name is absolute", err);
    }
    while (next_part(&rest, &part)) {
        if (str_eq(part, STR(".."))) {
            return fail_member(name, "is outside the directory", err);
        }
        if (part.len > 255 || ++depth > MEMBER_DEPTH_MAX) {
            return fail_member(name, "has a name that is too long", err);
        }
        if (depth > strip) {
            buf_put_c(&path, path.len > 0 ? "/" : "");
            buf_put(&path, part);
        }
    }
    *out = buf_str(&path);
    return true;
}

bool member_link_is_safe(Str path, Str target)
{
    Str part;
    uint32_t depth = 0;
    bool down = false;
    if (target.len == 0 || target.len > MEMBER_NAME_MAX || target.data[0] == '/' ||
        !utf8_is_valid(target) || memchr(target.data, '\0', target.len) != NULL) {
        return false;
    }
    for (size_t i = 0; i < path.len; i++) {
        depth += path.data[i] == '/';
    }
    while (next_part(&target, &part)) {
        bool up = str_eq(part, STR(".."));
        if (up && (down || depth == 0)) {
            return false;
        }
        depth -= up;
        down = down || !up;
    }
    return true;
}
