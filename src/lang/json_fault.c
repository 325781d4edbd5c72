/* Error messages of the JSON parser. The parser only reports what it expected and where; the
 * functions here inspect the text at that location to recognize common mistakes, such as single
 * quotes, comments, trailing commas and Python constants, and add a hint on how to fix them. */
#include "lang/json_reader.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

const char *json_fault(const JsonFaults *faults, const char *code, const char *pos, size_t length,
                       const char *hint, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    size_t offset = faults->source->text.len == 0 ? 0 : (size_t)(pos - faults->source->text.data);
    Problem *problem = problems_add(faults->problems, code, faults->source, (uint32_t)offset,
                                    (uint32_t)length, "%s", message);
    problem->hint = arena_copy(faults->problems->arena, str_from_c(hint));
    return NULL;
}

Str json_fault_brief(Str s)
{
    Str brief = str_slice(s, 0, 60);
    return str_slice(brief, 0, utf8_valid_prefix(brief));
}

static Str rest_of(const JsonFaults *faults, const char *pos)
{
    Str text = faults->source->text;
    return text.len == 0 ? STR_EMPTY : str_from(pos, (size_t)(text.data + text.len - pos));
}

/* The identifier or number at the start, at least one valid character. */
static Str word_at(Str rest)
{
    size_t len = 0;
    while (len < rest.len && (ascii_is_name(rest.data[len]) || rest.data[len] == '-' ||
                              rest.data[len] == '.' || (unsigned char)rest.data[len] >= 0x80)) {
        len++;
    }
    Str word = str_slice(rest, 0, len > 0 ? len : 1);
    return str_slice(word, 0, utf8_valid_prefix(word));
}

/* Common mistakes where a value or key is expected. */
typedef struct Mistake {
    const char *begin;
    const char *message;
    const char *hint;
} Mistake;

static const Mistake common_mistakes[] = {
    { "'", "strings need double quotes", "write \" instead of '" },
    { "`", "strings need double quotes", "write \" instead of `" },
    { "//", "JSON has no comments", "remove the comment" },
    { "/*", "JSON has no comments", "remove the comment" },
    { "#", "JSON has no comments", "remove the comment" },
};

static const Mistake value_mistakes[] = {
    { "NaN", "JSON has no NaN", "write null or a string" },
    { "nan", "JSON has no NaN", "write null or a string" },
    { "Infinity", "JSON has no Infinity", "write null or a string" },
    { "inf", "JSON has no Infinity", "write null or a string" },
    { "True", "unknown word 'True'", "write true" },
    { "TRUE", "unknown word 'TRUE'", "write true" },
    { "False", "unknown word 'False'", "write false" },
    { "FALSE", "unknown word 'FALSE'", "write false" },
    { "None", "unknown word 'None'", "write null" },
    { "NULL", "unknown word 'NULL'", "write null" },
    { "Null", "unknown word 'Null'", "write null" },
    { "nil", "unknown word 'nil'", "write null" },
    { "undefined", "unknown word 'undefined'", "write null" },
    { "+", "a number cannot begin with '+'", "remove the '+'" },
    { ".", "a number cannot begin with '.'", "write 0 before the decimal point" },
};

static const Mistake *find_mistake(const Mistake *rows, size_t count, Str rest)
{
    for (size_t i = 0; i < count; i++) {
        if (str_starts(rest, str_from_c(rows[i].begin))) {
            return &rows[i];
        }
    }
    return NULL;
}

