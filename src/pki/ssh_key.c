#include "pki/ssh_key.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/bug.h"
#include "base/hex.h"
#include "pki/crypto_fault.h"
#include "pki/pem.h"
#include "sys/sha256.h"

#define KEY_TYPE   STR("ssh-ed25519")
#define FILE_LABEL "OPENSSH PRIVATE KEY"
#define MAGIC      "openssh-key-v1" /* with its NUL */

enum {
    CHECK_BYTES = 4,
    PAD_TO = 8,
    KEY_BLOB = 4 + 11 + 4 + ED25519_KEY, /* bytes of a public key with its type */
    /* maximum size of the private file before base64, in bytes */
    KEY_FILE_MAX = 384
};

/* A bounded buffer, large enough for the longest comment. */
typedef struct WireBuffer {
    unsigned char bytes[KEY_FILE_MAX];
    size_t len;
} WireBuffer;

static void put_bytes(WireBuffer *wire, const void *bytes, size_t len)
{
    BUG_IF(len > sizeof wire->bytes - wire->len);
    memcpy(wire->bytes + wire->len, bytes, len);
    wire->len += len;
}

static void put_number(WireBuffer *wire, uint32_t number)
{
    unsigned char bytes[] = { (unsigned char)(number >> 24), (unsigned char)(number >> 16),
                              (unsigned char)(number >> 8), (unsigned char)number };
    put_bytes(wire, bytes, sizeof bytes);
}

static void put_text(WireBuffer *wire, const void *bytes, size_t len)
{
    put_number(wire, (uint32_t)len);
    put_bytes(wire, bytes, len);
}

static void put_public(WireBuffer *wire, const Ed25519Public *key)
{
    put_text(wire, KEY_TYPE.data, KEY_TYPE.len);
    put_text(wire, key->bytes, sizeof key->bytes);
}

/* --- Encoding -------------------------------------------------------------------------------- */

void ssh_private_text_clear(SshPrivateText *text)
{
    OPENSSL_cleanse(text, sizeof *text);
}

static void put_start(WireBuffer *wire)
{
    put_bytes(wire, MAGIC, sizeof MAGIC);
    put_text(wire, "none", 4); /* cipher */
    put_text(wire, "none", 4); /* key derivation function */
    put_text(wire, "", 0);     /* and its options */
    put_number(wire, 1);       /* number of keys */
}

/* The private part, in OpenSSH's format: the key pair, preceded by a random number that is repeated
 * so that a wrong password can be detected. The file is not encrypted. */
static void put_secret(WireBuffer *wire, const Ed25519Private *key, const Ed25519Public *public,
                       const unsigned char check[CHECK_BYTES], Str comment)
{
    put_bytes(wire, check, CHECK_BYTES);
    put_bytes(wire, check, CHECK_BYTES);
    put_public(wire, public);
    put_number(wire, sizeof key->bytes + sizeof public->bytes);
    put_bytes(wire, key->bytes, sizeof key->bytes);
    put_bytes(wire, public->bytes, sizeof public->bytes);
    put_text(wire, comment.data, comment.len);
    for (unsigned char pad = 1; wire->len % PAD_TO != 0; pad++) {
        put_bytes(wire, &pad, 1);
    }
}

static bool ssh_private_text(const Ed25519Private *key, Str comment, SshPrivateText *out,
                             Error *err)
{
    Ed25519Public public;
    unsigned char check[CHECK_BYTES];
    WireBuffer secret = { 0 }, known = { 0 }, file = { 0 };
    BUG_IF(comment.len > SSH_COMMENT_MAX);
    crypto_begin();
    if (!ed25519_public(key, &public, err) || RAND_bytes(check, sizeof check) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate an SSH key");
    }
    put_public(&known, &public);
    put_secret(&secret, key, &public, check, comment);
    put_start(&file);
    put_text(&file, known.bytes, known.len);
    put_text(&file, secret.bytes, secret.len);
    out->len = pem_size(FILE_LABEL, file.len);
    BUG_IF(out->len > sizeof out->text);
    pem_write(FILE_LABEL, file.bytes, file.len, out->text);
    OPENSSL_cleanse(&secret, sizeof secret);
    OPENSSL_cleanse(&file, sizeof file);
    return crypto_done();
}

