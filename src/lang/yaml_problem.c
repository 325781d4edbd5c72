/* Translates libyaml's errors into messages that tell the author what to change.
 *
 * libyaml reports what its parser expected; users want to know which quote is open and what to
 * write instead. So a list of detectors inspects the text around the error, the most specific one
 * first; if none applies, the message comes from the table below. */
#include "base/utf8.h"
#include "lang/yaml_load.h"

typedef struct SyntaxError {
    YamlLoad *load;
    Str text;
    const char *problem; /* libyaml's message; never NULL */
    const char *context;
    uint32_t pos;        /* where libyaml stopped */
    uint32_t context_at; /* start of the enclosing construct, if there is a context */
    size_t line_start;   /* start of the line of `pos` */
    size_t line_end;
} SyntaxError;

enum {
    QUOTED_HINT_MAX = 60,
};

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

static char char_at(const SyntaxError *failure, size_t pos)
{
    return pos < failure->text.len ? failure->text.data[pos] : '\0';
}

static size_t line_start_of(Str text, size_t pos)
{
    while (pos > 0 && !is_break(text.data[pos - 1])) {
        pos--;
    }
    return pos;
}

static size_t skip_blanks(Str text, size_t pos)
{
    while (pos < text.len && (text.data[pos] == ' ' || text.data[pos] == '\t')) {
        pos++;
    }
    return pos;
}

static uint32_t line_number(const YamlLoad *load, uint32_t pos)
{
    return source_location(load->source, pos).line;
}

/* The text up to the end of the line, without trailing whitespace and comment. */
static Str rest_of_line(Str text, size_t start)
{
    size_t end = yaml_text_line_end(text, start);
    for (size_t i = start + 1; i < end; i++) {
        if (text.data[i] == '#' && (text.data[i - 1] == ' ' || text.data[i - 1] == '\t')) {
            end = i;
            break;
        }
    }
    while (end > start && (text.data[end - 1] == ' ' || text.data[end - 1] == '\t')) {
        end--;
    }
    return str_slice(text, start, end);
}

/* The text in quotes of a kind that it does not contain; empty if it contains both kinds. */
static Str in_quotes(Arena *arena, Str text)
{
    bool has_double = str_find(text, STR("\""), 0) != STR_NOT_FOUND ||
                      str_find(text, STR("\\"), 0) != STR_NOT_FOUND;
    bool has_single = str_find(text, STR("'"), 0) != STR_NOT_FOUND;
    if (text.len > QUOTED_HINT_MAX || (has_double && has_single)) {
        return STR_EMPTY;
    }
    const char *quote = has_double ? "'" : "\"";
    return arena_format(arena, "%s%" STR_FMT "%s", quote, STR_ARG(text), quote);
}

/* `text` must be part of the source. */
static void hint_quotes(YamlLoad *load, Problem *problem, const char *advice, Str text)
{
    Arena *arena = load->problems->arena;
    Str quoted = in_quotes(arena, text);
    if (quoted.len == 0) {
        problem->hint = str_from_c(advice);
        return;
    }
    problem->hint = arena_format(arena, "%s: %" STR_FMT, advice, STR_ARG(quoted));
    problem_fix_at(arena, problem, load->source, (uint32_t)(text.data - load->text.data),
                   (uint32_t)text.len, quoted);
}

/* --- Templates ---------------------------------------------------------------------------- */

void yaml_problem_template(YamlLoad *load, uint32_t start, uint32_t end, bool bracketed)
{
    Str text = load->text;
    size_t line_end = yaml_text_line_end(text, start);
    load->template_line_end = (uint32_t)yaml_text_line_end(text, end > line_end ? end : line_end);
    if (!yaml_load_may_report(load)) {
        return;
    }
    /* In brackets the value ends with its braces, elsewhere it extends to the end of the line. */
    Str whole = rest_of_line(text, start);
    size_t braces = bracketed ? str_find(whole, STR("}}"), 0) : STR_NOT_FOUND;
    if (braces != STR_NOT_FOUND) {
        whole = str_slice(whole, 0, braces + 2);
    }
    Problem *problem =
        problems_add(load->problems, "E0103", load->source, start, (uint32_t)whole.len,
                     "a value that starts with '{{' needs quotes");
    if (str_find(whole, STR("}}"), 0) == STR_NOT_FOUND) {
        problem->hint = STR("quote the template");
        return;
    }
    hint_quotes(load, problem, "quote the template", whole);
}

