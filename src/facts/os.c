/* The installed operating system, from its os-release file. */
#include "base/buf.h"
#include "facts/fact.h"

/* The file uses a subset of shell syntax, including quotes and backslashes. */
static Str unquote(Arena *arena, Str text)
{
    text = str_trim(text);
    char quote = text.len >= 2 ? text.data[0] : '\0';
    if ((quote != '"' && quote != '\'') || text.data[text.len - 1] != quote) {
        return text;
    }
    text = str_slice(text, 1, text.len - 1);
    if (quote == '\'' || str_find(text, STR("\\"), 0) == STR_NOT_FOUND) {
        return text;
    }
    Buf plain = buf_make_in(arena, text.len);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\\' && i + 1 < text.len) {
            i++;
        }
        buf_put_char(&plain, text.data[i]);
    }
    return buf_str(&plain);
}

/* The unquoted value of a key such as "ID"; empty if there is none. */
static bool os_release_get(const FactSources *sources, Arena *arena, const char *key, Str *out,
                           Error *err)
{
    Str text;
    if (!fact_text(&sources->root, arena, "/etc/os-release", &text, err)) {
        return false;
    }
    if (text.len == 0 && !fact_text(&sources->root, arena, "/usr/lib/os-release", &text, err)) {
        return false;
    }
    *out = STR_EMPTY;
    for (Str line; str_split_next(&text, '\n', &line);) {
        Str left;
        line = str_trim(line);
        if (str_split_next(&line, '=', &left) && str_eq_c(left, key)) {
            *out = unquote(arena, line);
        }
    }
    return true;
}

static bool read_os(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str id;
    if (!os_release_get(sources, arena, "ID", &id, err)) {
        return false;
    }
    *out = fact_string(id);
    return true;
}

const Fact fact_os = {
    .name = "os",
    .help = "The operating system: ID in /etc/os-release.",
    .example = "\"debian\"",
    .read = read_os,
};

/* --- OS family -------------------------------------------------------------------------------- */

/* Maps the different names in os-release to families. */
static const struct {
    const char *name, *family;
} families[] = {
    { "debian", "debian" }, { "ubuntu", "debian" }, { "rhel", "redhat" },   { "fedora", "redhat" },
    { "centos", "redhat" }, { "suse", "suse" },     { "opensuse", "suse" }, { "sles", "suse" },
    { "arch", "arch" },     { "alpine", "alpine" }, { "gentoo", "gentoo" }, { "amzn", "redhat" },
};

static Str family_of(Str name)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (str_eq_c(name, families[i].name)) {
            return str_from_c(families[i].family);
        }
    }
    return STR_EMPTY;
}

static bool read_os_family(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str id, like;
    if (!os_release_get(sources, arena, "ID", &id, err) ||
        !os_release_get(sources, arena, "ID_LIKE", &like, err)) {
        return false;
    }
    Str family = family_of(id), word, first = STR_EMPTY;
    while (family.len == 0 && fact_next_field(&like, &word)) {
        first = first.len == 0 ? word : first;
        family = family_of(word);
    }
    *out = fact_string(family.len > 0 ? family : first.len > 0 ? first : id);
    return true;
}

const Fact fact_os_family = {
    .name = "os_family",
    .help = "The OS family: debian, redhat, suse, arch, alpine, gentoo, or the OS itself.",
    .example = "\"debian\"",
    .read = read_os_family,
};

/* --- Release ---------------------------------------------------------------------------------- */

/* Always a string, because "12.10" is not a number. */
static bool read_os_version(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str version;
    if (!os_release_get(sources, arena, "VERSION_ID", &version, err)) {
        return false;
    }
    *out = fact_string(version);
    return true;
}

const Fact fact_os_version = {
    .name = "os_version",
    .help = "The release: VERSION_ID in /etc/os-release; null for rolling releases.",
    .example = "\"12\"",
    .read = read_os_version,
};
