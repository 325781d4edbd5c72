#include "model/selector_habit.h"

#include "base/buf.h"
#include "base/suggest.h"

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

static bool told(SelectorMistake *out, size_t at, size_t length, Str message, Str hint)
{
    *out = (SelectorMistake){ at, length, message, hint, STR_EMPTY };
    return true;
}

/* The same if `term` is the replacement. */
static bool told_term(const Term *of, SelectorMistake *out, size_t at, size_t length, Str message,
                      Str term)
{
    *out =
        (SelectorMistake){ at, length, message,
                           arena_format(of->arena, "write '%" STR_FMT "'", STR_ARG(term)), term };
    return true;
}

/* Up to the first whitespace after `at`. */
static Str word_from(Str text, size_t at)
{
    size_t end = at;
    while (end < text.len && !ascii_is_space(text.data[end])) {
        end++;
    }
    return str_slice(text, at, end);
}

static size_t skip_space(Str text, size_t at)
{
    while (at < text.len && ascii_is_space(text.data[at])) {
        at++;
    }
    return at;
}

/* Position of the first quote; the length if there is none. */
static size_t find_quote(Str text)
{
    size_t at = 0;
    while (at < text.len && text.data[at] != '\'' && text.data[at] != '"') {
        at++;
    }
    return at;
}

/* Position of an unmatched quote, ignoring quotes inside other quotes. */
static size_t find_open_quote(Str text)
{
    size_t at = 0;
    char quote = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (quote != 0 && c == '\\') {
            i++; /* an expression may escape them */
        } else if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
            at = i;
        }
    }
    return quote == 0 ? STR_NOT_FOUND : at;
}

/* "write 'role=web'" for the text without its quotes, if that is plausible; otherwise empty. */
static Str write_without_quotes(const Term *term)
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

static bool has_fact(const Term *term, SelectorMistake *out)
{
    Str text = term->text;
    return text.len > 2 && text.data[0] >= 'A' && text.data[0] <= 'Z' && text.data[1] == '@' &&
           told(out, 0, 2, STR("selectors have no 'X@' prefixes"),
                term->expressions
                    ? STR("write \"server.os == 'debian'\" for a fact, 'role=web' for a label")
                    : STR("write 'role=web' for a label, 'web*' for a name"));
}

static bool has_open_quote(const Term *term, SelectorMistake *out)
{
    size_t at = find_open_quote(term->text);
    if (at == STR_NOT_FOUND) {
        return false;
    }
    Str hint = write_without_quotes(term);
    return told(out, at, 1, STR("unmatched quote"),
                hint.len > 0 ? hint : STR("add a closing quote"));
}

static bool has_ampersand(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR("&"), 0);
    if (at == STR_NOT_FOUND || find_quote(term->text) < at) {
        return false;
    }
    bool twice = str_starts(str_from_offset(term->text, at), STR("&&"));
    Str before = str_slice(term->text, 0, at), behind = str_from_offset(term->text, at + 1);
    if (before.len > 1 && str_ends(before, STR(":")) && behind.len > 0 && /* of Ansible */
        selector_is_plain(before) && selector_is_plain(behind)) {
        return told_term(term, out, at - 1, 2, STR("':&' is not a valid operator"),
                         arena_format(term->arena, "%" STR_FMT " and %" STR_FMT,
                                      STR_ARG(str_slice(before, 0, before.len - 1)),
                                      STR_ARG(behind)));
    }
    return told(out, at, twice ? 2 : 1, STR("'&' is not a valid operator"), STR("write 'and'"));
}

static bool has_bars(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR("||"), 0);
    return at != STR_NOT_FOUND && find_quote(term->text) > at &&
           told(out, at, 2, STR("'||' is not a valid operator"), STR("write 'or'"));
}

static bool has_open_bracket(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR("["), 0);
    return selector_is_plain(term->text) && at != STR_NOT_FOUND &&
           str_find(term->text, STR("]"), at) == STR_NOT_FOUND &&
           told(out, at, 1, STR("unmatched bracket"), STR("write '[abc]' or '[0-9]'"));
}

/* role='web': not an expression either. */
static bool has_quoted_value(const Term *term, SelectorMistake *out)
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
    Str hint = write_without_quotes(term);
    return (is_value || (quote == 0 && hint.len > 0)) &&
           told(out, quote, term->text.len - quote,
                STR("names and values of labels are not quoted"), hint);
}