static bool is_template_start(Str text, size_t pos)
{
    return pos + 1 < text.len && text.data[pos] == '{' &&
           (text.data[pos + 1] == '{' || text.data[pos + 1] == '%' || text.data[pos + 1] == '#');
}

static bool report_template(const SyntaxError *failure, size_t start, bool bracketed)
{
    YamlLoad *load = failure->load;
    if (failure->text.data[start + 1] == '{') {
        yaml_problem_template(load, (uint32_t)start, (uint32_t)start + 2, bracketed);
        return true;
    }
    Str whole = rest_of_line(failure->text, start);
    Problem *problem = problems_add(load->problems, "E0103", load->source, (uint32_t)start,
                                    (uint32_t)whole.len, "template statement outside a string");
    problem->hint = STR("YAML is parsed before templates; put templates in quoted values");
    return true;
}

static bool find_template(const SyntaxError *failure)
{
    const YamlLoad *load = failure->load;
    if (load->template_line_end > 0 && failure->pos <= load->template_line_end + 1) {
        return true; /* already reported; this error is a consequence */
    }
    for (uint32_t i = 0; i < load->depth; i++) {
        if (load->frames[i].flow && is_template_start(failure->text, load->frames[i].start)) {
            return report_template(failure, load->frames[i].start,
                                   i > 0 && load->frames[i - 1].flow);
        }
    }
    /* libyaml may already stop at the first brace: check the value on the line. */
    size_t value = skip_blanks(failure->text, failure->line_start);
    while (char_at(failure, value) == '-' && char_at(failure, value + 1) == ' ') {
        value = skip_blanks(failure->text, value + 2);
    }
    if (!is_template_start(failure->text, value)) {
        size_t colon = str_find(str_slice(failure->text, 0, failure->line_end), STR(": {"), value);
        if (colon == STR_NOT_FOUND) {
            return false;
        }
        value = colon + 2;
    }
    return is_template_start(failure->text, value) && value <= failure->pos &&
           report_template(failure, value, false);
}

/* --- Quotes and brackets ------------------------------------------------------------------ */

/* The value at `start`, up to the end of the line or, inside brackets, up to the character that
 * ends it. */
static Str value_text(Str text, size_t start, size_t after)
{
    Str whole = rest_of_line(text, start);
    size_t line = start;
    int open = 0;
    while (line > 0 && !is_break(text.data[line - 1])) {
        char c = text.data[--line];
        open += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    }
    for (size_t i = after - start; open > 0 && i < whole.len; i++) {
        if (strchr(",}]", whole.data[i]) != NULL) {
            return str_slice(whole, 0, i);
        }
    }
    return whole;
}

static bool find_text_after_quote(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    if (!load->last_quoted || load->last_end > failure->pos || load->last_end == 0) {
        return false;
    }
    size_t after = skip_blanks(failure->text, load->last_end);
    char next = char_at(failure, after);
    if (after != failure->pos || next == '\0' || is_break(next) || next == ':') {
        return false;
    }
    Str whole = value_text(failure->text, load->last_start, after);
    /* 'it's': the inner quote ended the text. */
    bool is_inner = after == load->last_end && whole.len > 2 && whole.data[0] == '\'' &&
                    whole.data[whole.len - 1] == '\'';
    Str inner = is_inner ? str_slice(whole, 1, whole.len - 1) : STR_EMPTY;
    Str quoted = is_inner ? in_quotes(load->problems->arena, inner) : STR_EMPTY;
    Problem *problem = problems_add(load->problems, "E0104", load->source, (uint32_t)after,
                                    (uint32_t)(load->last_start + whole.len - after),
                                    "unexpected text after the closing quote");
    if (quoted.len > 0) {
        problem->hint = arena_format(load->problems->arena, "write %" STR_FMT, STR_ARG(quoted));
        problem_fix_at(load->problems->arena, problem, load->source, load->last_start,
                       (uint32_t)whole.len, quoted);
        return true;
    }
    hint_quotes(load, problem, "quote the whole expression", whole);
    return true;
}

