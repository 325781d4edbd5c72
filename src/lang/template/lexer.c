/* Lexes template data, comments and raw blocks, and handles the whitespace control around tags. The
 * content of tags is lexed in lexer_tag.c. */
#include "lang/template/lexer.h"

#include "base/search.h"
#include "base/source.h"
#include "base/utf8.h"
#include "lang/unicode.h"

static const Str token_type_names[] = {
#define X(constant, text) [constant] = { text, sizeof(text) - 1 },
    TOKEN_TYPES(X)
#undef X
};

Str token_type_describe(TokenType type)
{
    return token_type_names[type];
}

Str token_describe(const Token *token)
{
    return token->type == TOKEN_NAME ? token->text : token_type_names[token->type];
}

bool lexer_fail(Lexer *lexer, FaultClass class, Span span, const char *format, ...)
{
    Fault *fault = lexer->fault;
    if (fault->class != FAULT_NONE) {
        return false; /* keep the first fault: it is the cause */
    }
    va_list args;
    va_start(args, format);
    Str message = arena_format_v(lexer->arena, format, args);
    va_end(args);
    Source source = { .text = lexer->text, .first_line = 1 };
    LineColumn location = source_location(&source, span.offset);
    *fault = (Fault){
        .class = class,
        .message = message,
        .template_text = lexer->text,
        .offset = span.offset,
        .span = span.len,
        .line = location.line,
        .column = location.column,
    };
    return false;
}

void lexer_hint(Lexer *lexer, const char *format, ...)
{
    if (lexer->fault->hint.len > 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    lexer->fault->hint = arena_format_v(lexer->arena, format, args);
    va_end(args);
}

static uint32_t text_offset(const Lexer *lexer, size_t pos)
{
    return (uint32_t)pos + SEARCH(lexer->join_count, i, lexer->joins[i] < pos);
}

Span lexer_span(const Lexer *lexer, size_t start, size_t end)
{
    uint32_t offset = text_offset(lexer, start);
    return (Span){ offset, text_offset(lexer, end) - offset };
}

enum {
    SAME_LINE_MAX = 1000 /* bytes to scan for the end of a line */
};

Span lexer_same_line(const Lexer *lexer, Span required, Span preferred)
{
    uint32_t low = required.offset, high = preferred.offset;
    if (low > high) {
        low = preferred.offset;
        high = required.offset;
    }
    if (high == low) {
        return preferred;
    }
    if (high - low > SAME_LINE_MAX) {
        return required;
    }
    const char *between = lexer->text.data + low;
    if (memchr(between, '\n', high - low) != NULL || memchr(between, '\r', high - low) != NULL) {
        return required;
    }
    return preferred;
}

void lexer_emit(Lexer *lexer, Token *token, TokenType type, size_t start, size_t end)
{
    token->type = (uint8_t)type;
    token->word = WORD_OTHER;
    token->span = lexer_span(lexer, start, end);
    lexer->last = token->span;
}

/* Rank of a start by its state: Jinja2 tries starts of equal length in this order. */
static int start_rank(LexerState state)
{
    switch (state) {
    case LEXER_VARIABLE: return 4;
    case LEXER_LINE_STATEMENT: return 3;
    case LEXER_LINE_COMMENT: return 2;
    case LEXER_COMMENT: return 1;
    default: return 0;
    }
}

static void add_start(Lexer *lexer, Str text, LexerState state)
{
    if (text.len == 0) {
        return;
    }
    uint8_t i = lexer->start_count++;
    while (i > 0) {
        const LexerStart *before = &lexer->starts[i - 1];
        if (before->text.len > text.len ||
            (before->text.len == text.len && start_rank(before->state) > start_rank(state))) {
            break;
        }
        lexer->starts[i] = *before;
        i--;
    }
    lexer->starts[i] = (LexerStart){ text, state };
}

static bool init_starts(Lexer *lexer)
{
    const TemplateSyntax *syntax = lexer->syntax;
    const Str required[] = { syntax->block_start,  syntax->block_end,     syntax->variable_start,
                             syntax->variable_end, syntax->comment_start, syntax->comment_end };
    for (size_t i = 0; i < COUNT_OF(required); i++) {
        if (required[i].len == 0) {
            return lexer_fail(lexer, FAULT_VALUE, (Span){ 0 },
                              "the delimiters of blocks, variables and comments must not be empty");
        }
    }
    if (str_eq(syntax->block_start, syntax->variable_start) ||
        str_eq(syntax->block_start, syntax->comment_start) ||
        str_eq(syntax->variable_start, syntax->comment_start)) {
        return lexer_fail(lexer, FAULT_VALUE, (Span){ 0 },
                          "block, variable and comment start strings must be different");
    }
    add_start(lexer, syntax->block_start, LEXER_BLOCK);
    add_start(lexer, syntax->variable_start, LEXER_VARIABLE);
    add_start(lexer, syntax->comment_start, LEXER_COMMENT);
    lexer->one_first_byte =
        syntax->line_statement_prefix.len == 0 && syntax->line_comment_prefix.len == 0;
    add_start(lexer, syntax->line_statement_prefix, LEXER_LINE_STATEMENT);
    add_start(lexer, syntax->line_comment_prefix, LEXER_LINE_COMMENT);
    lexer->first_byte = lexer->starts[0].text.data[0];
    for (uint8_t i = 1; i < lexer->start_count; i++) {
        lexer->one_first_byte &= lexer->starts[i].text.data[0] == lexer->first_byte;
    }
    return true;
}

/* Normalizes line endings to '\n'. Most sources have no others and are used without a copy. */
static void init_source(Lexer *lexer)
{
    Str text = lexer->text;
    const char *found = text.len == 0 ? NULL : memchr(text.data, '\r', text.len);
    if (found == NULL) {
        lexer->source = text;
        return;
    }
    size_t pairs = 0;
    for (size_t i = (size_t)(found - text.data); i + 1 < text.len; i++) {
        pairs += text.data[i] == '\r' && text.data[i + 1] == '\n';
    }
    char *source = arena_alloc(lexer->arena, text.len);
    uint32_t *joins = ARENA_ARRAY(lexer->arena, uint32_t, pairs);
    size_t len = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '\r') {
            c = '\n';
            if (i + 1 < text.len && text.data[i + 1] == '\n') {
                joins[count++] = (uint32_t)len;
                i++;
            }
        }
        source[len++] = c;
    }
    lexer->source = str_from(source, len);
    lexer->joins = joins;
    lexer->join_count = count;
}

