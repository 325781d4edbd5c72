#include "modules/service/unit_name.h"

static const char *const unit_kinds[] = { "service",   "socket", "timer", "mount",
                                          "target",    "path",   "slice", "scope",
                                          "automount", "swap",   "device" };

static bool is_kind(Str text)
{
    for (size_t i = 0; i < COUNT_OF(unit_kinds); i++) {
        if (str_eq_c(text, unit_kinds[i])) {
            return true;
        }
    }
    return false;
}

/* Characters that systemd allows in unit names. */
static bool is_allowed(char c)
{
    return ascii_is_name(c) || c == ':' || c == '-' || c == '.' || c == '\\' || c == '@';
}

static bool check_characters(Str given, Error *err)
{
    if (given.len == 0) {
        return error_set(err, ERROR_INVALID, "the name of a unit cannot be empty");
    }
    if (given.data[0] == '/') {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is a path; use the name of the unit, such as "
                         "'srv-data.mount' for /srv/data (see systemd-escape --path)",
                         STR_ARG(given));
    }
    for (size_t i = 0; i < given.len; i++) {
        if (!is_allowed(given.data[i])) {
            return error_set(err, ERROR_INVALID,
                             "'%" STR_FMT
                             "' is not a unit name: only letters, digits and :-_.\\@ are allowed",
                             STR_ARG(given));
        }
    }
    return true;
}

bool unit_name_complete(Arena *arena, Str given, Str *out, Error *err)
{
    if (!check_characters(given, err)) {
        return false;
    }
    size_t dot = str_find_last(given, STR("."));
    Str name = given;
    if (dot == STR_NOT_FOUND || !is_kind(str_from_offset(given, dot + 1))) {
        name = arena_format(arena, "%" STR_FMT ".service", STR_ARG(given));
        dot = given.len;
    }
    if (name.len > UNIT_NAME_MAX) {
        return error_set(err, ERROR_INVALID, "unit name '%" STR_FMT "' is too long",
                         STR_ARG(given));
    }
    if (dot == 0 || given.data[0] == '@') {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a unit name", STR_ARG(given));
    }
    *out = name;
    return true;
}

static size_t dot_of(Str name)
{
    return str_find_last(name, STR("."));
}

Str unit_name_kind(Str name)
{
    return str_from_offset(name, dot_of(name) + 1);
}

bool unit_name_is_template(Str name)
{
    size_t at = str_find(name, STR("@"), 0);
    return at != STR_NOT_FOUND && at + 1 == dot_of(name);
}

Str unit_name_base(Str name)
{
    size_t at = str_find(name, STR("@"), 0);
    return str_slice(name, 0, at == STR_NOT_FOUND ? dot_of(name) : at);
}

Str unit_name_template(Arena *arena, Str name)
{
    size_t at = str_find(name, STR("@"), 0);
    if (at == STR_NOT_FOUND || unit_name_is_template(name)) {
        return STR_EMPTY;
    }
    return arena_format(arena, "%" STR_FMT "@.%" STR_FMT, STR_ARG(str_slice(name, 0, at)),
                        STR_ARG(unit_name_kind(name)));
}

bool unit_file_path(Arena *arena, Str name, Str dropin, Str *out, Error *err)
{
    if (dropin.len == 0) {
        *out = arena_format(arena, UNIT_DIRECTORY "/%" STR_FMT, STR_ARG(name));
        return true;
    }
    bool fine = dropin.data[0] != '.' && dropin.data[0] != '-' && dropin.len <= UNIT_NAME_MAX;
    for (size_t i = 0; i < dropin.len; i++) {
        fine = fine && is_allowed(dropin.data[i]);
    }
    if (!fine) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is not a drop-in name (example: limits)", STR_ARG(dropin));
    }
    *out = arena_format(arena, UNIT_DIRECTORY "/%" STR_FMT ".d/%" STR_FMT "%s", STR_ARG(name),
                        STR_ARG(dropin), str_ends(dropin, STR(".conf")) ? "" : ".conf");
    return true;
}
