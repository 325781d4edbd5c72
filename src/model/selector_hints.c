#include "model/selector_hints.h"

#include "base/buf.h"
#include "base/suggest.h"
#include "model/foreign.h"

typedef struct Term {
    Arena *arena;
    Str text;
    bool expressions;
} Term;

enum {
    IN_ITEMS_MAX = 8 /* listed in a hint */
};

bool selector_is_plain(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_name(c) && (unsigned char)c < 0x80 &&
            memchr("-./:*?[]!^@+~%", c, 14) == NULL) {
            return false;
        }
    }
    return true;
}

static bool set_mistake(SelectorMistake *out, size_t pos, size_t length, Str message, Str hint)
{
    *out = (SelectorMistake){ pos, length, message, hint, STR_EMPTY };
    return true;
}

/* The same for a mistake that replacing the term with `term` fixes. */
static bool set_mistake_term(const Term *of, SelectorMistake *out, size_t pos, size_t length,
                             Str message, Str term)
{
    bool is_quoted = str_find(term, STR("'"), 0) != STR_NOT_FOUND;
    Str hint = arena_format(
        of->arena, is_quoted ? "write \"%" STR_FMT "\"" : "write '%" STR_FMT "'", STR_ARG(term));
    *out = (SelectorMistake){ pos, length, message, hint, term };
    return true;
}

/* Up to the first whitespace after `pos`. */
static Str word_from(Str text, size_t pos)
{
    size_t end = pos;
    while (end < text.len && !ascii_is_space(text.data[end])) {
        end++;
    }
    return str_slice(text, pos, end);
}

static size_t skip_space(Str text, size_t pos)
{
    while (pos < text.len && ascii_is_space(text.data[pos])) {
        pos++;
    }
    return pos;
}

/* Position of the first quote; the length if there is none. */
static size_t find_quote(Str text)
{
    size_t pos = 0;
    while (pos < text.len && text.data[pos] != '\'' && text.data[pos] != '"') {
        pos++;
    }
    return pos;
}

/* Position of an unmatched quote, ignoring quotes inside other quotes. */
static size_t find_open_quote(Str text)
{
    size_t pos = 0;
    char quote = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (quote != 0 && c == '\\') {
            i++; /* an expression may escape them */
        } else if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
            pos = i;
        }
    }
    return quote == 0 ? STR_NOT_FOUND : pos;
}

/* "write 'role=web'" for the text without its quotes, if that is plausible; otherwise empty. */
static Str format_without_quotes(const Term *term)
{
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    for (size_t i = 0; i < term->text.len; i++) {
        if (term->text.data[i] != '\'' && term->text.data[i] != '"') {
            buf_put_char(&text, term->text.data[i]);
        }
    }
    Str bare = buf_str(&text);
    size_t equals = str_find(bare, STR("="), 0);
    bool is_label = equals != STR_NOT_FOUND && equals > 0 &&
                    selector_is_plain(str_slice(bare, 0, equals)) &&
                    selector_is_plain(str_from_offset(bare, equals + 1));
    return bare.len > 0 && (is_label || (equals == STR_NOT_FOUND && selector_is_plain(bare)))
               ? arena_format(term->arena, "write '%" STR_FMT "'", STR_ARG(bare))
               : STR_EMPTY;
}

/* Whether an expression may start with the word: a literal, or a name that is defined when nodes
 * are selected. `role == web` compares two names that are never defined. */
static bool begins_expression(Str word)
{
    static const Str names[] = { STR("server"),    STR("Server"), STR("eden"),       STR("vars"),
                                 STR("variables"), STR("macros"), STR("servervars"), STR("event"),
                                 STR("events"),    STR("not"),    STR("true"),       STR("false"),
                                 STR("none"),      STR("True"),   STR("False") };
    if (word.len == 0 || !(ascii_is_alpha(word.data[0]) || word.data[0] == '_')) {
        return true;
    }
    size_t end = 0;
    while (end < word.len && ascii_is_name(word.data[end])) {
        end++;
    }
    Str root = str_slice(word, 0, end);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (str_eq(root, names[i])) {
            return true;
        }
    }
    return false;
}

/* --- Checks for one mistake each ------------------------------------------------------------- */