bool lexer_init(Lexer *lexer, Arena *arena, const TemplateSettings *settings, Str text,
                LexerState state, Fault *fault)
{
    if (text.len == 0) {
        text = STR_EMPTY; /* never NULL */
    }
    *fault = (Fault){ 0 };
    *lexer = (Lexer){
        .arena = arena, .syntax = &settings->syntax, .fault = fault, .text = text, .state = state
    };
    size_t limit = settings->limits.source;
    if (limit > VALUE_STRING_MAX) {
        limit = VALUE_STRING_MAX;
    }
    if (text.len > limit) {
        lexer->text = str_slice(text, 0, limit); /* offsets are 32 bits wide */
        return lexer_fail(lexer, FAULT_LIMIT, (Span){ 0 },
                          "the template is %zu bytes long, more than the limit of %zu", text.len,
                          limit);
    }
    size_t valid = utf8_valid_prefix(text);
    if (valid < text.len) {
        return lexer_fail(lexer, FAULT_SYNTAX, (Span){ (uint32_t)valid, 1 },
                          "the template is not valid UTF-8: byte 0x%02x at %zu",
                          (unsigned char)text.data[valid], valid);
    }
    if (!init_starts(lexer)) {
        return false;
    }
    init_source(lexer);
    if (!settings->syntax.keep_trailing_newline && str_ends(lexer->source, STR("\n"))) {
        lexer->source.len--;
    }
    return true;
}

