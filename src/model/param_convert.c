/* Converts a value in a site to the form that the type of a parameter requires. */
#include "base/suggest.h"
#include "lang/duration.h"
#include "lang/number.h"
#include "model/module.h"

enum {
    SHOWN_MAX = 60,
    MODE_MAX = 07777
};

typedef struct Conversion {
    Arena *arena;
    const Sources *sources; /* NULL: original spellings are unknown */
    const ParamSpec *spec;
    Error *err;
} Conversion;

/* The value, shortened for messages. */
static Str shorten(const Conversion *c, Value v)
{
    if (value_is_secret(v)) {
        return STR("this secret");
    }
    switch ((ValueKind)v.kind) {
    case VALUE_STRING: {
        Str text = value_str(v);
        bool cut = text.len > SHOWN_MAX;
        return arena_format(c->arena, "'%" STR_FMT "%s'", STR_ARG(str_slice(text, 0, SHOWN_MAX)),
                            cut ? "..." : "");
    }
    case VALUE_BOOL: return v.boolean ? STR("true") : STR("false");
    case VALUE_INT: return arena_format(c->arena, "%lld", (long long)v.integer);
    case VALUE_FLOAT: {
        char text[NUMBER_TEXT_MAX];
        return arena_copy(c->arena, str_from(text, number_format_repr(v.number, text)));
    }
    case VALUE_NULL:
    case VALUE_UNDEFINED: return STR("nothing");
    default: return arena_format(c->arena, "a %s", value_kind_name((ValueKind)v.kind));
    }
}

static bool reject(const Conversion *c, const char *wanted, Value input)
{
    return error_set(c->err, ERROR_INVALID, "must be %s, not %" STR_FMT, wanted,
                     STR_ARG(shorten(c, input)));
}

/* The same with a suggestion. */
static bool reject_with_suggestion(const Conversion *c, const char *wanted, Value input,
                                   Str suggestion)
{
    return error_set(c->err, ERROR_INVALID,
                     "must be %s, not %" STR_FMT "; did you mean '%" STR_FMT "'?", wanted,
                     STR_ARG(shorten(c, input)), STR_ARG(suggestion));
}

static Value keep_secret_mark(Value v, Value input)
{
    v.flags |= input.flags & VALUE_SECRET;
    v.source = input.source;
    v.location = input.location;
    return v;
}

/* The original spelling of a number or boolean; if it is unknown, the default formatting. */
static Str original_text(const Conversion *c, Value v)
{
    Str original = c->sources == NULL ? STR_EMPTY : value_original(c->sources, v);
    bool word = original.len > 0;
    for (size_t i = 0; word && i < original.len; i++) {
        char letter = original.data[i];
        word = ascii_is_name(letter) || letter == '+' || letter == '-' || letter == '.';
    }
    return word ? original : shorten(c, v);
}

static bool is_scalar(Value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

/* Numbers and booleans become strings, spelled as in the source. */
static bool to_text(const Conversion *c, Value input, const char *wanted, Value *out)
{
    if (is_scalar(input)) {
        bool secret = value_is_secret(input);
        input.flags &= (uint8_t)~VALUE_SECRET;
        Value text = value_string(original_text(c, input));
        *out = keep_secret_mark(secret ? value_with_secret(text) : text, input);
        return true;
    }
    if (!value_is_string(input)) {
        return reject(c, wanted, input);
    }
    *out = input;
    return true;
}

static bool check_choice(const Conversion *c, Value text)
{
    if (c->spec->choices == NULL) {
        return true;
    }
    Suggest suggest = suggest_make(value_str(text));
    Buf listed = buf_make_in(c->arena, BUF_UNLIMITED);
    Str rest = str_from_c(c->spec->choices);
    Str choice;
    while (str_split_next(&rest, '|', &choice)) {
        if (str_eq(choice, value_str(text))) {
            return true;
        }
        suggest_offer(&suggest, choice);
        buf_put_format(&listed, "%s'%" STR_FMT "'", listed.len == 0 ? "" : " or ", STR_ARG(choice));
    }
    Str nearest;
    return suggest_found(&suggest, &nearest)
               ? reject_with_suggestion(c, buf_c(&listed), text, nearest)
               : reject(c, buf_c(&listed), text);
}

static bool to_string(const Conversion *c, Value input, Value *out)
{
    return to_text(c, input, "a string", out) && check_choice(c, *out);
}

static bool to_int(const Conversion *c, Value input, Value *out)
{
    int64_t number = input.integer;
    if (input.kind != VALUE_INT &&
        !(value_is_string(input) && str_to_i64(str_trim(value_str(input)), &number))) {
        return reject(c, "an integer", input);
    }
    *out = keep_secret_mark(value_int(number), input);
    return true;
}

static bool to_bool(const Conversion *c, Value input, Value *out)
{
    static const struct {
        Str word;
        bool truth;
    } words[] = {
        { STR("true"), true }, { STR("false"), false }, { STR("yes"), true },
        { STR("no"), false },  { STR("on"), true },     { STR("off"), false },
    };
    if (input.kind == VALUE_BOOL) {
        *out = input;
        return true;
    }
    Str text = value_is_string(input) ? str_trim(value_str(input)) : STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq_ignore_case(text, words[i].word)) {
            *out = keep_secret_mark(value_bool(words[i].truth), input);
            return true;
        }
    }
    return reject(c, "true or false", input);
}

