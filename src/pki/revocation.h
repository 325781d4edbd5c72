/* Who is no longer believed: a value that the store holds and every listener asks.
 *
 * Two kinds of entries. A serial number takes back one certificate. An entry for a name says which
 * of its enrolments counts, and with that takes back every certificate of the others, however many
 * there were and whether or not anybody kept their numbers: so a removed node stays out, and who
 * gets its name later inherits nothing.
 *
 * An entry is kept until the last certificate that it is about has expired, by two readings of the
 * clock a day apart: a clock that is ahead for a moment must not bring back what was revoked. When the
 * list is full, or would not fit into a value of the store, entries for names give way, those first that
 * end first: they say the same as the records of nodes do. A list is not changed while it is in use: to
 * change one, read it again, change that, write it. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "pki/certificate.h"

enum {
    REVOCATIONS_MAX = 10000, /* of each kind */
    REVOCATION_READINGS_MS = 24 * 3600 * 1000,
};

typedef struct RevokedSerial {
    char serial[SERIAL_TEXT + 1];
    int64_t until_ms;
    Value unknown; /* what a newer server wrote */
} RevokedSerial;

typedef struct NameRule {
    char node[NODE_NAME_MAX + 1];
    char enrolment[ENROLMENT_TEXT + 1]; /* the one that counts; empty: none does */
    int64_t until_ms;
    Value unknown;
} NameRule;

/* Both sorted. A zeroed list is empty. */
typedef struct RevocationList {
    RevokedSerial *serials;
    uint32_t serial_count;
    NameRule *names;
    uint32_t name_count;
    int64_t clock_ms; /* an earlier reading of the clock, which pruning goes by; 0: none */
    /* Nobody knows who is on it: it passes no certificate at all, until it is repaired. */
    bool is_unreadable;
    Value unknown;
} RevocationList;

/* Takes back one certificate, which expires at `until_ms`. Twice is once. Fails with ERROR_INVALID
 * for what is no serial number, ERROR_LIMIT when the list is full. */
MUST_CHECK bool revocation_add_serial(Arena *arena, RevocationList *list, Str serial,
                                      int64_t until_ms, Error *err);
/* From now on only `enrolment` of the name counts; none when it is empty. `until_ms` is when the
 * last certificate of the other enrolments expires; an earlier moment than before changes nothing. Fails
 * with ERROR_INVALID for what is no name or no enrolment. */
MUST_CHECK bool revocation_set_name(Arena *arena, RevocationList *list, Str node, Str enrolment,
                                    int64_t until_ms, Error *err);
/* Drops what is about expired certificates only. Goes by the reading that the list has, when that is at
 * least REVOCATION_READINGS_MS old, and then keeps `now_ms` in its place; a clock that went back starts
 * over. Whoever prunes a list writes it. */
void revocation_prune(RevocationList *list, int64_t now_ms);

/* Whether the certificate with this serial number may still speak for the node. Fails with
 * ERROR_DENIED and the reason. */
MUST_CHECK bool revocation_check(const RevocationList *list, Str node, Str serial, Error *err);

/* As JSON, "eden.revocations/1". */
void revocation_print(const RevocationList *list, Buf *out);
/* Unknown fields are in the arena or borrowed from the text. Fails with ERROR_INVALID or ERROR_LIMIT: a
 * list that cannot be read must not pass for empty. */
MUST_CHECK bool revocation_read(Arena *arena, Str text, RevocationList *out, Error *err);
