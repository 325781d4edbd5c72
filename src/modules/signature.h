/* Signatures of extension modules, their keys, and the keys that a node trusts.
 *
 * Each is a file of one line:
 *
 *     eden-private-key/1 BASE64 NAME     kept private by the signer
 *     eden-public-key/1 BASE64 NAME      in trusted-keys/ of the nodes that trust it, as NAME.pub
 *     eden-signature/1 KEY-ID BASE64     next to the module, as MODULE.sig
 *
 * A signature covers the name of the module and the SHA-256 of its bytes, so that neither can be
 * replaced. */
#pragma once

#include "base/vec.h"
#include "sys/ed25519.h"

enum {
    KEY_FILE_MAX = 4096,
    TRUSTED_KEYS_MAX = 1000,
    KEY_NAME_MAX = 128
};

typedef struct PublicKey {
    Ed25519Public bytes;
    char id[ED25519_ID + 1];
    Str name; /* for display */
} PublicKey;

typedef VEC(PublicKey) TrustedKeys;

/* Format the files. `name` is truncated if necessary. */
Str private_key_format(Arena *arena, const Ed25519Private *key, Str name);
Str public_key_format(Arena *arena, const Ed25519Public *key, Str name);
MUST_CHECK bool private_key_parse(Str text, Ed25519Private *out, Error *err);
/* The name is copied. */
MUST_CHECK bool public_key_parse(Arena *arena, Str text, PublicKey *out, Error *err);

/* Loads all *.pub files in trusted-keys/ of the node's directory; none if it does not exist. Fails
 * if any of them is unreadable, or if a file or the directory is writable by other users, rather
 * than guessing which keys to trust. */
MUST_CHECK bool trusted_keys_load(Arena *arena, const char *config, TrustedKeys *out, Error *err);

/* Creates the content of MODULE.sig. */
MUST_CHECK bool signature_make(Arena *arena, const Ed25519Private *key, Str module, Str bytes,
                               Str *out, Error *err);
/* Verifies that a trusted key has signed this module with these bytes. `signer` is set to the key
 * ID in the signature even if it is invalid, and empty if there is none. The error is suitable for
 * users. */
MUST_CHECK bool signature_verify(const TrustedKeys *keys, Str module, Str bytes, Str signature,
                                 Str *signer, const PublicKey **key, Error *err);
