#include "cluster/facts_digest.h"

enum {
    ROOM = 16 /* bytes around a value, and to close the objects */
};

typedef struct Digested {
    const char *name;
    bool is_number;
} Digested;

static const Digested digested[] = {
    { "arch", false },       { "cpus", true },
    { "fqdn", false },       { "init_system", false },
    { "ipv4", false },       { "ipv6", false },
    { "kernel", false },     { "name", false },
    { "os", false },         { "os_family", false },
    { "os_version", false }, { "package_manager", false },
    { "timezone", false },   { "virtualization", false },
};

static const Digested in_memory[] = { { "total", true }, { "swap", true } };

/* --- Skimming JSON --------------------------------------------------------------------------- */

/* There may be a hundred thousand documents at once, and almost all of each is unused. So nothing
 * is decoded here; what is retained is parsed as JSON on use. */
typedef struct Skim {
    Str text;
    size_t at;
} Skim;

static char peek(const Skim *skim)
{
    return skim->at < skim->text.len ? skim->text.data[skim->at] : '\0';
}

static void skip_space(Skim *skim)
{
    while (peek(skim) == ' ' || peek(skim) == '\n' || peek(skim) == '\t' || peek(skim) == '\r') {
        skim->at++;
    }
}

static bool take(Skim *skim, char c)
{
    skip_space(skim);
    bool is_there = peek(skim) == c && skim->at < skim->text.len;
    skim->at += is_there;
    return is_there;
}

static void skip_string(Skim *skim)
{
    skim->at++;
    while (skim->at < skim->text.len && peek(skim) != '"') {
        skim->at += peek(skim) == '\\' ? 2 : 1;
    }
    skim->at++;
}

/* Skips one value of any type and returns its text. */
static Str take_value(Skim *skim)
{
    skip_space(skim);
    size_t start = skim->at;
    uint32_t depth = 0;
    do {
        char c = peek(skim);
        if (c == '"') {
            skip_string(skim);
            continue;
        }
        depth += c == '{' || c == '[' ? 1 : 0;
        if (c == '}' || c == ']' || c == ',') {
            if (depth == 0) {
                break;
            }
            depth -= c == ',' ? 0 : 1;
        }
        skim->at++;
    } while (skim->at < skim->text.len &&
             (depth > 0 || (peek(skim) != ',' && peek(skim) != '}' && peek(skim) != ']')));
    skim->at = skim->at < skim->text.len ? skim->at : skim->text.len;
    return str_trim(str_slice(skim->text, start, skim->at));
}

/* The next entry of an object; false at the end. */
static bool take_entry(Skim *skim, Str *name, Str *value)
{
    skip_space(skim);
    size_t start = skim->at;
    if (peek(skim) != '"') {
        return false;
    }
    skip_string(skim);
    if (skim->at > skim->text.len) {
        return false;
    }
    *name = str_slice(skim->text, start + 1, skim->at - 1);
    if (!take(skim, ':')) {
        return false;
    }
    *value = take_value(skim);
    (void)take(skim, ',');
    return value->len > 0;
}

/* --- Output ---------------------------------------------------------------------------------- */

static bool is_kept(const Digested *known, size_t count, Str name, Str value)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_c(name, known[i].name)) {
            bool is_text = value.data[0] == '"';
            bool is_number = value.data[0] >= '0' && value.data[0] <= '9';
            return value.len <= FACTS_DIGEST_TEXT_MAX && (known[i].is_number ? is_number : is_text);
        }
    }
    return false;
}

static void put_kept(Str object, const Digested *known, size_t count, Buf *out)
{
    Skim skim = { object, 0 };
    size_t start = out->len;
    Str name, value;
    if (!take(&skim, '{')) {
        return;
    }
    buf_put_char(out, '{');
    while (take_entry(&skim, &name, &value)) {
        bool is_memory = known == digested && str_eq(name, STR("memory"));
        size_t size = name.len + (is_memory ? 0 : value.len) + ROOM;
        if ((!is_memory && !is_kept(known, count, name, value)) ||
            out->len + size > FACTS_DIGEST_MAX) {
            continue;
        }
        buf_put_format(out, "%s\"%" STR_FMT "\":", out->len > start + 1 ? "," : "", STR_ARG(name));
        if (is_memory) {
            size_t before = out->len;
            put_kept(value, in_memory, COUNT_OF(in_memory), out);
            buf_put_c(out, out->len == before ? "null" : "");
        } else {
            buf_put(out, value);
        }
    }
    buf_put_char(out, '}');
}

void facts_digest(Str facts, Buf *out)
{
    put_kept(facts, digested, COUNT_OF(digested), out);
}

static Map *sample_of(Arena *arena, const Digested *known, size_t count)
{
    Map *map = map_new(arena, (uint32_t)count + 1);
    for (size_t i = 0; i < count; i++) {
        map_set_str(arena, map, str_from_c(known[i].name),
                    known[i].is_number ? value_int(1) : value_string(STR("1")));
    }
    return map;
}

Value facts_digest_sample(Arena *arena)
{
    Map *map = sample_of(arena, digested, COUNT_OF(digested));
    map_set_str(arena, map, STR("memory"),
                value_map(sample_of(arena, in_memory, COUNT_OF(in_memory))));
    return value_map(map);
}
