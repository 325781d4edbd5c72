/* Python regular expressions on PCRE2. Patterns are translated where the dialects differ, compiled
 * into the arena of the render and cached there. The danger is catastrophic backtracking in
 * untrusted templates: every match is charged against the step budget through automatic callouts
 * (see MatchCost). */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "lang/template/regex.h"

#include <pcre2.h>

#include "base/hash.h"

struct Regex {
    pcre2_code *code;
    uint64_t hash;
    Str pattern;
    unsigned flags;
    uint32_t groups;
    uint32_t item_cost;  /* cost of one item of the pattern, in steps */
    bool has_references; /* backreferences, which are compared byte by byte */
};

enum {
    CACHE_SIZE = 16,
    PATTERN_MAX = 64 * 1024,
    NAME_MAX_BYTES = 128,
    MATCH_SETUP_STEPS = 8,      /* steps for setting up a match */
    MATCH_STEPS_MAX = 10000000, /* limit for one match */
    BYTES_PER_STEP = 16,        /* that one item of a pattern consumes */
    HEAP_KIB = 20 * 1024,
};

/* The cost of a match. PCRE2's own limit counts how many times it has to make a choice, but not how
 * far "a+" runs before each choice, which can be the entire string. So the pattern has a callout
 * before each of its items, and the distance covered by the last items is charged together with
 * their number. */
typedef struct MatchCost {
    Render *r;
    const Regex *regex;
    uint64_t steps;
    size_t position;
} MatchCost;

static int charge_item(pcre2_callout_block *pos, void *context)
{
    MatchCost *cost = context;
    size_t now = pos->current_position, before = cost->position;
    uint64_t bytes = now > before ? now - before : before - now;
    if (cost->regex->has_references) {
        bytes += now - (now < pos->start_match ? now : pos->start_match);
    }
    uint64_t steps = cost->regex->item_cost * (1 + bytes / BYTES_PER_STEP);
    cost->position = now;
    cost->steps += steps;
    return cost->steps <= MATCH_STEPS_MAX && render_charge(cost->r, steps) ? 0
                                                                           : PCRE2_ERROR_CALLOUT;
}

/* The largest number in braces: that many characters an item may consume before it fails. */
static uint32_t largest_count(Str pattern)
{
    uint32_t largest = 0;
    for (size_t pos = 0; pos < pattern.len;) {
        uint32_t count = 0;
        pos++;
        if (pattern.data[pos - 1] == '{') {
            for (; pos < pattern.len && ascii_is_digit(pattern.data[pos]) && count < 65536; pos++) {
                count = count * 10 + (uint32_t)(pattern.data[pos] - '0');
            }
        }
        largest = count > largest ? count : largest;
    }
    return largest;
}

/* Part of the render: compiled patterns, the oldest replaced first. */
struct RegexCache {
    Regex *entries[CACHE_SIZE];
    uint32_t next;
};

static void *arena_malloc(size_t size, void *arena)
{
    return arena_alloc(arena, size);
}

/* Compiled patterns are freed with the arena. */
static void arena_free_nothing(void *memory, void *arena)
{
}

/* Python and PCRE2 differ in a few escapes: \Z is the very end, \uXXXX a code point. */
static Str translate(Render *r, Str pattern)
{
    Buf out = buf_make_in(r->arena, BUF_UNLIMITED);
    buf_reserve(&out, pattern.len + 16);
    for (size_t i = 0; i < pattern.len; i++) {
        char c = pattern.data[i];
        if (c != '\\' || i + 1 == pattern.len) {
            buf_put_char(&out, c);
            continue;
        }
        char next = pattern.data[++i];
        size_t digits = next == 'u' ? 4 : next == 'U' ? 8 : 0;
        bool hex = digits > 0 && pattern.len - i > digits;
        for (size_t k = 1; hex && k <= digits; k++) {
            hex = ascii_hex_value(pattern.data[i + k]) >= 0;
        }
        if (hex) {
            buf_put(&out, STR("\\x{"));
            buf_put(&out, str_slice(pattern, i + 1, i + 1 + digits));
            buf_put_char(&out, '}');
            i += digits;
        } else {
            buf_put_char(&out, '\\');
            buf_put_char(&out, next == 'Z' ? 'z' : next);
        }
    }
    return buf_str(&out);
}

static bool raise_pattern(Render *r, Str pattern, int code, size_t offset)
{
    char message[160];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof message);
    return render_raise(r, FAULT_VALUE, "invalid pattern '%" STR_FMT "': %s at position %zu",
                        STR_ARG(pattern), message, offset);
}

static bool compile(Render *r, Str pattern, unsigned flags, Regex *out)
{
    if (pattern.len > PATTERN_MAX) {
        return render_raise(r, FAULT_LIMIT, "pattern too long: %zu bytes (limit: %d)", pattern.len,
                            PATTERN_MAX);
    }
    if (!render_reserve(r, 64 * pattern.len + 4096)) {
        return false;
    }
    pcre2_general_context *memory =
        pcre2_general_context_create(arena_malloc, arena_free_nothing, r->arena);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    options |= (flags & REGEX_IGNORE_CASE) != 0 ? PCRE2_CASELESS : 0;
    options |= (flags & REGEX_MULTILINE) != 0 ? PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX : 0;
    Str text = translate(r, pattern);
    int code;
    size_t offset;
    out->code = pcre2_compile((PCRE2_SPTR)text.data, text.len, options, &code, &offset, context);
    if (out->code == NULL) {
        return raise_pattern(r, pattern, code, offset);
    }
    uint32_t references, lookbehind;
    pcre2_pattern_info(out->code, PCRE2_INFO_CAPTURECOUNT, &out->groups);
    pcre2_pattern_info(out->code, PCRE2_INFO_BACKREFMAX, &references);
    pcre2_pattern_info(out->code, PCRE2_INFO_MAXLOOKBEHIND, &lookbehind);
    out->has_references = references > 0;
    /* A long pattern may be a single class of many characters. */
    out->item_cost =
        1 + (uint32_t)(pattern.len / 256) + (largest_count(pattern) + lookbehind) / BYTES_PER_STEP;
    return true;
}

