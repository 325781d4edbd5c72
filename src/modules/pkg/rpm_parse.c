/* Several architectures and versions of a package can be installed side by side. In the list,
 * packages of the native architecture have their plain names, and others are called name.arch. If
 * several versions are installed, the list contains the newest, in rpm's order. */
#include "modules/pkg/rpm_parse.h"

#include "base/glob.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/control.h"

/* Also accepts capabilities: "perl(Carp)", "/usr/bin/vi". Rejects patterns and versions, which dnf
 * and zypper would interpret. */
bool rpm_check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && (ascii_is_name(name.data[0]) || name.data[0] == '/');
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        ok = ok && (ascii_is_name(c) || memchr("+.-~()/:", c, 8) != NULL);
    }
    return ok ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a package name", STR_ARG(name));
}

bool rpm_find_warning(Arena *arena, Str output, Str name, Str *words)
{
    BlameLines lines = blame_split(arena, output);
    for (uint32_t i = 0; i < lines.len; i++) {
        if (str_find(lines.items[i], STR("scriptlet failed"), 0) != STR_NOT_FOUND &&
            blame_mentions(lines.items[i], name)) {
            *words = blame_join(arena, &lines.items[i > 0 ? i - 1 : 0], i > 0 ? 2 : 1);
            return true;
        }
    }
    return false;
}

/* --- Lists of rpm and dnf -------------------------------------------------------------------- */

typedef struct Row {
    Str name, epoch, version, arch;
    Str needs; /* separated by tabs */
} Row;

static bool next_row(Str *rest, Row *out)
{
    Str line;
    while (str_split_next(rest, '\n', &line)) {
        Row row = { 0 };
        if (str_split_next(&line, '\t', &row.name) && str_split_next(&line, '\t', &row.epoch) &&
            str_split_next(&line, '\t', &row.version) && row.name.len > 0 && row.version.len > 0) {
            str_split_next(&line, '\t', &row.arch);
            row.arch = str_trim(row.arch);
            row.needs = line;
            *out = row;
            return true;
        }
    }
    return false;
}

/* "1:2.0-1", or "2.0-1" if the epoch is 0 or missing. */
static Str rpm_version(Arena *arena, Str epoch, Str version)
{
    int64_t number;
    if (!str_to_i64(epoch, &number) || number <= 0) {
        return version;
    }
    return arena_format(arena, "%lld:%" STR_FMT, (long long)number, STR_ARG(version));
}

static bool has_arch(Str arch)
{
    return arch.len > 0 && !str_eq(arch, STR("noarch")) && !str_eq(arch, STR("(none)"));
}

/* Returns the native architecture, which is that of most packages. */
static Str native_arch(Arena *scratch, Str text)
{
    StrMap counts;
    Row row;
    Str best = STR_EMPTY;
    uintptr_t most = 0;
    str_map_init(&counts, scratch);
    while (next_row(&text, &row)) {
        if (has_arch(row.arch)) {
            uintptr_t count = (uintptr_t)str_map_find(&counts, row.arch) + 1;
            str_map_put(&counts, row.arch, (void *)count);
            best = count > most ? row.arch : best;
            most = count > most ? count : most;
        }
    }
    return best;
}

/* If several versions are installed, as with kernels, the newest counts. */
void rpm_list_read(PackageDatabase *into, Str text)
{
    Arena *arena = &into->arena;
    Str native = native_arch(arena, text);
    Row row;
    into->native_suffix = arena_format(arena, ".%" STR_FMT, STR_ARG(native));
    while (next_row(&text, &row)) {
        Package package = { .name = row.name,
                            .version = rpm_version(arena, row.epoch, row.version),
                            .condition = PACKAGE_INSTALLED,
                            .record = row.needs };
        if (str_eq(row.name, STR("gpg-pubkey"))) {
            continue;
        }
        if (has_arch(row.arch) && !str_eq(row.arch, native)) {
            package.name =
                arena_format(arena, "%" STR_FMT ".%" STR_FMT, STR_ARG(row.name), STR_ARG(row.arch));
        }
        const Package *known = database_find(into, package.name);
        if (known == NULL || version_compare_rpm(known->version, package.version) < 0) {
            database_add(into, &package);
        }
    }
}

/* Keeps versions sorted, newest first; the newest is the candidate. */
static void offer_add(Arena *arena, PackageOffer *offer, Str version)
{
    uint32_t at = 0;
    while (at < offer->version_count) {
        int difference = version_compare_rpm(offer->versions[at], version);
        if (difference == 0) {
            return;
        }
        if (difference < 0) {
            break;
        }
        at++;
    }
    Str *versions = ARENA_ARRAY(arena, Str, offer->version_count + 1);
    for (uint32_t i = 0; i < offer->version_count; i++) {
        versions[i + (i >= at)] = offer->versions[i];
    }
    versions[at] = arena_copy(arena, version);
    offer->versions = versions;
    offer->version_count++;
    offer->known = true;
    offer->candidate = versions[0];
}