static bool is_space(uint32_t code)
{
    if (code < 0x80) {
        return code == ' ' || (code >= '\t' && code <= '\r') || (code >= 0x1c && code <= 0x1f);
    }
    return unicode_is(code, UNICODE_SPACE);
}

size_t lexer_skip_space(const Lexer *lexer, size_t pos)
{
    while (pos < lexer->source.len) {
        char c = lexer->source.data[pos];
        if (c == ' ') {
            pos++;
            continue;
        }
        if (c > ' ') {
            break;
        }
        size_t next = pos;
        if (!is_space(utf8_next(lexer->source, &next))) {
            break;
        }
        pos = next;
    }
    return pos;
}

/* Returns `end`, moved back over the whitespace at the end of source[start..end). */
static size_t strip_space(const Lexer *lexer, size_t start, size_t end)
{
    while (end > start) {
        size_t before = end;
        if (!is_space(utf8_previous(lexer->source, &before))) {
            break;
        }
        end = before;
    }
    return end;
}

Str lexer_normalize(Lexer *lexer, Str text)
{
    Str sequence = lexer->syntax->newline_sequence;
    if (sequence.len == 0 || str_eq(sequence, STR("\n")) || text.len == 0 ||
        memchr(text.data, '\n', text.len) == NULL) {
        return text;
    }
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++) {
        lines += text.data[i] == '\n';
    }
    char *out = arena_alloc(lexer->arena, text.len + lines * (sequence.len - 1));
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\n') {
            memcpy(out + len, sequence.data, sequence.len);
            len += sequence.len;
        } else {
            out[len++] = text.data[i];
        }
    }
    return str_from(out, len);
}

/* Delimiters are short: comparing them here is faster than a call. */
static inline bool source_has(const Lexer *lexer, size_t pos, Str text)
{
    if (lexer->source.len - pos < text.len) {
        return false;
    }
    const char *position = lexer->source.data + pos;
    for (size_t i = 0; i < text.len; i++) {
        if (position[i] != text.data[i]) {
            return false;
        }
    }
    return true;
}

size_t lexer_match_close(const Lexer *lexer, size_t pos, Str end, bool block)
{
    if (pos >= lexer->source.len) {
        return STR_NOT_FOUND;
    }
    char sign = lexer->source.data[pos];
    if (sign == '+' && block && source_has(lexer, pos + 1, end)) {
        return pos + 1 + end.len;
    }
    if (sign == '-' && source_has(lexer, pos + 1, end)) {
        return lexer_skip_space(lexer, pos + 1 + end.len);
    }
    if (!source_has(lexer, pos, end)) {
        return STR_NOT_FOUND;
    }
    pos += end.len;
    bool newline = pos < lexer->source.len && lexer->source.data[pos] == '\n';
    return newline && block && lexer->syntax->trim_blocks ? pos + 1 : pos;
}

/* The start of a tag in data: [start, end), and its whitespace sign ('-', '+' or 0). */
typedef struct TagStart {
    LexerState state;
    char sign;
    size_t start;
    size_t end;
} TagStart;

static char sign_at(const Lexer *lexer, size_t pos)
{
    char c = pos < lexer->source.len ? lexer->source.data[pos] : 0;
    return c == '-' || c == '+' ? c : 0;
}

/* Matches a tag that contains only `word`, up to its closing delimiter. `pos` is after the opening
 * delimiter. */
static bool match_word_tag(const Lexer *lexer, size_t pos, Str word, size_t *word_end, char *sign)
{
    size_t next = pos + lexer->syntax->block_start.len;
    *sign = sign_at(lexer, next);
    next = lexer_skip_space(lexer, next + (*sign != 0));
    if (!source_has(lexer, next, word)) {
        return false;
    }
    *word_end = lexer_skip_space(lexer, next + word.len);
    return true;
}

static bool match_raw_start(const Lexer *lexer, size_t pos, TagStart *out)
{
    size_t close;
    char sign;
    if (!source_has(lexer, pos, lexer->syntax->block_start) ||
        !match_word_tag(lexer, pos, STR("raw"), &close, &sign)) {
        return false;
    }
    size_t end = lexer_match_close(lexer, close, lexer->syntax->block_end, false);
    *out = (TagStart){ LEXER_RAW, sign, pos, end };
    return end != STR_NOT_FOUND;
}

