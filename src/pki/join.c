#include "pki/join.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/utc.h"
#include "lang/record.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "sys/sha256.h"

#define FORMAT "eden.join/1"

enum {
    NONCE_BYTES = 16,
};

_Static_assert(JOIN_NONCE_TEXT == BASE32_TEXT(NONCE_BYTES), "a nonce is base32");

/* --- JSON ------------------------------------------------------------------------------------ */

/* The request, with its proofs as base64. */
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

static const RecordField token_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(TokenProof, id), .is_required = true,
      .check_text = token_record_check_id, .help = "ID of the token" },
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
      .help = "time on the machine's clock" },
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

/* --- Creating -------------------------------------------------------------------------------- */

/* The text that both proofs sign: every field of the request in canonical form, each on its own
 * line. No field can contain a newline. */
static Str signed_text(Arena *arena, const JoinRequest *request, Str csr)
{
    char pin[PIN_TEXT + 1], csr_digits[SHA256_HEX + 1];
    pin_text(&request->ca, pin);
    sha256_hex(csr, csr_digits);
    return arena_format(arena, "%s\nname %s\nca %s\ncsr %s\nnonce %s\ntime %lld\ntoken %s\n",
                        FORMAT, request->name, pin, csr_digits, request->nonce,
                        (long long)request->time_ms, request->has_token ? request->token_id : "-");
}

static bool generate_nonce(char out[JOIN_NONCE_TEXT + 1], Error *err)
{
    unsigned char bytes[NONCE_BYTES];
    crypto_begin();
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate a random number");
    }
    base32_write(bytes, sizeof bytes, out);
    return crypto_done();
}

/* The private key exists only here. */
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