/* The names of operating systems are lowercase: 'debian', not 'Debian'. */
static Str format_comparison(const Term *term, Str fact, Str value)
{
    bool lower = str_starts(fact, STR("server.os"));
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    buf_put_format(&text, "%" STR_FMT " == '", STR_ARG(fact));
    for (size_t i = 0; i < value.len; i++) {
        buf_put_char(&text, lower ? ascii_lower(value.data[i]) : value.data[i]);
    }
    buf_put_char(&text, '\'');
    return buf_str(&text);
}

/* "server.os == 'debian'" for "os" and "debian"; empty if that is not a fact. */
static Str compare_fact(const Term *term, Str name, Str value)
{
    static const Str facts[] = { STR("os"),   STR("os_family"), STR("os_version"),
                                 STR("arch"), STR("kernel"),    STR("virtualization") };
    for (size_t i = 0; term->expressions && i < COUNT_OF(facts); i++) {
        if (str_eq(name, facts[i]) && value.len > 0 && selector_is_plain(value) &&
            str_find(value, STR("*"), 0) == STR_NOT_FOUND) {
            return format_comparison(
                term, arena_format(term->arena, "server.%" STR_FMT, STR_ARG(name)), value);
        }
    }
    return STR_EMPTY;
}

/* "server.os == 'debian'" for "os:Debian" from Salt's grains, or a label; empty if it is nested. */
static Str format_grain(const Term *term, Str grain)
{
    size_t colon = str_find(grain, STR(":"), 0);
    Str name = str_slice(grain, 0, colon == STR_NOT_FOUND ? 0 : colon);
    Str value = colon == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(grain, colon + 1);
    if (name.len == 0 || value.len == 0 || str_find(value, STR(":"), 0) != STR_NOT_FOUND) {
        return STR_EMPTY;
    }
    Str grains = arena_format(term->arena, "grains.%" STR_FMT, STR_ARG(name));
    Str fact = hint_replacement(foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, grains));
    bool is_pattern = str_find(value, STR("*"), 0) != STR_NOT_FOUND;
    if (!str_starts(fact, STR("server.")) || str_eq(fact, STR("server.labels"))) {
        return arena_format(term->arena, "%" STR_FMT "=%" STR_FMT, STR_ARG(name), STR_ARG(value));
    }
    return term->expressions && !is_pattern ? format_comparison(term, fact, value) : STR_EMPTY;
}

/* "(web1 or web2)" for "web1,web2". */
static Str format_list(const Term *term, Str names)
{
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    Str rest = names, name;
    uint32_t count = 0;
    while (rest.len > 0 && str_split_next(&rest, ',', &name)) {
        buf_put_format(&text, "%s%" STR_FMT, count++ > 0 ? " or " : "(", STR_ARG(name));
    }
    buf_put_c(&text, ")");
    return count == 1 ? names : count == 0 ? STR_EMPTY : buf_str(&text);
}

/* Salt's compound targets: G@os:Debian, L@web1,web2, E@web.*. */
static bool detect_prefix(const Term *term, SelectorMistake *out)
{
    Str text = term->text, replacement = STR_EMPTY;
    if (text.len <= 2 || text.data[0] < 'A' || text.data[0] > 'Z' || text.data[1] != '@') {
        return false;
    }
    Str rest = str_from_offset(text, 2), message = STR("selectors do not support 'X@' prefixes");
    Str hint = term->expressions
                   ? STR("write \"server.os == 'debian'\" for a fact, 'role=web' for a label")
                   : STR("write 'role=web' for a label, 'web*' for a name");
    switch (text.data[0]) {
    case 'G': replacement = format_grain(term, rest); break;
    case 'L': replacement = format_list(term, rest); break;
    case 'S':
        replacement =
            term->expressions && str_find(rest, STR("/"), 0) == STR_NOT_FOUND
                ? arena_format(term->arena, "server.ipv4 == '%" STR_FMT "'", STR_ARG(rest))
                : STR_EMPTY;
        break;
    case 'E':
    case 'P':
        hint = STR("regular expressions are not supported; write a pattern such as 'web*'");
        break;
    case 'N': hint = STR("write a label of the nodes in the group, such as 'group=web'"); break;
    case 'I': hint = STR("write a label of the nodes, such as 'role=web'"); break;
    default: break;
    }
    return replacement.len > 0 ? set_mistake_term(term, out, 0, 2, message, replacement)
                               : set_mistake(out, 0, 2, message, hint);
}