static bool find_open_quote(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    if (failure->context == NULL ||
        strcmp(failure->context, "while scanning a quoted scalar") != 0 ||
        strstr(failure->problem, "unexpected") == NULL) {
        return false;
    }
    char quote = char_at(failure, failure->context_at);
    Problem *problem = problems_add(load->problems, "E0110", load->source, failure->context_at, 1,
                                    "this %c is never closed", quote);
    if (quote == '\'') {
        problem->hint = STR("write '' for a quote inside single quotes");
    }
    return true;
}

static bool find_open_bracket(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    const YamlFrame *open = NULL;
    for (uint32_t i = 0; i < load->depth; i++) {
        if (load->frames[i].flow) {
            open = &load->frames[i];
        }
    }
    if (open == NULL) {
        return false;
    }
    char opening = char_at(failure, open->start);
    char closing = opening == '[' ? ']' : '}';
    if (opening != '[' && opening != '{') {
        return false; /* the pair in `[a: b]` has no brackets itself */
    }
    char found = char_at(failure, failure->pos);
    bool mismatch = (found == ']' || found == '}') && found != closing;
    bool key_below = found == ':' && failure->line_start > open->start &&
                     strstr(failure->problem, "did not find expected ','") != NULL;
    if (failure->pos < failure->text.len && !mismatch && !key_below) {
        return false;
    }
    if (mismatch) {
        Problem *problem = problems_add(load->problems, "E0110", load->source, failure->pos, 1,
                                        "'%c' does not close this '%c'", found, opening);
        LineColumn location = source_location(load->source, open->start);
        problem->hint = arena_format(load->problems->arena, "'%c' was opened at line %u, column %u",
                                     opening, location.line, location.column);
        return true;
    }
    Problem *problem = problems_add(load->problems, "E0110", load->source, open->start, 1,
                                    "this '%c' is never closed", opening);
    Arena *arena = load->problems->arena;
    problem->hint = key_below ? arena_format(arena, "a '%c' is missing before line %u", closing,
                                             line_number(load, failure->pos))
                              : arena_format(arena, "a '%c' is missing", closing);
    return true;
}

/* --- Colons ------------------------------------------------------------------------------- */

/* The offset of a colon without a following space in the line at `start`, as in `port:80`; colons
 * of URLs (`http://`) and quoted text are ignored. */
static bool find_tight_colon(Str text, size_t start, size_t *colon)
{
    size_t end = yaml_text_line_end(text, start);
    size_t pos = skip_blanks(text, start);
    while (pos + 1 < end && text.data[pos] == '-' && text.data[pos + 1] == ' ') {
        pos = skip_blanks(text, pos + 2);
    }
    for (; pos + 1 < end; pos++) {
        char c = text.data[pos];
        if (c == ' ' || c == '"' || c == '\'' || c == '#') {
            return false;
        }
        if (c == ':') {
            *colon = pos;
            return text.data[pos + 1] != ' ' && text.data[pos + 1] != '/';
        }
    }
    return false;
}

static bool find_missing_space(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    size_t candidates[2] = { load->last_start, failure->context_at };
    bool expects_colon = strstr(failure->problem, "could not find expected ':'") != NULL ||
                         strstr(failure->problem, "mapping values are not allowed") != NULL;
    for (size_t i = 0; expects_colon && i < COUNT_OF(candidates); i++) {
        size_t colon;
        if (candidates[i] <= failure->pos && (i == 0 || failure->context != NULL) &&
            find_tight_colon(failure->text, line_start_of(failure->text, candidates[i]), &colon) &&
            colon < failure->pos) {
            Problem *problem = problems_add(load->problems, "E0111", load->source, (uint32_t)colon,
                                            1, "missing space after this ':'");
            problem->hint = STR("write 'key: value'");
            return true;
        }
    }
    return false;
}

