#include "modules/pkgrepo/key.h"

#include "base/base64.h"

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

/* Lines of printable characters; nobody else reads more. */
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

bool repo_key_read(Arena *arena, Str given, RepoKey *out, Error *err)
{
    Str text = str_trim(given), bytes;
    if (str_starts(text, STR(ARMOR_BEGIN))) {
        if (!str_ends(text, STR(ARMOR_END))) {
            return error_set(err, ERROR_INVALID, "the key has no '" ARMOR_END "' at its end");
        }
        if (!is_text(text)) {
            return error_set(err, ERROR_INVALID, "the key has characters that armor has not");
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
    if (base64_decode(arena, text, &bytes) && is_key_bytes(bytes)) {
        *out = (RepoKey){ bytes, false };
        return true;
    }
    return error_set(err, ERROR_INVALID,
                     "the key must be an armored OpenPGP public key, or the base64 of one");
}