bool regex_get(Render *r, Str pattern, unsigned flags, const Regex **out)
{
    uint64_t hash = hash_str(pattern) + flags;
    if (r->regexes == NULL) {
        r->regexes = ARENA_NEW(r->arena, struct RegexCache);
        r->escapes++; /* the cache outlives the statement */
    }
    struct RegexCache *cache = r->regexes;
    for (uint32_t i = 0; i < CACHE_SIZE && cache->entries[i] != NULL; i++) {
        const Regex *entry = cache->entries[i];
        if (entry->hash == hash && entry->flags == flags && str_eq(entry->pattern, pattern)) {
            *out = entry;
            return true;
        }
    }
    Regex *regex = ARENA_NEW(r->arena, Regex);
    regex->hash = hash;
    regex->flags = flags;
    regex->pattern = arena_copy(r->arena, pattern);
    if (!compile(r, pattern, flags, regex)) {
        return false;
    }
    cache->entries[cache->next++ % CACHE_SIZE] = regex;
    r->escapes++;
    *out = regex;
    return true;
}

static bool match_groups(Render *r, pcre2_match_data *data, const Regex *regex, int count,
                         RegexMatch *out)
{
    const size_t *offsets = pcre2_get_ovector_pointer(data);
    if (out->groups == NULL) {
        out->count = regex->groups + 1;
        out->groups = ARENA_ARRAY(r->arena, RegexSpan, out->count);
    }
    for (uint32_t i = 0; i < out->count; i++) {
        bool set = (int)i < count && offsets[2 * i] != PCRE2_UNSET;
        /* \K can set the start after the end. */
        set = set && offsets[2 * i] <= offsets[2 * i + 1];
        out->groups[i] = set ? (RegexSpan){ offsets[2 * i], offsets[2 * i + 1] }
                             : (RegexSpan){ REGEX_UNSET, REGEX_UNSET };
    }
    return true;
}

static bool raise_match(Render *r, const Regex *regex, int code)
{
    if (code == PCRE2_ERROR_CALLOUT || code == PCRE2_ERROR_MATCHLIMIT ||
        code == PCRE2_ERROR_DEPTHLIMIT || code == PCRE2_ERROR_HEAPLIMIT) {
        return render_raise(r, FAULT_LIMIT, "matching '%" STR_FMT "' takes too long",
                            STR_ARG(regex->pattern));
    }
    return raise_pattern(r, regex->pattern, code, 0);
}

bool regex_match(Render *r, const RegexSearch *search, RegexMatch *out, bool *found)
{
    const Regex *regex = search->regex;
    Str text = search->text;
    uint32_t options = search->anchor == REGEX_AT_START ? PCRE2_ANCHORED
                       : search->anchor == REGEX_FULL   ? PCRE2_ANCHORED | PCRE2_ENDANCHORED
                                                        : 0;
    options |= search->not_empty ? PCRE2_NOTEMPTY_ATSTART : 0;
    /* Strings were validated on input; only a first match from 0 validates again, to be safe. */
    options |= search->from > 0 ? PCRE2_NO_UTF_CHECK : 0;
    if (!render_charge(r, MATCH_SETUP_STEPS)) {
        return false;
    }
    pcre2_match_data *data = pcre2_match_data_create(regex->groups + 1, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    MatchCost cost = { .r = r, .regex = regex, .position = search->from };
    pcre2_set_heap_limit(context, HEAP_KIB);
    pcre2_set_match_limit(context, UINT32_MAX);
    pcre2_set_callout(context, charge_item, &cost);
    int code = pcre2_match(regex->code, (PCRE2_SPTR)(text.data == NULL ? "" : text.data), text.len,
                           search->from, options, data, context);
    *found = code >= 0;
    bool done = !render_failed(r) &&
                (code >= 0 || code == PCRE2_ERROR_NOMATCH || raise_match(r, regex, code));
    if (done && *found) {
        done = match_groups(r, data, regex, code, out);
        *found = out->groups[0].start != REGEX_UNSET;
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return done;
}

bool regex_next(Render *r, RegexIterator *walk, RegexMatch *out)
{
    bool found;
    if (walk->pos > walk->text.len ||
        !regex_match(r,
                     &(RegexSearch){ .regex = walk->regex,
                                     .text = walk->text,
                                     .from = walk->pos,
                                     .not_empty = walk->after_empty },
                     out, &found) ||
        !found) {
        return false;
    }
    walk->pos = out->groups[0].end;
    walk->after_empty = out->groups[0].start == out->groups[0].end;
    return true;
}

uint32_t regex_group_count(const Regex *regex)
{
    return regex->groups;
}

uint32_t regex_group_number(const Regex *regex, Str name)
{
    char text[NAME_MAX_BYTES];
    if (name.len >= sizeof text || memchr(name.data, 0, name.len) != NULL) {
        return 0;
    }
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)text);
    return number > 0 ? (uint32_t)number : 0;
}