static bool find_second_colon(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    if (strstr(failure->problem, "mapping values are not allowed") == NULL) {
        return false;
    }
    size_t first_line = line_start_of(failure->text, load->last_start);
    if (first_line == failure->line_start) {
        Str whole = rest_of_line(failure->text, load->last_start);
        Problem *problem = problems_add(load->problems, "E0108", load->source, failure->pos, 1,
                                        "a value on the same line cannot contain another ': '");
        hint_quotes(load, problem, "quote the value", whole);
        return true;
    }
    /* `-name: a`, with the other keys below it. */
    size_t dash = skip_blanks(failure->text, first_line);
    if (char_at(failure, dash) == '-' && strchr(" \t\r\n-", char_at(failure, dash + 1)) == NULL) {
        Problem *problem = problems_add(load->problems, "E0101", load->source, (uint32_t)dash, 1,
                                        "missing space after this '-'");
        problem->hint = STR("write '- ' before the first key of an item");
        problem_fix_at(load->problems->arena, problem, load->source, (uint32_t)dash, 1, STR("- "));
        return true;
    }
    /* `a: 1` with a further indented `b: 2` below it: parsed as one text, up to this colon. */
    size_t key = skip_blanks(failure->text, failure->line_start);
    Problem *problem =
        problems_add(load->problems, "E0117", load->source, (uint32_t)key,
                     (uint32_t)(failure->pos - key), "this line continues the text above it");
    problem->hint = STR("give both keys the same indentation");
    return true;
}

/* --- Indentation -------------------------------------------------------------------------- */

static bool find_tab(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    if (char_at(failure, failure->pos) != '\t') {
        return false;
    }
    size_t end = failure->pos;
    while (char_at(failure, end) == '\t') {
        end++;
    }
    Problem *problem =
        problems_add(load->problems, "E0107", load->source, failure->pos,
                     (uint32_t)(end - failure->pos), "tabs are not allowed for indentation");
    problem->hint = STR("use spaces");
    return true;
}

static bool find_wrong_indentation(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    bool in_map = strstr(failure->problem, "did not find expected key") != NULL;
    bool in_list = strstr(failure->problem, "did not find expected '-' indicator") != NULL;
    if ((!in_map && !in_list) || failure->context == NULL ||
        skip_blanks(failure->text, failure->line_start) != failure->pos) {
        return false;
    }
    size_t context_line = line_start_of(failure->text, failure->context_at);
    size_t column = failure->pos - failure->line_start;
    size_t wanted = failure->context_at - context_line;
    uint32_t line = line_number(load, failure->context_at);
    Arena *arena = load->problems->arena;
    if (column == wanted) {
        Problem *problem = problems_add(load->problems, "E0101", load->source, failure->pos, 1,
                                        in_list ? "expected a list item starting with '- '"
                                                : "expected a line of the form 'key: value'");
        problem->hint =
            arena_format(arena, "the %s starts on line %u", in_list ? "list" : "map", line);
        return true;
    }
    Problem *problem =
        problems_add(load->problems, "E0117", load->source, (uint32_t)failure->line_start,
                     (uint32_t)column, "this indentation does not match any line above");
    problem->hint = arena_format(arena, "the %s on line %u is indented by %zu space%s",
                                 in_list ? "list" : "map", line, wanted, wanted == 1 ? "" : "s");
    return true;
}

static size_t indentation_of(Str text, size_t line)
{
    size_t pos = line;
    while (pos < text.len && text.data[pos] == ' ') {
        pos++;
    }
    return pos - line;
}

/* Whether the line ends with the header of a block scalar: |, >, |-, >2 ... */
static bool begins_block(Str line)
{
    line = str_trim(line);
    while (line.len > 0 && memchr("+-123456789", line.data[line.len - 1], 11) != NULL) {
        line.len--;
    }
    return (str_ends(line, STR("|")) || str_ends(line, STR(">"))) &&
           (line.len == 1 || line.data[line.len - 2] == ' ');
}

/* The column of the key in a line: after its indentation and the dashes of lists. */
static size_t key_column(Str line)
{
    size_t pos = skip_blanks(line, 0);
    while (pos + 1 < line.len && line.data[pos] == '-' && line.data[pos + 1] == ' ') {
        pos = skip_blanks(line, pos + 1);
    }
    return pos;
}

