/* U+0085, U+2028 and U+2029 are ordinary characters in YAML 1.2, and line breaks to libyaml, which
 * follows YAML 1.1. What one reader takes for a comment would be content to the other. So the
 * parser is shown other characters of the same length in their place, which do not occur in the
 * text, and the right ones are put back into the values. */
#include "base/utf8.h"
#include "lang/yaml_load.h"

enum {
    CANDIDATES = 14,
};

/* `first` is the first of the characters that may stand in: none has a meaning of its own. */
static const struct Break {
    Str text;
    uint32_t first;
} breaks[] = {
    { { "\xc2\x85", 2 }, 0x07b2 },
    { { "\xe2\x80\xa8", 3 }, 0xe000 },
    { { "\xe2\x80\xa9", 3 }, 0xe100 },
};

_Static_assert(COUNT_OF(breaks) == YAML_BREAKS, "a stand-in for each");

/* Like str_find(), for needles whose first byte is rare: every text that is not ASCII is searched. */
static size_t find(Str text, Str needle, size_t from)
{
    while (from + needle.len <= text.len) {
        const char *hit = memchr(text.data + from, needle.data[0], text.len - from);
        if (hit == NULL) {
            break;
        }
        from = (size_t)(hit - text.data);
        if (str_starts(str_from_offset(text, from), needle)) {
            return from;
        }
        from++;
    }
    return STR_NOT_FOUND;
}

static bool choose_stand_in(Str text, const struct Break *row, char *out)
{
    for (uint32_t code = row->first; code < row->first + CANDIDATES; code++) {
        size_t len = utf8_encode(code, out);
        if (str_find(text, str_from(out, len), 0) == STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

bool yaml_breaks_hide(YamlLoad *load)
{
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        Str search = breaks[i].text;
        size_t at = find(load->text, search, load->base);
        if (at == STR_NOT_FOUND) {
            continue;
        }
        if (!choose_stand_in(load->text, &breaks[i], load->stand_ins[i])) {
            problems_add(load->problems, "E0106", load->source, (uint32_t)at, 1,
                         "too many odd characters stand in one text");
            return false;
        }
        if (!yaml_repair_make_copy(load)) {
            return yaml_load_check_memory(load, 0);
        }
        load->has_breaks = true;
        for (; at != STR_NOT_FOUND; at = find(load->text, search, at + search.len)) {
            memcpy(load->repair.copy + at, load->stand_ins[i], search.len);
        }
    }
    return true;
}

Str yaml_breaks_restore(YamlLoad *load, Str text)
{
    char *whole = NULL;
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        Str stand_in = str_from(load->stand_ins[i], breaks[i].text.len);
        if (stand_in.data[0] == '\0') {
            continue;
        }
        for (size_t at = find(text, stand_in, 0); at != STR_NOT_FOUND;
             at = find(text, stand_in, at + stand_in.len)) {
            if (whole == NULL) {
                whole = memcpy(arena_alloc(load->arena, text.len), text.data, text.len);
                text.data = whole;
            }
            memcpy(whole + at, breaks[i].text.data, stand_in.len);
        }
    }
    return text;
}
