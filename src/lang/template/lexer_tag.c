/* Lexes the content of tags: names, numbers, strings, operators and the end of the tag. */
#include "lang/template/lexer.h"

#include <stdio.h>

#include "base/utf8.h"
#include "lang/number.h"
#include "lang/unicode.h"

static const Str word_texts[] = { [WORD_OTHER] = { "", 0 },
#define X(constant, text) [constant] = { text, sizeof(text) - 1 },
                                  WORDS(X)
#undef X
};

/* The first word of each length. */
static const uint8_t word_starts[] = {
    [2] = WORD_AS,
    [3] = WORD_AND,
    [4] = WORD_CALL,
    [5] = WORD_BLOCK,
    [6] = WORD_ENDFOR,
    [7] = WORD_CONTEXT,
    [8] = WORD_CONTINUE,
    [9] = WORD_ENDFILTER,
    [10] = WORD_AUTOESCAPE,
    [11] = WORD_ENDAUTOESCAPE,
    [12] = WORD_ENDAUTOESCAPE,
    [13] = WORD_ENDAUTOESCAPE,
    [14] = WORD_COUNT,
};

Str word_text(Word word)
{
    return word_texts[word];
}

Word word_find(Str name)
{
    if (name.len < 2 || name.len + 1 >= COUNT_OF(word_starts)) {
        return WORD_OTHER;
    }
    for (Word word = word_starts[name.len]; word < word_starts[name.len + 1]; word++) {
        const char *text = word_texts[word].data;
        if (text[0] == name.data[0] && memcmp(text, name.data, name.len) == 0) {
            return word;
        }
    }
    return WORD_OTHER;
}

static char source_at(const Lexer *lexer, size_t pos)
{
    return pos < lexer->source.len ? lexer->source.data[pos] : 0;
}

enum {
    ESCAPE_MAX = 12
};

/* Formats the escape sequence of a character without the backslash: x1b, u200b, U0001f600. */
static size_t format_escape(char out[ESCAPE_MAX], uint32_t code)
{
    if (code < 0x100) {
        return (size_t)snprintf(out, ESCAPE_MAX, "x%02x", code);
    }
    if (code < 0x10000) {
        return (size_t)snprintf(out, ESCAPE_MAX, "u%04x", code);
    }
    return (size_t)snprintf(out, ESCAPE_MAX, "U%08x", code);
}

/* repr() of a single character that is not whitespace. */
static Str quote_char(Lexer *lexer, uint32_t code)
{
    char bytes[UTF8_BYTES_MAX];
    size_t len = utf8_encode(code, bytes);
    if (code == '\'') {
        return STR("\"'\"");
    }
    if (code == '\\') {
        return STR("'\\\\'");
    }
    if (unicode_is(code, UNICODE_PRINTABLE)) {
        return arena_format(lexer->arena, "'%.*s'", (int)len, bytes);
    }
    char escape[ESCAPE_MAX];
    format_escape(escape, code);
    return arena_format(lexer->arena, "'\\%s'", escape);
}

/* Hints for characters that have a meaning in other languages. */
static void hint_char(Lexer *lexer, uint32_t code)
{
    switch (code) {
    case '&': lexer_hint(lexer, "write 'and'"); break;
    case '!': lexer_hint(lexer, "write 'not'"); break;
    case '?': lexer_hint(lexer, "write 'a if condition else b'"); break;
    case '$': lexer_hint(lexer, "write variables without '$'"); break;
    case '\'':
    case '"': lexer_hint(lexer, "this string is not closed"); break;
    default: break;
    }
}

static void fail_char(Lexer *lexer, Token *token)
{
    size_t end = lexer->pos;
    uint32_t code = utf8_next(lexer->source, &end);
    Str quoted = quote_char(lexer, code);
    lexer_fail(lexer, FAULT_SYNTAX, lexer_span(lexer, lexer->pos, end),
               "unexpected char %" STR_FMT " at %zu", STR_ARG(quoted),
               utf8_count(str_slice(lexer->source, 0, lexer->pos)));
    hint_char(lexer, code);
    token->type = TOKEN_FAULT;
}

