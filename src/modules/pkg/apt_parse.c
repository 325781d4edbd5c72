#include "modules/pkg/apt_parse.h"

#include <stdio.h>

#include "base/buf.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/control.h"

/* --- Installed packages ---------------------------------------------------------------------- */

typedef struct Record {
    Str name, status, arch, version, provides, text;
} Record;

typedef VEC(Record) Records;

static Record record_read(Str paragraph)
{
    Record record = { .text = paragraph };
    static const struct {
        Str name;
        size_t at;
    } fields[] = {
        { STR("Package"), offsetof(Record, name) },
        { STR("Status"), offsetof(Record, status) },
        { STR("Architecture"), offsetof(Record, arch) },
        { STR("Version"), offsetof(Record, version) },
        { STR("Provides"), offsetof(Record, provides) },
    };
    Str name, value;
    while (control_next_field(&paragraph, &name, &value)) {
        for (size_t i = 0; i < COUNT_OF(fields); i++) {
            if (str_eq(name, fields[i].name)) {
                *(Str *)((char *)&record + fields[i].at) = value;
                break;
            }
        }
    }
    return record;
}

static void read_records(Arena *arena, Str text, Records *records)
{
    Str paragraph;
    while (control_next_paragraph(&text, &paragraph)) {
        Record record = record_read(paragraph);
        if (record.name.len > 0) {
            VEC_PUSH(arena, records, record);
        }
    }
}

/* "install ok installed": desired action, whether a reinstallation is required, current state. */
static void set_condition(Package *package, Str status)
{
    Str want = STR_EMPTY, flag = STR_EMPTY, state = STR_EMPTY;
    str_split_next(&status, ' ', &want);
    str_split_next(&status, ' ', &flag);
    str_split_next(&status, ' ', &state);
    package->held = str_eq(want, STR("hold"));
    if (str_eq(state, STR("installed"))) {
        package->condition = PACKAGE_INSTALLED;
    } else if (str_eq(state, STR("config-files"))) {
        package->condition = PACKAGE_CONFIG;
    } else if (str_eq(state, STR("not-installed")) || state.len == 0) {
        package->condition = PACKAGE_ABSENT;
    } else {
        package->condition = PACKAGE_INCOMPLETE;
        package->detail = state;
    }
    if (str_eq(flag, STR("reinstreq")) && package->condition == PACKAGE_INSTALLED) {
        package->condition = PACKAGE_INCOMPLETE;
        package->detail = STR("reinstallation required");
    }
}

/* Returns the native architecture: that of the package dpkg, or of the first package that has
 * one. */
static Str native_arch(const Records *records)
{
    Str first = STR_EMPTY;
    for (uint32_t i = 0; i < records->len; i++) {
        const Record *record = &records->items[i];
        bool is_one = record->arch.len > 0 && !str_eq(record->arch, STR("all"));
        if (is_one && str_eq(record->name, STR("dpkg"))) {
            return record->arch;
        }
        if (is_one && first.len == 0) {
            first = record->arch;
        }
    }
    return first;
}

static void add_record(PackageDatabase *into, const Record *record, Str native)
{
    Package package = { .name = record->name, .version = record->version, .record = record->text };
    if (record->arch.len > 0 && !str_eq(record->arch, native) &&
        !str_eq(record->arch, STR("all"))) {
        package.name = arena_format(&into->arena, "%" STR_FMT ":%" STR_FMT, STR_ARG(record->name),
                                    STR_ARG(record->arch));
    }
    set_condition(&package, record->status);
    if (package.condition == PACKAGE_ABSENT) {
        package.version = STR_EMPTY;
    }
    database_add(into, &package);
}

/* Must be called after all records have been read, because an update may mark a package as
 * removed. */
static void add_provided(PackageDatabase *into)
{
    StrMapEntry *entry;
    for (uint32_t at = 0; (entry = str_map_next(&into->packages, &at)) != NULL;) {
        const Package *package = entry->value;
        Str names, name;
        if (package->condition == PACKAGE_INCOMPLETE && !into->interrupted) {
            into->interrupted = true;
            into->interruption = arena_format(&into->arena, "dpkg left '%" STR_FMT "' %" STR_FMT,
                                              STR_ARG(package->name), STR_ARG(package->detail));
        }
        if (package->condition != PACKAGE_INSTALLED ||
            str_find(package->record, STR("\nProvides:"), 0) == STR_NOT_FOUND ||
            !control_find(package->record, STR("Provides"), &names)) {
            continue;
        }
        while (control_next_name(&names, &name)) {
            database_add_provided(into, name, package);
        }
    }
}