static bool is_line_start(const Lexer *lexer, size_t pos)
{
    return pos == 0 || lexer->source.data[pos - 1] == '\n';
}

/* Finds the prefix of a line statement or comment whose leading whitespace starts at `pos`. */
static bool find_prefix(const Lexer *lexer, LexerState state, size_t pos, size_t *out)
{
    Str source = lexer->source;
    if (state == LEXER_LINE_STATEMENT) {
        if (!is_line_start(lexer, pos)) {
            return false;
        }
        while (pos < source.len &&
               (source.data[pos] == ' ' || source.data[pos] == '\t' || source.data[pos] == '\v')) {
            pos++;
        }
        *out = pos;
        return true;
    }
    size_t before = pos;
    if (!is_line_start(lexer, pos) && is_space(utf8_previous(source, &before))) {
        return false;
    }
    while (pos < source.len && source.data[pos] != '\n') {
        size_t next = pos;
        if (!is_space(utf8_next(source, &next))) {
            break;
        }
        pos = next;
    }
    *out = pos;
    return true;
}

static bool match_start(const Lexer *lexer, size_t pos, TagStart *out)
{
    if (match_raw_start(lexer, pos, out)) {
        return true;
    }
    for (uint8_t i = 0; i < lexer->start_count; i++) {
        const LexerStart *start = &lexer->starts[i];
        size_t text_at = pos;
        if ((start->state == LEXER_LINE_STATEMENT || start->state == LEXER_LINE_COMMENT) &&
            !find_prefix(lexer, start->state, pos, &text_at)) {
            continue;
        }
        if (source_has(lexer, text_at, start->text)) {
            size_t end = text_at + start->text.len;
            char sign = sign_at(lexer, end);
            *out = (TagStart){ start->state, sign, pos, end + (sign != 0) };
            return true;
        }
    }
    return false;
}

/* Whether a tag may begin with this byte, if tags can begin in several ways. A line prefix may be
 * preceded by whitespace, and only starts after a line break or at a word boundary. */
static bool may_start(const Lexer *lexer, size_t pos)
{
    char c = lexer->source.data[pos];
    for (uint8_t i = 0; i < lexer->start_count; i++) {
        const LexerStart *start = &lexer->starts[i];
        if (c == start->text.data[0] || start->state == LEXER_LINE_STATEMENT ||
            start->state == LEXER_LINE_COMMENT) {
            return true;
        }
    }
    return false;
}

static bool find_start(const Lexer *lexer, TagStart *out)
{
    Str source = lexer->source;
    for (size_t pos = lexer->pos; pos < source.len; pos++) {
        if (lexer->one_first_byte) {
            const char *found = memchr(source.data + pos, lexer->first_byte, source.len - pos);
            if (found == NULL) {
                return false;
            }
            pos = (size_t)(found - source.data);
        } else if (!may_start(lexer, pos)) {
            continue;
        }
        if (match_start(lexer, pos, out)) {
            return true;
        }
    }
    return false;
}

/* The end of the data before a tag: '-' strips all whitespace; lstrip_blocks strips the whitespace
 * between the start of the line and any tag except a variable. */
static size_t data_end(const Lexer *lexer, const TagStart *tag)
{
    size_t start = lexer->pos, end = tag->start;
    if (tag->sign == '-') {
        return strip_space(lexer, start, end);
    }
    if (tag->sign == '+' || !lexer->syntax->lstrip_blocks || tag->state == LEXER_VARIABLE) {
        return end;
    }
    size_t line = end;
    while (line > start && lexer->source.data[line - 1] != '\n') {
        line--;
    }
    if (!is_line_start(lexer, line)) {
        return end;
    }
    return strip_space(lexer, line, end) == line ? line : end;
}

