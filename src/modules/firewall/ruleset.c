#include "modules/firewall/ruleset.h"

#include <arpa/inet.h>

#include "base/buf.h"
#include "model/module.h"

enum {
    NAME_MAX_LEN = 64,
    INTERFACE_MAX_LEN = 15,
    PREFIX_MAX_IP = 32,
    PREFIX_MAX_IP6 = 128
};

bool firewall_parse_table(Str text, FirewallSpec *out, Error *err)
{
    size_t blank = str_find(text, STR(" "), 0);
    out->family = blank == STR_NOT_FOUND ? STR("inet") : str_slice(text, 0, blank);
    out->name = blank == STR_NOT_FOUND ? text : str_trim(str_from_offset(text, blank));
    bool ok = out->name.len > 0 && out->name.len <= NAME_MAX_LEN &&
              (ascii_is_alpha(out->name.data[0]) || out->name.data[0] == '_') &&
              (str_eq(out->family, STR("inet")) || str_eq(out->family, STR("ip")) ||
               str_eq(out->family, STR("ip6")));
    for (size_t i = 0; i < out->name.len; i++) {
        ok = ok && (ascii_is_name(out->name.data[i]) || out->name.data[i] == '-');
    }
    return ok || error_set(err, ERROR_INVALID,
                           "'table' must be a family (inet, ip, ip6) and a name of letters and "
                           "digits, such as 'inet eden', not '%" STR_FMT "'",
                           STR_ARG(text));
}

/* --- Rules ----------------------------------------------------------------------------------- */

typedef struct Row {
    Str verdict;
    Value ports, protocols, sources, interfaces; /* lists of strings; missing: matches any */
} Row;

static bool check_port(Str text, Error *err)
{
    size_t dash = str_find(text, STR("-"), 0);
    Str last = dash == STR_NOT_FOUND ? text : str_from_offset(text, dash + 1);
    uint64_t low, high;
    return (str_to_u64(str_slice(text, 0, dash), &low) && str_to_u64(last, &high) && low >= 1 &&
            low <= high && high <= UINT16_MAX && ascii_is_digit(text.data[0]) &&
            ascii_is_digit(last.data[0])) ||
           error_set(err, ERROR_INVALID,
                     "'%" STR_FMT
                     "' is not a port; use a number from 1 to 65535, or a range such as 8000-8010",
                     STR_ARG(text));
}

static bool check_protocol(Str text, Error *err)
{
    return str_eq(text, STR("tcp")) || str_eq(text, STR("udp")) ||
           error_set(err, ERROR_INVALID, "'protocol' must be tcp or udp, not '%" STR_FMT "'",
                     STR_ARG(text));
}

/* 4, 6, or 0 if it is neither an address nor a network. */
static int family_of(Str text)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    size_t slash = str_find(text, STR("/"), 0);
    Str host = str_slice(text, 0, slash);
    uint64_t prefix = 0;
    if (host.len == 0 || host.len >= sizeof address || memchr(host.data, '\0', host.len) != NULL) {
        return 0;
    }
    memcpy(address, host.data, host.len);
    address[host.len] = '\0';
    int family = inet_pton(AF_INET, address, bytes) == 1    ? 4
                 : inet_pton(AF_INET6, address, bytes) == 1 ? 6
                                                            : 0;
    if (slash != STR_NOT_FOUND &&
        (!str_to_u64(str_from_offset(text, slash + 1), &prefix) ||
         prefix > (uint64_t)(family == 4 ? PREFIX_MAX_IP : PREFIX_MAX_IP6) ||
         !ascii_is_digit(text.data[slash + 1]))) {
        return 0;
    }
    return family;
}

static bool check_source(Str text, Error *err)
{
    return family_of(text) != 0 ||
           error_set(err, ERROR_INVALID,
                     "'%" STR_FMT "' is neither an address nor a network such as 192.0.2.0/24",
                     STR_ARG(text));
}

