/* Input: output of package managers, and package names and versions of sites. The first byte
 * selects the parser. Invariant: comparing versions gives a consistent order. */
#include "base/bug.h"
#include "modules/pkg/apt_parse.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/control.h"
#include "modules/pkg/pacman_parse.h"
#include "modules/pkg/rpm_parse.h"
#include "modules/pkgrepo/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

/* Three versions, one per line. */
static void try_versions(Str text)
{
    static const VersionOrder orders[] = { { version_compare_dpkg, false },
                                           { version_compare_rpm, true },
                                           { version_compare_alpm, true } };
    Str a = STR_EMPTY, b = STR_EMPTY;
    VersionSpec request;
    Error err;
    str_split_next(&text, '\n', &a);
    str_split_next(&text, '\n', &b);
    bool parsed = version_spec_parse(text, &request, &err);
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        VersionCompare compare = orders[i].compare;
        BUG_IF(compare(a, a) != 0 || compare(b, b) != 0);
        /* pacman itself is inconsistent about separators and trailing letters. */
        BUG_IF(i < 2 && sign(compare(a, b)) != -sign(compare(b, a)));
        if (parsed) {
            bool accepts = version_spec_accepts(&request, &orders[i], a);
            BUG_IF(accepts && request.pattern.len == 0 &&
                   version_spec_is_below(&request, &orders[i], a));
            BUG_IF(request.term_count == 1 && request.terms[0].relation == VERSION_EQUAL &&
                   !version_spec_accepts(&request, &orders[i], request.terms[0].version));
        }
    }
}

static void try_control(Str text)
{
    Str paragraph, name, value;
    size_t left = text.len;
    while (control_next_paragraph(&text, &paragraph)) {
        BUG_IF(paragraph.len == 0 || text.len >= left);
        left = text.len;
        Str rest = paragraph;
        while (control_next_field(&rest, &name, &value)) {
            Str found;
            BUG_IF(name.len > 0 && !control_find(paragraph, name, &found));
            while (control_next_name(&value, &found)) {
                BUG_IF(found.len == 0);
            }
        }
    }
}

static void check_database(const PackageDatabase *database)
{
    StrMapEntry *entry;
    for (uint32_t at = 0; (entry = str_map_next(&database->packages, &at)) != NULL;) {
        const Package *package = entry->value;
        BUG_IF(!str_eq(package->name, entry->key));
        BUG_IF(package->condition == PACKAGE_INCOMPLETE && package->detail.len == 0);
    }
    for (uint32_t at = 0; (entry = str_map_next(&database->provided, &at)) != NULL;) {
        BUG_IF(entry->value == NULL);
    }
}

/* dpkg's list; after a line "=" its updates; after another one apt's own list. */
static void try_dpkg(Str text)
{
    AUTO(PackageDatabase) *database = database_new();
    Str status = str_slice(text, 0, str_find(text, STR("\n=\n"), 0));
    Str updates[2] = { 0 };
    text = str_from_offset(text, status.len + 3);
    updates[0] = str_slice(text, 0, str_find(text, STR("\n=\n"), 0));
    dpkg_status_read(database, status, updates, updates[0].len > 0);
    apt_states_read(database, str_from_offset(text, updates[0].len + 3));
    check_database(database);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    List *names = list_new(&arena, 4);
    StrMapEntry *entry;
    for (uint32_t at = 0; (entry = str_map_next(&database->packages, &at)) != NULL;) {
        backend_apt.list_needs(&arena, entry->value, names);
    }
}

static void check_offers(const PackageOffer *offers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        BUG_IF(!offers[i].known && (offers[i].candidate.len > 0 || offers[i].version_count > 0));
    }
}

static void try_offers(char which, Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    PackageOffer offers[] = { { .name = STR("vim") },
                              { .name = STR("a") },
                              { .name = STR("b.c") } };
    Map *changes = map_new(&arena, 4);
    AUTO(PackageDatabase) *database = database_new();
    switch (which) {
    case 'p':
        apt_policy_read(&arena, text, offers, COUNT_OF(offers));
        apt_simulation_read(&arena, text, changes);
        break;
    case 'r':
        rpm_list_read(database, text);
        rpm_offers_read(&arena, text, offers, COUNT_OF(offers));
        rpm_upgrades_read(&arena, text, database, changes);
        break;
    case 'z':
        zypper_search_read(&arena, text, offers, COUNT_OF(offers));
        zypper_updates_read(&arena, text, changes);
        zypper_locks_read(database, text);
        break;
    default:
        pacman_info_read(&arena, text, offers, COUNT_OF(offers));
        pacman_upgrades_read(&arena, text, changes);
        pacman_entry_read(database, str_slice(text, 0, str_find(text, STR("\n"), 0)), text);
        break;
    }
    check_offers(offers, COUNT_OF(offers));
    check_database(database);
}

/* Held and unheld, the package leaves all others unchanged. */
static void try_ignored(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    List *before = list_new(&arena, 4), *held = list_new(&arena, 4), *after = list_new(&arena, 4);
    Str name = STR("no-such-package");
    pacman_ignored_read(&arena, text, before);
    Str config = pacman_ignored_write(&arena, text, name, true);
    pacman_ignored_read(&arena, config, held);
    config = pacman_ignored_write(&arena, config, name, false);
    pacman_ignored_read(&arena, config, after);
    BUG_IF(held->len <= after->len);
    for (uint32_t i = 0; i < after->len; i++) {
        BUG_IF(str_eq(value_str(after->items[i]), name));
    }
}

static void try_error_origin(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str name = str_slice(text, 0, str_find(text, STR("\n"), 0)), words;
    text = str_from_offset(text, name.len + 1);
    apt_blame(&arena, text, name, &words);
    apt_find_removals(&arena, text, &words);
    BUG_IF(words.len > 2 * BLAME_MAX + 8);
    blame_by_lines(&arena, text, name, &words);
    BUG_IF(words.len > BLAME_MAX + 8);
    rpm_find_warning(&arena, text, name, &words);
}

static void try_key(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    RepoKey key, again;
    Error err;
    if (repo_key_parse(&arena, text, &key, &err)) {
        BUG_IF(!repo_key_parse(&arena, key.content, &again, &err));
        BUG_IF(key.armored != again.armored || !str_eq(key.content, again.content));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    Str text = str_from((const char *)data + 1, size - 1);
    switch (data[0]) {
    case 'v': try_versions(text); break;
    case 'c': try_control(text); break;
    case 'd': try_dpkg(text); break;
    case 'i': try_ignored(text); break;
    case 'b': try_error_origin(text); break;
    case 'k': try_key(text); break;
    default: try_offers((char)data[0], text); break;
    }
    return 0;
}