static PackageOffer *find_offer(PackageOffer *offers, uint32_t count, const Row *row)
{
    for (uint32_t i = 0; i < count; i++) {
        Str name = offers[i].name;
        if (str_eq(name, row->name) ||
            (str_starts(name, row->name) && name.len == row->name.len + 1 + row->arch.len &&
             name.data[row->name.len] == '.' && str_ends(name, row->arch))) {
            return &offers[i];
        }
    }
    return NULL;
}

void rpm_offers_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    StrMap by_name;
    Row row;
    str_map_init(&by_name, &scratch);
    for (uint32_t i = 0; i < count; i++) {
        str_map_put(&by_name, offers[i].name, &offers[i]);
    }
    while (next_row(&text, &row)) {
        PackageOffer *offer = str_map_find(&by_name, row.name);
        if (offer == NULL) {
            offer = find_offer(offers, count, &row);
        }
        if (offer != NULL) {
            offer_add(arena, offer, rpm_version(&scratch, row.epoch, row.version));
        }
    }
}

void rpm_upgrades_read(Arena *arena, Str text, const PackageDatabase *database, Map *changes)
{
    Row row;
    while (next_row(&text, &row)) {
        const Package *package = database_find(database, row.name);
        Map *change = map_new(arena, 2);
        if (package != NULL) {
            map_set_str(arena, change, STR("old"),
                        value_string(arena_copy(arena, package->version)));
        }
        map_set_str(arena, change, STR("new"),
                    value_string(arena_copy(arena, rpm_version(arena, row.epoch, row.version))));
        map_set_str(arena, changes, arena_copy(arena, row.name), value_map(change));
    }
}

/* "vim-2:9.0-1.*", and "!vim-2:9.1-1.*" for an excluded version. */
void dnf_locks_read(PackageDatabase *into, Str locks)
{
    Str line;
    while (str_split_next(&locks, '\n', &line)) {
        line = str_trim(line);
        for (int part = 0; part < 2; part++) {
            size_t dash = str_find_last(line, STR("-"));
            line = str_slice(line, 0, dash == STR_NOT_FOUND ? 0 : dash);
        }
        Package *package = str_map_find(&into->packages, line);
        if (package != NULL) {
            package->held = true;
        }
    }
}

/* --- zypper's XML ---------------------------------------------------------------------------- */

/* Finds the next element of that name and returns its attributes. */
static bool next_element(Str *rest, Str name, Str *inside)
{
    for (size_t at = 0; (at = str_find(*rest, STR("<"), at)) != STR_NOT_FOUND; at++) {
        Str text = str_from_offset(*rest, at + 1);
        if (!str_starts(text, name) || text.len == name.len ||
            !ascii_is_space(text.data[name.len])) {
            continue;
        }
        size_t end = str_find(text, STR(">"), 0);
        *inside = str_slice(text, name.len, end);
        *rest = end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(text, end + 1);
        return true;
    }
    *rest = STR_EMPTY;
    return false;
}

/* Names and versions contain no characters that need escaping in XML. */
static Str attribute(Str element, const char *name)
{
    Str wanted = str_from_c(name);
    for (size_t at = 0; (at = str_find(element, wanted, at)) != STR_NOT_FOUND; at++) {
        Str rest_of_element = str_from_offset(element, at + wanted.len);
        if (at > 0 && ascii_is_space(element.data[at - 1]) &&
            str_starts(rest_of_element, STR("=\""))) {
            rest_of_element = str_from_offset(rest_of_element, 2);
            return str_slice(rest_of_element, 0, str_find(rest_of_element, STR("\""), 0));
        }
    }
    return STR_EMPTY;
}

void zypper_search_read(Arena *arena, Str xml, PackageOffer *offers, uint32_t count)
{
    Str element;
    while (next_element(&xml, STR("solvable"), &element)) {
        Str name = attribute(element, "name"), version = attribute(element, "edition");
        bool offered = !str_starts(attribute(element, "repository"), STR("("));
        for (uint32_t i = 0; i < count; i++) {
            if (!str_eq(offers[i].name, name)) {
                continue;
            }
            offers[i].known = true;
            if (offered && version.len > 0) {
                offer_add(arena, &offers[i], version);
            }
        }
    }
}

void zypper_updates_read(Arena *arena, Str xml, Map *changes)
{
    Str element;
    while (next_element(&xml, STR("update"), &element)) {
        Str name = attribute(element, "name");
        Str before = attribute(element, "edition-old"), after = attribute(element, "edition");
        if (name.len == 0 || after.len == 0) {
            continue;
        }
        Map *change = map_new(arena, 2);
        if (before.len > 0) {
            map_set_str(arena, change, STR("old"), value_string(arena_copy(arena, before)));
        }
        map_set_str(arena, change, STR("new"), value_string(arena_copy(arena, after)));
        map_set_str(arena, changes, arena_copy(arena, name), value_map(change));
    }
}

void zypper_locks_read(PackageDatabase *into, Str locks)
{
    Str paragraph, pattern;
    while (control_next_paragraph(&locks, &paragraph)) {
        if (!control_find(paragraph, STR("solvable_name"), &pattern)) {
            continue;
        }
        StrMapEntry *entry;
        for (uint32_t at = 0; (entry = str_map_next(&into->packages, &at)) != NULL;) {
            if (glob_match(pattern, entry->key)) {
                ((Package *)entry->value)->held = true;
            }
        }
    }
}