bool join_request_make(Arena *arena, const JoinParams *params, Str *out,
                       char nonce[JOIN_NONCE_TEXT + 1], Error *err)
{
    JoinMessage message = { .request = { .ca = params->ca,
                                         .time_ms = params->now_ms,
                                         .has_token = params->token != NULL } };
    JoinRequest *request = &message.request;
    if (!node_name_check(params->name, err) || !csr_make(arena, params->key, &message.csr, err) ||
        !generate_nonce(request->nonce, err)) {
        return false;
    }
    memcpy(request->name, params->name.data, params->name.len);
    if (params->token != NULL) {
        memcpy(request->token_id, params->token->id, sizeof request->token_id);
    }
    Str text = signed_text(arena, request, message.csr);
    P256Signature proof;
    if (!p256_private_sign(params->key, text, &proof, err) ||
        (params->token != NULL &&
         !sign_for_token(arena, params->token, text, &message.token, err))) {
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

/* Accepts only canonical base64. */
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
    if (!record_read(&message_format, arena, text, RECORD_EXTERNAL, &message, err)) {
        return false;
    }
    if (!check_proofs(arena, &message, &message.request, err)) {
        return error_wrap(err, "%s", message_format.what);
    }
    *out = message.request;
    return true;
}

/* --- Decision -------------------------------------------------------------------------------- */

/* "2 h 5 min", "7 s": smaller units only if significant. */
static void duration_text(uint64_t ms, char *out, size_t size)
{
    uint64_t seconds = ms / 1000, minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (days > 0) {
        snprintf(out, size, "%llu d %llu h", (unsigned long long)days,
                 (unsigned long long)(hours % 24));
    } else if (hours > 0) {
        snprintf(out, size, "%llu h %llu min", (unsigned long long)hours,
                 (unsigned long long)(minutes % 60));
    } else if (minutes > 0) {
        snprintf(out, size, "%llu min %llu s", (unsigned long long)minutes,
                 (unsigned long long)(seconds % 60));
    } else {
        snprintf(out, size, "%llu s", (unsigned long long)seconds);
    }
}

bool join_clocks_check(int64_t server_ms, int64_t joiner_ms, int64_t max_ms, Error *err)
{
    /* Unsigned, because the difference may exceed 63 bits: one of the times is untrusted. */
    uint64_t apart = server_ms > joiner_ms ? (uint64_t)server_ms - (uint64_t)joiner_ms
                                           : (uint64_t)joiner_ms - (uint64_t)server_ms;
    if (apart <= (uint64_t)max_ms) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char difference[64], allowed[64];
    duration_text(apart, difference, sizeof difference);
    duration_text((uint64_t)max_ms, allowed, sizeof allowed);
    Str server = utc_text(&arena, server_ms), joiner = utc_text(&arena, joiner_ms);
    return error_set(
        err, ERROR_DENIED,
        "the clocks differ by %s, more than the allowed %s: the server's clock reads %" STR_FMT
        ", the joining machine's %" STR_FMT,
        difference, allowed, STR_ARG(server), STR_ARG(joiner));
}

static void reject(JoinVerdict *out, JoinReason reason, const char *text)
{
    out->result = JOIN_REFUSED;
    out->reason = reason;
    snprintf(out->text, sizeof out->text, "%s", text);
}

static bool trusts_current_ca(const JoinFacts *facts, const Pin *pin)
{
    for (uint32_t i = 0; i < facts->ca_count; i++) {
        if (pin_equal(&facts->cas[i], pin)) {
            return true;
        }
    }
    return false;
}

static JoinReason token_reason(TokenVerdict verdict)
{
    switch (verdict) {
    case TOKEN_VALID: return JOIN_REASON_NONE;
    case TOKEN_UNKNOWN: return JOIN_REASON_TOKEN_UNKNOWN;
    case TOKEN_WRONG: return JOIN_REASON_TOKEN_WRONG;
    case TOKEN_EXPIRED: return JOIN_REASON_TOKEN_EXPIRED;
    case TOKEN_USED_UP: return JOIN_REASON_TOKEN_USED_UP;
    }
    BUG("no reason for verdict %d", (int)verdict);
}

static void decide_token(const JoinRequest *request, const JoinFacts *facts, JoinVerdict *out)
{
    /* A record with another ID is ignored. */
    const TokenRecord *record =
        facts->token != NULL && strcmp(facts->token->id, request->token_id) == 0 ? facts->token
                                                                                 : NULL;
    TokenVerdict verdict = token_check(record, &request->token_key, facts->now_ms);
    bool same_key = facts->enrolled != NULL && pin_equal(facts->enrolled, &request->key_pin);
    /* The first response was lost. Otherwise, a token for one machine would be used up without
     * admitting it. */
    bool is_repeated = same_key && str_eq_c(facts->enrolled_token, request->token_id) &&
                       (verdict == TOKEN_VALID || verdict == TOKEN_USED_UP);
    if (is_repeated) {
        out->is_repeated = true;
    } else if (verdict != TOKEN_VALID) {
        reject(out, token_reason(verdict), token_verdict_text(verdict));
        return;
    } else if (facts->enrolled != NULL) {
        out->result = JOIN_REFUSED;
        out->reason = JOIN_REASON_NAME_TAKEN;
        snprintf(out->text, sizeof out->text,
                 "node '%s' already exists; run 'eden nodes remove' on a server, or join with "
                 "another --name",
                 request->name);
        return;
    }
    out->result = JOIN_ADMITTED;
    snprintf(out->text, sizeof out->text, "admitted as '%s'", request->name);
}

void join_decide(const JoinRequest *request, const JoinFacts *facts, JoinVerdict *out)
{
    int64_t skew = facts->skew_max_ms == 0 ? JOIN_SKEW_MS : facts->skew_max_ms;
    Error err;
    *out = (JoinVerdict){ .result = JOIN_REFUSED };
    if (!join_clocks_check(facts->now_ms, request->time_ms, skew, &err)) {
        reject(out, JOIN_REASON_CLOCK, err.text);
        return;
    }
    /* After that time, the clock check rejects the request even if the nonce was forgotten. */
    int64_t last = INT64_MAX - skew - 1;
    out->remember_until_ms = (request->time_ms < last ? request->time_ms : last) + skew + 1;
    if (facts->nonce_seen) {
        reject(out, JOIN_REASON_REPLAY, "this request was received before; send a new one");
        return;
    }
    if (!trusts_current_ca(facts, &request->ca)) {
        reject(out, JOIN_REASON_CA,
               "the pinned CA is not, or is no longer, a CA of this cluster; run 'eden tokens "
               "create' again and use the command that it prints");
        return;
    }
    if (request->has_token) {
        decide_token(request, facts, out);
        return;
    }
    /* The first response was lost; no second approval is needed. */
    out->is_repeated = facts->enrolled_is_valid && facts->enrolled != NULL &&
                       pin_equal(facts->enrolled, &request->key_pin);
    /* The approval is for a key under a name, not for any machine with that name. */
    if (out->is_repeated ||
        (facts->approved != NULL && pin_equal(facts->approved, &request->key_pin))) {
        out->result = JOIN_ADMITTED;
        snprintf(out->text, sizeof out->text, "admitted as '%s'", request->name);
        return;
    }
    out->result = JOIN_PENDING;
    snprintf(out->text, sizeof out->text, "'%s' is waiting for approval", request->name);
}