static bool to_duration(const Conversion *c, Value input, Value *out)
{
    int64_t ms = 0;
    bool ok = input.kind == VALUE_INT     ? duration_from_seconds((double)input.integer, &ms)
              : input.kind == VALUE_FLOAT ? duration_from_seconds(input.number, &ms)
              : value_is_string(input)    ? duration_parse(str_trim(value_str(input)), &ms)
                                          : false;
    if (!ok) {
        static const char wanted[] = "a duration in d, h, m, s or ms such as '15s' or '1h30m'";
        Buf suggestion = buf_make_in(c->arena, 64);
        return value_is_string(input) && !value_is_secret(input) &&
                       duration_suggest(value_str(input), &suggestion)
                   ? reject_with_suggestion(c, wanted, input, buf_str(&suggestion))
                   : reject(c, wanted, input);
    }
    *out = keep_secret_mark(value_int(ms), input);
    return true;
}

/* 420 is 0644 in decimal. As octal digits it would let others do what the owner cannot. A shorter
 * number may be a umask. */
static bool is_decimal_mode(Value input, Str text, int64_t mode)
{
    int64_t owner = mode >> 6 & 7, others = (mode >> 3 & 7) | (mode & 7);
    return input.kind == VALUE_INT && text.data[0] != '0' && text.len > 2 && (others & ~owner) != 0;
}

/* 0644, "0644", 644, "644" and 0o644 are all the same: the decimal number is never intended. */
static bool to_mode(const Conversion *c, Value input, Value *out)
{
    Str text = input.kind == VALUE_INT  ? original_text(c, input)
               : value_is_string(input) ? str_trim(value_str(input))
                                        : STR_EMPTY;
    bool has_prefix = str_starts(text, STR("0o")) || str_starts(text, STR("0O"));
    text = has_prefix ? str_from_offset(text, 2) : text;
    int64_t mode;
    if (text.len == 0 || !ascii_is_digit(text.data[0]) || !number_parse_int(text, 8, &mode, NULL) ||
        mode > MODE_MAX) {
        return reject(c, "a file mode in octal digits, 0 to 7, such as '0644'", input);
    }
    if (!has_prefix && is_decimal_mode(input, text, mode)) {
        return reject(c,
                      "a file mode in octal digits, such as '0644', or in quotes if the owner has "
                      "fewer permissions than others",
                      input);
    }
    *out = keep_secret_mark(value_int(mode), input);
    return true;
}

/* Removes empty and "." components, and resolves "..". */
static Str clean_path(Arena *arena, Str path)
{
    char *clean = arena_alloc(arena, path.len + 1);
    size_t len = 0;
    Str part;
    while (str_split_next(&path, '/', &part)) {
        if (part.len == 0 || str_eq(part, STR("."))) {
            continue;
        }
        if (str_eq(part, STR(".."))) {
            while (len > 0 && clean[--len] != '/') {
            }
            continue;
        }
        clean[len++] = '/';
        memcpy(clean + len, part.data, part.len);
        len += part.len;
    }
    return len == 0 ? STR("/") : str_from(clean, len);
}

static bool is_clean_path(Str path)
{
    return str_find(path, STR("//"), 0) == STR_NOT_FOUND &&
           str_find(path, STR("/."), 0) == STR_NOT_FOUND &&
           (path.len == 1 || path.data[path.len - 1] != '/');
}

static bool to_path(const Conversion *c, Value input, Value *out)
{
    if (!value_is_string(input) || input.len == 0 || input.text[0] != '/' ||
        memchr(input.text, '\0', input.len) != NULL) {
        return reject(c, "an absolute path", input);
    }
    *out = input;
    if (!is_clean_path(value_str(input))) {
        *out = keep_secret_mark(value_string(clean_path(c->arena, value_str(input))), input);
    }
    return true;
}

/* "/srv//www/" to "/srv/www/". */
static bool to_place(const Conversion *c, Value input, Value *out)
{
    if (!to_path(c, input, out)) {
        return false;
    }
    if (input.text[input.len - 1] == '/' && !str_ends(value_str(*out), STR("/"))) {
        Str location = arena_format(c->arena, "%" STR_FMT "/", STR_ARG(value_str(*out)));
        *out = keep_secret_mark(value_string(location), input);
    }
    return true;
}

static bool to_file(const Conversion *c, Value input, Value *out)
{
    return to_path(c, input, out) &&
           (input.text[input.len - 1] != '/' ||
            reject(c, "the path of a file, without '/' at the end", input));
}