static bool detect_open_quote(const Term *term, SelectorMistake *out)
{
    size_t pos = find_open_quote(term->text);
    if (pos == STR_NOT_FOUND) {
        return false;
    }
    Str hint = format_without_quotes(term);
    return set_mistake(out, pos, 1, STR("unmatched quote"),
                       hint.len > 0 ? hint : STR("add a closing quote"));
}

static bool detect_ampersand(const Term *term, SelectorMistake *out)
{
    size_t pos = str_find(term->text, STR("&"), 0);
    if (pos == STR_NOT_FOUND || find_quote(term->text) < pos) {
        return false;
    }
    bool is_double = str_starts(str_from_offset(term->text, pos), STR("&&"));
    return set_mistake(out, pos, is_double ? 2 : 1, STR("'&' is not a valid operator"),
                       STR("write 'and'"));
}

/* "(role=web or role=db)" for "role=web|db" and "role=(web|db)"; empty if that is not possible. */
static Str format_alternatives(const Term *term)
{
    Str first = str_slice(term->text, 0, str_find(term->text, STR("|"), 0));
    size_t equals = str_find(first, STR("="), 0);
    Str label = equals == STR_NOT_FOUND ? STR_EMPTY : str_slice(first, 0, equals + 1);
    Str rest = str_from_offset(term->text, label.len), item;
    bool grouped = str_starts(rest, STR("(")) && str_ends(rest, STR(")"));
    rest = grouped ? str_slice(rest, 1, rest.len - 1) : rest;
    if (label.len == 1 || !selector_is_plain(str_slice(label, 0, label.len - (label.len > 0)))) {
        return STR_EMPTY;
    }
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    while (rest.len > 0 && str_split_next(&rest, '|', &item)) {
        if (item.len == 0 || !selector_is_plain(item)) {
            return STR_EMPTY;
        }
        buf_put_format(&text, "%s%" STR_FMT "%" STR_FMT, text.len > 0 ? " or " : "(",
                       STR_ARG(label), STR_ARG(item));
    }
    buf_put_c(&text, ")");
    return buf_str(&text);
}

static bool detect_bars(const Term *term, SelectorMistake *out)
{
    size_t pos = str_find(term->text, STR("||"), 0);
    if (pos != STR_NOT_FOUND && find_quote(term->text) > pos) {
        return set_mistake(out, pos, 2, STR("'||' is not a valid operator"), STR("write 'or'"));
    }
    pos = str_find(term->text, STR("|"), 0); /* in an expression, a filter follows */
    if (pos == STR_NOT_FOUND || pos == 0 || begins_expression(term->text)) {
        return false;
    }
    Str replacement = format_alternatives(term);
    return replacement.len > 0 &&
           set_mistake_term(term, out, pos, 1, STR("'|' is not a valid operator"), replacement);
}

static bool detect_open_bracket(const Term *term, SelectorMistake *out)
{
    size_t pos = str_find(term->text, STR("["), 0);
    return selector_is_plain(term->text) && pos != STR_NOT_FOUND &&
           str_find(term->text, STR("]"), pos) == STR_NOT_FOUND &&
           set_mistake(out, pos, 1, STR("unmatched bracket"), STR("write '[abc]' or '[0-9]'"));
}

/* web[01:10] in Ansible, web[01-10] in shells and other tools, web[a:c] */
static bool detect_range(const Term *term, SelectorMistake *out)
{
    size_t open = str_find(term->text, STR("["), 0);
    size_t close = open == STR_NOT_FOUND ? STR_NOT_FOUND : str_find(term->text, STR("]"), open);
    if (close == STR_NOT_FOUND || !selector_is_plain(term->text)) {
        return false;
    }
    Str range = str_slice(term->text, open + 1, close);
    size_t pos = str_find(range, STR(":"), 0);
    bool colon = pos != STR_NOT_FOUND;
    pos = colon ? pos : str_find(range, STR("-"), 0);
    if (pos == STR_NOT_FOUND || pos == 0 || pos + 1 == range.len) {
        return false;
    }
    if (colon && pos == 1 && range.len == 3) {
        Str message = STR("ranges in brackets are written with '-'");
        if (str_find(str_from_offset(term->text, close), STR(":"), 0) != STR_NOT_FOUND) {
            return set_mistake(
                out, open + 1 + pos, 1, message,
                arena_format(term->arena, "write '[%c-%c]'", range.data[0], range.data[2]));
        }
        return set_mistake_term(term, out, open + 1 + pos, 1, message,
                                arena_format(term->arena, "%" STR_FMT "-%" STR_FMT,
                                             STR_ARG(str_slice(term->text, 0, open + 1 + pos)),
                                             STR_ARG(str_from_offset(term->text, open + 2 + pos))));
    }
    int64_t from, to;
    return (colon || (range.len > 3 && str_to_i64(str_slice(range, 0, pos), &from) &&
                      str_to_i64(str_from_offset(range, pos + 1), &to))) &&
           set_mistake(out, open, close + 1 - open,
                       STR("brackets match one character, not a range of numbers"),
                       STR("write a pattern for each digit, such as 'web[0-9][0-9]', or 'web*'"));
}

