#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/base64.h"
#include "lang/record.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "pki/join.h"
#include "sys/sha256.h"

#define FORMAT "eden.join/1"

enum {
    NONCE_BYTES = 16,
};

_Static_assert(JOIN_NONCE_TEXT == BASE32_TEXT(NONCE_BYTES), "a nonce is base32");

/* --- As JSON --------------------------------------------------------------------------------- */

/* The request, with what proves it as base64. */
typedef struct TokenProof {
    char id[TOKEN_ID_TEXT + 1];
    Str key, proof;
} TokenProof;

typedef struct JoinMessage {
    JoinRequest request;
    Str csr, proof;
    TokenProof token;
} JoinMessage;

static bool check_nonce(Str text, Error *err)
{
    unsigned char bytes[NONCE_BYTES];
    return base32_read(text, bytes, sizeof bytes) ||
           error_set(err, ERROR_INVALID, "must be %d letters and digits", JOIN_NONCE_TEXT);
}

static bool check_token_id(Str id, Error *err)
{
    return token_id_check(id) || error_set(err, ERROR_INVALID, "must be a token ID");
}

static const RecordField token_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(TokenProof, id), .is_required = true,
      .check_text = check_token_id, .help = "ID of the token" },
    { "key", RECORD_TEXT, RECORD_STR_AT(TokenProof, key), .is_required = true,
      .help = "its public key" },
    { "proof", RECORD_TEXT, RECORD_STR_AT(TokenProof, proof), .is_required = true,
      .help = "signature with that key" },
    { 0 },
};

static const RecordField message_fields[] = {
    { "name", RECORD_TEXT, RECORD_CHARS_AT(JoinMessage, request.name), .is_required = true,
      .check_text = node_name_check, .help = "requested name" },
    { "ca", RECORD_TEXT, RECORD_CODED_AT(JoinMessage, request.ca, Pin, pin_codec),
      .is_required = true, .help = "pin of the CA that the machine trusts" },
    { "csr", RECORD_TEXT, RECORD_STR_AT(JoinMessage, csr), .is_required = true,
      .help = "certificate request, as PEM" },
    { "nonce", RECORD_TEXT, RECORD_CHARS_AT(JoinMessage, request.nonce), .is_required = true,
      .check_text = check_nonce, .help = "random number of the request" },
    { "time_ms", RECORD_INT, RECORD_INT_AT(JoinMessage, request.time_ms), .is_required = true,
      .help = "time of the machine" },
    { "proof", RECORD_TEXT, RECORD_STR_AT(JoinMessage, proof), .is_required = true,
      .help = "signature with the key of the machine" },
    { "token", RECORD_OBJECT, RECORD_STRUCT_AT(JoinMessage, token, TokenProof, token_fields),
      .help = "proof that the machine has a token" },
    { 0 },
};

static const RecordFormat message_format = {
    .format = FORMAT,
    .what = "the join request",
    .fields = message_fields,
    .size = sizeof(JoinMessage),
    .text_max = JOIN_REQUEST_MAX,
};

/* --- Making ---------------------------------------------------------------------------------- */

/* What both proofs sign: every field of the message, each in one spelling and on a line of its own.
 * None of them can hold a line end. */
static Str signed_text(Arena *arena, const JoinRequest *request, Str csr)
{
    char pin[PIN_TEXT + 1], csr_digits[SHA256_HEX + 1];
    pin_text(&request->ca, pin);
    sha256_hex(csr, csr_digits);
    return arena_format(arena, "%s\nname %s\nca %s\ncsr %s\nnonce %s\ntime %lld\ntoken %s\n",
                        FORMAT, request->name, pin, csr_digits, request->nonce,
                        (long long)request->time_ms, request->has_token ? request->token_id : "-");
}

static bool draw_nonce(char out[JOIN_NONCE_TEXT + 1], Error *err)
{
    unsigned char bytes[NONCE_BYTES];
    crypto_begin();
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate a random number");
    }
    base32_write(bytes, sizeof bytes, out);
    return crypto_done();
}