static bool to_texts(const Conversion *c, Value input, const char *wanted, Value *out)
{
    if (!value_is_sequence(input)) {
        return reject(c, wanted, input);
    }
    List *texts = list_new(c->arena, input.list->len);
    for (uint32_t i = 0; i < input.list->len; i++) {
        Value text;
        if (!to_text(c, input.list->items[i], wanted, &text) || !check_choice(c, text)) {
            return false;
        }
        list_push(c->arena, texts, text);
    }
    *out = keep_secret_mark(value_list(texts), input);
    return true;
}

static bool to_strings(const Conversion *c, Value input, Value *out)
{
    if (value_is_string(input) || is_scalar(input)) {
        Value text;
        if (!to_string(c, input, &text)) {
            return false;
        }
        List *texts = list_new(c->arena, 1);
        list_push(c->arena, texts, text);
        *out = keep_secret_mark(value_list(texts), input);
        return true;
    }
    return to_texts(c, input, "a list of strings", out);
}

static bool put_entries(const Conversion *c, Map *into, const Map *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        Value key;
        if (!to_text(c, from->entries[i].key, "a map with strings as keys", &key)) {
            return false;
        }
        if (map_find(into, key) != NULL) {
            return error_set(c->err, ERROR_INVALID, "has the duplicate key %" STR_FMT,
                             STR_ARG(shorten(c, key)));
        }
        map_append(c->arena, into, key, from->entries[i].value);
    }
    return true;
}

static bool to_map(const Conversion *c, Value input, Value *out)
{
    bool is_list = value_is_sequence(input);
    Map *map = map_new(c->arena, is_list                   ? input.list->len
                                 : input.kind == VALUE_MAP ? input.map->len
                                                           : 0);
    if (input.kind == VALUE_MAP) {
        if (!put_entries(c, map, input.map)) {
            return false;
        }
    } else if (is_list) {
        for (uint32_t i = 0; i < input.list->len; i++) {
            Value item = input.list->items[i];
            if (item.kind != VALUE_MAP || item.map->len != 1) {
                return reject(c, "a map, or a list of maps with one key each", input);
            }
            if (!put_entries(c, map, item.map)) {
                return false;
            }
        }
    } else {
        return reject(c, "a map", input);
    }
    *out = keep_secret_mark(value_map(map), input);
    return true;
}

static bool put_version(const Conversion *c, Map *into, Value name, Value version)
{
    static const char wanted[] = "a list of names, each alone or as 'name: version'";
    Value key;
    if (!to_text(c, name, wanted, &key)) {
        return false;
    }
    if (key.len == 0) {
        return error_set(c->err, ERROR_INVALID, "has an empty name");
    }
    if (version.kind != VALUE_NULL && !to_text(c, version, wanted, &version)) {
        return false;
    }
    if (map_find(into, key) != NULL) {
        return error_set(c->err, ERROR_INVALID, "contains %" STR_FMT " twice",
                         STR_ARG(shorten(c, key)));
    }
    map_append(c->arena, into, key, version);
    return true;
}

static bool to_versions(const Conversion *c, Value input, Value *out)
{
    Map *map = map_new(c->arena, 4);
    bool is_list = value_is_sequence(input);
    for (uint32_t i = 0; i < (is_list ? input.list->len : 1); i++) {
        Value item = is_list ? input.list->items[i] : input;
        if (item.kind != VALUE_MAP) {
            if (!put_version(c, map, item, value_null())) {
                return false;
            }
            continue;
        }
        for (uint32_t k = 0; k < item.map->len; k++) {
            if (!put_version(c, map, item.map->entries[k].key, item.map->entries[k].value)) {
                return false;
            }
        }
    }
    *out = keep_secret_mark(value_map(map), input);
    return true;
}

static bool to_command(const Conversion *c, Value input, Value *out)
{
    static const char wanted[] = "a command, as a string or as a list of strings";
    if (value_is_sequence(input)) {
        if (input.list->len == 0) {
            return error_set(c->err, ERROR_INVALID, "must be %s, not an empty list", wanted);
        }
        return to_texts(c, input, wanted, out);
    }
    return to_text(c, input, wanted, out);
}

bool param_convert(Arena *arena, const Sources *sources, const ParamSpec *spec, Value input,
                   Value *out, Error *err)
{
    Conversion c = { arena, sources, spec, err };
    switch (spec->kind) {
    case PARAM_STRING: return to_string(&c, input, out);
    case PARAM_INT: return to_int(&c, input, out);
    case PARAM_BOOL: return to_bool(&c, input, out);
    case PARAM_DURATION: return to_duration(&c, input, out);
    case PARAM_MODE: return to_mode(&c, input, out);
    case PARAM_PATH: return to_path(&c, input, out);
    case PARAM_DESTINATION: return to_place(&c, input, out);
    case PARAM_FILE: return to_file(&c, input, out);
    case PARAM_STRINGS: return to_strings(&c, input, out);
    case PARAM_MAP: return to_map(&c, input, out);
    case PARAM_VERSIONS: return to_versions(&c, input, out);
    case PARAM_COMMAND: return to_command(&c, input, out);
    default: *out = input; return true;
    }
}