/* role='web': not an expression either. */
static bool detect_quoted_value(const Term *term, SelectorMistake *out)
{
    size_t quote = find_quote(term->text);
    Str before = str_slice(term->text, 0, quote);
    bool compares =
        str_ends(before, STR("==")) || (term->expressions && str_ends(before, STR("!=")));
    if (quote >= term->text.len || (term->expressions && quote == 0)) {
        return false;
    }
    bool is_value = str_ends(before, STR("=")) && !compares && before.len > 1 &&
                    selector_is_plain(str_slice(before, 0, before.len - 1));
    Str hint = format_without_quotes(term);
    return (is_value || (quote == 0 && hint.len > 0)) &&
           set_mistake(out, quote, term->text.len - quote,
                       STR("label names and values must not be quoted"), hint);
}

/* ansible_os_family == 'Debian', grains.os == "Debian" */
static bool detect_foreign_name(const Term *term, Str name, size_t pos, SelectorMistake *out)
{
    Str hint = foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, name), fact = hint_replacement(hint);
    if (!term->expressions || hint.len == 0) {
        return false;
    }
    Str message = arena_format(term->arena, "'%" STR_FMT "' is undefined", STR_ARG(name));
    Str value = str_trim(str_from_offset(term->text, pos + 2));
    bool quoted = value.len > 1 && find_quote(value) == 0;
    value = quoted ? str_slice(value, 1, value.len - 1) : value;
    if (fact.len == 0 || !selector_is_plain(value)) {
        return set_mistake(out, 0, name.len, message, hint);
    }
    return set_mistake_term(term, out, 0, name.len, message, format_comparison(term, fact, value));
}

/* Matches role == web, and role != 'web' instead of role!=web. */
static bool detect_double_equals(const Term *term, SelectorMistake *out)
{
    size_t equal = str_find(term->text, STR("=="), 0), differ = str_find(term->text, STR("!="), 0);
    size_t pos = equal < differ ? equal : differ;
    bool negated = pos == differ;
    if (pos == STR_NOT_FOUND || (term->expressions && begins_expression(term->text))) {
        return false;
    }
    Str label = str_trim(str_slice(term->text, 0, pos));
    Str value = str_trim(str_from_offset(term->text, pos + 2));
    if (!negated && detect_foreign_name(term, label, pos, out)) {
        return true;
    }
    label = str_starts(label, STR("labels.")) ? str_from_offset(label, 7) : label;
    bool quoted =
        value.len > 1 && find_quote(value) == 0 && value.data[value.len - 1] == value.data[0];
    value = quoted ? str_slice(value, 1, value.len - 1) : value;
    Str replacement = negated ? STR_EMPTY : compare_fact(term, label, value);
    if (replacement.len > 0) {
        return set_mistake_term(
            term, out, 0, label.len,
            arena_format(term->arena, "'%" STR_FMT "' is undefined", STR_ARG(label)), replacement);
    }
    return label.len > 0 && selector_is_plain(label) && selector_is_plain(value) &&
           !str_starts(label, STR("server.")) && (!negated || quoted) &&
           set_mistake_term(term, out, pos, 2,
                            negated
                                ? STR("'!=' must not have spaces around it, and the value must not "
                                      "be quoted")
                                : STR("a label is compared with a single '='"),
                            arena_format(term->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(label),
                                         negated ? "!=" : "=", STR_ARG(value)));
}

static bool detect_tilde(const Term *term, SelectorMistake *out)
{
    static const char *const operators[] = { "=~", "~=", "!~" };
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        size_t pos = str_find(term->text, str_from_c(operators[i]), 0);
        if (pos != STR_NOT_FOUND && pos > 0 && pos < find_quote(term->text) &&
            selector_is_plain(str_trim(str_slice(term->text, 0, pos)))) {
            return set_mistake(
                out, pos, 2,
                arena_format(term->arena, "'%s' is not a valid operator", operators[i]),
                STR("write a pattern with '*', '?' or '[abc]', such as 'role=web*'"));
        }
    }
    return false;
}