void dpkg_status_read(PackageDatabase *into, Str status, const Str *updates, uint32_t update_count)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Records records = { 0 };
    read_records(&scratch, status, &records);
    for (uint32_t i = 0; i < update_count; i++) {
        read_records(&scratch, updates[i], &records);
    }
    Str native = native_arch(&records);
    into->native_suffix = arena_format(&into->arena, ":%" STR_FMT, STR_ARG(native));
    for (uint32_t i = 0; i < records.len; i++) {
        add_record(into, &records.items[i], native);
    }
    if (update_count > 0) {
        into->interrupted = true;
        into->interruption = STR("dpkg was interrupted");
    }
    add_provided(into);
}

void apt_states_read(PackageDatabase *into, Str states)
{
    Str paragraph, name, arch, automatic;
    while (control_next_paragraph(&states, &paragraph)) {
        if (!control_find(paragraph, STR("Package"), &name) ||
            !control_find(paragraph, STR("Auto-Installed"), &automatic) ||
            !str_eq(automatic, STR("1"))) {
            continue;
        }
        Package *package = NULL;
        if (control_find(paragraph, STR("Architecture"), &arch)) {
            char key[256];
            int len =
                snprintf(key, sizeof key, "%" STR_FMT ":%" STR_FMT, STR_ARG(name), STR_ARG(arch));
            if (len > 0 && (size_t)len < sizeof key) {
                package = str_map_find(&into->packages, str_from(key, (size_t)len));
            }
        }
        if (package == NULL) {
            package = str_map_find(&into->packages, name);
        }
        if (package != NULL) {
            package->automatic = true;
        }
    }
}

/* --- Available packages ---------------------------------------------------------------------- */

typedef struct PolicyReader {
    Arena *arena;
    StrMap by_name; /* name to PackageOffer */
    PackageOffer *offer;
    Str version; /* version whose sources follow; empty: none, or already recorded */
    VEC(Str) versions;
} PolicyReader;

static void policy_end(PolicyReader *reader)
{
    if (reader->offer != NULL) {
        reader->offer->versions = reader->versions.items;
        reader->offer->version_count = reader->versions.len;
    }
    reader->versions.items = NULL;
    reader->versions.len = reader->versions.cap = 0;
    reader->offer = NULL;
    reader->version = STR_EMPTY;
}

/* " *** 2:9.0 500" and "     2:9.0 500" are versions, "        500 http://.." is the source of
 * one. */
static void policy_line(PolicyReader *reader, Str line)
{
    if (reader->offer == NULL) {
        return;
    }
    if (str_starts(line, STR("  Candidate: "))) {
        Str candidate = str_trim(str_from_offset(line, 13));
        if (!str_eq(candidate, STR("(none)"))) {
            reader->offer->candidate = arena_copy(reader->arena, candidate);
        }
    } else if (str_starts(line, STR("        "))) {
        Str source = str_trim(line);
        source = str_from_offset(source, str_find(source, STR(" "), 0));
        if (reader->version.len > 0 && !str_eq(str_trim(source), STR("/var/lib/dpkg/status"))) {
            VEC_PUSH(reader->arena, &reader->versions, arena_copy(reader->arena, reader->version));
            reader->version = STR_EMPTY;
        }
    } else if (str_starts(line, STR(" *** ")) || str_starts(line, STR("     "))) {
        Str rest = str_trim(str_from_offset(line, 5));
        reader->version = str_slice(rest, 0, str_find(rest, STR(" "), 0));
    }
}

void apt_policy_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count)
{
    PolicyReader reader = { .arena = arena };
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    str_map_init(&reader.by_name, &scratch);
    for (uint32_t i = 0; i < count; i++) {
        str_map_put(&reader.by_name, offers[i].name, &offers[i]);
    }
    Str line;
    while (str_split_next(&text, '\n', &line)) {
        if (line.len > 1 && line.data[0] != ' ' && line.data[line.len - 1] == ':') {
            policy_end(&reader);
            reader.offer = str_map_find(&reader.by_name, str_slice(line, 0, line.len - 1));
            if (reader.offer != NULL) {
                reader.offer->known = true;
                reader.offer->candidate = STR_EMPTY;
            }
        } else {
            policy_line(&reader, line);
        }
    }
    policy_end(&reader);
}

static Str next_word(Str *rest)
{
    *rest = str_trim(*rest);
    size_t end = 0;
    while (end < rest->len && !ascii_is_space(rest->data[end])) {
        end++;
    }
    Str word = str_slice(*rest, 0, end);
    *rest = str_from_offset(*rest, end);
    return word;
}