/* Matches role == web, and role != 'web' instead of role!=web. */
static bool has_double_equals(const Term *term, SelectorMistake *out)
{
    size_t equal = str_find(term->text, STR("=="), 0), differ = str_find(term->text, STR("!="), 0);
    size_t at = equal < differ ? equal : differ;
    bool negated = at == differ;
    if (at == STR_NOT_FOUND || (term->expressions && begins_expression(term->text))) {
        return false;
    }
    Str label = str_trim(str_slice(term->text, 0, at));
    Str value = str_trim(str_from_offset(term->text, at + 2));
    bool quoted =
        value.len > 1 && find_quote(value) == 0 && value.data[value.len - 1] == value.data[0];
    value = quoted ? str_slice(value, 1, value.len - 1) : value;
    return label.len > 0 && selector_is_plain(label) && selector_is_plain(value) &&
           !str_starts(label, STR("server.")) && (!negated || quoted) &&
           told_term(term, out, at, 2,
                     negated ? STR("'!=' must have no spaces around it, and the value no quotes")
                             : STR("a label is compared with a single '='"),
                     arena_format(term->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(label),
                                  negated ? "!=" : "=", STR_ARG(value)));
}

static bool has_tilde(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR("=~"), 0);
    return at != STR_NOT_FOUND && at > 0 &&
           selector_is_plain(str_trim(str_slice(term->text, 0, at))) &&
           told(out, at, 2, STR("'=~' is not a valid operator"),
                STR("write a pattern with '*', '?' or '[abc]', such as 'role=web*'"));
}

/* "(role=a or role=b)" for "a, b)", which followed "role in ("; empty if that is not possible. */
static Str write_out(const Term *term, Str label, Str items, bool negated)
{
    Buf text = buf_make_in(term->arena, BUF_UNLIMITED);
    Str rest = str_slice(items, 0, str_find(items, STR(")"), 0)), item;
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

static bool has_in(const Term *term, SelectorMistake *out)
{
    Str label = word_from(term->text, 0);
    size_t at = skip_space(term->text, label.len);
    Str word = word_from(term->text, at);
    word = str_slice(word, 0, str_find(word, STR("("), 0));
    bool negated = str_eq_ignore_case(word, STR("notin"));
    if ((term->expressions && begins_expression(label)) || !selector_is_plain(label) ||
        !(negated || str_eq_ignore_case(word, STR("in")))) {
        return false;
    }
    size_t open = str_find(term->text, STR("("), at);
    Str items = open == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(term->text, open + 1);
    Str message =
        arena_format(term->arena, "'%" STR_FMT "' is not a valid operator", STR_ARG(word));
    Str written = write_out(term, label, items, negated);
    return written.len > 0 ? told_term(term, out, at, word.len, message, written)
                           : told(out, at, word.len, message,
                                  negated ? STR("write '!(role=a or role=b)'")
                                          : STR("write '(role=a or role=b)'"));
}

/* role = web, role= web, role =web */
static bool has_spaced_equals(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR("="), 0);
    if (at == STR_NOT_FOUND || at == 0 || str_starts(str_from_offset(term->text, at), STR("=="))) {
        return false;
    }
    Str left = str_slice(term->text, 0, at), right = str_from_offset(term->text, at + 1);
    Str label = str_trim(left), value = word_from(str_trim(right), 0);
    bool negated = str_ends(label, STR("!"));
    label = negated ? str_trim(str_slice(label, 0, label.len - 1)) : label;
    bool is_spaced =
        ascii_is_space(left.data[left.len - 1]) || (right.len > 0 && ascii_is_space(right.data[0]));
    return is_spaced && !(negated && term->expressions) && label.len > 0 && value.len > 0 &&
           selector_is_plain(label) && selector_is_plain(value) &&
           told_term(term, out, at - negated, 1 + (size_t)negated,
                     STR("spaces around '=' are not allowed"),
                     arena_format(term->arena, "%" STR_FMT "%s=%" STR_FMT, STR_ARG(label),
                                  negated ? "!" : "", STR_ARG(value)));
}

/* role:web */
static bool has_colon(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR(":"), 0);
    Str label = str_slice(term->text, 0, at);
    Str value = at == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(term->text, at + 1);
    return label.len > 0 && value.len > 0 && selector_is_plain(term->text) &&
           str_find(value, STR(":"), 0) == STR_NOT_FOUND && ascii_is_name(value.data[0]) &&
           told_term(
               term, out, at, 1, STR("a label and its value are separated by '='"),
               arena_format(term->arena, "%" STR_FMT "=%" STR_FMT, STR_ARG(label), STR_ARG(value)));
}