/* "(role=a or role=b)" for "a, b)", which followed "role in ("; empty if that is not possible. */
static Str format_terms(const Term *term, Str label, Str items, bool negated)
{
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    size_t close = str_find(items, STR(")"), 0);
    close = close == STR_NOT_FOUND ? str_find(items, STR("]"), 0) : close;
    Str rest = str_slice(items, 0, close), item;
    uint32_t count = 0;
    buf_put_c(&text, negated ? "!(" : "(");
    while (str_split_next(&rest, ',', &item)) {
        item = str_trim(item);
        bool quoted = item.len > 1 && (item.data[0] == '\'' || item.data[0] == '"');
        item = quoted ? str_slice(item, 1, item.len - 1) : item;
        if (item.len == 0 || !selector_is_plain(item) || count++ >= IN_ITEMS_MAX) {
            return STR_EMPTY;
        }
        buf_put_format(&text, "%s%" STR_FMT "=%" STR_FMT, count > 1 ? " or " : "", STR_ARG(label),
                       STR_ARG(item));
    }
    buf_put_c(&text, ")");
    return count > 0 ? buf_str(&text) : STR_EMPTY;
}

/* role is web, role is not web, role is defined */
static bool detect_is(const Term *term, Str label, size_t pos, SelectorMistake *out)
{
    Str value = word_from(term->text, skip_space(term->text, pos + 2));
    bool negated = str_eq(value, STR("not"));
    size_t start = (size_t)(value.data - term->text.data);
    value = negated ? word_from(term->text, skip_space(term->text, start + 3)) : value;
    if (value.len == 0 || !selector_is_plain(value) ||
        (value.data + value.len) != (term->text.data + term->text.len)) {
        return false;
    }
    bool present = str_eq(value, STR("defined")), absent = str_eq(value, STR("undefined"));
    return set_mistake_term(term, out, pos, 2, STR("'is' is not a valid operator"),
                            arena_format(term->arena, "%" STR_FMT "%s=%" STR_FMT, STR_ARG(label),
                                         negated != absent ? "!" : "",
                                         STR_ARG(present || absent ? STR("*") : value)));
}

static bool detect_in(const Term *term, SelectorMistake *out)
{
    Str label = word_from(term->text, 0);
    size_t pos = skip_space(term->text, label.len);
    Str word = word_from(term->text, pos);
    if ((term->expressions && begins_expression(label)) || !selector_is_plain(label)) {
        return false;
    }
    if (str_eq(word, STR("is"))) {
        return detect_is(term, label, pos, out);
    }
    size_t next = skip_space(term->text, pos + word.len);
    bool is_not_in = str_eq(word, STR("not")) && str_eq(word_from(term->text, next), STR("in"));
    word = is_not_in ? str_slice(term->text, pos, next + 2)
                     : str_slice(word, 0, str_find(word, STR("("), 0));
    bool negated = is_not_in || str_eq_ignore_case(word, STR("notin"));
    if (!(negated || str_eq_ignore_case(word, STR("in")))) {
        return false;
    }
    size_t open = pos + word.len;
    while (open < term->text.len && term->text.data[open] != '(' && term->text.data[open] != '[') {
        open++;
    }
    Str items = open >= term->text.len ? STR_EMPTY : str_from_offset(term->text, open + 1);
    Str message =
        arena_format(term->arena, "'%" STR_FMT "' is not a valid operator", STR_ARG(word));
    Str replacement = format_terms(term, label, items, negated);
    return replacement.len > 0 ? set_mistake_term(term, out, pos, word.len, message, replacement)
                               : set_mistake(out, pos, word.len, message,
                                             negated ? STR("write '!(role=a or role=b)'")
                                                     : STR("write '(role=a or role=b)'"));
}