static Str without_brackets(Str word)
{
    size_t start = word.len > 0 && (word.data[0] == '[' || word.data[0] == '(');
    size_t end = word.len;
    while (end > start && (word.data[end - 1] == ']' || word.data[end - 1] == ')')) {
        end--;
    }
    return str_slice(word, start, end);
}

/* "Inst vim [1.0] (1.1 Debian:12/stable [amd64])", "Remv vim [1.0]", "Purg vim [1.0]". */
void apt_simulation_read(Arena *arena, Str text, Map *changes)
{
    Str line;
    while (str_split_next(&text, '\n', &line)) {
        bool installs = str_starts(line, STR("Inst "));
        if (!installs && !str_starts(line, STR("Remv ")) && !str_starts(line, STR("Purg "))) {
            continue;
        }
        Str rest = str_from_offset(line, 5);
        Str name = next_word(&rest), word = next_word(&rest);
        Map *change = map_new(arena, 2);
        if (str_starts(word, STR("["))) {
            map_set_str(arena, change, STR("old"),
                        value_string(arena_copy(arena, without_brackets(word))));
            word = next_word(&rest);
        }
        if (installs && str_starts(word, STR("("))) {
            map_set_str(arena, change, STR("new"),
                        value_string(arena_copy(arena, without_brackets(word))));
        }
        if (name.len > 0) {
            map_set_str(arena, changes, arena_copy(arena, name), value_map(change));
        }
    }
}

/* --- Failures -------------------------------------------------------------------------------- */

enum {
    BLAME_LINES = 4 /* maximum number of lines of a script's output */
};

/* "vim", "vim:amd64", "/var/cache/apt/archives/vim_2%3a9.0_amd64.deb". */
static bool is_about(Str subject, Str name)
{
    size_t slash = str_find_last(subject, STR("/"));
    if (slash != STR_NOT_FOUND) {
        subject = str_from_offset(subject, slash + 1);
    }
    Str bare = str_slice(name, 0, str_find(name, STR(":"), 0));
    return str_starts(subject, bare) && (subject.len == bare.len || subject.data[bare.len] == ':' ||
                                         subject.data[bare.len] == '_');
}

/* Whether dpkg itself wrote the line; then the script's output has ended. */
static bool is_dpkg_line(Str line)
{
    static const char *const starts[] = {
        "Setting up ",
        "Preparing to unpack ",
        "Unpacking ",
        "Selecting ",
        "Processing ",
        "dpkg: ",
        "Removing ",
        "Purging ",
        "(Reading ",
        "Errors were ",
        "E: ",
        "Installing new version ",
        "Fetched ",
        "Get:",
        "Need to ",
        "After this ",
        "Preconfiguring packages",
        "Reading ",
        "Building ",
    };
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        if (str_starts(line, str_from_c(starts[i]))) {
            return true;
        }
    }
    return false;
}

/* "dpkg: error processing package vim (--configure):"; the reason is on the next line, the output
 * of the script on the lines before. */
static bool blame_dpkg(Arena *arena, const BlameLines *lines, Str name, Str *out)
{
    static const Str starts[] = { STR("dpkg: error processing package "),
                                  STR("dpkg: error processing archive ") };
    for (uint32_t i = 0; i + 1 < lines->len; i++) {
        for (size_t k = 0; k < COUNT_OF(starts); k++) {
            Str rest = str_from_offset(lines->items[i], starts[k].len);
            if (!str_starts(lines->items[i], starts[k]) || !is_about(next_word(&rest), name)) {
                continue;
            }
            Str said[BLAME_LINES + 1] = { lines->items[i + 1] };
            uint32_t first = i;
            while (first > 0 && i - first < BLAME_LINES && !is_dpkg_line(lines->items[first - 1])) {
                first--;
            }
            Str words = blame_join(arena, lines->items + first, i - first);
            Str reason = blame_join(arena, said, 1);
            *out = words.len == 0 ? reason
                                  : arena_format(arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(reason),
                                                 STR_ARG(words));
            return true;
        }
    }
    return false;
}

/* "dpkg: dependency problems prevent configuration of b:", followed by lines up to an empty one. */
static bool blame_order(Arena *arena, const BlameLines *lines, Str name, Str *out)
{
    static const Str start = STR("dpkg: dependency problems prevent ");
    for (uint32_t i = 0; i < lines->len; i++) {
        Str line = lines->items[i];
        size_t of = str_starts(line, start) ? str_find(line, STR(" of "), 0) : STR_NOT_FOUND;
        if (of == STR_NOT_FOUND || !is_about(str_from_offset(line, of + 4), name)) {
            continue;
        }
        uint32_t end = i + 1;
        while (end < lines->len && str_starts(lines->items[end], STR(" "))) {
            end++;
        }
        *out = blame_join(arena, lines->items + i + 1, end - i - 1);
        return true;
    }
    return false;
}