static const char *expected_token(JsonExpected expected)
{
    switch (expected) {
    case JSON_VALUE:
    case JSON_NEXT_VALUE: return "a value";
    case JSON_FIRST_KEY: return "a key or '}'";
    case JSON_NEXT_KEY: return "a key";
    case JSON_COLON: return "':' after the key";
    case JSON_LIST_NEXT: return "',' or ']'";
    case JSON_MAP_NEXT: return "',' or '}'";
    case JSON_END: break;
    }
    return "end of input";
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The comma before `pos` with only whitespace in between. */
static const char *comma_before(const JsonFaults *faults, const char *pos)
{
    while (pos > faults->source->text.data && is_space(pos[-1])) {
        pos--;
    }
    return pos - 1;
}

static const char *fault_at_end(const JsonFaults *faults, JsonExpected expected, const char *pos,
                                const char *open)
{
    if (open != NULL) {
        return json_fault(faults, "E0151", open, 1, "",
                          "unclosed '%c': unexpected end of input, expected %s", *open,
                          expected_token(expected));
    }
    return json_fault(faults, "E0151", pos, 1, "", "unexpected end of input, expected %s",
                      expected_token(expected));
}

/* Reports an unquoted word where a key or value is expected; returns false if there is none. */
static bool fault_at_word(const JsonFaults *faults, JsonExpected expected, Str rest)
{
    bool key = expected == JSON_FIRST_KEY || expected == JSON_NEXT_KEY;
    Str word = word_at(rest);
    if (word.len == 0) {
        return false;
    }
    char first = word.data[0];
    Str shown = json_fault_brief(word);
    if (key && (ascii_is_digit(first) || first == '-')) {
        json_fault(faults, "E0150", rest.data, word.len, "put it in double quotes",
                   "a key must be a string");
        return true;
    }
    if (ascii_is_name(first) || (unsigned char)first >= 0x80) {
        json_fault(faults, "E0150", rest.data, word.len, "put it in double quotes",
                   "unquoted %s '%" STR_FMT "'", key ? "key" : "text", STR_ARG(shown));
        return true;
    }
    return false;
}

static bool begins_value(char c)
{
    return c == '"' || c == '{' || c == '[' || c == '-' || ascii_is_digit(c) || ascii_is_alpha(c);
}

static const char *hint_for(JsonExpected expected, char found)
{
    bool in_container = expected == JSON_LIST_NEXT || expected == JSON_MAP_NEXT;
    if (expected == JSON_COLON && found == '=') {
        return "write ':' instead of '='";
    }
    if (expected == JSON_LIST_NEXT && found == '}') {
        return "a list ends with ']'";
    }
    if (expected == JSON_LIST_NEXT && found == ':') {
        return "key-value pairs belong between '{' and '}'";
    }
    if (expected == JSON_MAP_NEXT && found == ']') {
        return "an object ends with '}'";
    }
    return in_container && begins_value(found) ? "missing comma before this" : "";
}

/* "'x'" if printable, otherwise "byte 0x07". */
static void describe_byte(char c, char out[16])
{
    snprintf(out, 16, c > ' ' && c < 0x7f ? "'%c'" : "byte 0x%02x", (unsigned char)c);
}

/* Letters or digits directly after a number or word: reports both as one. */
static bool fault_at_adjacent_word(const JsonFaults *faults, const char *pos, Str rest)
{
    const char *start = pos;
    while (start > faults->source->text.data && ascii_is_name(start[-1])) {
        start--;
    }
    if (start == pos || !ascii_is_name(rest.data[0])) {
        return false;
    }
    Str word = word_at(rest_of(faults, start));
    Str shown = json_fault_brief(word);
    bool hex = *start == '0' && (start[1] == 'x' || start[1] == 'X');
    json_fault(faults, "E0150", start, word.len, hex ? "numbers in JSON are decimal" : "",
               "unknown word '%" STR_FMT "'", STR_ARG(shown));
    return true;
}

static const char *fault_at_text(const JsonFaults *faults, JsonExpected expected, Str rest)
{
    if (utf8_valid_prefix(str_slice(rest, 0, UTF8_BYTES_MAX)) == 0) {
        return json_fault(faults, "E0157", rest.data, 1, "", "byte 0x%02x is not UTF-8",
                          (unsigned char)rest.data[0]);
    }
    char found[16];
    describe_byte(rest.data[0], found);
    if (expected == JSON_END) {
        return json_fault(faults, "E0158", rest.data, 1, "",
                          "unexpected %s after the end of the value", found);
    }
    return json_fault(faults, "E0150", rest.data, 1, hint_for(expected, rest.data[0]),
                      "expected %s, found %s", expected_token(expected), found);
}

const char *json_fault_unexpected(const JsonFaults *faults, JsonExpected expected, const char *pos,
                                  const char *open)
{
    Str rest = rest_of(faults, pos);
    if (rest.len == 0) {
        return fault_at_end(faults, expected, pos, open);
    }
    char found = rest.data[0];
    bool next = expected == JSON_NEXT_VALUE || expected == JSON_NEXT_KEY;
    if (next && (found == ']' || found == '}')) {
        return json_fault(faults, "E0150", comma_before(faults, pos), 1, "remove this comma",
                          "trailing comma before '%c'", found);
    }
    bool value = expected == JSON_VALUE || expected == JSON_NEXT_VALUE;
    bool item = value || expected == JSON_FIRST_KEY || expected == JSON_NEXT_KEY;
    const Mistake *mistake = find_mistake(common_mistakes, COUNT_OF(common_mistakes), rest);
    if (mistake == NULL && value) {
        mistake = find_mistake(value_mistakes, COUNT_OF(value_mistakes), rest);
    }
    if (mistake != NULL && (item || found == '#' || found == '/')) {
        return json_fault(faults, "E0150", pos, word_at(rest).len, mistake->hint, "%s",
                          mistake->message);
    }
    if (item ? fault_at_word(faults, expected, rest) : fault_at_adjacent_word(faults, pos, rest)) {
        return NULL;
    }
    return fault_at_text(faults, expected, rest);
}

const char *json_fault_in_string(const JsonFaults *faults, const char *start, const char *pos)
{
    Str rest = rest_of(faults, pos);
    if (rest.len == 0) {
        return json_fault(faults, "E0151", start, 1, "", "unclosed string");
    }
    if (rest.data[0] == '\n' || rest.data[0] == '\r') {
        return json_fault(faults, "E0152", start, (size_t)(pos - start),
                          "write \\n, or close the string", "line break in a string");
    }
    return json_fault(faults, "E0152", pos, 1, rest.data[0] == '\t' ? "write \\t" : "",
                      "control character 0x%02x in a string", (unsigned char)rest.data[0]);
}

const char *json_fault_in_number(const JsonFaults *faults, const char *start, const char *pos)
{
    Str number = word_at(rest_of(faults, start));
    Str rest = rest_of(faults, pos);
    char first = rest.len > 0 ? rest.data[0] : '\0';
    if (first == '0' && pos <= start + 1) {
        return json_fault(faults, "E0153", start, number.len, "quote it to keep the zero",
                          "a number cannot have leading zeros");
    }
    if (first == 'I' || first == 'i') {
        return json_fault(faults, "E0150", start, number.len, "write null or a string",
                          "JSON has no Infinity");
    }
    Str shown = json_fault_brief(number);
    return json_fault(faults, "E0153", start, number.len, "",
                      "incomplete number '%" STR_FMT "'; digits must follow", STR_ARG(shown));
}