/* role = web, role= web, role =web */
static bool detect_spaced_equals(const Term *term, SelectorMistake *out)
{
    size_t pos = str_find(term->text, STR("="), 0);
    if (pos == STR_NOT_FOUND || pos == 0 ||
        str_starts(str_from_offset(term->text, pos), STR("=="))) {
        return false;
    }
    Str left = str_slice(term->text, 0, pos), right = str_from_offset(term->text, pos + 1);
    Str label = str_trim(left), value = word_from(str_trim(right), 0);
    bool negated = str_ends(label, STR("!"));
    label = negated ? str_trim(str_slice(label, 0, label.len - 1)) : label;
    bool is_spaced =
        ascii_is_space(left.data[left.len - 1]) || (right.len > 0 && ascii_is_space(right.data[0]));
    return is_spaced && !(negated && term->expressions) && label.len > 0 && value.len > 0 &&
           selector_is_plain(label) && selector_is_plain(value) &&
           set_mistake_term(term, out, pos - negated, 1 + (size_t)negated,
                            STR("spaces around '=' are not allowed"),
                            arena_format(term->arena, "%" STR_FMT "%s=%" STR_FMT, STR_ARG(label),
                                         negated ? "!" : "", STR_ARG(value)));
}

/* role:web, role: web */
static bool detect_colon(const Term *term, SelectorMistake *out)
{
    size_t pos = str_find(term->text, STR(":"), 0);
    Str label = str_slice(term->text, 0, pos);
    Str value = pos == STR_NOT_FOUND ? STR_EMPTY : str_trim(str_from_offset(term->text, pos + 1));
    Str replacement = compare_fact(term, label, value);
    if (replacement.len > 0) {
        return set_mistake_term(term, out, pos, 1, STR("a fact is compared with '=='"),
                                replacement);
    }
    return label.len > 0 && value.len > 0 && selector_is_plain(label) && selector_is_plain(value) &&
           str_find(value, STR(":"), 0) == STR_NOT_FOUND && ascii_is_name(value.data[0]) &&
           set_mistake_term(
               term, out, pos, 1, STR("a label and its value are separated by '='"),
               arena_format(term->arena, "%" STR_FMT "=%" STR_FMT, STR_ARG(label), STR_ARG(value)));
}

/* An Ansible pattern, "web:&staging:!db": nodes of any group, of all those with '&', of none of
 * those with '!'. */
typedef struct Pattern {
    Str any[IN_ITEMS_MAX];
    Buf others; /* " and staging and !db" */
    uint32_t any_count;
    bool all;
    bool has_group;     /* @web */
    size_t operator_at; /* the first one; STR_NOT_FOUND: only ':' */
} Pattern;

/* Position of the next ':' outside of brackets; the length if there is none. */
static size_t find_colon(Str text, size_t pos)
{
    bool inside = false;
    for (; pos < text.len && (inside || text.data[pos] != ':'); pos++) {
        inside = text.data[pos] == '[' || (inside && text.data[pos] != ']');
    }
    return pos;
}

static bool add_part(const Term *term, size_t pos, Str part, Pattern *pattern)
{
    char mark = part.len > 0 ? part.data[0] : '\0';
    bool joins = pos > 0 && (mark == '!' || mark == '&');
    part = joins ? str_from_offset(part, 1) : part;
    if (joins && pattern->operator_at == STR_NOT_FOUND) {
        pattern->operator_at = pos - 1;
    }
    bool all = str_eq(part, STR("all")) || str_eq(part, STR("*"));
    bool group = part.len > 1 && (part.data[0] == '@' || part.data[0] == '%');
    if (part.len == 0 || !selector_is_plain(part) || part.data[0] == '!' ||
        str_find(part, STR(":"), 0) != STR_NOT_FOUND || pattern->any_count == IN_ITEMS_MAX) {
        return false;
    }
    pattern->has_group = pattern->has_group || group;
    part =
        group ? arena_join(term->arena, STR("role="), str_from_offset(part, 1), STR_EMPTY) : part;
    if (joins && !(all && mark == '&')) {
        buf_put_format(&pattern->others, " and %s%" STR_FMT, mark == '!' ? "!" : "",
                       STR_ARG(all ? STR("*") : part));
    } else if (!joins && all) {
        pattern->all = true;
    } else if (!joins) {
        pattern->any[pattern->any_count++] = part;
    }
    return true;
}

static Str pattern_text(const Term *term, const Pattern *pattern)
{
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    Str others = buf_str(&pattern->others);
    bool several = pattern->any_count > 1;
    if (pattern->all) {
        return others.len > 0 ? str_from_offset(others, 5) : STR("*"); /* without " and " */
    }
    for (uint32_t i = 0; i < pattern->any_count; i++) {
        buf_put_format(&text, "%s%" STR_FMT,
                       i > 0     ? " or "
                       : several ? "("
                                 : "",
                       STR_ARG(pattern->any[i]));
    }
    buf_put_format(&text, "%s%" STR_FMT, several ? ")" : "", STR_ARG(others));
    return buf_str(&text);
}