static void next_name(Lexer *lexer, Token *token)
{
    const unsigned word = UNICODE_ALPHA | UNICODE_DECIMAL | UNICODE_DIGIT | UNICODE_NUMERIC;
    Str source = lexer->source;
    size_t start = lexer->pos, pos = start;
    bool valid = true, ascii = true;
    while (pos < source.len) {
        if (ascii_is_name(source.data[pos])) {
            pos++;
            continue;
        }
        if ((unsigned char)source.data[pos] < 0x80) {
            break;
        }
        size_t next = pos;
        unsigned flags = unicode_flags(utf8_next(source, &next));
        if ((flags & (word | UNICODE_NAME_PART)) == 0) {
            break;
        }
        valid &= (flags & (pos == start ? UNICODE_NAME_START : UNICODE_NAME_PART)) != 0;
        ascii = false;
        pos = next;
    }
    if (pos == start) {
        fail_char(lexer, token);
        return;
    }
    lexer_emit(lexer, token, TOKEN_NAME, start, pos);
    token->text = str_slice(source, start, pos);
    lexer->pos = pos;
    if (ascii) {
        token->word = (uint8_t)word_find(token->text);
    } else if (!valid) {
        lexer_fail(lexer, FAULT_SYNTAX, token->span, "Invalid character in identifier");
        token->type = TOKEN_FAULT;
    }
}

/* --- Numbers ------------------------------------------------------------------------------ */

static bool is_digit_of(char c, int base)
{
    int value = ascii_hex_value(c);
    return value >= 0 && value < base;
}

/* Skips digits with single underscores between them; returns `pos` if there are none. */
static size_t skip_digits(const Lexer *lexer, size_t pos, int base)
{
    if (!is_digit_of(source_at(lexer, pos), base)) {
        return pos;
    }
    do {
        pos++;
        if (source_at(lexer, pos) == '_' && is_digit_of(source_at(lexer, pos + 1), base)) {
            pos++;
        }
    } while (is_digit_of(source_at(lexer, pos), base));
    return pos;
}

static size_t float_end(const Lexer *lexer, size_t start)
{
    if (start > 0 && lexer->source.data[start - 1] == '.') {
        return start; /* `a.1.2` has two subscripts */
    }
    size_t pos = skip_digits(lexer, start, 10);
    size_t end = start;
    if (source_at(lexer, pos) == '.') {
        size_t fraction = skip_digits(lexer, pos + 1, 10);
        if (fraction > pos + 1) {
            pos = end = fraction;
        }
    }
    if (ascii_lower(source_at(lexer, pos)) == 'e') {
        char sign = source_at(lexer, pos + 1);
        size_t digits = pos + 1 + (sign == '+' || sign == '-');
        size_t exponent = skip_digits(lexer, digits, 10);
        if (exponent > digits) {
            end = exponent;
        }
    }
    return end;
}

static size_t integer_end(const Lexer *lexer, size_t start, int *base, size_t *digits)
{
    *base = 10;
    *digits = start;
    if (source_at(lexer, start) != '0') {
        return skip_digits(lexer, start, 10);
    }
    char letter = ascii_lower(source_at(lexer, start + 1));
    int prefixed = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefixed != 0) {
        size_t from = start + 2 + (source_at(lexer, start + 2) == '_');
        size_t end = skip_digits(lexer, from, prefixed);
        if (end > from) {
            *base = prefixed;
            *digits = from;
            return end;
        }
    }
    return skip_digits(lexer, start, 1); /* only the zeros: as in Jinja2, 007 is 00 and 7 */
}

static void read_integer(Token *token, Str digits, int base)
{
    uint64_t value = 0;
    token->wide = false;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] == '_') {
            continue;
        }
        token->wide |= __builtin_mul_overflow(value, (uint64_t)base, &value);
        token->wide |=
            __builtin_add_overflow(value, (uint64_t)ascii_hex_value(digits.data[i]), &value);
    }
    token->integer = value;
}

static double read_float(Lexer *lexer, Str text)
{
    if (memchr(text.data, '_', text.len) != NULL) {
        char *plain = arena_alloc(lexer->arena, text.len);
        size_t len = 0;
        for (size_t i = 0; i < text.len; i++) {
            if (text.data[i] != '_') {
                plain[len++] = text.data[i];
            }
        }
        text = str_from(plain, len);
    }
    double number = 0;
    number_parse_float(text, &number);
    return number;
}

