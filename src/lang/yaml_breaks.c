/* U+0085, U+2028 and U+2029 are ordinary characters in YAML 1.2, but line breaks for libyaml, which
 * implements YAML 1.1. A comment for one parser could be content for the other. So the parser sees
 * substitutes of the same length that do not occur in the text, and the original characters are
 * restored in the values. */
#include "base/utf8.h"
#include "lang/yaml_load.h"

enum {
    CANDIDATES = 14,
};

/* `first` is the first of the possible substitutes, which have no special meaning. */
static const struct Break {
    Str text;
    uint32_t first;
} breaks[] = {
    { { "\xc2\x85", 2 }, 0x07b2 },
    { { "\xe2\x80\xa8", 3 }, 0xe000 },
    { { "\xe2\x80\xa9", 3 }, 0xe100 },
};

_Static_assert(COUNT_OF(breaks) == YAML_BREAKS, "one substitute for each");

/* Like str_find(), for needles whose first byte is rare: every non-ASCII text is searched. */
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

static bool choose_substitute(Str text, const struct Break *row, char *out)
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
        size_t pos = find(load->text, search, load->base);
        if (pos == STR_NOT_FOUND) {
            continue;
        }
        if (!choose_substitute(load->text, &breaks[i], load->substitutes[i])) {
            problems_add(load->problems, "E0106", load->source, (uint32_t)pos, 1,
                         "the text contains too many unusual characters");
            return false;
        }
        if (!yaml_repair_make_copy(load)) {
            return yaml_load_check_memory(load, 0);
        }
        load->has_breaks = true;
        for (; pos != STR_NOT_FOUND; pos = find(load->text, search, pos + search.len)) {
            memcpy(load->repair.copy + pos, load->substitutes[i], search.len);
        }
    }
    return true;
}

Str yaml_breaks_restore(YamlLoad *load, Str text)
{
    char *whole = NULL;
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        Str substitute = str_from(load->substitutes[i], breaks[i].text.len);
        if (substitute.data[0] == '\0') {
            continue;
        }
        for (size_t pos = find(text, substitute, 0); pos != STR_NOT_FOUND;
             pos = find(text, substitute, pos + substitute.len)) {
            if (whole == NULL) {
                whole = memcpy(arena_alloc(load->arena, text.len), text.data, text.len);
                text.data = whole;
            }
            memcpy(whole + pos, breaks[i].text.data, substitute.len);
        }
    }
    return text;
}
