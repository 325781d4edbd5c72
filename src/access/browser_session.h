/* Browser sessions: a cookie that scripts cannot read, used instead of a token. Pure except for
 * random numbers.
 *
 * The secret is 256 random bits; the store has a record under its hash. A request that changes
 * something must also contain a second secret, derived from the first (SHA-256), which only our own
 * pages can obtain: another site can make a browser send the cookie, but not that. */
#pragma once

#include "access/principal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#define BROWSER_COOKIE "__Host-eden-session"

enum {
    BROWSER_SECRET_BYTES = 32,
    BROWSER_SECRET_TEXT = 52,
    BROWSER_HASH_TEXT = 64,
    BROWSER_CSRF_TEXT = 64,
    BROWSER_COOKIES_MAX = 64, /* per header */
};

#define BROWSER_IDLE_S      ((int64_t)2 * 3600)         /* expires without requests */
#define BROWSER_LIFETIME_MS ((int64_t)12 * 3600 * 1000) /* maximum lifetime */

typedef struct BrowserSecret {
    char text[BROWSER_SECRET_TEXT + 1];
} BrowserSecret;

MUST_CHECK bool browser_secret_generate(BrowserSecret *out, Error *err);
void browser_secret_clear(BrowserSecret *secret); /* wipes it */
DEFINE_AUTO_CLEAR(BrowserSecret, browser_secret_clear)
/* Parses a Cookie header. ERROR_NOT_FOUND: it does not contain our cookie. ERROR_INVALID: it occurs
 * twice or is malformed; the error does not contain any part of it. */
MUST_CHECK bool browser_secret_from_cookies(Str header, BrowserSecret *out, Error *err);
/* The name of the session's record. */
void browser_secret_hash(const BrowserSecret *secret, char out[BROWSER_HASH_TEXT + 1]);
/* The expected value of the Eden-CSRF header. */
void browser_secret_csrf(const BrowserSecret *secret, char out[BROWSER_CSRF_TEXT + 1]);
/* Compares in constant time. */
bool browser_csrf_equal(Str received, const char csrf[BROWSER_CSRF_TEXT + 1]);
/* The cookie: "__Host-eden-session=…; Path=/; Secure; HttpOnly; SameSite=Strict". Wipe it after
 * use. */
void browser_cookie_set(const BrowserSecret *secret, Buf *out);
/* The header that makes the browser delete the cookie. */
extern const char browser_cookie_expired[];

/* The stored record, under the hash of the secret. */
typedef struct BrowserRecord {
    /* the credential that the session was created from and ends with */
    char credential[CREDENTIAL_ID_MAX + 1];
    int64_t credential_created_ms;
    int64_t created_ms;
    int64_t expires_ms;
} BrowserRecord;

/* Encodes the record as JSON, "eden.browser/1". */
void browser_record_print(const BrowserRecord *record, Buf *out);
MUST_CHECK bool browser_record_read(Arena *arena, Str text, BrowserRecord *out, Error *err);
