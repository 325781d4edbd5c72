/* Role names are short and few, so a list is one string with spaces, which can be copied and
 * compared as a value. */
#include "access/role_names.h"

#include "base/json_out.h"

bool role_names_next(Str *rest, Str *out)
{
    return rest->len > 0 && str_split_next(rest, ' ', out);
}

/* Whether this is a valid role name, built in or not. */
static bool is_role_name(Str name, Error *err)
{
    return access_role_builtin(name) != NULL || access_role_name_check(name, err);
}

static bool has_name(const RoleNames *names, Str name)
{
    Str rest = str_from_c(names->text), next_name;
    while (role_names_next(&rest, &next_name)) {
        if (str_eq(next_name, name)) {
            return true;
        }
    }
    return false;
}

bool role_names_make(const Str *names, uint32_t count, RoleNames *out, Error *err)
{
    RoleNames result = { 0 };
    size_t used = 0;
    if (count == 0 || count > ROLES_MAX) {
        return error_set(err, ERROR_INVALID, "1 to %d roles are required", ROLES_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_role_name(names[i], err)) {
            return false;
        }
        if (has_name(&result, names[i])) {
            return error_set(err, ERROR_INVALID, "the role '%" STR_FMT "' is specified twice",
                             STR_ARG(names[i]));
        }
        if (i > 0) {
            result.text[used++] = ' ';
        }
        memcpy(result.text + used, names[i].data, names[i].len);
        used += names[i].len;
    }
    *out = result;
    return true;
}

bool role_names_read(Value list, RoleNames *out, Error *err)
{
    Str names[ROLES_MAX];
    if (list.kind != VALUE_LIST || list.list->len > ROLES_MAX) {
        return error_set(err, ERROR_INVALID, "'roles' must be a list of 1 to %d names", ROLES_MAX);
    }
    for (uint32_t i = 0; i < list.list->len; i++) {
        if (!value_is_string(list.list->items[i])) {
            return error_set(err, ERROR_INVALID, "a role name must be a string");
        }
        names[i] = value_str(list.list->items[i]);
    }
    return role_names_make(names, list.list->len, out, err);
}

void role_names_print(const char *text, Buf *out)
{
    Str rest = str_from_c(text), next_name;
    buf_put_char(out, '[');
    for (bool first = true; role_names_next(&rest, &next_name); first = false) {
        buf_put_c(out, first ? "" : ",");
        json_text_put(out, next_name);
    }
    buf_put_char(out, ']');
}

static bool decode(Arena *arena, Value list, void *member, Error *err)
{
    return role_names_read(list, member, err);
}

static void encode(const void *member, Buf *out)
{
    role_names_print(((const RoleNames *)member)->text, out);
}

const RecordCodec role_names_codec = { decode, encode };