static void next_number(Lexer *lexer, Token *token)
{
    size_t start = lexer->pos;
    size_t end = float_end(lexer, start);
    if (end > start) {
        lexer_emit(lexer, token, TOKEN_FLOAT, start, end);
        token->number = read_float(lexer, str_slice(lexer->source, start, end));
    } else {
        int base;
        size_t digits;
        end = integer_end(lexer, start, &base, &digits);
        lexer_emit(lexer, token, TOKEN_INTEGER, start, end);
        read_integer(token, str_slice(lexer->source, digits, end), base);
    }
    lexer->pos = end;
}

/* --- Strings ------------------------------------------------------------------------------ */

/* The string being decoded. */
typedef struct Decoder {
    Str in;
    size_t pos;
    char *out;
    size_t len;
    const char *problem;
} Decoder;

static void decoder_put(Decoder *decoder, uint32_t code)
{
    decoder->len += utf8_encode(code, decoder->out + decoder->len);
}

static void decode_hex(Decoder *decoder, size_t digits, const char *problem)
{
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++) {
        int value =
            decoder->pos < decoder->in.len ? ascii_hex_value(decoder->in.data[decoder->pos]) : -1;
        if (value < 0) {
            decoder->problem = problem;
            return;
        }
        code = code << 4 | (uint32_t)value;
        decoder->pos++;
    }
    if (code > 0x10ffff) {
        decoder->problem = "illegal Unicode character";
    } else if (code >= 0xd800 && code <= 0xdfff) {
        decoder->problem = "surrogates not allowed";
    } else {
        decoder_put(decoder, code);
    }
}

static void decode_octal(Decoder *decoder, char first)
{
    uint32_t code = (uint32_t)(first - '0');
    for (int i = 0; i < 2 && decoder->pos < decoder->in.len; i++) {
        char c = decoder->in.data[decoder->pos];
        if (c < '0' || c > '7') {
            break;
        }
        code = code << 3 | (uint32_t)(c - '0');
        decoder->pos++;
    }
    decoder_put(decoder, code);
}

/* Python looks these names up in the Unicode database, which is not available here. */
static void decode_character_name(Decoder *decoder)
{
    Str in = decoder->in;
    size_t open = decoder->pos;
    size_t close = str_find(in, STR("}"), open);
    bool named =
        open < in.len && in.data[open] == '{' && close != STR_NOT_FOUND && close > open + 1;
    decoder->problem = named ? "unknown Unicode character name" : "malformed \\N character escape";
}

/* Jinja2 first converts characters beyond ASCII to escapes and then decodes all escapes, so a
 * backslash before such a character yields a backslash followed by the text of its escape. */
static void decode_escaped_other(Decoder *decoder, uint32_t code)
{
    decoder->out[decoder->len++] = '\\';
    if (code < 0x80) {
        decoder->out[decoder->len++] = (char)code;
        return;
    }
    char escape[ESCAPE_MAX];
    size_t len = format_escape(escape, code);
    memcpy(decoder->out + decoder->len, escape, len);
    decoder->len += len;
}

static void decode_escape(Decoder *decoder)
{
    uint32_t code = utf8_next(decoder->in, &decoder->pos);
    switch (code) {
    case '\n': break; /* line continuation */
    case '\\':
    case '\'':
    case '"': decoder_put(decoder, code); break;
    case 'a': decoder_put(decoder, '\a'); break;
    case 'b': decoder_put(decoder, '\b'); break;
    case 'f': decoder_put(decoder, '\f'); break;
    case 'n': decoder_put(decoder, '\n'); break;
    case 'r': decoder_put(decoder, '\r'); break;
    case 't': decoder_put(decoder, '\t'); break;
    case 'v': decoder_put(decoder, '\v'); break;
    case 'x': decode_hex(decoder, 2, "truncated \\xXX escape"); break;
    case 'u': decode_hex(decoder, 4, "truncated \\uXXXX escape"); break;
    case 'U': decode_hex(decoder, 8, "truncated \\UXXXXXXXX escape"); break;
    case 'N': decode_character_name(decoder); break;
    default:
        if (code >= '0' && code <= '7') {
            decode_octal(decoder, (char)code);
        } else {
            decode_escaped_other(decoder, code);
        }
    }
}

