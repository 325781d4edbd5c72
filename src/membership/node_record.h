/* The stored record of a node. Pure. */
#pragma once

#include "lang/value.h"
#include "pki/certificate.h"
#include "pki/token.h"

enum {
    ADDRESS_TEXT_SIZE = 64,
    LABELS_MAX = 64,             /* maximum per node */
    LABEL_NAME_MAX = 63,         /* maximum length in bytes */
    LABEL_VALUE_MAX = 255,       /* maximum length in bytes */
    ANNOTATIONS_MAX = 64,        /* maximum per node; names are limited like those of labels */
    ANNOTATION_VALUE_MAX = 4096, /* maximum length in bytes */
    NODE_RECORD_MAX = 64 << 10,  /* maximum size in bytes, including labels and annotations */
    /* maximum size of labels and annotations as JSON, which leaves enough for the other fields */
    NODE_TEXTS_MAX = 60 << 10
};

/* A member of the cluster: "eden.node/1" under nodes/<node>. */
typedef struct NodeRecord {
    char name[NODE_NAME_MAX + 1];
    Pin key;
    char enrollment[ENROLLMENT_TEXT + 1];
    char token[TOKEN_ID_TEXT + 1]; /* ID of the token that it joined with; empty: it was approved */
    bool is_server;
    char address[ADDRESS_TEXT_SIZE]; /* address that the join request came from */
    int64_t joined_ms;
    char serial[SERIAL_TEXT + 1]; /* of its last certificate */
    int64_t not_after_ms;         /* when that expires */
    Value labels;                 /* map of strings */
    Value annotations;            /* map of strings */
    Value unknown;                /* fields that a newer server wrote */
} NodeRecord;

void node_record_print(const NodeRecord *record, Buf *out);
/* Labels and annotations are allocated in the arena or refer to the text. Fails with
 * ERROR_INVALID. */
MUST_CHECK bool node_record_read(Arena *arena, Str text, NodeRecord *out, Error *err);
/* Checks names and values. Names consist of letters, digits, "-", "_", "." and "/"; values are any
 * string without control characters. Fails with ERROR_INVALID. */
MUST_CHECK bool node_label_check(Str name, Str value, Error *err);

/* Checks the total size of labels and annotations: ERROR_LIMIT. Each is a map of strings, or
 * missing. */
MUST_CHECK bool node_texts_check(Value labels, Value annotations, Error *err);
