#include "pki/pem.h"

#include <stdio.h>

#include <openssl/evp.h>

#include "base/base64.h"

enum {
    LINE_BYTES = 48, /* bytes per line, encoded as 64 characters */
    LINE_CHARS = 64,
};

static const char begin[] = "-----BEGIN ";
static const char end[] = "-----END ";
static const char dashes[] = "-----";

/* Letters, then at most two '=', in lines of any length. */
static bool body_is_base64(Str body)
{
    size_t letters = 0, pads = 0;
    for (size_t i = 0; i < body.len; i++) {
        char c = body.data[i];
        if (c == '\n' || (c == '\r' && i + 1 < body.len && body.data[i + 1] == '\n')) {
            continue;
        }
        if (c == '=') {
            pads++;
        } else if (base64_digit(c) >= 0 && pads == 0) {
            letters++;
        } else {
            return false;
        }
    }
    return letters > 0 && pads <= 2 && (letters + pads) % 4 == 0;
}

static bool label_is_plain(Str label)
{
    for (size_t i = 0; i < label.len; i++) {
        char c = label.data[i];
        if (!(c >= 'A' && c <= 'Z') && !(c == ' ' && i > 0 && i + 1 < label.len)) {
            return false;
        }
    }
    return label.len > 0 && label.len <= PEM_LABEL_MAX;
}

/* Skips the line that starts at the beginning of `rest`. */
static bool skip_line_end(Str *rest)
{
    size_t at = 0;
    if (at < rest->len && rest->data[at] == '\r') {
        at++;
    }
    if (at < rest->len && rest->data[at] != '\n') {
        return false;
    }
    bool ended = at < rest->len;
    *rest = str_from_offset(*rest, at + ended);
    return ended || rest->len == 0;
}

bool pem_next(Str *rest, PemBlock *out, bool *found, Error *err)
{
    Str text = *rest;
    while (text.len > 0 && ascii_is_space(text.data[0])) {
        text = str_from_offset(text, 1);
    }
    if (text.len == 0) {
        *rest = STR_EMPTY;
        *found = false;
        return true;
    }
    if (!str_starts(text, str_from_c(begin))) {
        return error_set(err, ERROR_INVALID, "not PEM: it does not start with '%s'", begin);
    }
    text = str_from_offset(text, sizeof begin - 1);
    size_t label_end = str_find(text, str_from_c(dashes), 0);
    Str label = str_slice(text, 0, label_end == STR_NOT_FOUND ? 0 : label_end);
    if (!label_is_plain(label)) {
        return error_set(err, ERROR_INVALID, "not PEM: the first line has no valid label");
    }
    text = str_from_offset(text, label_end + sizeof dashes - 1);
    if (text.len == 0 || !skip_line_end(&text)) {
        return error_set(err, ERROR_INVALID, "not PEM: the first line is incomplete");
    }
    size_t body_end = str_find(text, STR("-"), 0);
    Str body = str_slice(text, 0, body_end == STR_NOT_FOUND ? text.len : body_end);
    if (!body_is_base64(body)) {
        return error_set(err, ERROR_INVALID,
                         "not PEM: a block contains something other than base64");
    }
    text = str_from_offset(text, body.len);
    char last[sizeof end + PEM_LABEL_MAX + sizeof dashes];
    snprintf(last, sizeof last, "%s%" STR_FMT "%s", end, STR_ARG(label), dashes);
    if (body.data[body.len - 1] != '\n' || !str_starts(text, str_from_c(last))) {
        return error_set(err, ERROR_INVALID, "not PEM: a block does not end with its label");
    }
    text = str_from_offset(text, strlen(last));
    if (!skip_line_end(&text)) {
        return error_set(err, ERROR_INVALID, "not PEM: trailing data after a block");
    }
    *rest = text;
    *out = (PemBlock){ .label = label, .body = body };
    *found = true;
    return true;
}

bool pem_read_single(Str text, const char *label, PemBlock *out, Error *err)
{
    PemBlock block, more;
    bool found;
    if (!pem_next(&text, &block, &found, err)) {
        return false;
    }
    if (!found) {
        return error_set(err, ERROR_INVALID, "it is empty");
    }
    if (!str_eq_c(block.label, label)) {
        return error_set(err, ERROR_INVALID, "it is a '%" STR_FMT "', not a '%s'",
                         STR_ARG(block.label), label);
    }
    if (!pem_next(&text, &more, &found, err)) {
        return false;
    }
    if (found) {
        return error_set(err, ERROR_INVALID, "there is more than one block");
    }
    *out = block;
    return true;
}

size_t pem_bytes_max(const PemBlock *block)
{
    return block->body.len / 4 * 3 + 3;
}

/* Decoded by hand, since libcrypto's decoder for lines leaves part of what may be a secret in
 * memory that it does not wipe. */
bool pem_bytes(const PemBlock *block, unsigned char *out, size_t *len, Error *err)
{
    uint32_t bits = 0;
    unsigned bit_count = 0;
    size_t to = 0;
    for (size_t i = 0; i < block->body.len; i++) {
        int value = base64_digit(block->body.data[i]);
        if (value < 0) {
            continue; /* a newline or padding, which pem_next has validated */
        }
        bits = bits << 6 | (uint32_t)value;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[to++] = (unsigned char)(bits >> bit_count);
        }
    }
    /* Nonzero padding bits would be a second encoding of the same bytes. */
    if ((bits & ((1U << bit_count) - 1)) != 0) {
        return error_set(err, ERROR_INVALID, "not PEM: invalid base64 in a block");
    }
    *len = to;
    return true;
}

bool pem_bytes_in(Arena *arena, const PemBlock *block, Str *out, Error *err)
{
    unsigned char *bytes = arena_alloc(arena, pem_bytes_max(block));
    size_t len;
    if (!pem_bytes(block, bytes, &len, err)) {
        return false;
    }
    *out = str_from((const char *)bytes, len);
    return true;
}

size_t pem_size(const char *label, size_t len)
{
    size_t chars = (len + 2) / 3 * 4, lines = (chars + LINE_CHARS - 1) / LINE_CHARS;
    return sizeof begin - 1 + sizeof end - 1 + 2 * (strlen(label) + sizeof dashes - 1 + 1) + chars +
           lines;
}

static char *put(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len);
    return to + len;
}

void pem_write(const char *label, const unsigned char *bytes, size_t len, char *out)
{
    char *to = put(put(put(put(out, begin), label), dashes), "\n");
    for (size_t at = 0; at < len; at += LINE_BYTES) {
        /* The encoder terminates its output with a NUL, which the newline replaces. */
        int piece = (int)(len - at < LINE_BYTES ? len - at : LINE_BYTES);
        to += EVP_EncodeBlock((unsigned char *)to, bytes + at, piece);
        *to++ = '\n';
    }
    put(put(put(put(to, end), label), dashes), "\n");
}

Str pem_text(Arena *arena, const char *label, Str bytes)
{
    size_t size = pem_size(label, bytes.len);
    char *text = arena_alloc(arena, size);
    pem_write(label, (const unsigned char *)bytes.data, bytes.len, text);
    return str_from(text, size);
}
