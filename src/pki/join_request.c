#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/json_text.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "pki/join.h"
#include "pki/json_fields.h"
#include "sys/sha256.h"

static const char format[] = "eden.join/1";

enum {
    NONCE_BYTES = 16,
    NODES_MAX = 64,
    PROOF_TEXT_MAX = (P256_SIGNATURE_MAX + 2) / 3 * 4,
};

_Static_assert(JOIN_NONCE_TEXT == BASE32_TEXT(NONCE_BYTES), "a nonce is base32");

/* What both proofs sign: every field of the message, each in one spelling and on a line of its own.
 * None of them can hold a line end. */
static Str signed_text(Arena *arena, const JoinRequest *request, Str csr)
{
    char pin[PIN_TEXT + 1], csr_digits[SHA256_HEX + 1];
    pin_text(&request->ca, pin);
    sha256_hex(csr, csr_digits);
    return arena_format(arena, "%s\nname %s\nca %s\ncsr %s\nnonce %s\ntime %lld\ntoken %s\n",
                        format, request->name, pin, csr_digits, request->nonce,
                        (long long)request->time_ms, request->has_token ? request->token_id : "-");
}

static bool draw_nonce(char out[JOIN_NONCE_TEXT + 1], Error *err)
{
    unsigned char bytes[NONCE_BYTES];
    crypto_begin();
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot draw a number");
    }
    base32_write(bytes, sizeof bytes, out);
    return crypto_done();
}

/* The private half exists only here. */
static bool sign_for_token(const Token *token, Str message, Ed25519Public *key,
                           Ed25519Signature *proof, Error *err)
{
    Ed25519Private private;
    token_key(token, &private);
    bool ok = ed25519_public(&private, key, err) && ed25519_sign(&private, message, proof, err);
    ed25519_forget(&private);
    return ok;
}

bool join_request_make(Arena *arena, const JoinWish *wish, Str *out,
                       char nonce[JOIN_NONCE_TEXT + 1], Error *err)
{
    JoinRequest request = { .ca = wish->ca,
                            .time_ms = wish->now_ms,
                            .has_token = wish->token != NULL };
    Str csr;
    P256Signature proof;
    if (!node_name_check(wish->name, err) || !csr_make(arena, wish->key, &csr, err) ||
        !draw_nonce(request.nonce, err)) {
        return false;
    }
    memcpy(request.name, wish->name.data, wish->name.len);
    if (wish->token != NULL) {
        memcpy(request.token_id, wish->token->id, sizeof request.token_id);
    }
    Str message = signed_text(arena, &request, csr);
    if (!p256_private_sign(wish->key, message, &proof, err)) {
        return false;
    }
    char pin[PIN_TEXT + 1];
    pin_text(&request.ca, pin);
    Buf text = buf_make_in(arena, JOIN_REQUEST_MAX);
    buf_put_format(&text, "{\"format\":\"%s\",\"name\":\"%s\",\"ca\":\"%s\",\"csr\":", format,
                   request.name, pin);
    json_text_put(&text, csr);
    buf_put_format(&text, ",\"nonce\":\"%s\",\"time_ms\":%lld,\"proof\":\"", request.nonce,
                   (long long)request.time_ms);
    buf_put(&text, ed25519_text(arena, proof.bytes, proof.len));
    buf_put(&text, STR("\""));
    if (wish->token != NULL) {
        Ed25519Signature token_proof;
        if (!sign_for_token(wish->token, message, &request.token_key, &token_proof, err)) {
            return false;
        }
        buf_put_format(&text, ",\"token\":{\"id\":\"%s\",\"key\":\"", request.token_id);
        buf_put(&text, ed25519_text(arena, request.token_key.bytes, ED25519_KEY));
        buf_put(&text, STR("\",\"proof\":\""));
        buf_put(&text, ed25519_text(arena, token_proof.bytes, ED25519_SIGNATURE));
        buf_put(&text, STR("\"}"));
    }
    buf_put(&text, STR("}"));
    memcpy(nonce, request.nonce, sizeof request.nonce);
    *out = buf_str(&text);
    return true;
}

