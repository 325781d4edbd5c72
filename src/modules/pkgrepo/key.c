#include "modules/pkgrepo/key.h"

#include "base/buf.h"

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

static int base64_value(char c)
{
    if (ascii_is_digit(c)) {
        return c - '0' + 52;
    }
    if (ascii_is_alpha(c)) {
        return c >= 'a' ? c - 'a' + 26 : c - 'A';
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* White space may stand anywhere. */
static bool base64_read(Arena *arena, Str text, Str *out)
{
    Buf bytes = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t bits = 0;
    unsigned count = 0;
    bool ended = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        int value = base64_value(c);
        if (ascii_is_space(c)) {
            continue;
        }
        if (c == '=') {
            ended = true;
            continue;
        }
        if (value < 0 || ended) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        if (++count == 4) {
            buf_put_char(&bytes, (char)(bits >> 16));
            buf_put_char(&bytes, (char)(bits >> 8));
            buf_put_char(&bytes, (char)bits);
            bits = count = 0;
        }
    }
    if (count == 1) {
        return false;
    }
    if (count > 1) {
        bits <<= 6 * (4 - count);
        buf_put_char(&bytes, (char)(bits >> 16));
        if (count == 3) {
            buf_put_char(&bytes, (char)(bits >> 8));
        }
    }
    *out = buf_str(&bytes);
    return true;
}

bool repo_key_read(Arena *arena, Str given, RepoKey *out, Error *err)
{
    Str text = str_trim(given), bytes;
    if (str_starts(text, STR(ARMOR_BEGIN))) {
        if (!str_ends(text, STR(ARMOR_END))) {
            return error_set(err, ERROR_INVALID, "the key has no '" ARMOR_END "' at its end");
        }
        *out = (RepoKey){ arena_format(arena, "%" STR_FMT "\n", STR_ARG(text)), true };
        return true;
    }
    if (str_starts(text, STR("-----BEGIN PGP PRIVATE"))) {
        return error_set(err, ERROR_INVALID, "this is a private key; sources need the public one");
    }
    if (is_key_bytes(given)) {
        *out = (RepoKey){ given, false };
        return true;
    }
    if (base64_read(arena, text, &bytes) && is_key_bytes(bytes)) {
        *out = (RepoKey){ bytes, false };
        return true;
    }
    return error_set(err, ERROR_INVALID,
                     "the key must be an armored OpenPGP public key, or the base64 of one");
}
