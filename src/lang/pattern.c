#include "lang/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/memory.h"

enum {
    MATCH_LIMIT = 1000000,
    HEAP_LIMIT_KIB = 20000
};

struct Pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

bool pattern_new(Str text, Pattern **out, Error *err)
{
    int number;
    PCRE2_SIZE offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(text.len > 0 ? text.data : ""), text.len,
                                     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                     &number, &offset, NULL);
    if (code == NULL) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(number, message, sizeof message);
        return error_set(err, ERROR_INVALID, "invalid pattern '%" STR_FMT "': %s at character %zu",
                         STR_ARG(text), (const char *)message, offset + 1);
    }
    Pattern *pattern = memory_new(sizeof *pattern);
    pattern->code = code;
    pattern->data = pcre2_match_data_create(1, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (pattern->data == NULL || pattern->context == NULL) {
        memory_exhausted(sizeof *pattern);
    }
    pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
    pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);
    *out = pattern;
    return true;
}

void pattern_free(Pattern *pattern)
{
    if (pattern != NULL) {
        pcre2_match_data_free(pattern->data);
        pcre2_match_context_free(pattern->context);
        pcre2_code_free(pattern->code);
        free(pattern);
    }
}

bool pattern_find(const Pattern *pattern, Str text, bool *found, Error *err)
{
    int result = pcre2_match(pattern->code, (PCRE2_SPTR)(text.len > 0 ? text.data : ""), text.len,
                             0, 0, pattern->data, pattern->context);
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
        return error_set(err, ERROR_LIMIT, "the pattern takes too long to match");
    }
    *found = result >= 0;
    return true;
}
