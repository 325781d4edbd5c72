/* Records and cookies of browser sessions. Cookie values are secrets: error messages contain no
 * part of them, and comparisons take constant time. */
#include "access/browser_session.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "lang/record.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "sys/sha256.h"

static const char hash_domain[] = "eden browser hash 1";
static const char csrf_domain[] = "eden browser csrf 1";

const char browser_cookie_expired[] =
    BROWSER_COOKIE "=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0";

enum {
    RECORD_MAX = 1024, /* maximum size of the JSON */
    HEADER_MAX = 16 << 10,
};

_Static_assert(BROWSER_SECRET_TEXT == BASE32_TEXT(BROWSER_SECRET_BYTES), "a secret is base32");
_Static_assert((int)BROWSER_HASH_TEXT == (int)SHA256_HEX, "a hash is a SHA-256");
_Static_assert((int)BROWSER_CSRF_TEXT == (int)SHA256_HEX, "a CSRF token is a SHA-256");

bool browser_secret_generate(BrowserSecret *out, Error *err)
{
    unsigned char bytes[BROWSER_SECRET_BYTES];
    crypto_begin();
    if (RAND_priv_bytes(bytes, sizeof bytes) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate a session");
    }
    base32_write(bytes, sizeof bytes, out->text);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return crypto_done();
}

void browser_secret_clear(BrowserSecret *secret)
{
    OPENSSL_cleanse(secret, sizeof *secret);
}

static bool is_secret(Str text)
{
    unsigned char bytes[BROWSER_SECRET_BYTES];
    bool ok = base32_read(text, bytes, sizeof bytes);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return ok;
}

/* Name-value pairs, separated by "; " (RFC 6265, 4.2.1). A duplicate could have been set by another
 * page of the same host, and the two cannot be told apart. */
bool browser_secret_from_cookies(Str header, BrowserSecret *out, Error *err)
{
    Str found = STR_EMPTY, pair;
    uint32_t pairs = 0, matches = 0;
    if (header.len > HEADER_MAX) {
        return error_set(err, ERROR_INVALID, "the Cookie header is too long");
    }
    while (str_split_next(&header, ';', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        Str name = str_trim(str_slice(pair, 0, equals));
        if (++pairs > BROWSER_COOKIES_MAX) {
            return error_set(err, ERROR_INVALID, "more than %d cookies", BROWSER_COOKIES_MAX);
        }
        if (str_eq(name, STR(BROWSER_COOKIE))) {
            matches++;
            found =
                equals == STR_NOT_FOUND ? STR_EMPTY : str_trim(str_from_offset(pair, equals + 1));
        }
    }
    if (matches == 0) {
        return error_set(err, ERROR_NOT_FOUND, "no cookie " BROWSER_COOKIE);
    }
    if (matches > 1) {
        return error_set(err, ERROR_INVALID, "the cookie " BROWSER_COOKIE " was sent twice");
    }
    if (!is_secret(found)) {
        return error_set(err, ERROR_INVALID, "invalid session cookie " BROWSER_COOKIE "");
    }
    memcpy(out->text, found.data, found.len);
    out->text[found.len] = '\0';
    return true;
}

static void derive(const char *domain, size_t domain_len, const BrowserSecret *secret,
                   char out[SHA256_HEX + 1])
{
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, str_from(domain, domain_len));
    sha256_add(&sha, str_from(secret->text, BROWSER_SECRET_TEXT));
    sha256_finish(&sha, out);
    OPENSSL_cleanse(&sha, sizeof sha);
}

void browser_secret_hash(const BrowserSecret *secret, char out[BROWSER_HASH_TEXT + 1])
{
    derive(hash_domain, sizeof hash_domain, secret, out);
}

void browser_secret_csrf(const BrowserSecret *secret, char out[BROWSER_CSRF_TEXT + 1])
{
    derive(csrf_domain, sizeof csrf_domain, secret, out);
}

bool browser_csrf_equal(Str received, const char csrf[BROWSER_CSRF_TEXT + 1])
{
    return received.len == BROWSER_CSRF_TEXT &&
           CRYPTO_memcmp(received.data, csrf, BROWSER_CSRF_TEXT) == 0;
}

void browser_cookie_set(const BrowserSecret *secret, Buf *out)
{
    buf_put_format(out, BROWSER_COOKIE "=%s; Path=/; Secure; HttpOnly; SameSite=Strict",
                   secret->text);
}

static bool check_record(const void *record, Error *err)
{
    const BrowserRecord *session = record;
    return session->expires_ms >= session->created_ms ||
           error_set(err, ERROR_INVALID, "'expires_ms': must not be earlier than 'created_ms'");
}

/* Written once: additional fields of a newer server stay in the store. */
static const RecordField browser_fields[] = {
    { "credential", RECORD_TEXT, RECORD_CHARS_AT(BrowserRecord, credential), .is_required = true,
      .help = "credential it was created with" },
    { "credential_made_ms", RECORD_INT, RECORD_INT_AT(BrowserRecord, credential_created_ms),
      .is_required = true, .help = "when that was created" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(BrowserRecord, created_ms), .is_required = true,
      .max = INT64_MAX, .help = "when the session was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(BrowserRecord, expires_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it expires" },
    { 0 },
};

static const RecordFormat browser_format = {
    .format = "eden.browser/1",
    .what = "the record of a browser session",
    .fields = browser_fields,
    .size = sizeof(BrowserRecord),
    .text_max = RECORD_MAX,
    .check = check_record,
};

void browser_record_print(const BrowserRecord *record, Buf *out)
{
    record_print(&browser_format, record, out);
}

bool browser_record_read(Arena *arena, Str text, BrowserRecord *out, Error *err)
{
    return record_read(&browser_format, arena, text, RECORD_STORED, out, err);
}