/* The private half exists only here. */
static bool sign_for_token(Arena *arena, const Token *token, Str text, TokenProof *out, Error *err)
{
    Ed25519Private private;
    Ed25519Public key;
    Ed25519Signature proof;
    token_key(token, &private);
    bool ok = ed25519_public(&private, &key, err) && ed25519_sign(&private, text, &proof, err);
    ed25519_forget(&private);
    if (ok) {
        memcpy(out->id, token->id, sizeof out->id);
        out->key = ed25519_text(arena, key.bytes, sizeof key.bytes);
        out->proof = ed25519_text(arena, proof.bytes, sizeof proof.bytes);
    }
    return ok;
}

bool join_request_make(Arena *arena, const JoinWish *wish, Str *out,
                       char nonce[JOIN_NONCE_TEXT + 1], Error *err)
{
    JoinMessage message = {
        .request = { .ca = wish->ca, .time_ms = wish->now_ms, .has_token = wish->token != NULL }
    };
    JoinRequest *request = &message.request;
    if (!node_name_check(wish->name, err) || !csr_make(arena, wish->key, &message.csr, err) ||
        !draw_nonce(request->nonce, err)) {
        return false;
    }
    memcpy(request->name, wish->name.data, wish->name.len);
    if (wish->token != NULL) {
        memcpy(request->token_id, wish->token->id, sizeof request->token_id);
    }
    Str text = signed_text(arena, request, message.csr);
    P256Signature proof;
    if (!p256_private_sign(wish->key, text, &proof, err) ||
        (wish->token != NULL && !sign_for_token(arena, wish->token, text, &message.token, err))) {
        return false;
    }
    message.proof = ed25519_text(arena, proof.bytes, proof.len);
    Buf json = buf_make_in(arena, JOIN_REQUEST_MAX);
    record_print(&message_format, &message, &json);
    memcpy(nonce, request->nonce, sizeof request->nonce);
    *out = buf_str(&json);
    return true;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* Base64 in the one spelling that it has. */
static bool read_proof(Arena *arena, Str text, P256Signature *out)
{
    Str bytes;
    if (!base64_decode(arena, text, &bytes) || bytes.len == 0 || bytes.len > sizeof out->bytes) {
        return false;
    }
    memcpy(out->bytes, bytes.data, bytes.len);
    out->len = bytes.len;
    return str_eq(ed25519_text(arena, out->bytes, out->len), text);
}

static bool check_proofs(Arena *arena, const JoinMessage *message, JoinRequest *request, Error *err)
{
    const TokenProof *token = &message->token;
    P256Signature proof;
    Ed25519Signature token_proof;
    request->has_token = token->id[0] != '\0';
    memcpy(request->token_id, token->id, sizeof request->token_id);
    if (!read_proof(arena, message->proof, &proof)) {
        return error_set(err, ERROR_INVALID, "'proof': must be a signature in base64");
    }
    if (request->has_token &&
        (!ed25519_from_text(token->key, request->token_key.bytes, ED25519_KEY) ||
         !ed25519_from_text(token->proof, token_proof.bytes, ED25519_SIGNATURE))) {
        return error_set(err, ERROR_INVALID, "'token': must have a key and a signature in base64");
    }
    if (!csr_read(message->csr, &request->key, err)) {
        return false;
    }
    p256_public_pin(&request->key, &request->key_pin);
    Str text = signed_text(arena, request, message->csr);
    if (!p256_public_verify(&request->key, text, &proof)) {
        return error_set(err, ERROR_INVALID,
                         "it is not signed with the key of its certificate request");
    }
    return !request->has_token || ed25519_verify(&request->token_key, text, &token_proof) ||
           error_set(err, ERROR_INVALID, "it is not signed with the key of its token");
}

bool join_request_read(Arena *arena, Str text, JoinRequest *out, Error *err)
{
    JoinMessage message;
    if (!record_read(&message_format, arena, text, RECORD_OUTSIDE, &message, err)) {
        return false;
    }
    if (!check_proofs(arena, &message, &message.request, err)) {
        return error_wrap(err, "%s", message_format.what);
    }
    *out = message.request;
    return true;
}