static bool detect_ansible_pattern(const Term *term, SelectorMistake *out)
{
    Pattern pattern = { .others = buf_make_in(term->arena, BUF_UNLIMITED),
                        .operator_at = STR_NOT_FOUND };
    size_t first = find_colon(term->text, 0);
    uint32_t parts = 0;
    for (size_t pos = 0; pos <= term->text.len; parts++) {
        size_t end = find_colon(term->text, pos);
        if (!add_part(term, pos, str_slice(term->text, pos, end), &pattern)) {
            return false;
        }
        pos = end + 1;
    }
    bool joins = pattern.operator_at != STR_NOT_FOUND;
    if (parts < 2 || (!joins && parts == 2 && !pattern.has_group)) {
        return false; /* or a label with its value */
    }
    size_t pos = joins ? pattern.operator_at : first;
    Str mark = str_slice(term->text, pos, pos + 1 + joins);
    Str text = pattern_text(term, &pattern);
    (void)set_mistake_term(
        term, out, pos, mark.len,
        arena_format(term->arena, "'%" STR_FMT "' is not a valid operator", STR_ARG(mark)), text);
    out->hint = arena_format(term->arena, "write '%" STR_FMT "'%s", STR_ARG(text),
                             pattern.has_group ? " if the label is 'role'" : "");
    return true;
}

/* @web in clustershell and Ansible's files, %web in Puppet and sudo */
static bool detect_group(const Term *term, SelectorMistake *out)
{
    if (term->text.len < 2 || (term->text.data[0] != '@' && term->text.data[0] != '%') ||
        !selector_is_plain(term->text) || str_find(term->text, STR("="), 0) != STR_NOT_FOUND) {
        return false;
    }
    Str name = str_from_offset(term->text, 1);
    (void)set_mistake_term(term, out, 0, term->text.len,
                           arena_format(term->arena,
                                        "there are no node groups such as '%" STR_FMT
                                        "': nodes have labels",
                                        STR_ARG(term->text)),
                           arena_format(term->arena, "role=%" STR_FMT, STR_ARG(name)));
    out->hint = arena_format(term->arena, "write 'role=%" STR_FMT "' if the label is 'role'",
                             STR_ARG(name));
    return true;
}

/* ~web.*, ^web, /web\d/, web\d+, web$ */
static bool detect_regex(const Term *term, SelectorMistake *out)
{
    Str text = term->text;
    if (text.len < 2 || find_quote(text) < text.len || word_from(text, 0).len < text.len) {
        return false;
    }
    size_t backslash = str_find(text, STR("\\"), 0);
    bool starts = memchr("~^/", text.data[0], 3) != NULL;
    bool ends = memchr("$+", text.data[text.len - 1], 2) != NULL;
    size_t pos = starts ? 0 : backslash != STR_NOT_FOUND ? backslash : text.len - 1;
    return (starts || ends || backslash != STR_NOT_FOUND) &&
           set_mistake(out, pos, 1, STR("regular expressions are not supported"),
                       STR("write a pattern with '*', '?' or '[abc]', such as 'web*'"));
}

/* A character that is valid in labels or patterns only. */
static bool detect_no_name(const Term *term, SelectorMistake *out)
{
    Str text = term->text;
    if (!selector_is_plain(text) || str_find(text, STR("="), 0) != STR_NOT_FOUND) {
        return false;
    }
    bool inside = false;
    for (size_t i = 0; i < text.len; i++) {
        inside = text.data[i] == '[' || (inside && text.data[i] != ']');
        if (!inside && memchr("/:!^@+~%", text.data[i], 8) != NULL) {
            return set_mistake(
                out, i, 1,
                arena_format(term->arena, "'%c' is not allowed in a node name", text.data[i]),
                STR("write 'role=web' for a label, 'web*' for a name"));
        }
    }
    return false;
}

static bool detect_all(const Term *term, SelectorMistake *out)
{
    if (!str_eq(term->text, STR("all"))) {
        return false;
    }
    (void)set_mistake_term(term, out, 0, term->text.len, STR("'all' would be a node name"),
                           STR("*"));
    out->hint = STR("write '*' for every node");
    return true;
}

