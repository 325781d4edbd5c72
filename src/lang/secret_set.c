/* The set of secrets to search for: strings, and the secrets in values. The search itself is in
 * scrub.c. */
#include <string.h>

#include "lang/number.h"
#include "lang/scrub.h"

void secret_set_init(SecretSet *set, Arena *arena)
{
    *set = (SecretSet){ 0 };
    str_map_init(&set->texts, arena);
}

void secret_set_add(SecretSet *set, Str secret)
{
    if (secret.len >= SCRUB_LENGTH_MIN && str_map_put(&set->texts, secret, NULL)) {
        set->bytes += secret.len;
    }
}

/* The password in "scheme://user:password@host", which programs may use on its own. */
static Str url_password(Str url)
{
    size_t start = str_find(url, STR("://"), 0), end = start;
    if (start == STR_NOT_FOUND) {
        return STR_EMPTY;
    }
    for (end = start += 3; end < url.len && memchr("/?# \t\"'", url.data[end], 7) == NULL; end++) {
    }
    Str authority = str_slice(url, start, end);
    size_t pos = str_find_last(authority, STR("@")), colon = str_find(authority, STR(":"), 0);
    return pos != STR_NOT_FOUND && colon < pos ? str_slice(authority, colon + 1, pos) : STR_EMPTY;
}

void secret_set_add_lines(SecretSet *set, Str secret)
{
    secret_set_add(set, secret);
    secret_set_add(set, str_trim(secret));
    secret_set_add(set, url_password(secret));
    Str rest = secret, line;
    while (str_split_next(&rest, '\n', &line) && line.len < secret.len) {
        secret_set_add(set, str_trim(line));
        secret_set_add(set, url_password(line));
    }
}

/* --- Secrets in values ----------------------------------------------------------------------- */

typedef struct Search {
    Arena *arena;
    SecretFound *found;
    void *context;
    unsigned depth;
    uint32_t visits;
} Search;

static Str number_text(Arena *arena, Value v)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = v.kind == VALUE_INT ? number_format_int(v.integer, text)
                                     : number_format_repr(v.number, text);
    return arena_copy(arena, str_from(text, len));
}

static bool search(Search *s, Value v, bool secret);

static bool search_items(Search *s, const List *list, bool secret)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (!search(s, list->items[i], secret)) {
            return false;
        }
    }
    return true;
}

static bool search_entries(Search *s, const Map *map, bool secret)
{
    for (uint32_t i = 0; i < map->len; i++) {
        if (!search(s, map->entries[i].key, false) || !search(s, map->entries[i].value, secret)) {
            return false;
        }
    }
    return true;
}

/* Returns false if the limit is reached. */
static bool search(Search *s, Value v, bool secret)
{
    secret |= value_is_secret(v);
    bool is_map = v.kind == VALUE_MAP;
    if (!is_map && !value_is_sequence(v)) {
        if (secret && v.kind == VALUE_STRING) {
            s->found(s->context, value_str(v));
        } else if (secret && (v.kind == VALUE_INT || v.kind == VALUE_FLOAT)) {
            s->found(s->context, number_text(s->arena, v));
        }
        return true;
    }
    bool frozen = is_map ? v.map->frozen : v.list->frozen;
    if (!secret && frozen && !value_holds_secret(v)) {
        return true; /* frozen, so the cached answer is valid */
    }
    uint32_t len = is_map ? v.map->len : v.list->len;
    if (s->depth == 0 || s->visits < len) {
        return false;
    }
    s->depth--;
    s->visits -= len;
    bool ok = is_map ? search_entries(s, v.map, secret) : search_items(s, v.list, secret);
    s->depth++;
    return ok;
}

bool secrets_find(Value v, Arena *arena, SecretFound *found, void *context, Error *err)
{
    Search s = { arena, found, context, VALUE_DEPTH_MAX, VALUE_VISITS_MAX };
    return search(&s, v, false) ||
           error_set(err, ERROR_LIMIT, "too many values to search for secrets");
}

static void add_found(void *context, Str secret)
{
    secret_set_add_lines(context, secret);
}