static bool check_interface(Str text, Error *err)
{
    bool ok = text.len > 0 && text.len <= INTERFACE_MAX_LEN;
    for (size_t i = 0; ok && i < text.len; i++) {
        ok = ascii_is_name(text.data[i]) || strchr("-.:@", text.data[i]) != NULL ||
             (text.data[i] == '*' && i > 0 && i + 1 == text.len);
        ok = ok && text.data[i] != '\0';
    }
    return ok || error_set(err, ERROR_INVALID,
                           "'%" STR_FMT "' is not a valid network interface name", STR_ARG(text));
}

/* Keys that a rule can have. */
static const struct {
    const char *name;
    size_t offset;
    bool (*check)(Str text, Error *err);
} fields[] = {
    { "port", offsetof(Row, ports), check_port },
    { "ports", offsetof(Row, ports), check_port },
    { "protocol", offsetof(Row, protocols), check_protocol },
    { "from", offsetof(Row, sources), check_source },
    { "interface", offsetof(Row, interfaces), check_interface },
};

static bool read_field(Arena *arena, MapEntry entry, Row *row, Error *err)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!value_is_string(entry.key) || !str_eq_c(value_str(entry.key), fields[i].name)) {
            continue;
        }
        Value *texts = (Value *)((char *)row + fields[i].offset);
        ParamSpec spec = { fields[i].name, PARAM_STRINGS, .help = "" };
        if (!value_is_missing(*texts)) {
            return error_set(err, ERROR_INVALID, "'port' and 'ports' are mutually exclusive");
        }
        if (!param_convert(arena, NULL, &spec, entry.value, texts, err)) {
            return error_wrap(err, "'%s'", fields[i].name);
        }
        for (uint32_t j = 0; j < texts->list->len; j++) {
            if (!fields[i].check(value_str(texts->list->items[j]), err)) {
                return false;
            }
        }
        /* An empty list would match everything or nothing, which cannot be intended. */
        return texts->list->len > 0 ||
               error_set(err, ERROR_INVALID, "'%s' is empty", fields[i].name);
    }
    return error_set(err, ERROR_INVALID,
                     "unknown key '%" STR_FMT "'; a rule can have port, protocol, from, interface",
                     STR_ARG(value_is_string(entry.key) ? value_str(entry.key) : STR("?")));
}

static bool read_row(Arena *arena, Value given, Row *row, Error *err)
{
    *row = (Row){ .ports = value_missing(),
                  .protocols = value_missing(),
                  .sources = value_missing(),
                  .interfaces = value_missing() };
    if (given.kind != VALUE_MAP || given.map->len != 1 ||
        !value_is_string(given.map->entries[0].key)) {
        return error_set(err, ERROR_INVALID,
                         "a rule must be 'accept', 'drop' or 'reject' with a map");
    }
    Value inner = given.map->entries[0].value;
    row->verdict = value_str(given.map->entries[0].key);
    if (!str_eq(row->verdict, STR("accept")) && !str_eq(row->verdict, STR("drop")) &&
        !str_eq(row->verdict, STR("reject"))) {
        return error_set(err, ERROR_INVALID,
                         "a rule must be 'accept', 'drop' or 'reject', not '%" STR_FMT "'",
                         STR_ARG(row->verdict));
    }
    if (inner.kind != VALUE_MAP && inner.kind != VALUE_NULL) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' must be a map with port, protocol, from, interface",
                         STR_ARG(row->verdict));
    }
    for (uint32_t i = 0; inner.kind == VALUE_MAP && i < inner.map->len; i++) {
        if (!read_field(arena, inner.map->entries[i], row, err)) {
            return false;
        }
    }
    return true;
}

/* --- Formatting ------------------------------------------------------------------------------ */

#define INDENT "        "

