#include "cluster/facts_digest.h"

enum {
    ROOM = 16 /* bytes needed around a value and to close the objects */
};

typedef struct DigestField {
    const char *name;
    bool is_number;
} DigestField;

static const DigestField digested[] = {
    { "arch", false },       { "cpus", true },
    { "fqdn", false },       { "init_system", false },
    { "ipv4", false },       { "ipv6", false },
    { "kernel", false },     { "name", false },
    { "os", false },         { "os_family", false },
    { "os_version", false }, { "package_manager", false },
    { "timezone", false },   { "virtualization", false },
};

static const DigestField memory_fields[] = { { "total", true }, { "swap", true } };

/* --- Skimming JSON --------------------------------------------------------------------------- */

/* There may be a hundred thousand documents, and most of each document is unused. So nothing is
 * decoded here; selected values are parsed when they are used. */
typedef struct Scanner {
    Str text;
    size_t offset;
} Scanner;

static char peek(const Scanner *scanner)
{
    return scanner->offset < scanner->text.len ? scanner->text.data[scanner->offset] : '\0';
}

static void skip_space(Scanner *scanner)
{
    while (peek(scanner) == ' ' || peek(scanner) == '\n' || peek(scanner) == '\t' ||
           peek(scanner) == '\r') {
        scanner->offset++;
    }
}

static bool accept_char(Scanner *scanner, char c)
{
    skip_space(scanner);
    bool found = peek(scanner) == c && scanner->offset < scanner->text.len;
    scanner->offset += found;
    return found;
}

static void skip_string(Scanner *scanner)
{
    scanner->offset++;
    while (scanner->offset < scanner->text.len && peek(scanner) != '"') {
        scanner->offset += peek(scanner) == '\\' ? 2 : 1;
    }
    scanner->offset++;
}

/* Skips a value of any type and returns its text. */
static Str read_value(Scanner *scanner)
{
    skip_space(scanner);
    size_t start = scanner->offset;
    uint32_t depth = 0;
    do {
        char c = peek(scanner);
        if (c == '"') {
            skip_string(scanner);
            continue;
        }
        depth += c == '{' || c == '[' ? 1 : 0;
        if (c == '}' || c == ']' || c == ',') {
            if (depth == 0) {
                break;
            }
            depth -= c == ',' ? 0 : 1;
        }
        scanner->offset++;
    } while (scanner->offset < scanner->text.len &&
             (depth > 0 || (peek(scanner) != ',' && peek(scanner) != '}' && peek(scanner) != ']')));
    scanner->offset = scanner->offset < scanner->text.len ? scanner->offset : scanner->text.len;
    return str_trim(str_slice(scanner->text, start, scanner->offset));
}

/* Reads the next entry of an object; returns false at the end. */
static bool read_entry(Scanner *scanner, Str *name, Str *value)
{
    skip_space(scanner);
    size_t start = scanner->offset;
    if (peek(scanner) != '"') {
        return false;
    }
    skip_string(scanner);
    if (scanner->offset > scanner->text.len) {
        return false;
    }
    *name = str_slice(scanner->text, start + 1, scanner->offset - 1);
    if (!accept_char(scanner, ':')) {
        return false;
    }
    *value = read_value(scanner);
    (void)accept_char(scanner, ',');
    return value->len > 0;
}

/* --- Output ---------------------------------------------------------------------------------- */

static bool is_selected(const DigestField *fields, size_t count, Str name, Str value)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_c(name, fields[i].name)) {
            bool is_text = value.data[0] == '"';
            bool is_number = value.data[0] >= '0' && value.data[0] <= '9';
            return value.len <= FACTS_DIGEST_TEXT_MAX &&
                   (fields[i].is_number ? is_number : is_text);
        }
    }
    return false;
}

static void put_selected(Str object, const DigestField *fields, size_t count, Buf *out)
{
    Scanner scanner = { object, 0 };
    size_t start = out->len;
    Str name, value;
    if (!accept_char(&scanner, '{')) {
        return;
    }
    buf_put_char(out, '{');
    while (read_entry(&scanner, &name, &value)) {
        bool is_memory = fields == digested && str_eq(name, STR("memory"));
        size_t size = name.len + (is_memory ? 0 : value.len) + ROOM;
        if ((!is_memory && !is_selected(fields, count, name, value)) ||
            out->len + size > FACTS_DIGEST_MAX) {
            continue;
        }
        buf_put_format(out, "%s\"%" STR_FMT "\":", out->len > start + 1 ? "," : "", STR_ARG(name));
        if (is_memory) {
            size_t before = out->len;
            put_selected(value, memory_fields, COUNT_OF(memory_fields), out);
            buf_put_c(out, out->len == before ? "null" : "");
        } else {
            buf_put(out, value);
        }
    }
    buf_put_char(out, '}');
}

void facts_digest(Str facts, Buf *out)
{
    put_selected(facts, digested, COUNT_OF(digested), out);
}

static Map *sample_of(Arena *arena, const DigestField *fields, size_t count)
{
    Map *map = map_new(arena, (uint32_t)count + 1);
    for (size_t i = 0; i < count; i++) {
        map_set_str(arena, map, str_from_c(fields[i].name),
                    fields[i].is_number ? value_int(1) : value_string(STR("1")));
    }
    return map;
}

Value facts_digest_sample(Arena *arena)
{
    Map *map = sample_of(arena, digested, COUNT_OF(digested));
    map_set_str(arena, map, STR("memory"),
                value_map(sample_of(arena, memory_fields, COUNT_OF(memory_fields))));
    return value_map(map);
}
