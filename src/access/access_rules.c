/* Parses and prints rules. All faults of a list are collected, each with the JSON pointer to the
 * invalid value. */
#include "access/access_rules.h"

#include "base/suggest.h"
#include "base/visible.h"
#include "cluster/object_selector.h"

/* --- Names and words ------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || ascii_is_digit(c);
}

bool access_role_name_check(Str name, Error *err)
{
    bool ok = name.len > 0 && name.len <= ROLE_NAME_MAX && is_name_char(name.data[0]) &&
              is_name_char(name.data[name.len - 1]);
    for (size_t i = 0; ok && i < name.len; i++) {
        ok = is_name_char(name.data[i]) || name.data[i] == '-';
    }
    if (!ok) {
        return error_set(
            err, ERROR_INVALID,
            "a role name must consist of 1 to %d lowercase letters and digits, with '-' between "
            "them",
            ROLE_NAME_MAX);
    }
    return access_role_builtin(name) == NULL ||
           error_set(err, ERROR_INVALID, "the role '%" STR_FMT "' is built in", STR_ARG(name));
}

/* Letters and '-', or "*". */
static bool is_valid_word(Str word)
{
    bool ok = word.len > 0 && word.len <= ACCESS_WORD_MAX;
    for (size_t i = 0; ok && i < word.len; i++) {
        ok = ascii_is_alpha(word.data[i]) || (word.data[i] == '-' && i > 0);
    }
    return ok || str_eq(word, STR("*"));
}

/* --- Parsing --------------------------------------------------------------------------------- */

typedef struct Reader {
    Arena *arena;   /* memory of the role */
    Arena *scratch; /* memory that only messages need, because servers keep all roles in memory */
    const AccessVocabulary *vocabulary;
    RuleFaults *faults;
    bool ok;
} Reader;

PRINTF_LIKE(3, 4)
static void add_fault(Reader *reader, Str pointer, const char *format, ...)
{
    RuleFaults *faults = reader->faults;
    reader->ok = false;
    if (faults->count == ACCESS_FAULTS_MAX) {
        return;
    }
    va_list args;
    va_start(args, format);
    faults->items[faults->count++] = (RuleFault){
        .pointer = arena_copy(faults->arena, pointer),
        .detail = arena_format_v(faults->arena, format, args),
    };
    va_end(args);
}

static Str below(Reader *reader, Str pointer, const char *word)
{
    return arena_format(reader->scratch, "%" STR_FMT "/%s", STR_ARG(pointer), word);
}

static Str item_of(Reader *reader, Str pointer, uint32_t index)
{
    return arena_format(reader->scratch, "%" STR_FMT "/%u", STR_ARG(pointer), index);
}

/* Quotes a string safely for a message. */
static const char *printable(Reader *reader, Str text)
{
    Buf visible = buf_make_in(reader->scratch, BUF_UNLIMITED);
    visible_put(&visible, str_slice(text, 0, 2 * ACCESS_WORD_MAX));
    return buf_c(&visible);
}

static bool is_among(Str word, const Str *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(word, words[i])) {
            return true;
        }
    }
    return false;
}

/* `what` is "verb" or "kind". */
static void check_name(Reader *reader, Str pointer, const char *what, Str word)
{
    bool is_verb = what[0] == 'v';
    const AccessVocabulary *vocabulary = reader->vocabulary;
    if (!is_valid_word(word)) {
        add_fault(reader, pointer, "a %s must consist of letters, or be '*' for all; not '%s'",
                  what, printable(reader, word));
        return;
    }
    if (vocabulary == NULL || str_eq(word, STR("*"))) {
        return;
    }
    const Str *words = is_verb ? vocabulary->verbs : vocabulary->kinds;
    uint32_t count = is_verb ? vocabulary->verb_count : vocabulary->kind_count;
    Str nearest;
    if (is_among(word, words, count)) {
        return;
    }
    if (suggest_best(word, words, count, &nearest)) {
        add_fault(reader, pointer, "unknown %s '%" STR_FMT "'; did you mean '%" STR_FMT "'?", what,
                  STR_ARG(word), STR_ARG(nearest));
    } else {
        Buf all = buf_make_in(reader->scratch, BUF_UNLIMITED);
        for (uint32_t i = 0; i < count; i++) {
            buf_put_c(&all, ", ");
            buf_put(&all, words[i]);
        }
        add_fault(reader, pointer, "unknown %s '%" STR_FMT "'; expected *%s", what, STR_ARG(word),
                  buf_c(&all));
    }
}

static const Str *read_words(Reader *reader, Str pointer, const char *what, Value list,
                             uint32_t *count)
{
    *count = 0;
    if (list.kind != VALUE_LIST || list.list->len == 0) {
        add_fault(reader, pointer, "must be a list of %ss", what);
        return NULL;
    }
    if (list.list->len > ACCESS_WORDS_MAX) {
        add_fault(reader, pointer, "more than %d %ss", ACCESS_WORDS_MAX, what);
        return NULL;
    }
    Str *words = ARENA_ARRAY(reader->arena, Str, list.list->len);
    for (uint32_t i = 0; i < list.list->len; i++) {
        Value item = list.list->items[i];
        Str at = item_of(reader, pointer, i);
        if (!value_is_string(item)) {
            add_fault(reader, at, "a %s must be a string", what);
            continue;
        }
        check_name(reader, at, what, value_str(item));
        words[(*count)++] = arena_copy(reader->arena, value_str(item));
    }
    return words;
}

