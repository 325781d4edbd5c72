#include "api/routes.h"

#include "api/handlers.h"
#include "api/kind.h"
#include "base/buf.h"
#include "base/bug.h"
#include "base/suggest.h"
#include "pki/join.h"

const RouteRow route_rows[ROUTE_COUNT] = {
#define ROUTE(constant, method, pattern, kind, verb, query, body_max, types, flags, handler, help) \
    [ROUTE_##constant] = { #constant, method, pattern, kind,    verb, query,                       \
                           body_max,  types,  flags,   handler, help },
#include "api/routes.def"
#undef ROUTE
};

/* --- Segments -------------------------------------------------------------------------------- */

static bool has_controls(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* Decodes once; the result is not decoded again. */
static bool decode(Arena *arena, Str text, Str *out, Error *err)
{
    Buf bytes = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '%') {
            int high = i + 2 < text.len ? ascii_hex_value(text.data[i + 1]) : -1;
            int low = i + 2 < text.len ? ascii_hex_value(text.data[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return error_set(err, ERROR_INVALID,
                                 "invalid URL: '%%' must be followed by two hexadecimal digits");
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        buf_put_char(&bytes, c);
    }
    *out = buf_str(&bytes);
    return true;
}

static bool check_written(Str text, Error *err)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c >= 0x7f) {
            return error_set(err, ERROR_INVALID,
                             "invalid URL: it contains characters that must be percent-encoded");
        }
    }
    return true;
}

static bool check_word(Str word, Str decoded, Error *err)
{
    if (word.len == 0) {
        return error_set(err, ERROR_INVALID, "invalid URL: empty path segment");
    }
    if (str_eq_c(decoded, ".") || str_eq_c(decoded, "..")) {
        return error_set(err, ERROR_INVALID, "invalid URL: path segment '.' or '..'");
    }
    if (str_find(decoded, STR("/"), 0) != STR_NOT_FOUND || has_controls(decoded)) {
        return error_set(err, ERROR_INVALID,
                         "invalid URL: a path segment contains a slash or control characters");
    }
    return true;
}

static bool check_path(Arena *arena, Str path, Error *err)
{
    Str word, decoded;
    if (!str_starts(path, STR("/"))) {
        return error_set(err, ERROR_INVALID, "invalid URL: the path must start with '/'");
    }
    if (!check_written(path, err)) {
        return false;
    }
    if (path.len == 1) {
        return true;
    }
    Str rest = str_from_offset(path, 1);
    bool ends_open = path.data[path.len - 1] == '/';
    while (str_split_next(&rest, '/', &word)) {
        if (!decode(arena, word, &decoded, err) || !check_word(word, decoded, err)) {
            return false;
        }
    }
    return !ends_open || check_word(STR_EMPTY, STR_EMPTY, err);
}

/* --- Verbs of kinds --------------------------------------------------------------------------- */

static const struct {
    RouteHandler *handler;
    KindVerbs verb;
} kind_handlers[] = {
    { kind_route_list, KIND_LIST },    { kind_route_create, KIND_CREATE },
    { kind_route_get, KIND_GET },      { kind_route_put, KIND_UPDATE },
    { kind_route_patch, KIND_UPDATE }, { kind_route_delete, KIND_DELETE },
};

bool route_is_offered(const RouteRow *row)
{
    for (size_t i = 0; i < COUNT_OF(kind_handlers); i++) {
        if (row->handler == kind_handlers[i].handler) {
            return (kind_find(str_from_c(row->kind))->verbs & kind_handlers[i].verb) != 0;
        }
    }
    return true;
}

bool route_is_of_kinds(const RouteRow *row)
{
    for (size_t i = 0; i < COUNT_OF(kind_handlers); i++) {
        if (row->handler == kind_handlers[i].handler) {
            return true;
        }
    }
    return false;
}

bool route_is_public(const RouteRow *row)
{
    return row->kind == NULL;
}

bool route_has(const RouteRow *row, RouteFlags flag)
{
    return (row->flags & flag) != 0;
}

/* --- Bodies ---------------------------------------------------------------------------------- */

bool route_next_type(Str *rest, Str *type)
{
    return rest->len > 0 && str_split_next(rest, ' ', type);
}

bool route_takes_type(const RouteRow *row, const Str *type)
{
    Str rest = str_from_c(row->types), one;
    if (type == NULL) {
        return false;
    }
    Str word = str_trim(str_slice(*type, 0, str_find(*type, STR(";"), 0)));
    while (route_next_type(&rest, &one)) {
        if (str_eq_ignore_case(word, one)) {
            return true;
        }
    }
    return false;
}

uint32_t route_largest_body(void)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        largest = route_rows[i].body_max > largest ? route_rows[i].body_max : largest;
    }
    return largest;
}

/* --- Matching -------------------------------------------------------------------------------- */

/* `path` was validated. */
static bool fits(Arena *arena, const char *pattern, Str path, Str *part)
{
    Str wanted = str_from_c(pattern), word, found;
    Error err;
    while (str_split_next(&wanted, '/', &word)) {
        if (!str_split_next(&path, '/', &found)) {
            return false;
        }
        if (word.len > 0 && word.data[0] == '<') {
            if (!decode(arena, found, part, &err)) {
                return false;
            }
        } else if (!str_eq(word, found)) {
            return false;
        }
    }
    return !str_split_next(&path, '/', &found);
}

