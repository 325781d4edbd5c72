/* The key with which a server logs in to machines that want to join: Ed25519, in OpenSSH's file
 * format. */
#pragma once

#include "sys/directory.h"
#include "sys/ed25519.h"

enum {
    SSH_PRIVATE_MAX = 512,    /* maximum size of the private file, in bytes */
    SSH_COMMENT_MAX = 64,     /* bytes */
    SSH_FINGERPRINT_TEXT = 50 /* "SHA256:" and 43 base64 characters */
};

/* Formats the files as ssh-keygen does: the private file for `ssh -i`, without a passphrase, and
 * the public line. `comment` is one word of at most SSH_COMMENT_MAX bytes. The first is secret and
 * must be wiped by the caller. Fails only if libcrypto does. */
typedef struct SshPrivateText {
    char text[SSH_PRIVATE_MAX];
    size_t len;
} SshPrivateText;
void ssh_private_text_clear(SshPrivateText *text);
DEFINE_AUTO_CLEAR(SshPrivateText, ssh_private_text_clear)

/* Generates a key that is not stored in a file: its private text, and its public line. */
MUST_CHECK bool ssh_key_make(Str comment, Arena *arena, SshPrivateText *out, Str *line, Error *err);

/* Returns the public line of the key in the file `name`, which is created if it does not exist;
 * `name`.pub has a copy for users. Fails with ERROR_INVALID if the file is not a key of this kind,
 * ERROR_DENIED if other users can read it, or with the error of the file operation. */
MUST_CHECK bool ssh_key_ensure(const Directory *directory, const char *name, Str comment,
                               Arena *arena, Str *line, Error *err);

/* The fingerprint: "SHA256:", the digest of the key's bytes in base64, and a NUL. `blob` is the key
 * in base64; returns false if it is invalid. */
MUST_CHECK bool ssh_fingerprint(Str blob, char out[SSH_FINGERPRINT_TEXT + 1]);