/* Decodes a string literal as Python does. */
static bool decode_string(Lexer *lexer, Token *token, Str raw)
{
    Decoder decoder = { .in = lexer_normalize(lexer, raw) };
    /* No escape decodes to more than twice its length. */
    size_t cap = decoder.in.len * 2;
    decoder.out = arena_alloc(lexer->arena, cap);
    while (decoder.pos < decoder.in.len && decoder.problem == NULL) {
        char c = decoder.in.data[decoder.pos++];
        if (c == '\\') {
            decode_escape(&decoder);
        } else {
            decoder.out[decoder.len++] = c;
        }
    }
    arena_shrink(lexer->arena, decoder.out, cap, decoder.len);
    token->text = str_from(decoder.out, decoder.len);
    return decoder.problem == NULL ||
           lexer_fail(lexer, FAULT_SYNTAX, token->span, "%s", decoder.problem);
}

static void next_string(Lexer *lexer, Token *token)
{
    Str source = lexer->source;
    size_t start = lexer->pos, pos = start + 1;
    char quote = source.data[start];
    bool escaped = false;
    while (pos < source.len && source.data[pos] != quote) {
        escaped |= source.data[pos] == '\\';
        pos += source.data[pos] == '\\' ? 2 : 1;
    }
    if (pos >= source.len) {
        fail_char(lexer, token);
        return;
    }
    lexer_emit(lexer, token, TOKEN_STRING, start, pos + 1);
    lexer->pos = pos + 1;
    Str raw = str_slice(source, start + 1, pos);
    if (!escaped) {
        token->text = lexer_normalize(lexer, raw);
    } else if (!decode_string(lexer, token, raw)) {
        token->type = TOKEN_FAULT;
    }
}

/* --- Operators ---------------------------------------------------------------------------- */

static bool push_bracket(Lexer *lexer, char closing)
{
    if (lexer->bracket_count == lexer->bracket_cap) {
        uint32_t cap = lexer->bracket_cap == 0 ? 64 : lexer->bracket_cap * 2;
        lexer->brackets = arena_grow(lexer->arena, lexer->brackets, lexer->bracket_cap, cap);
        lexer->bracket_cap = cap;
    }
    lexer->brackets[lexer->bracket_count++] = closing;
    return true;
}

/* Hint for a partial closing delimiter. */
static void hint_tag_end(Lexer *lexer, char closing)
{
    const TemplateSyntax *syntax = lexer->syntax;
    bool block = lexer->state == LEXER_BLOCK;
    Str start = block ? syntax->block_start : syntax->variable_start;
    Str end = block ? syntax->block_end : syntax->variable_end;
    bool in_tag = lexer->begin.len > 0 && lexer->state != LEXER_LINE_STATEMENT;
    if (in_tag && memchr(end.data, closing, end.len) != NULL) {
        lexer_hint(lexer, "'%" STR_FMT "' is closed by '%" STR_FMT "'", STR_ARG(start),
                   STR_ARG(end));
    }
}

static bool pop_bracket(Lexer *lexer, char closing)
{
    Span span = lexer_span(lexer, lexer->pos, lexer->pos + 1);
    if (lexer->bracket_count == 0) {
        lexer_fail(lexer, FAULT_SYNTAX, span, "unexpected '%c'", closing);
        hint_tag_end(lexer, closing);
        return false;
    }
    char expected = lexer->brackets[--lexer->bracket_count];
    return expected == closing || lexer_fail(lexer, FAULT_SYNTAX, span,
                                             "unexpected '%c', expected '%c'", closing, expected);
}

/* Returns the operator that begins with `c`, or TOKEN_FAULT. `second` is the next character; `*len`
 * becomes 2 if both form one operator. */