static void report_block_text(const SyntaxError *failure, size_t line, size_t indent, size_t wanted,
                              const char *what, Str hint)
{
    YamlLoad *load = failure->load;
    Arena *arena = load->problems->arena;
    Problem *problem = problems_add(load->problems, "E0117", load->source, (uint32_t)line,
                                    (uint32_t)(indent > 0 ? indent : 1), "%s", what);
    Buf spaces = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_repeat(&spaces, ' ', wanted);
    problem->hint = hint;
    problem_fix_at(arena, problem, load->source, (uint32_t)line, (uint32_t)indent,
                   buf_str(&spaces));
}

/* A line of a block scalar that is indented less than those above it, or no more than the key of
 * the block, ends the block and is parsed as a key without a colon. */
static bool find_block_text(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    Str text = failure->text;
    if (strstr(failure->problem, "could not find expected ':'") == NULL ||
        failure->context == NULL) {
        return false;
    }
    size_t line = line_start_of(text, failure->context_at), indent = indentation_of(text, line);
    size_t first = 0; /* indentation of the block, from its first line */
    for (size_t pos = line; pos > 0;) {
        size_t above = line_start_of(text, pos - 1);
        Str content = str_slice(text, above, yaml_text_line_end(text, above));
        bool blank = str_trim(content).len == 0;
        if (!blank && begins_block(content)) {
            Arena *arena = load->problems->arena;
            uint32_t number = line_number(load, (uint32_t)above);
            size_t key = key_column(content);
            if (first == 0 && indent <= key) {
                report_block_text(failure, line, indent, key + 2,
                                  "this text is not indented below its key",
                                  arena_format(arena, "indent the text on line %u by %zu spaces",
                                               number, key + 2));
            } else if (first > indent) {
                report_block_text(
                    failure, line, indent, first,
                    "this line is indented less than the text above it",
                    arena_format(arena, "the text that starts on line %u is indented by %zu spaces",
                                 number, first));
            } else {
                return false;
            }
            return true;
        }
        if (!blank && indentation_of(text, above) <= indent) {
            return false;
        }
        first = blank ? first : indentation_of(text, above);
        pos = above;
    }
    return false;
}

/* --- Characters --------------------------------------------------------------------------- */

/* "*" for "*:" and for "*: value"; empty if the line is not a key. */
static Str key_of_line(Str line)
{
    for (size_t i = 0; i < line.len; i++) {
        bool ends = i + 1 == line.len || line.data[i + 1] == ' ';
        if (line.data[i] == ':' && ends) {
            return str_slice(line, 0, i);
        }
    }
    return STR_EMPTY;
}

static bool find_forbidden_start(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    bool alias =
        failure->context != NULL && strcmp(failure->context, "while scanning an alias") == 0;
    bool cannot_start = strstr(failure->problem, "cannot start any token") != NULL;
    if (!alias && !cannot_start) {
        return false;
    }
    uint32_t start = alias ? failure->context_at : failure->pos;
    Str whole = rest_of_line(failure->text, start);
    size_t len = whole.len == 0 ? 0 : 1;
    while (len < whole.len && utf8_is_continuation(whole.data[len])) {
        len++;
    }
    Problem *problem = problems_add(load->problems, "E0118", load->source, start, (uint32_t)len,
                                    alias ? "'%" STR_FMT "' starts an alias, but no name follows"
                                          : "a value cannot start with '%" STR_FMT "'",
                                    STR_ARG(str_slice(whole, 0, len)));
    Str key = key_of_line(whole);
    if (key.len > 0) {
        hint_quotes(load, problem, "quote the key", key);
        problem->hint =
            problem->fix.line == 0
                ? problem->hint
                : arena_format(load->problems->arena, "%" STR_FMT ":", STR_ARG(problem->hint));
    } else {
        hint_quotes(load, problem, "quote the value", whole);
    }
    return true;
}

static bool find_bad_bytes(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    if (load->parser.error != YAML_READER_ERROR) {
        return false;
    }
    uint32_t pos = (uint32_t)(load->base + load->parser.problem_offset);
    bool control = strstr(failure->problem, "control characters") != NULL;
    Problem *problem = problems_add(load->problems, "E0106", load->source, pos, 1,
                                    control ? "the control character U+%04X is not allowed"
                                            : "byte 0x%02X is not valid UTF-8",
                                    control ? (unsigned)load->parser.problem_value
                                            : (unsigned)(unsigned char)char_at(failure, pos));
    problem->hint =
        control ? STR("write it as an escape in double quotes") : STR("save the file as UTF-8");
    return true;
}

