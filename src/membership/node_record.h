/* The stored record of a node. Pure. */
#pragma once

#include "lang/value.h"
#include "pki/certificate.h"
#include "pki/token.h"

enum {
    ADDRESS_TEXT_SIZE = 64,
    LABELS_MAX = 64,             /* of a node */
    LABEL_NAME_MAX = 63,         /* bytes */
    LABEL_VALUE_MAX = 255,       /* bytes */
    ANNOTATIONS_MAX = 64,        /* under names as long as those of labels */
    ANNOTATION_VALUE_MAX = 4096, /* bytes */
    NODE_RECORD_MAX = 64 << 10,  /* bytes, with both */
    NODE_TEXTS_MAX = 60 << 10    /* bytes of both, as JSON: there is always room for the rest */
};

/* A member of the cluster: "eden.node/1" under nodes/<node>. */
typedef struct NodeRecord {
    char name[NODE_NAME_MAX + 1];
    Pin key;
    char enrolment[ENROLMENT_TEXT + 1];
    char token[TOKEN_ID_TEXT + 1]; /* the token it joined with; empty: it was approved */
    bool is_server;
    char address[ADDRESS_TEXT_SIZE]; /* whence it asked */
    int64_t joined_ms;
    char serial[SERIAL_TEXT + 1]; /* of the certificate that it got last */
    int64_t not_after_ms;         /* and when that expires */
    Value labels;                 /* a map of texts */
    Value annotations;            /* the same */
    Value unknown;                /* what a newer server wrote */
} NodeRecord;

void node_record_print(const NodeRecord *record, Buf *out);
/* Labels and annotations are in the arena, or borrowed from the text. Fails with ERROR_INVALID. */
MUST_CHECK bool node_record_read(Arena *arena, Str text, NodeRecord *out, Error *err);
/* Names are letters, digits, "-", "_", "." and "/", values any text without control characters.
 * Fails with ERROR_INVALID. */
MUST_CHECK bool node_label_check(Str name, Str value, Error *err);

/* Whether labels and annotations are not too much together: ERROR_LIMIT. Each is a map of texts, or
 * missing. */
MUST_CHECK bool node_texts_check(Value labels, Value annotations, Error *err);