/* Writes "x" or "{ x, y }"; with `family`, only addresses of that family. */
static void put_set(Buf *out, Value texts, const char *quote, int family)
{
    uint32_t count = 0, put = 0;
    for (uint32_t i = 0; i < texts.list->len; i++) {
        count += family == 0 || family_of(value_str(texts.list->items[i])) == family;
    }
    buf_put_c(out, count > 1 ? "{ " : "");
    for (uint32_t i = 0; i < texts.list->len; i++) {
        Str text = value_str(texts.list->items[i]);
        if (family == 0 || family_of(text) == family) {
            buf_put_format(out, "%s%s%" STR_FMT "%s", put++ == 0 ? "" : ", ", quote, STR_ARG(text),
                           quote);
        }
    }
    buf_put_c(out, count > 1 ? " } " : " ");
}

static bool has_family(Value sources, int family)
{
    for (uint32_t i = 0; i < sources.list->len; i++) {
        if (family_of(value_str(sources.list->items[i])) == family) {
            return true;
        }
    }
    return false;
}

/* Writes one rule for an address family (0: any) and a protocol (empty: any). */
static void put_rule(Buf *out, const Row *row, int family, Str protocol)
{
    buf_put_c(out, INDENT);
    if (!value_is_missing(row->interfaces)) {
        buf_put_c(out, "iifname ");
        put_set(out, row->interfaces, "\"", 0);
    }
    if (family != 0) {
        buf_put_c(out, family == 4 ? "ip saddr " : "ip6 saddr ");
        put_set(out, row->sources, "", family);
    }
    if (!value_is_missing(row->ports)) {
        buf_put_format(out, "%" STR_FMT " dport ", STR_ARG(protocol));
        put_set(out, row->ports, "", 0);
    } else if (protocol.len > 0) {
        buf_put_format(out, "meta l4proto %" STR_FMT " ", STR_ARG(protocol));
    }
    buf_put_format(out, "%" STR_FMT "\n", STR_ARG(row->verdict));
}

static void put_protocols(Buf *out, const Row *row, int family)
{
    if (value_is_missing(row->protocols)) {
        put_rule(out, row, family, value_is_missing(row->ports) ? STR_EMPTY : STR("tcp"));
        return;
    }
    for (uint32_t i = 0; i < row->protocols.list->len; i++) {
        put_rule(out, row, family, value_str(row->protocols.list->items[i]));
    }
}

static bool put_row(Arena *arena, Buf *out, const FirewallSpec *spec, Value given, Error *err)
{
    Row row;
    if (!read_row(arena, given, &row, err)) {
        return false;
    }
    if (value_is_missing(row.sources)) {
        put_protocols(out, &row, 0);
        return true;
    }
    int foreign = str_eq(spec->family, STR("ip")) ? 6 : str_eq(spec->family, STR("ip6")) ? 4 : 0;
    if (foreign != 0 && has_family(row.sources, foreign)) {
        return error_set(err, ERROR_INVALID, "a table of family %" STR_FMT " does not match IPv%d",
                         STR_ARG(spec->family), foreign);
    }
    for (int family = 4; family <= 6; family += 2) {
        if (has_family(row.sources, family)) {
            put_protocols(out, &row, family);
        }
    }
    return true;
}

static bool put_rows(Arena *arena, Buf *out, const FirewallSpec *spec, Error *err)
{
    Value rules = spec->rules;
    if (value_is_missing(rules) || rules.kind == VALUE_NULL) {
        return true;
    }
    if (!value_is_sequence(rules)) {
        return error_set(err, ERROR_INVALID, "'rules' must be a list");
    }
    if (rules.list->len > FIREWALL_RULES_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d rules", FIREWALL_RULES_MAX);
    }
    for (uint32_t i = 0; i < rules.list->len; i++) {
        if (!put_row(arena, out, spec, rules.list->items[i], err)) {
            return error_wrap(err, "rule %u", i + 1);
        }
    }
    return true;
}

