#include "modules/pkg/rpm.h"

#include "modules/pkg/blame.h"

/* What they need comes behind, as far as it has a name. */
#define QUERY "%{NAME}\\t%{EPOCHNUM}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}[\\t%{REQUIRENAME}]\\n"

/* Where its database may be, by its age and the system. */
static const Str databases[] = {
    STR("/var/lib/rpm/rpmdb.sqlite"),
    STR("/usr/lib/sysimage/rpm/rpmdb.sqlite"),
    STR("/usr/lib/sysimage/rpm/Packages.db"),
    STR("/var/lib/rpm/Packages.db"),
    STR("/var/lib/rpm/Packages"),
};

static bool is_file(Call *call, Str path)
{
    FileInfo info;
    Error err;
    return host_stat(call->host, path, &info, &err) && info.kind == FILE_REGULAR;
}

bool rpm_has_database(Call *call)
{
    for (size_t i = 0; i < COUNT_OF(databases); i++) {
        if (is_file(call, databases[i])) {
            return true;
        }
    }
    return false;
}

/* What is between the database and its journal counts only when there is something: looking at the
 * database makes an empty one. */
bool rpm_fingerprint(Call *call, Fingerprint *out, Error *err)
{
    for (size_t i = 0; i < COUNT_OF(databases); i++) {
        if (!is_file(call, databases[i])) {
            continue;
        }
        FileInfo journal;
        Str path = arena_format(call->arena, "%" STR_FMT "-wal", STR_ARG(databases[i]));
        return fingerprint_add(call, databases[i], out, err) &&
               host_stat(call->host, path, &journal, err) &&
               (journal.kind == FILE_ABSENT || journal.size == 0 ||
                fingerprint_add(call, path, out, err));
    }
    return true;
}

/* Without a database rpm would make one. */
bool rpm_read(Call *call, PackageDatabase *into, Error *err)
{
    Str out;
    if (!rpm_has_database(call)) {
        return true;
    }
    if (!TOOL_DO(call, &out, err, "rpm", "-qa", "--qf", QUERY)) {
        return false;
    }
    rpm_list_read(into, arena_copy(&into->arena, out));
    return true;
}

void rpm_list_needs(Arena *arena, const Package *package, List *names)
{
    Str rest = package->record, name;
    while (str_split_next(&rest, '\t', &name)) {
        list_push(arena, names, value_string(name));
    }
}

bool rpm_is_provided(Call *call, Str name)
{
    Error err;
    return rpm_has_database(call) && TOOL_DO(call, NULL, &err, "rpm", "-q", "--quiet",
                                             "--whatprovides", arena_copy_c(call->arena, name));
}

/* What is not installed is told of in words, and in the exit code. */
bool rpm_list_conffiles(Call *call, const PackageItem *items, uint32_t count, List *paths,
                        Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult result;
    Str line;
    tool_arg(call, &args, STR("rpm"));
    tool_arg(call, &args, STR("-qc"));
    tool_arg(call, &args, STR("--"));
    for (uint32_t i = 0; i < count; i++) {
        tool_arg(call, &args, items[i].name);
    }
    Tool tool = { .argv = tool_args_end(call, &args) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    while (str_split_next(&result.out, '\n', &line)) {
        if (str_starts(line, STR("/"))) {
            list_push(call->arena, paths, value_string(line));
        }
    }
    return true;
}

bool rpm_find_holder(Call *call, PackageHolder *out)
{
    static const Str paths[] = { STR("/var/lib/rpm/.rpm.lock"),
                                 STR("/usr/lib/sysimage/rpm/.rpm.lock") };
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        LockHolder holder;
        if (lock_holder_find(call->host, call->arena, paths[i], &holder)) {
            *out = (PackageHolder){ package_holder_words(call->arena, &holder), paths[i] };
            return true;
        }
    }
    return false;
}

/* Also what packages provide: "perl(Carp)", "/usr/bin/vi". No patterns and no versions, which dnf
 * and zypper would take for more than a name. */
bool rpm_check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && (ascii_is_name(name.data[0]) || name.data[0] == '/');
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        ok = ok && (ascii_is_name(c) || memchr("+.-~()/:", c, 8) != NULL);
    }
    return ok || error_set(err, ERROR_INVALID, "'%" STR_FMT "' cannot be a package", STR_ARG(name));
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

/* --- Texts ---------------------------------------------------------------------------------- */

typedef struct Row {
    Str name, epoch, version, arch;
    Str needs; /* with tabs between them */
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

/* "1:2.0-1", or "2.0-1" with epoch 0 or none. */
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

/* Of which kind the machine is: that of most packages. */
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

/* Of packages that are there several times, such as kernels, the newest counts. */
void rpm_list_read(PackageDatabase *into, Str text)
{
    Arena *arena = &into->arena;
    Str native = native_arch(arena, text);
    Row row;
    into->own_suffix = arena_format(arena, ".%" STR_FMT, STR_ARG(native));
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

void rpm_offer_add(Arena *arena, PackageOffer *offer, Str version)
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
            rpm_offer_add(arena, offer, rpm_version(&scratch, row.epoch, row.version));
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