static bool detect_comma(const Term *term, SelectorMistake *out)
{
    size_t pos = str_find(term->text, STR(","), 0);
    return pos != STR_NOT_FOUND && pos < find_quote(term->text) &&
           str_find(term->text, STR("("), 0) == STR_NOT_FOUND &&
           str_find(term->text, STR("["), 0) == STR_NOT_FOUND &&
           set_mistake(out, pos, 1, STR("commas are not allowed in a selector"),
                       STR("write 'or' or 'and' between the terms"));
}

void selector_mistake_between(Arena *arena, Str rest, SelectorMistake *out)
{
    static const Str joins[] = { STR("and"), STR("or") };
    Str word = word_from(rest, 0), near = STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(joins) && near.len == 0; i++) {
        near = str_eq_ignore_case(word, joins[i]) ? joins[i] : near;
    }
    if (near.len == 0) {
        (void)suggest_best(word, joins, COUNT_OF(joins), &near);
    }
    if (near.len > 0) {
        set_mistake(
            out, 0, word.len,
            arena_format(arena, "expected 'and' or 'or' instead of '%" STR_FMT "'", STR_ARG(word)),
            arena_format(arena, "did you mean '%" STR_FMT "'?", STR_ARG(near)));
    } else {
        set_mistake(out, 0, word.len, STR("'and' or 'or' is expected before this"), STR_EMPTY);
    }
}

/* Whether an expression may go on with the word. */
static bool continues_expression(Str word)
{
    static const Str words[] = { STR("in"), STR("is"), STR("not"), STR("if") };
    bool set_mistake = word.len > 0 && !ascii_is_name(word.data[0]) && word.data[0] != '*';
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        set_mistake = set_mistake || str_eq(word, words[i]);
    }
    return set_mistake;
}

/* Two terms without an operator. In expressions, only with words that cannot start or continue an
 * expression. */
static bool detect_missing_operator(const Term *term, SelectorMistake *out)
{
    Str first = word_from(term->text, 0);
    size_t pos = skip_space(term->text, first.len), equals = str_find(first, STR("="), 0);
    bool is_label = equals != STR_NOT_FOUND && equals > 0 && first.data[equals - 1] != '!';
    Str rest = str_from_offset(term->text, pos);
    if (rest.len == 0 || !selector_is_plain(str_slice(rest, 0, 1)) || str_starts(rest, STR("!=")) ||
        !selector_is_plain(str_slice(first, 0, equals)) ||
        (is_label && !selector_is_plain(str_from_offset(first, equals + 1))) ||
        (term->expressions && !is_label &&
         (begins_expression(first) || continues_expression(word_from(rest, 0))))) {
        return false;
    }
    selector_mistake_between(term->arena, rest, out);
    out->pos += pos;
    return true;
}

/* {{ vars.role }} */
static bool detect_braces(const Term *term, SelectorMistake *out)
{
    return str_starts(term->text, STR("{{")) && str_ends(term->text, STR("}}")) &&
           set_mistake(out, 0, term->text.len, STR("a selector is not a template"),
                       STR("write an expression without the '{{' and '}}'"));
}

/* labels.role=web */
static bool detect_labels(const Term *term, SelectorMistake *out)
{
    size_t equals = str_find(term->text, STR("="), 0);
    Str lead = STR("labels.");
    lead = str_starts(term->text, STR("server.")) ? STR("server.labels.") : lead;
    Str rest = str_starts(term->text, lead) ? str_from_offset(term->text, lead.len) : STR_EMPTY;
    return equals != STR_NOT_FOUND && selector_is_plain(str_slice(term->text, 0, equals)) &&
           rest.len > 0 && selector_is_plain(str_from_offset(term->text, equals + 1)) &&
           set_mistake_term(term, out, 0, lead.len, STR("labels have no prefix in a selector"),
                            rest);
}

bool selector_mistake_find(Arena *arena, Str text, bool expressions, SelectorMistake *out)
{
    static bool (*const checks[])(const Term *term, SelectorMistake *out) = {
        detect_prefix,    detect_open_quote,   detect_ansible_pattern,
        detect_ampersand, detect_bars,         detect_open_bracket,
        detect_range,     detect_quoted_value, detect_double_equals,
        detect_tilde,     detect_in,           detect_spaced_equals,
        detect_comma,     detect_colon,        detect_missing_operator,
        detect_group,     detect_regex,        detect_all,
        detect_no_name,   detect_braces,       detect_labels,
    };
    const Term term = { arena, text, expressions };
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        if (checks[i](&term, out)) {
            return true;
        }
    }
    return false;
}