/* Base64 in the one spelling that it has. */
static bool read_proof(Str text, P256Signature *out)
{
    unsigned char bytes[PROOF_TEXT_MAX], again[PROOF_TEXT_MAX + 1];
    if (text.len == 0 || text.len > PROOF_TEXT_MAX || text.len % 4 != 0) {
        return false;
    }
    crypto_begin();
    int len = EVP_DecodeBlock(bytes, (const unsigned char *)text.data, (int)text.len);
    crypto_done();
    for (size_t pads = 0; pads < 2 && len > 0 && text.data[text.len - 1 - pads] == '='; pads++) {
        len--;
    }
    if (len <= 0 || len > P256_SIGNATURE_MAX) {
        return false;
    }
    EVP_EncodeBlock(again, bytes, len);
    if (memcmp(again, text.data, text.len) != 0) {
        return false;
    }
    memcpy(out->bytes, bytes, (size_t)len);
    out->len = (size_t)len;
    return true;
}

static bool read_token(Value token, JoinRequest *request, Ed25519Signature *proof, Error *err)
{
    Value id, key, signature;
    const JsonField fields[] = {
        { "id", VALUE_STRING, false, &id },
        { "key", VALUE_STRING, false, &key },
        { "proof", VALUE_STRING, false, &signature },
    };
    if (!json_fields_read(token, fields, COUNT_OF(fields), err)) {
        return error_wrap(err, "'token'");
    }
    if (!token_id_check(value_str(id)) ||
        !json_copy(id, request->token_id, sizeof request->token_id) ||
        !ed25519_from_text(value_str(key), request->token_key.bytes, ED25519_KEY) ||
        !ed25519_from_text(value_str(signature), proof->bytes, ED25519_SIGNATURE)) {
        return error_set(err, ERROR_INVALID, "'token' is not in its form");
    }
    request->has_token = true;
    return true;
}

static bool is_nonce(Str text)
{
    unsigned char bytes[NONCE_BYTES];
    return base32_read(text, bytes, sizeof bytes);
}

static bool read_message(Arena *arena, Str text, JoinRequest *out, Error *err)
{
    Value object, said, name, ca, csr, nonce, time_ms, proof_text, token = value_missing();
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "name", VALUE_STRING, false, &name },
        { "ca", VALUE_STRING, false, &ca },
        { "csr", VALUE_STRING, false, &csr },
        { "nonce", VALUE_STRING, false, &nonce },
        { "time_ms", VALUE_INT, false, &time_ms },
        { "proof", VALUE_STRING, false, &proof_text },
        { "token", VALUE_MAP, true, &token },
    };
    JoinRequest read = { 0 };
    P256Signature proof;
    Ed25519Signature token_proof;
    if (!json_object_read(arena, text, JOIN_REQUEST_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, format, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !node_name_check(value_str(name), err) || !pin_parse(value_str(ca), &read.ca, err)) {
        return false;
    }
    if (!json_copy(name, read.name, sizeof read.name) || !is_nonce(value_str(nonce)) ||
        !json_copy(nonce, read.nonce, sizeof read.nonce)) {
        return error_set(err, ERROR_INVALID, "'nonce' is not in its form");
    }
    if (!read_proof(value_str(proof_text), &proof)) {
        return error_set(err, ERROR_INVALID, "'proof' is not in its form");
    }
    read.time_ms = time_ms.integer;
    if (!value_is_missing(token) && !read_token(token, &read, &token_proof, err)) {
        return false;
    }
    if (!csr_read(value_str(csr), &read.key, err)) {
        return false;
    }
    p256_public_pin(&read.key, &read.key_pin);
    Str message = signed_text(arena, &read, value_str(csr));
    if (!p256_public_verify(&read.key, message, &proof)) {
        return error_set(err, ERROR_INVALID,
                         "it is not signed with the key that it wants a certificate for");
    }
    if (read.has_token && !ed25519_verify(&read.token_key, message, &token_proof)) {
        return error_set(err, ERROR_INVALID, "it is not signed with the key of its token");
    }
    *out = read;
    return true;
}

bool join_request_read(Arena *arena, Str text, JoinRequest *out, Error *err)
{
    return read_message(arena, text, out, err) || error_wrap(err, "the request to join");
}
