/* Encodings: base64, hashes, UUIDs, URLs and shell quoting. */
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "lang/template/filter.h"

static const char base64_digits[] = BASE64_DIGITS;

static bool filter_b64encode(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    Buf encoded = render_buf(r);
    base64_encode(&encoded, text);
    return take_text(r, &encoded, false, out);
}

/* Like Python's b64decode: characters outside the alphabet are skipped, padding must be correct. */
static bool filter_b64decode(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    Buf decoded = render_buf(r);
    uint32_t bits = 0;
    unsigned digits = 0, padding = 0;
    for (size_t i = 0; i < text.len && padding + digits % 4 < 4; i++) {
        char c = text.data[i];
        if (c == '=') {
            padding += digits % 4 >= 2;
            continue;
        }
        const char *digit = c == '\0' ? NULL : strchr(base64_digits, c);
        if (digit == NULL) {
            continue;
        }
        padding = 0;
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        if (++digits % 4 != 1) {
            unsigned shift = 6 - 2 * ((digits - 1) % 4);
            buf_put_char(&decoded, (char)(bits >> shift & 0xff));
        }
    }
    if (digits % 4 == 1 || (digits % 4 > 0 && padding + digits % 4 < 4)) {
        return render_raise(r, FAULT_VALUE, "Incorrect padding");
    }
    if (!utf8_is_valid(buf_str(&decoded))) {
        return render_raise(r, FAULT_VALUE, "the decoded data is not UTF-8");
    }
    return take_text(r, &decoded, false, out);
}

typedef struct Digest {
    const char *name;
    const EVP_MD *(*algorithm)(void);
} Digest;

static const Digest digests[] = {
    { "md5", EVP_md5 },           { "sha1", EVP_sha1 },          { "sha224", EVP_sha224 },
    { "sha256", EVP_sha256 },     { "sha384", EVP_sha384 },      { "sha512", EVP_sha512 },
    { "sha3_224", EVP_sha3_224 }, { "sha3_256", EVP_sha3_256 },  { "sha3_384", EVP_sha3_384 },
    { "sha3_512", EVP_sha3_512 }, { "blake2b", EVP_blake2b512 }, { "blake2s", EVP_blake2s256 },
};

static bool digest(Render *r, Str type, Str text, unsigned char out[EVP_MAX_MD_SIZE],
                   unsigned *length)
{
    for (size_t i = 0; i < COUNT_OF(digests); i++) {
        if (!str_eq_c(type, digests[i].name)) {
            continue;
        }
        /* Templates must not read files, not even OpenSSL's configuration. */
        OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
        if (!op_charge_bytes(r, text.len)) {
            return false;
        }
        return EVP_Digest(text.data, text.len, out, length, digests[i].algorithm(), NULL) == 1 ||
               render_raise(r, FAULT_VALUE, "hash algorithm '%s' is not available",
                            digests[i].name);
    }
    return render_raise(r, FAULT_VALUE, "unknown hash algorithm '%" STR_FMT "'", STR_ARG(type));
}

static void put_hex(const unsigned char *bytes, size_t count, Buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_put_char(out, "0123456789abcdef"[bytes[i] >> 4]);
        buf_put_char(out, "0123456789abcdef"[bytes[i] & 15]);
    }
}

static bool put_digest(Render *r, Value v, Str type, Value *out)
{
    Str text;
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length;
    if (!op_text(r, v, &text) || !digest(r, type, text, bytes, &length)) {
        return false;
    }
    Buf hex = render_buf(r);
    put_hex(bytes, length, &hex);
    return take_text(r, &hex, false, out);
}

static bool filter_hash(Render *r, const Args *args, Value *out)
{
    Str type;
    return arg_text(r, args, 1, STR("sha1"), &type) && put_digest(r, args->values[0], type, out);
}

static bool filter_checksum(Render *r, const Args *args, Value *out)
{
    return put_digest(r, args->values[0], STR("sha1"), out);
}

static bool filter_md5(Render *r, const Args *args, Value *out)
{
    return put_digest(r, args->values[0], STR("md5"), out);
}

static bool filter_sha1(Render *r, const Args *args, Value *out)
{
    return put_digest(r, args->values[0], STR("sha1"), out);
}

static bool filter_sha256(Render *r, const Args *args, Value *out)
{
    return put_digest(r, args->values[0], STR("sha256"), out);
}

static bool filter_sha512(Render *r, const Args *args, Value *out)
{
    return put_digest(r, args->values[0], STR("sha512"), out);
}

/* Parses 16 bytes from "361e6d51-faec-444a-9079-341386da8e2e". */
static bool read_uuid(Str text, unsigned char out[16])
{
    size_t digits = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = ascii_hex_value(text.data[i]);
        if (value < 0) {
            if (text.data[i] != '-') {
                return false;
            }
            continue;
        }
        if (digits == 32) {
            return false;
        }
        unsigned char *byte = &out[digits / 2];
        *byte = (unsigned char)(digits % 2 == 0 ? value << 4 : *byte | value);
        digits++;
    }
    return digits == 32;
}