/* Whether the path starts like the constant part of the pattern: a quick check that rules out most
 * rows. */
static bool begins_so(const char *pattern, Str path)
{
    size_t i = 0;
    while (i < path.len && pattern[i] == path.data[i]) {
        i++;
    }
    return pattern[i] == '<' || (pattern[i] == '\0' && i == path.len);
}

bool route_match(Arena *arena, Str method, Str path, RouteMatch *out, Error *err)
{
    *out = (RouteMatch){ .part = STR_EMPTY };
    if (!check_path(arena, path, err)) {
        return false;
    }
    Str asked = str_eq_c(method, "HEAD") ? STR("GET") : method;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        if (!begins_so(row->pattern, path) || !route_is_offered(row) ||
            !fits(arena, row->pattern, path, &out->part)) {
            continue;
        }
        BUG_IF(out->row_count == ROUTE_METHODS_MAX);
        out->rows[out->row_count++] = row;
        if (str_eq_c(asked, row->method)) {
            out->row = row;
        }
    }
    return true;
}

/* The pattern with its variable segment taken from the path; empty if the number of segments
 * differs. */
static Str filled_in(Arena *arena, const char *pattern, Str path)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str wanted = str_from_c(pattern), word, found;
    for (bool first = true; str_split_next(&wanted, '/', &word); first = false) {
        if (!str_split_next(&path, '/', &found)) {
            return STR_EMPTY;
        }
        buf_put_c(&text, first ? "" : "/");
        buf_put(&text, word.len > 0 && word.data[0] == '<' ? found : word);
    }
    return str_split_next(&path, '/', &found) ? STR_EMPTY : buf_str(&text);
}

Str route_near(Arena *arena, Str path)
{
    Str whole = arena_format(arena, "/v1%" STR_FMT, STR_ARG(path)), near = STR_EMPTY;
    Suggest suggest = suggest_make(path);
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!route_is_offered(&route_rows[i])) {
            continue;
        }
        if (str_eq(filled_in(arena, route_rows[i].pattern, whole), whole)) {
            return whole; /* only the version is missing */
        }
        Str like = filled_in(arena, route_rows[i].pattern, path);
        if (like.len > 0) {
            suggest_offer(&suggest, like);
        }
    }
    (void)suggest_found(&suggest, &near);
    return near;
}

/* The next parameter of a row. */
static bool next_parameter(Str *rest, Str *name, bool *optional)
{
    if (rest->len == 0 || !str_split_next(rest, ' ', name)) {
        return false;
    }
    *optional = name->data[0] == '[';
    *name = *optional ? str_slice(*name, 1, name->len - 1) : *name;
    return true;
}

/* Index of a parameter of the row; ROUTE_PARAMETERS_MAX if not found. */
static uint32_t find_parameter(const RouteRow *row, Str wanted)
{
    Str rest = str_from_c(row->query == NULL ? "" : row->query), name;
    bool optional;
    for (uint32_t i = 0; next_parameter(&rest, &name, &optional); i++) {
        BUG_IF(i == ROUTE_PARAMETERS_MAX);
        if (str_eq(name, wanted)) {
            return i;
        }
    }
    return ROUTE_PARAMETERS_MAX;
}

static bool check_all_there(const RouteRow *row, const RouteQuery *query, Error *err)
{
    Str rest = str_from_c(row->query == NULL ? "" : row->query), name;
    bool optional;
    for (uint32_t i = 0; next_parameter(&rest, &name, &optional); i++) {
        if (!optional && query->values[i].len == 0) {
            return error_set(err, ERROR_INVALID, "query parameter '%" STR_FMT "' is required",
                             STR_ARG(name));
        }
    }
    return true;
}

bool route_query(Arena *arena, const RouteRow *row, Str query, RouteQuery *out, Error *err)
{
    Str pair;
    *out = (RouteQuery){ 0 };
    if (row->query == NULL && query.len > 0) {
        return error_set(err, ERROR_INVALID, "this endpoint does not accept query parameters");
    }
    if (!check_written(query, err)) {
        return false;
    }
    if (str_ends(query, STR("&"))) {
        return error_set(err, ERROR_INVALID, "invalid URL: nothing follows the last '&'");
    }
    while (query.len > 0 && str_split_next(&query, '&', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        uint32_t at = equals == STR_NOT_FOUND ? ROUTE_PARAMETERS_MAX
                                              : find_parameter(row, str_slice(pair, 0, equals));
        if (at == ROUTE_PARAMETERS_MAX || out->values[at].len > 0 || equals + 1 == pair.len) {
            return error_set(
                err, ERROR_INVALID,
                "this endpoint accepts these query parameters, each once and with a value: %s",
                row->query);
        }
        if (!decode(arena, str_from_offset(pair, equals + 1), &out->values[at], err)) {
            return false;
        }
    }
    return check_all_there(row, out, err);
}

const Str *route_parameter(const RouteRow *row, const RouteQuery *query, const char *name)
{
    uint32_t at = find_parameter(row, str_from_c(name));
    return at == ROUTE_PARAMETERS_MAX ? NULL : &query->values[at];
}