static void put_basics(Buf *out, const FirewallSpec *spec)
{
    buf_put_c(out, INDENT "ct state established,related accept\n" INDENT "iifname \"lo\" accept\n");
    buf_put_format(out, INDENT "meta l4proto %s accept\n",
                   str_eq(spec->family, STR("ip"))    ? "icmp"
                   : str_eq(spec->family, STR("ip6")) ? "ipv6-icmp"
                                                      : "{ icmp, ipv6-icmp }");
}

/* Returns true if all braces are closed, so that what follows is still inside the table. */
static bool is_balanced(Str text)
{
    int depth = 0;
    bool quoted = false, comment = false;
    for (size_t i = 0; i < text.len && depth >= 0; i++) {
        char c = text.data[i];
        comment = comment ? c != '\n' : !quoted && c == '#';
        if (comment || c == '\0') {
            depth = c == '\0' ? -1 : depth;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted) {
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        }
    }
    return depth == 0 && !quoted;
}

static bool put_raw(Buf *out, const char *param, Str text, Error *err)
{
    if (!is_balanced(text)) {
        return error_set(err, ERROR_INVALID, "'%s': unbalanced braces or quotes", param);
    }
    Str line;
    while (str_split_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (line.len > 0) {
            buf_put_format(out, INDENT "%" STR_FMT "\n", STR_ARG(line));
        }
    }
    return true;
}

bool firewall_format(Arena *arena, const FirewallSpec *spec, Str *out, Error *err)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&text, "table %" STR_FMT " %" STR_FMT " {\n", STR_ARG(spec->family),
                   STR_ARG(spec->name));
    if (!put_raw(&text, "definitions", spec->definitions, err)) {
        return false;
    }
    buf_put_format(&text,
                   "    chain input {\n" INDENT "type filter hook input priority filter; policy "
                   "%s;\n",
                   spec->drops ? "drop" : "accept");
    if (spec->basics) {
        put_basics(&text, spec);
    }
    if (!put_rows(arena, &text, spec, err) || !put_raw(&text, "content", spec->content, err)) {
        return false;
    }
    buf_put_c(&text, "    }\n}\n");
    *out = buf_str(&text);
    return true;
}

/* Deleting a table that does not exist would fail; adding one that exists does not. */
Str firewall_replace(Arena *arena, const FirewallSpec *spec, Str table)
{
    return arena_format(arena,
                        "add table %" STR_FMT " %" STR_FMT "\ndelete table %" STR_FMT " %" STR_FMT
                        "\n%" STR_FMT,
                        STR_ARG(spec->family), STR_ARG(spec->name), STR_ARG(spec->family),
                        STR_ARG(spec->name), STR_ARG(table));
}

/* --- File format ----------------------------------------------------------------------------- */

#define HEAD STR("# Created by eden, which replaces it together with the table.\n")
#define TAIL STR("# As nft lists it, to notice what others change:\n")

Str firewall_file(Arena *arena, Str script, Str listing)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Str line;
    buf_put(&out, HEAD);
    buf_put(&out, script);
    buf_put(&out, TAIL);
    while (str_split_next(&listing, '\n', &line)) {
        if (line.len > 0 || listing.len > 0) {
            buf_put_format(&out, "#%" STR_FMT "\n", STR_ARG(line));
        }
    }
    return buf_str(&out);
}

bool firewall_parse_file(Arena *arena, Str file, Str *script, Str *listing)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    size_t tail = str_find_last(file, TAIL);
    Str line;
    if (!str_starts(file, HEAD) || tail == STR_NOT_FOUND || tail < HEAD.len) {
        return false;
    }
    *script = str_slice(file, HEAD.len, tail);
    file = str_from_offset(file, tail + TAIL.len);
    while (str_split_next(&file, '\n', &line)) {
        if (line.len == 0 && file.len == 0) {
            break;
        }
        if (line.len == 0 || line.data[0] != '#') {
            return false;
        }
        buf_put(&out, str_from_offset(line, 1));
        buf_put_char(&out, '\n');
    }
    *listing = buf_str(&out);
    return true;
}