/* A name-based UUID (RFC 4122, version 5) in Ansible's namespace unless another one is passed. */
static bool filter_to_uuid(Render *r, const Args *args, Value *out)
{
    Str text, namespace_text;
    unsigned char bytes[EVP_MAX_MD_SIZE], name_space[16];
    unsigned length;
    if (!op_text(r, args->values[0], &text) ||
        !arg_text(r, args, 1, STR("361e6d51-faec-444a-9079-341386da8e2e"), &namespace_text)) {
        return false;
    }
    if (!read_uuid(namespace_text, name_space)) {
        return render_raise(r, FAULT_VALUE, "'%" STR_FMT "' is not a UUID",
                            STR_ARG(namespace_text));
    }
    Buf namespaced = render_buf(r);
    buf_put(&namespaced, str_from((const char *)name_space, sizeof name_space));
    buf_put(&namespaced, text);
    if (!digest(r, STR("sha1"), buf_str(&namespaced), bytes, &length)) {
        return false;
    }
    bytes[6] = (bytes[6] & 0x0f) | 0x50;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Buf uuid = render_buf(r);
    static const unsigned char parts[] = { 4, 2, 2, 2, 6 };
    size_t pos = 0;
    for (size_t i = 0; i < COUNT_OF(parts); pos += parts[i++]) {
        buf_put_c(&uuid, i == 0 ? "" : "-");
        put_hex(bytes + pos, parts[i], &uuid);
    }
    return take_text(r, &uuid, false, out);
}

static bool filter_urldecode(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    Buf decoded = render_buf(r);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        int high = c == '%' && i + 2 < text.len ? ascii_hex_value(text.data[i + 1]) : -1;
        int low = high >= 0 ? ascii_hex_value(text.data[i + 2]) : -1;
        if (low >= 0) {
            buf_put_char(&decoded, (char)(high << 4 | low));
            i += 2;
        } else {
            buf_put_char(&decoded, c == '+' ? ' ' : c);
        }
    }
    /* Invalid UTF-8 becomes U+FFFD, as in Python. */
    Str bytes = buf_str(&decoded);
    if (utf8_is_valid(bytes)) {
        return take_text(r, &decoded, false, out);
    }
    Buf replaced = render_buf(r);
    for (size_t pos = 0; pos < bytes.len;) {
        utf8_put(&replaced, utf8_next(bytes, &pos));
    }
    return take_text(r, &replaced, false, out);
}

static bool is_shell_safe(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_name(c) && (c == '\0' || strchr("@%+=:,./-", c) == NULL)) {
            return false;
        }
    }
    return text.len > 0;
}

/* Like shlex.quote(). */
static bool filter_quote(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    if (is_shell_safe(text)) {
        *out = value_string(text);
        return true;
    }
    Buf quoted = render_buf(r);
    buf_put_char(&quoted, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'') {
            buf_put(&quoted, STR("'\"'\"'"));
        } else {
            buf_put_char(&quoted, text.data[i]);
        }
    }
    buf_put_char(&quoted, '\'');
    return take_text(r, &quoted, false, out);
}

const Native filters_encode[] = {
    { .name = "b64encode",
      .call = filter_b64encode,
      .params = { { "value" } },
      .help = "Encodes the UTF-8 bytes of a string as base64.",
      .example = "{{ 'eden' | b64encode }}",
      .output = "ZWRlbg==" },
    { .name = "b64decode",
      .call = filter_b64decode,
      .params = { { "value" } },
      .help = "Decodes base64 to a UTF-8 string.",
      .example = "{{ 'ZWRlbg==' | b64decode }}",
      .output = "eden" },
    { .name = "hash",
      .call = filter_hash,
      .params = { { "value" }, { "hashtype", "'sha1'" } },
      .help = "Computes a hash in hexadecimal: md5, sha1, sha224 to sha512, sha3_224 to sha3_512, "
              "blake2b, blake2s.",
      .example = "{{ 'eden' | hash('md5') }}",
      .output = "da897ba0fe30eff270424ac0e768840f" },
    { .name = "checksum",
      .call = filter_checksum,
      .params = { { "value" } },
      .help = "Computes the SHA-1 hash in hexadecimal.",
      .example = "{{ 'eden' | checksum }}",
      .output = "76f644f1c1a2a1171514598b6ba3bac6fa1e5fdb" },
    { .name = "md5",
      .call = filter_md5,
      .params = { { "value" } },
      .help = "Computes the MD5 hash in hexadecimal.",
      .example = "{{ 'eden' | md5 }}",
      .output = "da897ba0fe30eff270424ac0e768840f" },
    { .name = "sha1",
      .call = filter_sha1,
      .params = { { "value" } },
      .help = "Computes the SHA-1 hash in hexadecimal.",
      .example = "{{ 'eden' | sha1 }}",
      .output = "76f644f1c1a2a1171514598b6ba3bac6fa1e5fdb" },
    { .name = "sha256",
      .call = filter_sha256,
      .params = { { "value" } },
      .help = "Computes the SHA-256 hash in hexadecimal.",
      .example = "{{ ('eden' | sha256)[:16] }}",
      .output = "e24ef8f938288781" },
    { .name = "sha512",
      .call = filter_sha512,
      .params = { { "value" } },
      .help = "Computes the SHA-512 hash in hexadecimal.",
      .example = "{{ ('eden' | sha512)[:16] }}",
      .output = "c78630243591ddf2" },
    { .name = "to_uuid",
      .call = filter_to_uuid,
      .params = { { "value" }, { "namespace", "'361e6d51-faec-444a-9079-341386da8e2e'" } },
      .help = "Derives a UUID from a string; equal strings yield equal UUIDs everywhere.",
      .example = "{{ 'eden' | to_uuid }}",
      .output = "bbe0d7da-7353-5b6a-b11a-abd30f45c4c6" },
    { .name = "urldecode",
      .call = filter_urldecode,
      .params = { { "value" } },
      .help = "Decodes a percent-encoded string; a plus becomes a space.",
      .example = "{{ 'a%20b+c%2Fd' | urldecode }}",
      .output = "a b c/d" },
    { .name = "quote",
      .call = filter_quote,
      .params = { { "value" } },
      .help = "Quotes a string as a single shell word.",
      .example = "echo {{ \"it's here\" | quote }} {{ 'plain' | quote }}",
      .output = "echo 'it'\"'\"'s here' plain" },
    { 0 },
};