static TokenType operator_type(char c, char second, size_t *len)
{
    bool doubled = second == c, equals = second == '=';
    TokenType one = TOKEN_FAULT, two = TOKEN_FAULT;
    switch (c) {
    case '+': one = TOKEN_ADD; break;
    case '-': one = TOKEN_SUB; break;
    case '~': one = TOKEN_TILDE; break;
    case '%': one = TOKEN_MOD; break;
    case '.': one = TOKEN_DOT; break;
    case ':': one = TOKEN_COLON; break;
    case '|': one = TOKEN_PIPE; break;
    case ',': one = TOKEN_COMMA; break;
    case ';': one = TOKEN_SEMICOLON; break;
    case '(': one = TOKEN_LPAREN; break;
    case ')': one = TOKEN_RPAREN; break;
    case '[': one = TOKEN_LBRACKET; break;
    case ']': one = TOKEN_RBRACKET; break;
    case '{': one = TOKEN_LBRACE; break;
    case '}': one = TOKEN_RBRACE; break;
    case '*':
        one = TOKEN_MUL;
        two = doubled ? TOKEN_POW : TOKEN_FAULT;
        break;
    case '/':
        one = TOKEN_DIV;
        two = doubled ? TOKEN_FLOOR_DIV : TOKEN_FAULT;
        break;
    case '=':
        one = TOKEN_ASSIGN;
        two = equals ? TOKEN_EQ : TOKEN_FAULT;
        break;
    case '<':
        one = TOKEN_LT;
        two = equals ? TOKEN_LE : TOKEN_FAULT;
        break;
    case '>':
        one = TOKEN_GT;
        two = equals ? TOKEN_GE : TOKEN_FAULT;
        break;
    case '!': two = equals ? TOKEN_NE : TOKEN_FAULT; break;
    default: break;
    }
    *len = two != TOKEN_FAULT ? 2 : 1;
    return two != TOKEN_FAULT ? two : one;
}

static void next_operator(Lexer *lexer, Token *token)
{
    size_t start = lexer->pos, len;
    char c = lexer->source.data[start];
    TokenType type = operator_type(c, source_at(lexer, start + 1), &len);
    bool ok = true;
    switch (type) {
    case TOKEN_FAULT: fail_char(lexer, token); return;
    case TOKEN_LPAREN: ok = push_bracket(lexer, ')'); break;
    case TOKEN_LBRACKET: ok = push_bracket(lexer, ']'); break;
    case TOKEN_LBRACE: ok = push_bracket(lexer, '}'); break;
    case TOKEN_RPAREN:
    case TOKEN_RBRACKET:
    case TOKEN_RBRACE: ok = pop_bracket(lexer, c); break;
    default: break;
    }
    lexer_emit(lexer, token, ok ? type : TOKEN_FAULT, start, start + len);
    lexer->pos = start + len;
}

/* A line statement ends with its line and consumes the empty lines that follow. */
static size_t line_close(const Lexer *lexer)
{
    size_t end = lexer_skip_space(lexer, lexer->pos);
    if (end == lexer->source.len) {
        return end;
    }
    while (end > lexer->pos && lexer->source.data[end - 1] != '\n') {
        end--;
    }
    return end > lexer->pos ? end : STR_NOT_FOUND;
}

static bool next_close(Lexer *lexer, Token *token)
{
    size_t end = STR_NOT_FOUND;
    TokenType type = TOKEN_BLOCK_END;
    if (lexer->state == LEXER_LINE_STATEMENT) {
        end = line_close(lexer);
    } else {
        bool block = lexer->state == LEXER_BLOCK;
        Str close = block ? lexer->syntax->block_end : lexer->syntax->variable_end;
        char c = source_at(lexer, lexer->pos);
        if (c == close.data[0] || c == '-' || c == '+') {
            end = lexer_match_close(lexer, lexer->pos, close, block);
        }
        type = block ? TOKEN_BLOCK_END : TOKEN_VARIABLE_END;
    }
    if (end == STR_NOT_FOUND) {
        return false;
    }
    lexer_emit(lexer, token, type, lexer->pos, end);
    lexer->pos = end;
    lexer->state = LEXER_DATA;
    return true;
}

void lexer_next_in_tag(Lexer *lexer, Token *token)
{
    /* A closing delimiter is recognized only outside brackets: `{{ {'a': {}} }}`. */
    if (lexer->bracket_count == 0 && next_close(lexer, token)) {
        return;
    }
    size_t pos = lexer_skip_space(lexer, lexer->pos);
    if (pos > lexer->pos) {
        lexer->pos = pos;
        if (lexer->bracket_count == 0 && next_close(lexer, token)) {
            return;
        }
    }
    if (pos >= lexer->source.len) {
        token->type = TOKEN_END;
        token->span = lexer->last;
        return;
    }
    char c = lexer->source.data[pos];
    if (ascii_is_digit(c)) {
        next_number(lexer, token);
    } else if (ascii_is_name(c) || (unsigned char)c >= 0x80) {
        next_name(lexer, token);
    } else if (c == '"' || c == '\'') {
        next_string(lexer, token);
    } else {
        next_operator(lexer, token);
    }
}
