#include "modules/pkgrepo/source.h"

#include "base/base64.h"
#include "base/buf.h"

bool repo_name_check(Str name, Error *err)
{
    bool ok = name.len > 0 && name.len <= 200 && name.data[0] != '.' && name.data[0] != '-';
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        ok = ok && (ascii_is_name(c) || c == '-' || c == '.');
    }
    return ok ||
           error_set(
               err, ERROR_INVALID,
               "'%" STR_FMT
               "' is not a repository name: only letters, digits, '.', '_' and '-' are allowed",
               STR_ARG(name));
}

/* Accepts one line without control characters; a word cannot contain spaces either. */
static bool check_text(const char *what, Str text, bool is_word, Error *err)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c == 0x7f || (is_word && (c == ' ' || c == '[' || c == ']'))) {
            return error_set(err, ERROR_INVALID, "'%s' cannot contain '%" STR_FMT "'%s", what,
                             STR_ARG(str_slice(text, i, i + 1)),
                             c == ' ' ? "; encode a space in an address as %20" : "");
        }
    }
    return text.len > 0 || error_set(err, ERROR_INVALID, "'%s' contains an empty string", what);
}

static bool check_words(const char *what, const List *words, Error *err)
{
    for (uint32_t i = 0; words != NULL && i < words->len; i++) {
        if (!check_text(what, value_str(words->items[i]), true, err)) {
            return false;
        }
    }
    return true;
}

static bool is_empty(const List *list)
{
    return list == NULL || list->len == 0;
}

static bool has_flat_suite(const RepoSource *source)
{
    for (uint32_t i = 0; i < source->suites->len; i++) {
        if (str_ends(value_str(source->suites->items[i]), STR("/"))) {
            return true;
        }
    }
    return false;
}

static bool check_deb(const RepoSource *source, Error *err)
{
    if (is_empty(source->uris) || is_empty(source->suites)) {
        return error_set(err, ERROR_INVALID, "'%s' is required",
                         is_empty(source->uris) ? "uris" : "suites");
    }
    if (source->mirrorlist.len > 0) {
        return error_set(err, ERROR_INVALID, "'mirrorlist' is for dnf and zypper only");
    }
    if (source->priority != 0) {
        return error_set(err, ERROR_INVALID,
                         "'priority' is for dnf and zypper only; apt uses preferences instead");
    }
    bool flat = has_flat_suite(source);
    if (flat != is_empty(source->components)) {
        return error_set(err, ERROR_INVALID, "%s",
                         flat ? "a suite that ends with '/' is a path and cannot have components"
                              : "'components', such as main, is required");
    }
    return true;
}

static bool check_rpm(const RepoSource *source, Error *err)
{
    if (is_empty(source->uris) == (source->mirrorlist.len == 0)) {
        return error_set(err, ERROR_INVALID, "'uris' or 'mirrorlist' is required");
    }
    if (!is_empty(source->suites) || !is_empty(source->components) ||
        !is_empty(source->architectures)) {
        return error_set(err, ERROR_INVALID,
                         "'suites', 'components' and 'architectures' are for apt only");
    }
    return true;
}

static bool check_options(const RepoSource *source, Error *err)
{
    for (uint32_t i = 0; source->options != NULL && i < source->options->len; i++) {
        const MapEntry *entry = &source->options->entries[i];
        Str name = value_str(entry->key);
        bool ok = name.len > 0;
        for (size_t k = 0; k < name.len; k++) {
            ok = ok && (ascii_is_name(name.data[k]) || name.data[k] == '-');
        }
        if (!ok) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not an option name",
                             STR_ARG(name));
        }
        if (!value_is_string(entry->value)) {
            return error_set(err, ERROR_INVALID, "option '%" STR_FMT "' must be a string",
                             STR_ARG(name));
        }
        if (!check_text("options", value_str(entry->value), source->format == REPO_ONELINE, err)) {
            return false;
        }
    }
    return true;
}

