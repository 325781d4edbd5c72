#include "modules/signature.h"

#include "base/buf.h"
#include "sys/file.h"
#include "sys/sha256.h"

static const char private_format[] = "eden-private-key/1";
static const char public_format[] = "eden-public-key/1";
static const char signature_format[] = "eden-signature/1";

/* Names are for display: printable, on one line. */
static Str plain_name(Arena *arena, Str name)
{
    Buf plain = buf_make_in(arena, BUF_UNLIMITED);
    name = str_trim(name);
    for (size_t i = 0; i < name.len && i < KEY_NAME_MAX; i++) {
        bool printable = name.data[i] > ' ' && name.data[i] < 0x7f;
        buf_put_char(&plain, printable ? name.data[i] : '_');
    }
    return buf_str(&plain);
}

static Str key_format(Arena *arena, const char *format, const unsigned char *bytes, Str name)
{
    return arena_format(arena, "%s %" STR_FMT " %" STR_FMT "\n", format,
                        STR_ARG(ed25519_text(arena, bytes, ED25519_KEY)),
                        STR_ARG(plain_name(arena, name)));
}

Str private_key_format(Arena *arena, const Ed25519Private *key, Str name)
{
    return key_format(arena, private_format, key->bytes, name);
}

Str public_key_format(Arena *arena, const Ed25519Public *key, Str name)
{
    return key_format(arena, public_format, key->bytes, name);
}

/* Returns the words after the first, which is the format. */
static bool split(Str text, const char *format, Str *second, Str *third)
{
    text = str_trim(text);
    Str first;
    *second = *third = STR_EMPTY;
    if (str_find(text, STR("\n"), 0) != STR_NOT_FOUND || !str_split_next(&text, ' ', &first) ||
        !str_eq_c(first, format) || !str_split_next(&text, ' ', second)) {
        return false;
    }
    *third = text;
    return true;
}

static bool key_parse(Str text, const char *format, const char *what, unsigned char *bytes,
                      Str *name, Error *err)
{
    Str encoded;
    if (!split(text, format, &encoded, name) || !ed25519_from_text(encoded, bytes, ED25519_KEY)) {
        return error_set(err, ERROR_INVALID, "this is not a %s created by 'eden modules keygen'",
                         what);
    }
    return true;
}

bool private_key_parse(Str text, Ed25519Private *out, Error *err)
{
    Str name;
    return key_parse(text, private_format, "private key", out->bytes, &name, err);
}

bool public_key_parse(Arena *arena, Str text, PublicKey *out, Error *err)
{
    Str name;
    if (!key_parse(text, public_format, "public key", out->bytes.bytes, &name, err)) {
        return false;
    }
    out->name = plain_name(arena, name);
    ed25519_id(&out->bytes, out->id);
    return true;
}

static bool check_writers(const char *path, Error *err)
{
    return !file_is_writable_by_others(path) ||
           error_set(err, ERROR_DENIED, "%s: not trusted, because other users can write to it",
                     path);
}

bool trusted_keys_load(Arena *arena, const char *config, TrustedKeys *out, Error *err)
{
    static const char *const suffixes[] = { ".pub", NULL };
    Str directory = arena_format(arena, "%s/trusted-keys", config);
    const char *path = arena_copy_c(arena, directory);
    *out = (TrustedKeys){ 0 };
    if (!file_is_directory(path)) {
        return true;
    }
    FileList files;
    if (!check_writers(config, err) || !check_writers(path, err) ||
        !file_list(arena, path, suffixes, TRUSTED_KEYS_MAX, &files, err)) {
        return false;
    }
    for (uint32_t i = 0; i < files.count; i++) {
        const char *file = arena_copy_c(arena, files.paths[i]);
        Str text;
        PublicKey key;
        if (!check_writers(file, err) || !file_read(arena, file, KEY_FILE_MAX, &text, err)) {
            return false;
        }
        if (!public_key_parse(arena, text, &key, err)) {
            return error_wrap(err, "%s", file);
        }
        VEC_PUSH(arena, out, key);
    }
    return true;
}

/* The first line prevents a signature from being valid for any other use of the same key. */
static Str message_of(Arena *arena, Str module, Str bytes)
{
    char digits[SHA256_HEX + 1];
    sha256_hex(bytes, digits);
    return arena_format(arena, "eden.module-signature/1\n%" STR_FMT "\n%s\n", STR_ARG(module),
                        digits);
}

bool signature_make(Arena *arena, const Ed25519Private *key, Str module, Str bytes, Str *out,
                    Error *err)
{
    Ed25519Public public;
    Ed25519Signature signature;
    if (!ed25519_public(key, &public, err) ||
        !ed25519_sign(key, message_of(arena, module, bytes), &signature, err)) {
        return false;
    }
    char id[ED25519_ID + 1];
    ed25519_id(&public, id);
    *out = arena_format(arena, "%s %s %" STR_FMT "\n", signature_format, id,
                        STR_ARG(ed25519_text(arena, signature.bytes, ED25519_SIGNATURE)));
    return true;
}

static const PublicKey *find_key(const TrustedKeys *keys, Str id)
{
    for (uint32_t i = 0; i < keys->len; i++) {
        if (str_eq_c(id, keys->items[i].id)) {
            return &keys->items[i];
        }
    }
    return NULL;
}

/* Do not show the ID unless it is well-formed. */
static bool is_id(Str text)
{
    bool digits = text.len == ED25519_ID;
    for (size_t i = 0; digits && i < text.len; i++) {
        digits = ascii_hex_value(text.data[i]) >= 0;
    }
    return digits;
}

bool signature_verify(const TrustedKeys *keys, Str module, Str bytes, Str signature, Str *signer,
                      const PublicKey **key, Error *err)
{
    Str id, encoded;
    Ed25519Signature given;
    *key = NULL;
    *signer = STR_EMPTY;
    if (!split(signature, signature_format, &id, &encoded) || !is_id(id) ||
        !ed25519_from_text(encoded, given.bytes, sizeof given.bytes)) {
        return error_set(err, ERROR_DENIED, "its signature was not created by 'eden modules sign'");
    }
    *signer = id;
    const PublicKey *known = find_key(keys, id);
    if (known == NULL) {
        return error_set(err, ERROR_DENIED,
                         "it is signed by key %" STR_FMT
                         ", which this node does not trust: no *.pub file in trusted-keys contains "
                         "it (hidden files are ignored)",
                         STR_ARG(id));
    }
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    if (!ed25519_verify(&known->bytes, message_of(&scratch, module, bytes), &given)) {
        return error_set(err, ERROR_DENIED,
                         "its signature by '%" STR_FMT
                         "' is invalid: its content or name has changed since it was signed",
                         STR_ARG(known->name));
    }
    *key = known;
    return true;
}
