/* Finds the lines that belong to secret values in malformed files. There is no parse tree, so this
 * relies on indentation, quotes and brackets, and errs on the side of hiding too much. */
#include "cli/hide.h"

#include "base/str_map.h"

#define TAG "!secret"

/* --- Lines ----------------------------------------------------------------------------------- */

/* As source_location() counts them: LF, CRLF and a lone CR each end one. */
static bool next_line(Str *rest, Str *line)
{
    if (rest->len == 0) {
        return false;
    }
    size_t end = 0;
    while (end < rest->len && rest->data[end] != '\n' && rest->data[end] != '\r') {
        end++;
    }
    *line = str_slice(*rest, 0, end);
    bool is_pair = end + 1 < rest->len && rest->data[end] == '\r' && rest->data[end + 1] == '\n';
    *rest = str_from_offset(*rest, end < rest->len ? end + 1 + is_pair : end);
    return true;
}

static size_t indentation(Str line)
{
    size_t at = 0;
    while (at < line.len && (line.data[at] == ' ' || line.data[at] == '\t')) {
        at++;
    }
    return at;
}

/* --- Marked names ---------------------------------------------------------------------------- */

/* The key that ends at `colon`, without quotes. */
static Str key_before(Str line, size_t colon)
{
    size_t end = colon;
    while (end > 0 && ascii_is_space(line.data[end - 1])) {
        end--;
    }
    bool quoted = end > 0 && (line.data[end - 1] == '"' || line.data[end - 1] == '\'');
    end -= quoted;
    size_t start = end;
    while (start > 0 && memchr(" \t{,[\"'", line.data[start - 1], 8) == NULL) {
        start--;
    }
    return str_slice(line, start, end);
}

/* After a quoted key, as in JSON, no space is required after the colon. */
static bool ends_key(Str line, size_t at)
{
    return line.data[at] == ':' &&
           (at + 1 == line.len || ascii_is_space(line.data[at + 1]) ||
            (at > 0 && (line.data[at - 1] == '"' || line.data[at - 1] == '\'')));
}

/* The last key of the line before `end`; may be empty. */
static Str last_key(Str line, size_t end)
{
    for (size_t at = end; at-- > 0;) {
        if (ends_key(line, at)) {
            return key_before(line, at);
        }
    }
    return STR_EMPTY;
}

/* If a name is marked in any file, its value is secret in all files, even in a malformed file
 * without the mark. */
static void collect_names(const Source *source, StrMap *names)
{
    Str rest = source->text, line, above = STR_EMPTY;
    while (next_line(&rest, &line)) {
        for (size_t at = 0; (at = str_find(line, STR(TAG), at)) != STR_NOT_FOUND; at++) {
            Str key = last_key(line, at);
            key = key.len > 0 ? key : above;
            if (key.len > 0) {
                (void)str_map_put(names, key, (void *)source);
            }
        }
        Str key = last_key(line, line.len);
        above = key.len > 0 ? key : above;
    }
}

static bool has_marked_key(Str line, const StrMap *names)
{
    for (size_t at = 0; at < line.len; at++) {
        if (ends_key(line, at) && str_map_has(names, key_before(line, at))) {
            return true;
        }
    }
    return false;
}

/* --- Secret lines ---------------------------------------------------------------------------- */

/* State of the scan after a line with a secret, which affects the following lines. */
typedef struct SecretState {
    bool in_value;      /* the following lines are part of its value */
    bool is_empty;      /* no line of the value has been seen yet */
    bool allows_items;  /* the value may be a list with the same indentation as its key */
    bool is_item;       /* the line is an item of a list */
    size_t indentation; /* indentation of the line */
} SecretState;

static bool ends_with_header(Str words)
{
    size_t end = words.len;
    while (end > 0 && (words.data[end - 1] == '-' || words.data[end - 1] == '+' ||
                       ascii_is_digit(words.data[end - 1]))) {
        end--;
    }
    return end > 0 && (words.data[end - 1] == '|' || words.data[end - 1] == '>');
}

static void start_secret(Str line, bool tagged, SecretState *state)
{
    Str words = str_trim(line);
    bool bare = tagged && str_ends(words, STR(TAG));
    state->in_value = true;
    state->is_empty = bare || ends_with_header(words);
    state->allows_items = bare;
    state->is_item = str_starts(words, STR("- "));
    state->indentation = indentation(line);
}

/* Whether an unindented line starts something new: a key, another item of the same list, a
 * document. Other lines may belong to the secret, with missing indentation. */
static bool starts_new_item(Str line, const SecretState *state)
{
    Str words = str_trim(line);
    bool is_item = str_starts(words, STR("- "));
    if (str_eq(words, STR("---")) || str_eq(words, STR("...")) ||
        (is_item && state->is_item && indentation(line) == state->indentation)) {
        return true;
    }
    while (str_starts(words, STR("- "))) {
        words = str_trim(str_from_offset(words, 2));
    }
    size_t colon = 0;
    while (colon < words.len && !ends_key(words, colon)) {
        char c = words.data[colon++];
        if (!ascii_is_name(c) && memchr(".-\"'", c, 4) == NULL) {
            return false;
        }
    }
    return colon > 0 && colon < words.len;
}

static size_t end_of_quoted(Str text, size_t at)
{
    char quote = text.data[at++];
    for (; at < text.len; at++) {
        bool doubled = quote == '\'' && at + 1 < text.len && text.data[at + 1] == quote;
        if (text.data[at] == quote && !doubled) {
            return at + 1;
        }
        bool escaped = text.data[at] == (quote == '"' ? '\\' : quote);
        at += escaped; /* skips the escaped character too */
    }
    return text.len;
}