static void read_selector(Reader *reader, Str pointer, Value text, AccessRule *rule)
{
    if (!value_is_string(text)) {
        add_fault(reader, pointer, "a selector must be a string, such as 'role=web'");
        return;
    }
    if (text.len > ACCESS_SELECTOR_MAX) {
        add_fault(reader, pointer, "a selector must be at most %d bytes long", ACCESS_SELECTOR_MAX);
        return;
    }
    if (text.len == 0) {
        return; /* treated as if it were absent */
    }
    Problems problems;
    problems_init(&problems, reader->scratch);
    rule->selector = arena_copy(reader->arena, value_str(text));
    if (!object_selector_parse_as(reader->arena, STR("selector"), rule->selector, &rule->parsed,
                                  &problems)) {
        const Problem *first = &problems.items[0];
        RuleFaults *faults = reader->faults;
        uint32_t count = faults->count;
        add_fault(reader, pointer, "%" STR_FMT "%s%" STR_FMT, STR_ARG(first->message),
                  first->hint.len > 0 ? "; " : "", STR_ARG(first->hint));
        if (faults->count > count) {
            faults->items[count].column = first->column;
        }
    }
}

static void check_fields(Reader *reader, Str pointer, Value rule)
{
    static const Str fields[] = { STR("verbs"), STR("kinds"), STR("selector") };
    for (uint32_t i = 0; i < rule.map->len; i++) {
        Value key = rule.map->entries[i].key;
        Str name = value_is_string(key) ? value_str(key) : STR("?"), nearest;
        if (is_among(name, fields, COUNT_OF(fields))) {
            continue;
        }
        if (suggest_best(name, fields, COUNT_OF(fields), &nearest)) {
            add_fault(reader, pointer, "unknown field '%s' in a rule; did you mean '%" STR_FMT "'?",
                      printable(reader, name), STR_ARG(nearest));
        } else {
            add_fault(reader, pointer,
                      "unknown field '%s' in a rule; expected verbs, kinds and selector",
                      printable(reader, name));
        }
    }
}

static void read_rule(Reader *reader, Str pointer, Value value, AccessRule *out)
{
    *out = (AccessRule){ 0 };
    if (value.kind != VALUE_MAP) {
        add_fault(reader, pointer,
                  "a rule must be an object with verbs, kinds and an optional selector");
        return;
    }
    check_fields(reader, pointer, value);
    const Value *verbs = value_get(value, STR("verbs")), *kinds = value_get(value, STR("kinds")),
                *selector = value_get(value, STR("selector"));
    out->verbs = read_words(reader, below(reader, pointer, "verbs"), "verb",
                            verbs == NULL ? value_null() : *verbs, &out->verb_count);
    out->kinds = read_words(reader, below(reader, pointer, "kinds"), "kind",
                            kinds == NULL ? value_null() : *kinds, &out->kind_count);
    if (selector != NULL && selector->kind != VALUE_NULL) {
        read_selector(reader, below(reader, pointer, "selector"), *selector, out);
    }
}

bool access_role_parse(Arena *arena, Str name, Value rules, Str pointer,
                       const AccessVocabulary *vocabulary, AccessRole *out, RuleFaults *faults)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Reader reader = {
        .arena = arena, .scratch = &scratch, .vocabulary = vocabulary, .faults = faults, .ok = true
    };
    if (rules.kind != VALUE_LIST) {
        add_fault(&reader, pointer, "must be a list of rules");
        return false;
    }
    if (rules.list->len > ACCESS_RULES_MAX) {
        add_fault(&reader, pointer, "a role must have at most %d rules", ACCESS_RULES_MAX);
        return false;
    }
    AccessRule *read = ARENA_ARRAY(arena, AccessRule, rules.list->len);
    for (uint32_t i = 0; i < rules.list->len; i++) {
        read_rule(&reader, item_of(&reader, pointer, i), rules.list->items[i], &read[i]);
    }
    if (!reader.ok) {
        return false;
    }
    *out = (AccessRole){ arena_copy(arena, name), read, rules.list->len };
    return true;
}

/* --- Printing -------------------------------------------------------------------------------- */

static Value words_value(Arena *arena, const Str *words, uint32_t count)
{
    List *list = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, list, value_string(words[i]));
    }
    return value_list(list);
}

Value access_role_value(Arena *arena, const AccessRole *role)
{
    List *rules = list_new(arena, role->rule_count);
    for (uint32_t i = 0; i < role->rule_count; i++) {
        const AccessRule *rule = &role->rules[i];
        Map *map = map_new(arena, 3);
        map_set_str(arena, map, STR("verbs"), words_value(arena, rule->verbs, rule->verb_count));
        map_set_str(arena, map, STR("kinds"), words_value(arena, rule->kinds, rule->kind_count));
        if (rule->selector.len > 0) {
            map_set_str(arena, map, STR("selector"), value_string(rule->selector));
        }
        list_push(arena, rules, value_map(map));
    }
    return value_list(rules);
}