/* all:!db, web:!db */
static bool has_exclusion(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR(":!"), 0);
    if (at == STR_NOT_FOUND || at == 0 || !selector_is_plain(term->text)) {
        return false;
    }
    Str first = str_slice(term->text, 0, at), rest = str_from_offset(term->text, at + 2);
    bool all = str_eq(first, STR("all")) || str_eq(first, STR("*"));
    return rest.len > 0 && str_find(rest, STR(":"), 0) == STR_NOT_FOUND &&
           told_term(term, out, at, 2, STR("':!' is not a valid operator"),
                     arena_format(term->arena, "%" STR_FMT "%s!%" STR_FMT,
                                  STR_ARG(all ? STR_EMPTY : first), all ? "" : " and ",
                                  STR_ARG(rest)));
}

/* @web of clustershell and of files of Ansible, %web of Puppet and sudo */
static bool is_group(const Term *term, SelectorMistake *out)
{
    if (term->text.len < 2 || (term->text.data[0] != '@' && term->text.data[0] != '%') ||
        !selector_is_plain(term->text) || str_find(term->text, STR("="), 0) != STR_NOT_FOUND) {
        return false;
    }
    Str name = str_from_offset(term->text, 1);
    (void)told_term(term, out, 0, term->text.len,
                    arena_format(term->arena,
                                 "there are no groups of nodes such as '%" STR_FMT
                                 "': nodes have labels",
                                 STR_ARG(term->text)),
                    arena_format(term->arena, "role=%" STR_FMT, STR_ARG(name)));
    out->hint = arena_format(term->arena, "write 'role=%" STR_FMT "' if the label is 'role'",
                             STR_ARG(name));
    return true;
}

/* ~web.* */
static bool is_regex(const Term *term, SelectorMistake *out)
{
    return term->text.len > 1 && term->text.data[0] == '~' &&
           told(out, 0, 1, STR("regular expressions are not supported"),
                STR("write a pattern with '*', '?' or '[abc]', as 'web*'"));
}

static bool is_all(const Term *term, SelectorMistake *out)
{
    if (!str_eq(term->text, STR("all"))) {
        return false;
    }
    (void)told_term(term, out, 0, term->text.len, STR("'all' would be the name of a node"),
                    STR("*"));
    out->hint = STR("write '*' for every node");
    return true;
}

static bool has_comma(const Term *term, SelectorMistake *out)
{
    size_t at = str_find(term->text, STR(","), 0);
    return at != STR_NOT_FOUND && at < find_quote(term->text) &&
           str_find(term->text, STR("("), 0) == STR_NOT_FOUND &&
           str_find(term->text, STR("["), 0) == STR_NOT_FOUND &&
           told(out, at, 1, STR("commas are not allowed in a selector"),
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
        told(out, 0, word.len,
             arena_format(arena, "expected 'and' or 'or' instead of '%" STR_FMT "'", STR_ARG(word)),
             arena_format(arena, "did you mean '%" STR_FMT "'?", STR_ARG(near)));
    } else {
        told(out, 0, word.len, STR("'and' or 'or' is expected before this"), STR_EMPTY);
    }
}

/* Two terms without an operator. In expressions, only with a word that cannot start an
 * expression. */
static bool has_no_join(const Term *term, SelectorMistake *out)
{
    Str first = word_from(term->text, 0);
    size_t at = skip_space(term->text, first.len), equals = str_find(first, STR("="), 0);
    bool is_label = equals != STR_NOT_FOUND && equals > 0 && first.data[equals - 1] != '!';
    Str rest = str_from_offset(term->text, at);
    if (rest.len == 0 || !selector_is_plain(str_slice(rest, 0, 1)) || str_starts(rest, STR("!=")) ||
        !selector_is_plain(str_slice(first, 0, equals)) ||
        (is_label && !selector_is_plain(str_from_offset(first, equals + 1))) ||
        (term->expressions && !is_label)) {
        return false;
    }
    selector_mistake_between(term->arena, rest, out);
    out->at += at;
    return true;
}

bool selector_mistake_find(Arena *arena, Str text, bool expressions, SelectorMistake *out)
{
    static bool (*const habits[])(const Term *term, SelectorMistake *out) = {
        has_fact,         has_open_quote,    has_ampersand,     has_bars,
        has_open_bracket, has_quoted_value,  has_double_equals, has_tilde,
        has_in,           has_spaced_equals, has_comma,         has_no_join,
        has_exclusion,    is_group,          is_regex,          has_colon,
        is_all,
    };
    const Term term = { arena, text, expressions };
    for (size_t i = 0; i < COUNT_OF(habits); i++) {
        if (habits[i](&term, out)) {
            return true;
        }
    }
    return false;
}