/* Emits source[at..end) as data and continues at `next`. Returns false if there is no data. */
static bool emit_data(Lexer *lexer, Token *token, size_t end, size_t next)
{
    size_t start = lexer->pos;
    lexer->pos = next;
    if (end == start) {
        return false;
    }
    lexer_emit(lexer, token, TOKEN_DATA, start, end);
    token->text = lexer_normalize(lexer, str_slice(lexer->source, start, end));
    return true;
}

static bool next_data(Lexer *lexer, Token *token)
{
    size_t len = lexer->source.len;
    if (lexer->pos >= len) {
        token->type = TOKEN_END;
        token->span = lexer->last;
        return true;
    }
    TagStart tag;
    if (!find_start(lexer, &tag)) {
        return emit_data(lexer, token, len, len);
    }
    lexer->state = tag.state;
    lexer->begin = lexer_span(lexer, tag.start, tag.end);
    lexer->begin_pending = tag.state == LEXER_BLOCK || tag.state == LEXER_VARIABLE ||
                           tag.state == LEXER_LINE_STATEMENT;
    return emit_data(lexer, token, data_end(lexer, &tag), tag.end);
}

/* As in Jinja2, an unclosed tag is a fault only if something follows it. */
static void fail_unclosed(Lexer *lexer, const char *message)
{
    size_t pos = lexer->pos;
    if (pos < lexer->source.len) {
        Span position = lexer_span(lexer, pos, pos);
        lexer_fail(lexer, FAULT_SYNTAX, lexer_same_line(lexer, position, lexer->begin), "%s",
                   message);
    }
    lexer->state = LEXER_DATA;
}

static void skip_comment(Lexer *lexer)
{
    Str end = lexer->syntax->comment_end;
    size_t close = str_find(lexer->source, end, lexer->pos);
    if (close == STR_NOT_FOUND) {
        fail_unclosed(lexer, "Missing end of comment tag");
        return;
    }
    if (close > lexer->pos && sign_at(lexer, close - 1) != 0) {
        close--;
    }
    lexer->pos = lexer_match_close(lexer, close, end, true);
    lexer->state = LEXER_DATA;
}

static void skip_line_comment(Lexer *lexer)
{
    size_t end = str_find(lexer->source, STR("\n"), lexer->pos);
    lexer->pos = end == STR_NOT_FOUND ? lexer->source.len : end;
    lexer->state = LEXER_DATA;
}

static bool next_raw(Lexer *lexer, Token *token)
{
    const TemplateSyntax *syntax = lexer->syntax;
    size_t pos = lexer->pos;
    while ((pos = str_find(lexer->source, syntax->block_start, pos)) != STR_NOT_FOUND) {
        TagStart tag = { .state = LEXER_RAW, .start = pos };
        size_t close;
        if (match_word_tag(lexer, pos, STR("endraw"), &close, &tag.sign)) {
            tag.end = lexer_match_close(lexer, close, syntax->block_end, true);
            if (tag.end != STR_NOT_FOUND) {
                lexer->state = LEXER_DATA;
                return emit_data(lexer, token, data_end(lexer, &tag), tag.end);
            }
        }
        pos++;
    }
    fail_unclosed(lexer, "Missing end of raw directive");
    return false;
}

void lexer_next(Lexer *lexer, Token *token)
{
    for (;;) {
        if (lexer->fault->class != FAULT_NONE) {
            token->type = TOKEN_FAULT;
            token->span = lexer->last;
            return;
        }
        if (lexer->begin_pending) {
            lexer->begin_pending = false;
            token->type = lexer->state == LEXER_VARIABLE ? TOKEN_VARIABLE_BEGIN : TOKEN_BLOCK_BEGIN;
            token->span = lexer->begin;
            lexer->last = token->span;
            return;
        }
        switch (lexer->state) {
        case LEXER_DATA:
            if (next_data(lexer, token)) {
                return;
            }
            break;
        case LEXER_RAW:
            if (next_raw(lexer, token)) {
                return;
            }
            break;
        case LEXER_COMMENT: skip_comment(lexer); break;
        case LEXER_LINE_COMMENT: skip_line_comment(lexer); break;
        default: lexer_next_in_tag(lexer, token); return;
        }
    }
}
