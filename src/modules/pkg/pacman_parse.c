#include "modules/pkg/pacman_parse.h"

#include "base/buf.h"

bool pacman_field(Str desc, const char *name, Str *lines)
{
    Str line;
    while (str_split_next(&desc, '\n', &line)) {
        if (line.len > 2 && line.data[0] == '%' && line.data[line.len - 1] == '%' &&
            str_eq_c(str_slice(line, 1, line.len - 1), name)) {
            *lines = str_trim(str_slice(desc, 0, str_find(desc, STR("\n\n"), 0)));
            return true;
        }
    }
    return false;
}

/* Splits "vim-9.0-1" into name and version. Returns false if it is not an entry of the database. */
static bool pacman_entry_split(Str entry, Str *name, Str *version)
{
    size_t release = str_find_last(entry, STR("-"));
    if (release == STR_NOT_FOUND) {
        return false;
    }
    size_t upstream = str_find_last(str_slice(entry, 0, release), STR("-"));
    if (upstream == STR_NOT_FOUND || upstream == 0) {
        return false;
    }
    *name = str_slice(entry, 0, upstream);
    *version = str_from_offset(entry, upstream + 1);
    return true;
}

/* "editor=9" */
static Str without_version(Str text)
{
    size_t end = 0;
    while (end < text.len && memchr("=<>:", text.data[end], 4) == NULL) {
        end++;
    }
    return str_trim(str_slice(text, 0, end));
}

void pacman_entry_read(PackageDatabase *into, Str entry, Str desc)
{
    Package package = { .condition = PACKAGE_INSTALLED, .record = desc };
    Str value, line;
    if (!pacman_entry_split(entry, &package.name, &package.version)) {
        return;
    }
    if (desc.len == 0) {
        package.condition = PACKAGE_INCOMPLETE;
        package.detail = STR("without a description");
    }
    package.automatic = pacman_field(desc, "REASON", &value) && str_eq(value, STR("1"));
    database_add(into, &package);
    if (pacman_field(desc, "PROVIDES", &value)) {
        while (str_split_next(&value, '\n', &line)) {
            database_add_provided(into, without_version(line), database_find(into, package.name));
        }
    }
}

/* "Name            : vim" */
static bool info_value(Str line, Str name, Str *out)
{
    if (!str_starts(line, name)) {
        return false;
    }
    Str rest = str_trim(str_from_offset(line, name.len));
    if (!str_starts(rest, STR(":"))) {
        return false;
    }
    *out = str_trim(str_from_offset(rest, 1));
    return true;
}

void pacman_info_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count)
{
    Str line, value;
    PackageOffer *offer = NULL;
    while (str_split_next(&text, '\n', &line)) {
        if (info_value(line, STR("Name"), &value)) {
            offer = NULL;
            for (uint32_t i = 0; i < count && offer == NULL; i++) {
                offer = str_eq(offers[i].name, value) ? &offers[i] : NULL;
            }
        } else if (offer != NULL && info_value(line, STR("Version"), &value)) {
            if (!offer->known) { /* the first repository that has it takes precedence */
                offer->known = true;
                offer->candidate = arena_copy(arena, value);
                offer->versions = ARENA_NEW(arena, Str);
                offer->versions[0] = offer->candidate;
                offer->version_count = 1;
            }
            offer = NULL;
        }
    }
}

/* "vim 9.0-1 -> 9.1-1", followed by "[ignored]" if it is held. */
void pacman_upgrades_read(Arena *arena, Str text, Map *changes)
{
    Str line;
    while (str_split_next(&text, '\n', &line)) {
        Str name, before, arrow, after;
        if (str_find(line, STR("[ignored]"), 0) != STR_NOT_FOUND ||
            !str_split_next(&line, ' ', &name) || !str_split_next(&line, ' ', &before) ||
            !str_split_next(&line, ' ', &arrow) || !str_eq(arrow, STR("->")) || name.len == 0) {
            continue;
        }
        after = str_trim(line);
        Map *change = map_new(arena, 2);
        map_set_str(arena, change, STR("old"), value_string(arena_copy(arena, before)));
        map_set_str(arena, change, STR("new"), value_string(arena_copy(arena, after)));
        map_set_str(arena, changes, arena_copy(arena, name), value_map(change));
    }
}

/* --- Configuration --------------------------------------------------------------------------- */

/* "IgnorePkg = a b": returns the value. */
static bool ignored_names(Str line, Str *names)
{
    line = str_trim(line);
    if (!str_starts(line, STR("IgnorePkg"))) {
        return false;
    }
    Str rest = str_trim(str_from_offset(line, 9));
    if (!str_starts(rest, STR("="))) {
        return false;
    }
    *names = str_trim(str_from_offset(rest, 1));
    return true;
}

static bool next_word(Str *rest, Str *word)
{
    while (str_split_next(rest, ' ', word)) {
        *word = str_trim(*word);
        if (word->len > 0) {
            return true;
        }
    }
    return false;
}

void pacman_ignored_read(Arena *arena, Str config, List *names)
{
    Str line, words, word;
    while (str_split_next(&config, '\n', &line)) {
        if (ignored_names(line, &words)) {
            while (next_word(&words, &word)) {
                list_push(arena, names, value_string(word));
            }
        }
    }
}

/* Copies the line without the name, or drops it if no other name remains. */
static void put_without(Buf *out, Str line, Str words, Str name)
{
    Str word, rest = words;
    bool found = false;
    while (next_word(&rest, &word)) {
        found = found || str_eq(word, name);
    }
    if (!found) {
        buf_put_format(out, "%" STR_FMT "\n", STR_ARG(line));
        return;
    }
    size_t start = out->len;
    while (next_word(&words, &word)) {
        if (!str_eq(word, name)) {
            buf_put_format(out, "%s%" STR_FMT, out->len == start ? "IgnorePkg = " : " ",
                           STR_ARG(word));
        }
    }
    buf_put_c(out, out->len > start ? "\n" : "");
}

Str pacman_ignored_write(Arena *arena, Str config, Str name, bool ignored)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Str line, words;
    bool added = !ignored;
    while (config.len > 0 && str_split_next(&config, '\n', &line)) {
        if (ignored_names(line, &words)) {
            put_without(&out, line, words, name);
        } else {
            buf_put_format(&out, "%" STR_FMT "\n", STR_ARG(line));
        }
        if (!added && str_eq(str_trim(line), STR("[options]"))) {
            buf_put_format(&out, "IgnorePkg = %" STR_FMT "\n", STR_ARG(name));
            added = true;
        }
    }
    if (!added) {
        buf_put_format(&out, "[options]\nIgnorePkg = %" STR_FMT "\n", STR_ARG(name));
    }
    return buf_str(&out);
}