bool secret_set_add_value(SecretSet *set, Value v, Error *err)
{
    return secrets_find(v, set->texts.arena, add_found, set, err);
}

/* --- Values without their secrets ------------------------------------------------------------ */

enum {
    HIDE_DEPTH = 128 /* deeper values are hidden unconditionally */
};

static Value hide(Arena *arena, Value v, unsigned depth)
{
    if (value_is_secret(v) || depth > HIDE_DEPTH) {
        return value_string(STR(SCRUB_MARK));
    }
    if (value_is_sequence(v) && value_holds_secret(v)) {
        List *list = list_new(arena, v.list->len);
        for (uint32_t i = 0; i < v.list->len; i++) {
            list_push(arena, list, hide(arena, v.list->items[i], depth + 1));
        }
        return value_list(list);
    }
    if (v.kind == VALUE_MAP && value_holds_secret(v)) {
        Map *map = map_new(arena, v.map->len);
        for (uint32_t i = 0; i < v.map->len; i++) {
            map_set(arena, map, hide(arena, v.map->entries[i].key, depth + 1),
                    hide(arena, v.map->entries[i].value, depth + 1));
        }
        return value_map(map);
    }
    return v;
}

Value secrets_hide(Arena *arena, Value v)
{
    return value_holds_secret(v) ? hide(arena, v, 0) : v;
}

typedef struct SecretReplacer {
    Arena *arena;
    SecretsFilter *filter;
    void *context;
} SecretReplacer;

/* A number that is a secret is shown as a string. */
static Value replace_number(const SecretReplacer *r, Value v)
{
    Str text = number_text(r->arena, v), shown = r->filter(r->context, text, r->arena);
    return str_eq(shown, text) ? v : value_string(shown);
}

static bool put_scalar(const SecretReplacer *r, Value v, Buf *out)
{
    bool number = v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
    if (!number && !value_is_string(v)) {
        return false;
    }
    buf_put(out, number ? number_text(r->arena, v) : value_str(v));
    buf_put_char(out, '\n');
    return true;
}

/* Whether the items together form a secret: its characters, their numbers, or its lines. */
static bool is_split_secret(const SecretReplacer *r, const List *list)
{
    Buf text = buf_make_in(r->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < list->len; i++) {
        if (!put_scalar(r, list->items[i], &text)) {
            return false;
        }
    }
    return list->len > 1 &&
           !str_eq(r->filter(r->context, buf_str(&text), r->arena), buf_str(&text));
}

static bool is_same_scalar(Value a, Value b)
{
    return a.kind == b.kind && (!value_is_string(a) || str_eq(value_str(a), value_str(b)));
}

static Value replace(const SecretReplacer *r, Value v, unsigned depth)
{
    if (value_is_secret(v) || depth > HIDE_DEPTH) {
        return value_string(STR(SCRUB_MARK));
    }
    if (value_is_string(v)) {
        return value_string(r->filter(r->context, value_str(v), r->arena));
    }
    if (v.kind == VALUE_INT || v.kind == VALUE_FLOAT) {
        return replace_number(r, v);
    }
    if (value_is_sequence(v)) {
        List *list = list_new(r->arena, v.list->len);
        bool same = true;
        for (uint32_t i = 0; i < v.list->len; i++) {
            list_push(r->arena, list, replace(r, v.list->items[i], depth + 1));
            same = same && is_same_scalar(v.list->items[i], list->items[i]);
        }
        return same && is_split_secret(r, list) ? value_string(STR(SCRUB_MARK)) : value_list(list);
    }
    if (v.kind == VALUE_MAP) {
        Map *map = map_new(r->arena, v.map->len);
        for (uint32_t i = 0; i < v.map->len; i++) {
            map_append(r->arena, map, replace(r, v.map->entries[i].key, depth + 1),
                       replace(r, v.map->entries[i].value, depth + 1));
        }
        return value_map(map);
    }
    return v;
}

Value secrets_replace(Arena *arena, Value v, SecretsFilter *filter, void *context)
{
    return replace(&(SecretReplacer){ arena, filter, context }, v, 0);
}
