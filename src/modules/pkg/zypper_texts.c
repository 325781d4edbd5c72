#include "modules/pkg/zypper_texts.h"

#include "base/glob.h"
#include "modules/pkg/control.h"
#include "modules/pkg/rpm.h"

/* The next element of that name: what is between its name and its end. */
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

/* Names and versions have no characters that XML would write differently. */
static Str attribute(Str element, const char *name)
{
    Str wanted = str_from_c(name);
    for (size_t at = 0; (at = str_find(element, wanted, at)) != STR_NOT_FOUND; at++) {
        Str behind = str_from_offset(element, at + wanted.len);
        if (at > 0 && ascii_is_space(element.data[at - 1]) && str_starts(behind, STR("=\""))) {
            behind = str_from_offset(behind, 2);
            return str_slice(behind, 0, str_find(behind, STR("\""), 0));
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
                rpm_offer_add(arena, &offers[i], version);
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
