/* Revoked certificates: a value in the store that every listener checks.
 *
 * There are two kinds of entries. A serial number revokes one certificate. An entry for a name
 * states which of its enrollments is valid, and thereby revokes every certificate of the others,
 * regardless of their number and whether their serial numbers are known: so a removed node stays
 * excluded, and a later holder of its name inherits nothing.
 *
 * An entry is kept until the last certificate that it concerns has expired, according to two
 * readings of the clock a day apart: a clock that is temporarily ahead must not make a revoked
 * certificate valid again. When the list is full, or would not fit into a value in the store,
 * entries for names are dropped, those that expire soonest first: they repeat what the records of
 * nodes state. A list is not changed while it is in use: to change one, read it again, change that
 * copy and write it. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "pki/certificate.h"

enum {
    REVOCATIONS_MAX = 10000, /* maximum number of entries of each kind */
    REVOCATION_READING_INTERVAL_MS = 24 * 3600 * 1000,
};

typedef struct RevokedSerial {
    char serial[SERIAL_TEXT + 1];
    int64_t until_ms;
    Value unknown; /* fields written by a newer server */
} RevokedSerial;

typedef struct NameRule {
    char node[NODE_NAME_MAX + 1];
    char enrollment[ENROLLMENT_TEXT + 1]; /* the valid one; empty: none */
    int64_t until_ms;
    Value unknown;
} NameRule;

/* Both sorted. A zeroed list is empty. */
typedef struct RevocationList {
    RevokedSerial *serials;
    uint32_t serial_count;
    NameRule *names;
    uint32_t name_count;
    int64_t clock_ms; /* an earlier reading of the clock, used to drop expired entries; 0: none */
    /* The content is unreadable: rejects all certificates until it is repaired. */
    bool is_unreadable;
    Value unknown;
} RevocationList;

/* Revokes one certificate, which expires at `until_ms`. Idempotent. Fails with ERROR_INVALID if it
 * is not a serial number, with ERROR_LIMIT if the list is full. */
MUST_CHECK bool revocation_add_serial(Arena *arena, RevocationList *list, Str serial,
                                      int64_t until_ms, Error *err);
/* From now on only `enrollment` of the name is valid; none if it is empty. `until_ms` is when the
 * last certificate of the other enrollments expires; an earlier time than before changes nothing.
 * Fails with ERROR_INVALID if the name or enrollment is invalid. */
MUST_CHECK bool revocation_set_name(Arena *arena, RevocationList *list, Str node, Str enrollment,
                                    int64_t until_ms, Error *err);
/* Drops entries that concern only expired certificates. Uses the clock reading in the list if that
 * is at least REVOCATION_READING_INTERVAL_MS old, and then replaces it with `now_ms`; if the clock
 * has gone backward, the interval starts over. The caller must write the list afterward. */
void revocation_prune(RevocationList *list, int64_t now_ms);

/* Checks that the certificate with this serial number is still valid for the node. Fails with
 * ERROR_DENIED and the reason. */
MUST_CHECK bool revocation_check(const RevocationList *list, Str node, Str serial, Error *err);

/* As JSON, "eden.revocations/1". */
void revocation_print(const RevocationList *list, Buf *out);
/* Unknown fields are in the arena or borrowed from the text. Fails with ERROR_INVALID or
 * ERROR_LIMIT: a list that cannot be read must not be treated as empty. */
MUST_CHECK bool revocation_read(Arena *arena, Str text, RevocationList *out, Error *err);