/* --- Everything else ---------------------------------------------------------------------- */

/* Fragments of libyaml's messages, and our replacements. */
static const struct ErrorText {
    const char *libyaml_text;
    const char *code;
    const char *message;
    const char *hint;
    const char *context; /* fragment of libyaml's context; NULL: any */
} error_texts[] = {
    { "unknown escape character", "E0119", "unknown escape in double quotes",
      "use single quotes to keep a backslash" },
    { "did not find expected hexdecimal number", "E0119", "this escape needs hexadecimal digits",
      "" },
    { "invalid Unicode character code", "E0119", "this escape is not a valid character", "" },
    { "block sequence entries are not allowed", "E0101", "a list cannot start on this line",
      "put it on the next line" },
    { "mapping keys are not allowed", "E0101", "a '?' key cannot start here", "" },
    { "could not find expected ':'", "E0101", "missing ':' after this key", "" },
    { "did not find expected <document start>", "E0101", "the document has already ended",
      "start another document with '---'" },
    { "did not find expected ',' or ']'", "E0101", "missing ',' or ']'", "" },
    { "did not find expected ',' or '}'", "E0101", "missing ',' or '}'", "" },
    { "did not find expected node content", "E0101", "missing value", "" },
    { "did not find expected comment or line break", "E0101",
      "the text of a block must start on the next line",
      "move it there, and indent it further than the key", .context = "block scalar" },
    { "did not find expected comment or line break", "E0101", "unexpected text after a directive",
      "" },
    { "unknown directive name", "E0120", "unknown directive", "" },
    { "incompatible YAML document", "E0120", "this version of YAML is not supported", "" },
    { "duplicate %YAML directive", "E0120", "duplicate %YAML directive", "" },
    { "duplicate %TAG directive", "E0120", "duplicate %TAG directive for this handle", "" },
    { "undefined tag handle", "E0120", "no %TAG directive defines this tag handle", "" },
    { "found a tab character", "E0107", "tabs are not allowed for indentation", "use spaces" },
    { "indentation indicator equal to 0", "E0101",
      "the indentation indicator of a block must be 1 to 9", "" },
};

static void report_by_table(const SyntaxError *failure)
{
    YamlLoad *load = failure->load;
    const char *context = failure->context == NULL ? "" : failure->context;
    for (size_t i = 0; i < COUNT_OF(error_texts); i++) {
        if (strstr(failure->problem, error_texts[i].libyaml_text) != NULL &&
            (error_texts[i].context == NULL || strstr(context, error_texts[i].context) != NULL)) {
            bool at_key = strcmp(error_texts[i].libyaml_text, "could not find expected ':'") == 0;
            Problem *problem = problems_add(load->problems, error_texts[i].code, load->source,
                                            at_key ? failure->context_at : failure->pos, 1, "%s",
                                            error_texts[i].message);
            problem->hint = str_from_c(error_texts[i].hint);
            return;
        }
    }
    problems_add(load->problems, "E0101", load->source, failure->pos, 1, "%s%s%s", context,
                 context[0] == '\0' ? "" : ": ", failure->problem);
}

void yaml_problem_syntax(YamlLoad *load)
{
    const yaml_parser_t *parser = &load->parser;
    SyntaxError failure = {
        .load = load,
        .text = load->text,
        .problem = parser->problem == NULL ? "not readable" : parser->problem,
        .context = parser->context,
        .pos = yaml_load_offset(load, parser->problem_mark.index),
        .context_at = yaml_load_offset(load, parser->context_mark.index),
    };
    failure.line_start = line_start_of(load->text, failure.pos);
    failure.line_end = yaml_text_line_end(load->text, failure.pos);
    static bool (*const detectors[])(const SyntaxError *failure) = {
        find_bad_bytes,        find_template,          find_tab,           find_open_quote,
        find_text_after_quote, find_open_bracket,      find_missing_space, find_second_colon,
        find_forbidden_start,  find_wrong_indentation, find_block_text,
    };
    for (size_t i = 0; i < COUNT_OF(detectors); i++) {
        if (detectors[i](&failure)) {
            return;
        }
    }
    report_by_table(&failure);
}