/* "ssh-ed25519 AAAA... comment" */
static Str ssh_public_text(Arena *arena, const Ed25519Public *key, Str comment)
{
    WireBuffer wire = { 0 };
    Buf line = buf_make_in(arena, BUF_UNLIMITED);
    put_public(&wire, key);
    buf_put(&line, KEY_TYPE);
    buf_put_char(&line, ' ');
    base64_encode(&line, str_from((const char *)wire.bytes, wire.len));
    buf_put_char(&line, ' ');
    buf_put(&line, comment);
    return buf_str(&line);
}

bool ssh_fingerprint(Str blob, char out[SSH_FINGERPRINT_TEXT + 1])
{
    AUTO_CLEAR(Arena) arena;
    Str bytes;
    char digits[SHA256_HEX + 1];
    unsigned char digest[SHA256_HEX / 2];
    arena_init(&arena, ARENA_UNLIMITED);
    if (blob.len == 0 || !base64_decode(&arena, blob, &bytes) || bytes.len == 0) {
        return false;
    }
    sha256_hex(bytes, digits);
    hex_decode(digits, sizeof digest, digest);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    base64_encode(&text, str_from((const char *)digest, sizeof digest));
    /* OpenSSH omits the padding. */
    snprintf(out, SSH_FINGERPRINT_TEXT + 1, "SHA256:%.43s", text.data);
    return true;
}

/* --- Files ----------------------------------------------------------------------------------- */

static bool make_text(Str comment, SshPrivateText *out, Ed25519Public *public, Error *err)
{
    Ed25519Private key;
    bool ok = ed25519_make(&key, err) && ed25519_public(&key, public, err) &&
              ssh_private_text(&key, comment, out, err);
    ed25519_forget(&key);
    return ok;
}

bool ssh_key_make(Str comment, Arena *arena, SshPrivateText *out, Str *line, Error *err)
{
    Ed25519Public public;
    if (!make_text(comment, out, &public, err)) {
        return false;
    }
    *line = ssh_public_text(arena, &public, comment);
    return true;
}

static bool make_key(const Directory *directory, const char *name, Str comment, Ed25519Public *out,
                     Error *err)
{
    AUTO_CLEAR(SshPrivateText) text = { 0 };
    return make_text(comment, &text, out, err) &&
           directory_write(directory, name, str_from(text.text, text.len), true, err);
}

/* The private file contains the public key, before the private part. */
static bool find_public(const unsigned char *bytes, size_t len, Ed25519Public *out)
{
    WireBuffer start = { 0 };
    Ed25519Public none = { 0 };
    put_start(&start);
    put_number(&start, KEY_BLOB);
    put_public(&start, &none);
    size_t known = start.len - sizeof out->bytes;
    if (len < start.len || memcmp(bytes, start.bytes, known) != 0) {
        return false;
    }
    memcpy(out->bytes, bytes + known, sizeof out->bytes);
    return true;
}

static bool load_key(const Directory *directory, const char *name, Ed25519Public *out, Error *err)
{
    AUTO_CLEAR(SshPrivateText) text = { 0 };
    WireBuffer file = { 0 };
    PemBlock block;
    if (!directory_read_private(directory, name, text.text, sizeof text.text, &text.len, err)) {
        return false;
    }
    bool ok = pem_read_single(str_from(text.text, text.len), FILE_LABEL, &block, err) &&
              pem_bytes_max(&block) <= sizeof file.bytes &&
              pem_bytes(&block, file.bytes, &file.len, err) &&
              find_public(file.bytes, file.len, out);
    OPENSSL_cleanse(&file, sizeof file);
    return ok || error_set(err, ERROR_INVALID,
                           "%s/%s was not generated by eden; remove the file to generate a new key",
                           directory->path, name);
}

bool ssh_key_ensure(const Directory *directory, const char *name, Str comment, Arena *arena,
                    Str *line, Error *err)
{
    const char *public_name = arena_format(arena, "%s.pub%c", name, '\0').data;
    Ed25519Public public;
    if (!(directory_has(directory, name) ? load_key(directory, name, &public, err)
                                         : make_key(directory, name, comment, &public, err))) {
        return false;
    }
    *line = ssh_public_text(arena, &public, comment);
    return directory_has(directory, public_name) ||
           directory_write(directory, public_name, *line, true, err);
}
