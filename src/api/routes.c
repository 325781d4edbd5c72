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

/* Decodes percent-encoding. */
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

static bool check_encoding(Str text, Error *err)
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

static bool check_segment(Str segment, Str decoded, Error *err)
{
    if (segment.len == 0) {
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
    Str segment, decoded;
    if (!str_starts(path, STR("/"))) {
        return error_set(err, ERROR_INVALID, "invalid URL: the path must start with '/'");
    }
    if (!check_encoding(path, err)) {
        return false;
    }
    if (path.len == 1) {
        return true;
    }
    Str rest = str_from_offset(path, 1);
    bool has_trailing_slash = path.data[path.len - 1] == '/';
    while (str_split_next(&rest, '/', &segment)) {
        if (!decode(arena, segment, &decoded, err) || !check_segment(segment, decoded, err)) {
            return false;
        }
    }
    return !has_trailing_slash || check_segment(STR_EMPTY, STR_EMPTY, err);
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

bool route_is_kind_route(const RouteRow *row)
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

bool route_accepts_type(const RouteRow *row, const Str *type)
{
    Str rest = str_from_c(row->types), accepted;
    if (type == NULL) {
        return false;
    }
    Str segment = str_trim(str_slice(*type, 0, str_find(*type, STR(";"), 0)));
    while (route_next_type(&rest, &accepted)) {
        if (str_eq_ignore_case(segment, accepted)) {
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
static bool matches_pattern(Arena *arena, const char *pattern, Str path, Str *part)
{
    Str rest = str_from_c(pattern), segment, found;
    Error err;
    while (str_split_next(&rest, '/', &segment)) {
        if (!str_split_next(&path, '/', &found)) {
            return false;
        }
        if (segment.len > 0 && segment.data[0] == '<') {
            if (!decode(arena, found, part, &err)) {
                return false;
            }
        } else if (!str_eq(segment, found)) {
            return false;
        }
    }
    return !str_split_next(&path, '/', &found);
}

/* Whether the path starts like the constant part of the pattern: a quick check that rules out most
 * rows. */
static bool has_prefix_of(const char *pattern, Str path)
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
    Str lookup_method = str_eq_c(method, "HEAD") ? STR("GET") : method;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const RouteRow *row = &route_rows[i];
        if (!has_prefix_of(row->pattern, path) || !route_is_offered(row) ||
            !matches_pattern(arena, row->pattern, path, &out->part)) {
            continue;
        }
        BUG_IF(out->row_count == ROUTE_METHODS_MAX);
        out->rows[out->row_count++] = row;
        if (str_eq_c(lookup_method, row->method)) {
            out->row = row;
        }
    }
    return true;
}

/* The pattern with its variable segment taken from the path; empty if the number of segments
 * differs. */
static Str fill_pattern(Arena *arena, const char *pattern, Str path)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str rest = str_from_c(pattern), segment, found;
    for (bool first = true; str_split_next(&rest, '/', &segment); first = false) {
        if (!str_split_next(&path, '/', &found)) {
            return STR_EMPTY;
        }
        buf_put_c(&text, first ? "" : "/");
        buf_put(&text, segment.len > 0 && segment.data[0] == '<' ? found : segment);
    }
    return str_split_next(&path, '/', &found) ? STR_EMPTY : buf_str(&text);
}

Str route_suggest(Arena *arena, Str path)
{
    Str versioned = arena_format(arena, "/v1%" STR_FMT, STR_ARG(path)), best = STR_EMPTY;
    Suggest suggest = suggest_make(path);
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!route_is_offered(&route_rows[i])) {
            continue;
        }
        if (str_eq(fill_pattern(arena, route_rows[i].pattern, versioned), versioned)) {
            return versioned; /* only the version is missing */
        }
        Str candidate = fill_pattern(arena, route_rows[i].pattern, path);
        if (candidate.len > 0) {
            suggest_offer(&suggest, candidate);
        }
    }
    (void)suggest_found(&suggest, &best);
    return best;
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
static uint32_t find_parameter(const RouteRow *row, Str parameter)
{
    Str rest = str_from_c(row->query == NULL ? "" : row->query), name;
    bool optional;
    for (uint32_t i = 0; next_parameter(&rest, &name, &optional); i++) {
        BUG_IF(i == ROUTE_PARAMETERS_MAX);
        if (str_eq(name, parameter)) {
            return i;
        }
    }
    return ROUTE_PARAMETERS_MAX;
}

static bool check_required(const RouteRow *row, const RouteQuery *query, Error *err)
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
    if (!check_encoding(query, err)) {
        return false;
    }
    if (str_ends(query, STR("&"))) {
        return error_set(err, ERROR_INVALID, "invalid URL: nothing follows the last '&'");
    }
    while (query.len > 0 && str_split_next(&query, '&', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        uint32_t index = equals == STR_NOT_FOUND ? ROUTE_PARAMETERS_MAX
                                                 : find_parameter(row, str_slice(pair, 0, equals));
        if (index == ROUTE_PARAMETERS_MAX || out->values[index].len > 0 || equals + 1 == pair.len) {
            return error_set(
                err, ERROR_INVALID,
                "this endpoint accepts these query parameters, each once and with a value: %s",
                row->query);
        }
        if (!decode(arena, str_from_offset(pair, equals + 1), &out->values[index], err)) {
            return false;
        }
    }
    return check_required(row, out, err);
}

const Str *route_parameter(const RouteRow *row, const RouteQuery *query, const char *name)
{
    uint32_t index = find_parameter(row, str_from_c(name));
    return index == ROUTE_PARAMETERS_MAX ? NULL : &query->values[index];
}