/* End of the value at `at` if it is in quotes or brackets, whose lines need no indentation. An
 * unclosed one extends to the end. Returns `at` for other values. */
static size_t end_of_enclosed(Str text, size_t at)
{
    size_t start = at, depth = 0;
    while (at < text.len && (ascii_is_space(text.data[at]) || text.data[at] == '&')) {
        bool anchor = text.data[at++] == '&';
        while (anchor && at < text.len && !ascii_is_space(text.data[at])) {
            at++;
        }
    }
    while (at < text.len) {
        char c = text.data[at];
        bool quoted = c == '"' || c == '\'', opens = c == '{' || c == '[';
        if (depth == 0 && !quoted && !opens) {
            return start;
        }
        at = quoted ? end_of_quoted(text, at) : at + 1;
        depth += opens;
        depth -= c == '}' || c == ']';
        if (depth == 0) {
            return at;
        }
    }
    return text.len;
}

/* Like end_of_enclosed(), for all marked values of the line; `known` is the end found so far. */
static size_t end_of_marked(Str text, Str line, const StrMap *names, size_t known)
{
    size_t start = (size_t)(line.data - text.data);
    for (size_t i = 0; i < line.len; i++) {
        bool tagged = str_starts(str_from_offset(line, i), STR(TAG));
        size_t value_start = start + i + (tagged ? strlen(TAG) : 1);
        if (value_start > known &&
            (tagged || (ends_key(line, i) && str_map_has(names, key_before(line, i))))) {
            known = end_of_enclosed(text, value_start);
        }
    }
    return known;
}

/* Whether line `line_number` (from 1) is part of a secret value. */
static bool line_is_secret(Str text, uint32_t line_number, const StrMap *names)
{
    Str rest = text, line;
    SecretState state = { 0 };
    size_t enclosed = 0; /* end of the last value in quotes or brackets */
    for (uint32_t number = 1; number <= line_number && next_line(&rest, &line); number++) {
        Str words = str_trim(line);
        bool is_enclosed = (size_t)(line.data - text.data) < enclosed;
        enclosed = end_of_marked(text, line, names, enclosed);
        bool is_item = state.allows_items && words.len > 0 && words.data[0] == '-';
        size_t indented = indentation(line);
        if (words.len > 0 && state.in_value &&
            !(indented > state.indentation || (is_item && indented == state.indentation))) {
            /* The value should be indented but is not, so its end is unknown. */
            if (state.is_empty) {
                return true;
            }
            state.in_value = !starts_new_item(line, &state);
        }
        state.is_empty = state.is_empty && words.len == 0;
        bool tagged = str_find(line, STR(TAG), 0) != STR_NOT_FOUND;
        if (tagged || has_marked_key(line, names)) {
            start_secret(line, tagged, &state);
        }
        if (number == line_number) {
            return state.in_value || is_enclosed;
        }
    }
    return false;
}

/* --- Hiding ---------------------------------------------------------------------------------- */

static Str mask(Arena *arena, Str text, size_t from)
{
    char *masked = arena_copy_c(arena, text);
    for (size_t i = from; i < text.len; i++) {
        masked[i] = masked[i] == ' ' || masked[i] == '\t' ? masked[i] : '*';
    }
    return str_from(masked, text.len);
}

/* Replaces the quoted part of a message with (secret). That part may itself contain quotes. */
static Str redact_quoted(Arena *arena, Str message)
{
    size_t open = str_find(message, STR("'"), 0), close = str_find_last(message, STR("'"));
    if (open == close) {
        return message;
    }
    return arena_join(arena, str_slice(message, 0, open), STR("(secret)"),
                      str_from_offset(message, close + 1));
}

/* Returns how much of a problem's line can be shown: up to the end of the tag or of the marked name
 * at its start. */
static size_t shown_length(const Problem *problem, const StrMap *names)
{
    Str line = problem->excerpt;
    size_t tag = str_find(line, STR(TAG), 0), colon = str_find(line, STR(":"), 0);
    if (tag != STR_NOT_FOUND) {
        return tag + strlen(TAG);
    }
    bool is_name = problem->excerpt_column <= 1 && colon != STR_NOT_FOUND &&
                   ends_key(line, colon) && str_map_has(names, key_before(line, colon));
    return is_name ? colon + 1 : 0;
}

static const Source *source_of(const Sources *sources, const Problem *problem)
{
    for (uint32_t i = 1; i <= sources->count; i++) {
        const Source *source = sources_get(sources, (uint16_t)i);
        if (str_eq(source->name, problem->file)) {
            return source;
        }
    }
    return NULL;
}

void hide_secrets(Problems *problems, const Sources *sources)
{
    StrMap names;
    str_map_init(&names, problems->arena);
    for (uint32_t i = 1; i <= sources->count; i++) {
        collect_names(sources_get(sources, (uint16_t)i), &names);
    }
    for (uint32_t i = 0; i < problems->count; i++) {
        Problem *problem = &problems->items[i];
        const Source *source = source_of(sources, problem);
        if (source == NULL || !line_is_secret(source->text, problem->line, &names)) {
            continue;
        }
        problem->excerpt = mask(problems->arena, problem->excerpt, shown_length(problem, &names));
        problem->message = redact_quoted(problems->arena, problem->message);
        if (!str_eq(problem->code, STR("E0121"))) {
            problem->hint = STR_EMPTY; /* most hints repeat parts of the line */
            problem->fix = (ProblemFix){ 0 };
        }
    }
}