static bool check(const RepoSource *source, Error *err)
{
    bool texts =
        (source->description.len == 0 ||
         check_text("description", source->description, false, err)) &&
        (source->mirrorlist.len == 0 || check_text("mirrorlist", source->mirrorlist, true, err)) &&
        (source->key_path.len == 0 || check_text("key", source->key_path, true, err));
    return repo_name_check(source->name, err) && texts &&
           check_words("types", source->types, err) && check_words("uris", source->uris, err) &&
           check_words("suites", source->suites, err) &&
           check_words("components", source->components, err) &&
           check_words("architectures", source->architectures, err) && check_options(source, err) &&
           (source->format == REPO_RPM ? check_rpm(source, err) : check_deb(source, err));
}

static void put_words(Buf *out, const List *words, char between)
{
    for (uint32_t i = 0; i < words->len; i++) {
        if (i > 0) {
            buf_put_char(out, between);
        }
        buf_put(out, value_str(words->items[i]));
    }
}

static void put_list(Buf *out, const char *name, const List *words)
{
    if (!is_empty(words)) {
        buf_put_format(out, "%s: ", name);
        put_words(out, words, ' ');
        buf_put_char(out, '\n');
    }
}

/* Continuation lines of a field begin with a space; an empty line is written as a dot. */
static void put_key(Buf *out, Str text)
{
    Str line;
    buf_put_c(out, "Signed-By:\n");
    text = str_trim(text);
    while (str_split_next(&text, '\n', &line)) {
        line = str_trim(line);
        buf_put_format(out, " %" STR_FMT "\n", STR_ARG(line.len > 0 ? line : STR(".")));
    }
}

static void put_deb822(Buf *out, const RepoSource *source)
{
    if (source->description.len > 0) {
        buf_put_format(out, "# %" STR_FMT "\n", STR_ARG(source->description));
    }
    if (source->disabled) {
        buf_put_c(out, "Enabled: no\n");
    }
    put_list(out, "Types", source->types);
    put_list(out, "URIs", source->uris);
    put_list(out, "Suites", source->suites);
    put_list(out, "Components", source->components);
    put_list(out, "Architectures", source->architectures);
    if (source->trusted) {
        buf_put_c(out, "Trusted: yes\n");
    }
    for (uint32_t i = 0; source->options != NULL && i < source->options->len; i++) {
        const MapEntry *entry = &source->options->entries[i];
        buf_put_format(out, "%" STR_FMT ": %" STR_FMT "\n", STR_ARG(value_str(entry->key)),
                       STR_ARG(value_str(entry->value)));
    }
    if (source->key_path.len > 0) {
        buf_put_format(out, "Signed-By: %" STR_FMT "\n", STR_ARG(source->key_path));
    } else if (source->key_text.len > 0) {
        put_key(out, source->key_text);
    }
}

/* "[arch=amd64 signed-by=/etc/apt/keyrings/lab.asc] ", or nothing. */
static void put_oneline_options(Buf *out, const RepoSource *source)
{
    size_t start = out->len;
    if (!is_empty(source->architectures)) {
        buf_put_c(out, " arch=");
        put_words(out, source->architectures, ',');
    }
    if (source->trusted) {
        buf_put_c(out, " trusted=yes");
    }
    if (source->key_path.len > 0) {
        buf_put_format(out, " signed-by=%" STR_FMT, STR_ARG(source->key_path));
    }
    for (uint32_t i = 0; source->options != NULL && i < source->options->len; i++) {
        const MapEntry *entry = &source->options->entries[i];
        buf_put_format(out, " %" STR_FMT "=%" STR_FMT, STR_ARG(value_str(entry->key)),
                       STR_ARG(value_str(entry->value)));
    }
    if (out->len > start) {
        out->data[start] = '[';
        buf_put_c(out, "] ");
    }
}

static void put_oneline(Buf *out, const RepoSource *source, Str type, Str uri, Str suite)
{
    buf_put_format(out, "%s%" STR_FMT " ", source->disabled ? "# " : "", STR_ARG(type));
    put_oneline_options(out, source);
    buf_put_format(out, "%" STR_FMT " %" STR_FMT, STR_ARG(uri), STR_ARG(suite));
    if (!is_empty(source->components)) {
        buf_put_char(out, ' ');
        put_words(out, source->components, ' ');
    }
    buf_put_char(out, '\n');
}