/* " vim : Depends: vim-common (= 2) but 1 is to be installed", and its continuation lines. */
static bool blame_needs(Arena *arena, const BlameLines *lines, Str name, Str *out)
{
    uint32_t at = 0;
    while (at < lines->len &&
           !str_starts(lines->items[at], STR("The following packages have unmet dependencies:"))) {
        at++;
    }
    for (at++; at < lines->len && str_starts(lines->items[at], STR(" ")); at++) {
        Str rest = lines->items[at];
        Str first = next_word(&rest);
        if (!is_about(first, name) || !str_starts(str_trim(rest), STR(":"))) {
            continue;
        }
        BlameLines said = { 0 };
        VEC_PUSH(arena, &said, str_from_offset(str_trim(rest), 1));
        while (++at < lines->len && str_starts(lines->items[at], STR("   "))) {
            VEC_PUSH(arena, &said, lines->items[at]);
        }
        *out = blame_join(arena, said.items, said.len);
        return true;
    }
    return false;
}

/* Lines that begin with "E: ": those that mention this package, or otherwise the most specific
 * ones. */
static bool blame_errors(Arena *arena, const BlameLines *lines, Str name, Str *out)
{
    BlameLines about = { 0 }, others = { 0 };
    for (uint32_t i = 0; i < lines->len; i++) {
        Str line = lines->items[i];
        if (!str_starts(line, STR("E: ")) || str_starts(line, STR("E: Sub-process "))) {
            continue;
        }
        line = str_from_offset(line, 3);
        if (blame_mentions(line, name)) {
            VEC_PUSH(arena, &about, line);
        } else {
            VEC_PUSH(arena, &others, line);
        }
    }
    const BlameLines *chosen = about.len > 0 ? &about : &others;
    *out = blame_join(arena, chosen->items, chosen->len < 2 ? chosen->len : 2);
    return about.len > 0;
}

/* "The following packages will be REMOVED:", followed by indented lines of names. */
bool apt_find_removals(Arena *arena, Str output, Str *names)
{
    Buf found = buf_make_in(arena, BLAME_MAX);
    bool inside = false;
    Str rest = output, line;
    if (str_find(output, STR("but remove is disabled"), 0) == STR_NOT_FOUND) {
        return false;
    }
    while (str_split_next(&rest, '\n', &line)) {
        inside = str_starts(line, STR("The following packages will be REMOVED")) ||
                 (inside && str_starts(line, STR(" ")));
        while (inside && str_starts(line, STR(" ")) && str_trim(line).len > 0) {
            Str name = next_word(&line);
            buf_put_format(&found, "%s'%" STR_FMT "'", found.len > 0 ? ", " : "", STR_ARG(name));
        }
    }
    *names = found.len > 0 ? buf_str(&found) : STR("something");
    return true;
}

/* "WARNING: The following essential packages will be removed.", a line of advice, and indented
 * lines of names: "  bash dpkg (due to libc6)". */
static bool blame_essential(Arena *arena, const BlameLines *lines, Str name, bool *about, Str *out)
{
    Buf found = buf_make_in(arena, BLAME_MAX);
    bool inside = false, within = false;
    *about = false;
    for (uint32_t i = 0; i < lines->len; i++) {
        Str line = lines->items[i], word;
        if (str_starts(line, STR("WARNING: The following essential packages will be removed"))) {
            inside = true;
        }
        while (inside && str_starts(line, STR(" ")) && (word = next_word(&line)).len > 0) {
            within = within || str_starts(word, STR("("));
            bool ends = str_ends(word, STR(")"));
            *about = *about || is_about(ends ? str_slice(word, 0, word.len - 1) : word, name);
            if (!within) {
                buf_put_format(&found, "%s'%" STR_FMT "'", found.len > 0 ? ", " : "",
                               STR_ARG(word));
            }
            within = within && !ends;
        }
    }
    *out = arena_format(arena, "essential packages would be removed: %" STR_FMT,
                        STR_ARG(buf_str(&found)));
    return found.len > 0;
}

bool apt_blame(Arena *arena, Str output, Str name, Str *words)
{
    BlameLines lines = blame_split(arena, output);
    bool about;
    if (blame_essential(arena, &lines, name, &about, words)) {
        return about;
    }
    *words = STR_EMPTY;
    if (blame_order(arena, &lines, name, words) || blame_dpkg(arena, &lines, name, words) ||
        blame_needs(arena, &lines, name, words) || blame_errors(arena, &lines, name, words)) {
        return true;
    }
    *words = words->len > 0 ? *words : blame_last(arena, &lines);
    return false;
}
