/* host.*: entries in /etc/hosts. */
#include <arpa/inet.h>

#include "modules/file/edit.h"

#define HOSTS STR("/etc/hosts")

enum {
    NAMES_MAX = 64
};

/* Returns 4 or 6, or 0 if it is not an address. */
static int family_of(Arena *arena, Str address)
{
    unsigned char bytes[16];
    const char *text = arena_copy_c(arena, address);
    return inet_pton(AF_INET, text, bytes) == 1 ? 4 : inet_pton(AF_INET6, text, bytes) == 1 ? 6 : 0;
}

static bool is_name(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_name(name.data[i]) && name.data[i] != '-' && name.data[i] != '.') {
            return false;
        }
    }
    return name.len > 0 && name.len <= 253 && name.data[0] != '-' && name.data[0] != '.';
}

/* The requested entry: an address and its names, in order. */
typedef struct Entry {
    Str address;
    int family;
    Str names[NAMES_MAX];
    uint32_t count;
} Entry;

static bool read_entry(Call *call, Entry *entry, Error *err)
{
    Value aliases = call_param(call, "aliases");
    *entry = (Entry){ .address = call_str(call, "address") };
    entry->names[entry->count++] = call_str(call, "name");
    for (uint32_t i = 0; value_is_sequence(aliases) && i < aliases.list->len; i++) {
        if (entry->count == NAMES_MAX) {
            return error_set(err, ERROR_LIMIT, "more than %d names", NAMES_MAX);
        }
        entry->names[entry->count++] = value_str(aliases.list->items[i]);
    }
    for (uint32_t i = 0; i < entry->count; i++) {
        if (!is_name(entry->names[i])) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a host name",
                             STR_ARG(entry->names[i])) ||
                   call_blame(call, i == 0 ? "name" : "aliases");
        }
    }
    bool absent = str_eq(call_str(call, "state"), STR("absent"));
    if (!call_has(call, "address")) {
        return absent || error_set(err, ERROR_INVALID, "'address' is required");
    }
    entry->family = family_of(call->arena, entry->address);
    return entry->family != 0 ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not an IP address",
                     STR_ARG(entry->address)) ||
           call_blame(call, "address");
}

static bool verify_params(Call *call, Error *err)
{
    Entry entry;
    return read_entry(call, &entry, err);
}
CALL_VERIFY(entry_verify, verify_params)

static bool is_same_name(Str a, Str b)
{
    return str_eq_ignore_case(a, b);
}

/* Splits a line into words, with space for `more` additional ones. */
static Str *line_words(Arena *arena, Str line, uint32_t more, uint32_t *count)
{
    uint32_t max = (uint32_t)(line.len / 2 + 1);
    Str *words = ARENA_ARRAY(arena, Str, max + more);
    *count = edit_words(line, words, max);
    return words;
}

static bool has_name(const Str *names, uint32_t count, Str name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_same_name(names[i], name)) {
            return true;
        }
    }
    return false;
}

/* Formats the line with these names after its address, or empty if there are none; a comment is
 * preserved. */
static Str format_line(Arena *arena, Str line, Str address, const Str *names, uint32_t count)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    size_t comment = str_find(line, STR("#"), 0);
    buf_put(&out, address);
    for (uint32_t i = 0; i < count; i++) {
        buf_put_c(&out, i == 0 ? "\t" : " ");
        buf_put(&out, names[i]);
    }
    if (comment != STR_NOT_FOUND) {
        buf_put_char(&out, ' ');
        buf_put(&out, str_from_offset(line, comment));
    }
    return buf_str(&out);
}

/* Removes the first name of the entry from the line; returns true if no name remains. */
static bool strip_line(Edit *edit, uint32_t at, Str name)
{
    Str line = edit->lines.items[at];
    uint32_t count, left = 1;
    Str *words = line_words(edit->call->arena, line, 0, &count);
    for (uint32_t i = 1; i < count; i++) {
        if (!is_same_name(words[i], name)) {
            words[left++] = words[i];
        }
    }
    if (left < count) {
        edit->lines.items[at] = format_line(edit->call->arena, line, words[0], words + 1, left - 1);
    }
    return left == 1 && count > 1;
}

/* Adds missing names to the line. */
static void extend_line(Edit *edit, uint32_t at, const Entry *entry)
{
    Str line = edit->lines.items[at];
    uint32_t count;
    Str *words = line_words(edit->call->arena, line, entry->count, &count);
    uint32_t before = count;
    for (uint32_t i = 0; i < entry->count; i++) {
        if (!has_name(words + 1, count - 1, entry->names[i])) {
            words[count++] = entry->names[i];
        }
    }
    if (count > before) {
        edit->lines.items[at] =
            format_line(edit->call->arena, line, words[0], words + 1, count - 1);
    }
}

static void edit_entry(Edit *edit, const Entry *entry, bool absent)
{
    bool placed = absent;
    for (uint32_t i = 0; i < edit->lines.len;) {
        Str words[2];
        if (edit_words(edit->lines.items[i], words, 2) < 2) {
            i++;
            continue;
        }
        bool same = str_eq(words[0], entry->address);
        bool ours =
            same || entry->family == 0 || family_of(edit->call->arena, words[0]) == entry->family;
        if (!absent && same && !placed) {
            extend_line(edit, i, entry);
            placed = true;
        } else if (absent ? same || entry->family == 0 : ours) {
            /* No other address of the same family may have the name. */
            if (strip_line(edit, i, entry->names[0])) {
                edit_remove(edit, i, 1);
                continue;
            }
        }
        i++;
    }
    if (!placed) {
        edit_insert(
            edit, edit->lines.len,
            format_line(edit->call->arena, STR_EMPTY, entry->address, entry->names, entry->count));
    }
}

static bool entry_check(Call *call, Outcome *outcome, Error *err)
{
    Entry entry;
    Edit edit;
    if (!read_entry(call, &entry, err) || !edit_begin_system(call, HOSTS, &edit, err)) {
        return false;
    }
    bool absent = edit_is_absent(&edit);
    edit_entry(&edit, &entry, absent);
    if (!edit_end(&edit, false, outcome, err)) {
        return false;
    }
    outcome->state = absent ? STR("absent") : STR("present");
    return true;
}

static void entry_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/hosts")));
    list_push(arena, claims, value_string(STR("provides:remote")));
}

static const ParamSpec entry_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the host" },
    { "address", PARAM_STRING, .aspect = "address", .help = "address of the host, IPv4 or IPv6" },
    { "aliases", PARAM_STRINGS, .aspect = "+name", .help = "additional names of the same address" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it should be in the file" },
    { 0 },
};

static const Action actions[] = {
    { "entry", "Ensure that a host is in /etc/hosts.", entry_params, entry_check, target_apply_one,
      .verify_all = entry_verify, .claims = entry_claims, .resource = "host name",
      .text = "A name has one address per address family: it is removed from lines with other\n"
              "addresses. Additional names for the address are preserved. With 'state: absent'\n"
              "the name is removed from the line of 'address', or from all lines.\n",
      .example = "- name: address of the database\n"
                 "  host.entry:\n"
                 "    - name: db.example.net\n"
                 "    - address: 192.0.2.7\n"
                 "    - aliases: [db]\n" },
    { 0 },
};

const Module modules_host = {
    .name = "host",
    .help = "Entries in /etc/hosts.",
    .id_param = "name",
    .actions = actions,
};