static void put_onelines(Buf *out, const RepoSource *source)
{
    if (source->description.len > 0) {
        buf_put_format(out, "# %" STR_FMT "\n", STR_ARG(source->description));
    }
    for (uint32_t t = 0; t < source->types->len; t++) {
        for (uint32_t u = 0; u < source->uris->len; u++) {
            for (uint32_t s = 0; s < source->suites->len; s++) {
                put_oneline(out, source, value_str(source->types->items[t]),
                            value_str(source->uris->items[u]), value_str(source->suites->items[s]));
            }
        }
    }
}

static void put_rpm(Buf *out, const RepoSource *source)
{
    Str title = source->description.len > 0 ? source->description : source->name;
    buf_put_format(out, "[%" STR_FMT "]\nname=%" STR_FMT "\n", STR_ARG(source->name),
                   STR_ARG(title));
    if (source->mirrorlist.len > 0) {
        buf_put_format(out, "mirrorlist=%" STR_FMT "\n", STR_ARG(source->mirrorlist));
    } else {
        buf_put_c(out, "baseurl=");
        put_words(out, source->uris, ' ');
        buf_put_char(out, '\n');
    }
    buf_put_format(out, "enabled=%d\ngpgcheck=%d\n", !source->disabled, !source->trusted);
    if (source->key_path.len > 0) {
        buf_put_format(out, "gpgkey=file://%" STR_FMT "\n", STR_ARG(source->key_path));
    }
    if (source->refreshes) {
        buf_put_c(out, "autorefresh=1\n");
    }
    if (source->priority != 0) {
        buf_put_format(out, "priority=%lld\n", (long long)source->priority);
    }
    for (uint32_t i = 0; source->options != NULL && i < source->options->len; i++) {
        const MapEntry *entry = &source->options->entries[i];
        buf_put_format(out, "%" STR_FMT "=%" STR_FMT "\n", STR_ARG(value_str(entry->key)),
                       STR_ARG(value_str(entry->value)));
    }
}

bool repo_source_format(Arena *arena, const RepoSource *source, Str *out, Error *err)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    if (!check(source, err)) {
        return false;
    }
    switch (source->format) {
    case REPO_DEB822: put_deb822(&text, source); break;
    case REPO_ONELINE: put_onelines(&text, source); break;
    case REPO_RPM: put_rpm(&text, source); break;
    }
    *out = buf_str(&text);
    return true;
}

/* --- Keys ------------------------------------------------------------------------------------ */

#define ARMOR_BEGIN "-----BEGIN PGP PUBLIC KEY BLOCK-----"
#define ARMOR_END   "-----END PGP PUBLIC KEY BLOCK-----"

/* The first byte of a packet has its highest bit set; a public key is packet 6. */
static bool is_key_bytes(Str bytes)
{
    if (bytes.len < 16) {
        return false;
    }
    unsigned char first = (unsigned char)bytes.data[0];
    bool new_form = (first & 0x40) != 0;
    unsigned tag = new_form ? first & 0x3f : first >> 2 & 0x0f;
    return (first & 0x80) != 0 && tag == 6;
}

/* Only lines of printable characters. */
static bool is_text(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < ' ' && !ascii_is_space((char)c)) || c >= 0x7f) {
            return false;
        }
    }
    return true;
}

bool repo_key_parse(Arena *arena, Str given, RepoKey *out, Error *err)
{
    Str text = str_trim(given), bytes;
    if (str_starts(text, STR(ARMOR_BEGIN))) {
        if (!str_ends(text, STR(ARMOR_END))) {
            return error_set(err, ERROR_INVALID, "the key has no '" ARMOR_END "' line at the end");
        }
        if (!is_text(text)) {
            return error_set(err, ERROR_INVALID,
                             "the key contains characters that are not allowed in ASCII armor");
        }
        *out = (RepoKey){ arena_format(arena, "%" STR_FMT "\n", STR_ARG(text)), true };
        return true;
    }
    if (str_starts(text, STR("-----BEGIN PGP PRIVATE"))) {
        return error_set(err, ERROR_INVALID,
                         "this is a private key; repositories need the public key");
    }
    if (is_key_bytes(given)) {
        *out = (RepoKey){ given, false };
        return true;
    }
    if (base64_decode(arena, text, &bytes) && is_key_bytes(bytes)) {
        *out = (RepoKey){ bytes, false };
        return true;
    }
    return error_set(err, ERROR_INVALID,
                     "the key must be an armored OpenPGP public key, or one encoded in base64");
}
