#include "modules/digest.h"

enum {
    FILE_PIECE = 64 << 10,
    SHOWN_MAX = 80, /* maximum length of an invalid digest in a message */
};

static const struct {
    const char *prefix;
    size_t digits;
} kinds[] = {
    [DIGEST_SHA256] = { "sha256:", SHA256_HEX },
    [DIGEST_SHA512] = { "sha512:", SHA512_HEX },
};

DigestKind digest_kind(Str digest)
{
    return str_starts(digest, str_from_c(kinds[DIGEST_SHA512].prefix)) ? DIGEST_SHA512
                                                                       : DIGEST_SHA256;
}

bool digest_parse(Arena *arena, Str given, Str *out, Error *err)
{
    char hex[SHA512_HEX + 1] = "";
    DigestKind kind = digest_kind(given);
    Str prefix = str_from_c(kinds[kind].prefix);
    Str digits = str_starts(given, prefix) ? str_from_offset(given, prefix.len) : STR_EMPTY;
    bool ok = digits.len == kinds[kind].digits;
    for (size_t i = 0; ok && i < digits.len; i++) {
        hex[i] = ascii_lower(digits.data[i]);
        ok = ascii_hex_value(hex[i]) >= 0;
    }
    if (!ok) {
        bool is_short =
            given.len <=
            /* the string may be a secret, and a truncated secret would not be redacted */
            SHOWN_MAX;
        Str shown = is_short ? given : arena_format(arena, "a string of %zu bytes", given.len);
        return error_set(err, ERROR_INVALID,
                         "'digest' must be 'sha256:' and 64 hexadecimal digits, or 'sha512:' and "
                         "128, not %s%" STR_FMT "%s",
                         is_short ? "'" : "", STR_ARG(shown), is_short ? "'" : "");
    }
    *out = arena_join(arena, prefix, str_from_c(hex), STR_EMPTY);
    return true;
}

void digester_start(Digester *digester, DigestKind kind)
{
    digester->kind = kind;
    if (kind == DIGEST_SHA512) {
        sha512_start(&digester->sha512);
    } else {
        sha256_start(&digester->sha256);
    }
}

void digester_add(Digester *digester, Str piece)
{
    if (digester->kind == DIGEST_SHA512) {
        sha512_add(&digester->sha512, piece);
    } else {
        sha256_add(&digester->sha256, piece);
    }
}

Str digester_finish(Digester *digester, Arena *arena)
{
    char hex[SHA512_HEX + 1];
    if (digester->kind == DIGEST_SHA512) {
        sha512_finish(&digester->sha512, hex);
    } else {
        sha256_finish(&digester->sha256, hex);
    }
    return arena_join(arena, str_from_c(kinds[digester->kind].prefix), str_from_c(hex), STR_EMPTY);
}

Str digest_of_text(Arena *arena, DigestKind kind, Str text)
{
    Digester digester;
    digester_start(&digester, kind);
    digester_add(&digester, text);
    return digester_finish(&digester, arena);
}

bool digest_of_file(Arena *arena, DigestKind kind, HostReader *reader, Str *out, Error *err)
{
    char piece[FILE_PIECE];
    Digester digester;
    size_t got = 1;
    digester_start(&digester, kind);
    for (uint64_t offset = 0; got > 0; offset += got) {
        if (!host_reader_get(reader, offset, piece, sizeof piece, &got, err)) {
            return false;
        }
        digester_add(&digester, str_from(piece, got));
    }
    *out = digester_finish(&digester, arena);
    return true;
}
