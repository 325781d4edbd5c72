/* Records: JSON objects of a fixed shape, described once by a table of fields.
 *
 *     static const RecordField fields[] = {
 *         { "name", RECORD_TEXT, RECORD_CHARS_AT(Wheel, name), .is_required = true,
 *           .check_text = wheel_name_check, .help = "name of the wheel" },
 *         { "spokes", RECORD_INT, RECORD_INT_AT(Wheel, spokes), .max = 64, .help = "how many" },
 *         { RECORD_UNKNOWN_AT(Wheel, unknown) },
 *         { 0 },
 *     };
 *     static const RecordFormat wheel_format = { "eden.wheel/1", "the record of a wheel", fields,
 *                                                .size = sizeof(Wheel), .text_max = 4096 };
 *     if (!record_read(&wheel_format, arena, text, RECORD_STORED, &wheel, err)) ...
 *     record_print(&wheel_format, &wheel, &out);
 *
 * Reading into a struct, printing, validation and the schema come from the table. A table without
 * struct members checks and describes values: the kinds of the API are such tables.
 *
 * Records stored by eden or sent between its programs may come from a newer version: unknown fields
 * are preserved in RECORD_UNKNOWN_AT and printed again. In external input they are errors. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "lang/value.h"

typedef enum RecordType {
    RECORD_TEXT,
    RECORD_CHOICE,   /* one of `choices` */
    RECORD_DURATION, /* "90m" */
    RECORD_TIME,     /* "2026-01-31T08:15:30Z" */
    RECORD_INT,      /* from `min` to `max`; any if both are 0 */
    RECORD_BOOL,
    RECORD_SELECTOR, /* a node selector */
    RECORD_OBJECT,   /* of `fields`; without them, any object */
    RECORD_ANY,      /* any JSON value */
} RecordType;

typedef enum RecordShape {
    RECORD_ONE,
    RECORD_LIST, /* list of the type */
    RECORD_MAP,  /* map from strings to the type */
} RecordShape;

/* How the struct member of a field is stored: see the macros below. */
typedef enum RecordStorage {
    RECORD_NO_STORAGE,
    RECORD_AS_CHARS, /* char[size], with a NUL */
    RECORD_AS_STR,   /* in the arena, or borrowed from the text */
    RECORD_AS_INT,   /* int64_t, int */
    RECORD_AS_UINT,  /* uint64_t, uint32_t, uint16_t */
    RECORD_AS_BOOL,
    RECORD_AS_ENUM,    /* its constants are named by `names` */
    RECORD_AS_VALUE,   /* of any shape */
    RECORD_AS_CODED,   /* of any shape: converted by its codec */
    RECORD_AS_STRUCT,  /* of `fields`; a list of them is an array in the struct */
    RECORD_AS_POINTER, /* a list of such structs in the arena; without `fields`, of Strs */
    RECORD_AS_UNKNOWN, /* Value: a map of the fields that the table does not have */
} RecordStorage;

/* Converts between JSON and another representation in memory, such as a
 * fingerprint or an address. Type and shape of the value were already checked. */
typedef struct RecordCodec {
    bool (*read)(Arena *arena, Value value, void *member, Error *err);
    void (*print)(const void *member, Buf *out); /* as JSON */
    bool (*is_empty)(const void *member);        /* NULL: never empty */
} RecordCodec;

/* A field that is a column of tables. */
typedef struct RecordColumn {
    const char *title; /* NULL: no column */
    const char *none;  /* shown if it is empty; NULL: "-" */
    bool is_wide;      /* only in wide tables */
    bool after_status; /* of a field in the spec: comes after the columns of the status */
} RecordColumn;

typedef struct RecordField RecordField;
struct RecordField {
    const char *name; /* NULL ends a list */
    RecordType type;
    RecordStorage storage;
    size_t offset, size; /* offset in the struct; for a list, the size of one item */
    size_t count_offset; /* for a list in the struct: offset of the uint32_t with its length, and */
    uint32_t capacity;   /* the maximum number of items */
    const RecordCodec *codec;
    const char *const *names;                 /* names of the constants of an enum, and */
    size_t name_count;                        /* their number */
    bool (*check_text)(Str text, Error *err); /* in addition to the checks below; NULL: none */

    RecordShape shape;
    bool is_required;    /* other fields are omitted if they are empty, zero or false */
    bool is_printed;     /* printed even if empty, though it may be missing */
    bool is_secret;      /* shown once, and never logged */
    bool is_nullable;    /* null in responses from the server if there is none */
    bool is_fixed;       /* cannot be changed later */
    bool is_plain;       /* of a string: no control characters */
    const char *choices; /* "join|access" */
    int64_t min, max;    /* of a number; milliseconds of a duration; bytes of other strings */
    const RecordField *fields;
    RecordColumn column;
    const char *help;
};

/* The struct member that a field is stored in; its type must match. */
#define RECORD_MEMBER(as, Struct, member, Type)     \
    .storage = (as),                                \
    .offset = _Generic(((Struct *)0)->member, Type  \
                       : offsetof(Struct, member)), \
    .size = sizeof(((Struct *)0)->member)
#define RECORD_CHARS_AT(Struct, member) RECORD_MEMBER(RECORD_AS_CHARS, Struct, member, char *)
#define RECORD_STR_AT(Struct, member)   RECORD_MEMBER(RECORD_AS_STR, Struct, member, Str)
#define RECORD_BOOL_AT(Struct, member)  RECORD_MEMBER(RECORD_AS_BOOL, Struct, member, bool)
#define RECORD_VALUE_AT(Struct, member) RECORD_MEMBER(RECORD_AS_VALUE, Struct, member, Value)
#define RECORD_INT_AT(Struct, member)                  \
    .storage = _Generic(((Struct *)0)->member, int64_t \
                        : RECORD_AS_INT, int           \
                        : RECORD_AS_INT, uint64_t      \
                        : RECORD_AS_UINT, uint32_t     \
                        : RECORD_AS_UINT, uint16_t     \
                        : RECORD_AS_UINT),             \
    .offset = offsetof(Struct, member), .size = sizeof(((Struct *)0)->member)
/* `prefix` as in DEFINE_ENUM_NAMES. */
#define RECORD_ENUM_AT(Struct, member, prefix)                      \
    .storage = RECORD_AS_ENUM, .offset = offsetof(Struct, member),  \
    .size = sizeof(((Struct *)0)->member), .names = prefix##_names, \
    .name_count = COUNT_OF(prefix##_names)
#define RECORD_CODED_AT(Struct, member, Type, how) \
    RECORD_MEMBER(RECORD_AS_CODED, Struct, member, Type), .codec = &(how)
#define RECORD_STRUCT_AT(Struct, member, Type, table) \
    RECORD_MEMBER(RECORD_AS_STRUCT, Struct, member, Type), .fields = (table)
/* An array in the struct, with its length next to it. */
#define RECORD_STRUCT_ARRAY_AT(Struct, member, count, Type, table)        \
    .storage = RECORD_AS_STRUCT, .shape = RECORD_LIST, .fields = (table), \
    .offset = _Generic(((Struct *)0)->member, Type *                      \
                       : offsetof(Struct, member)),                       \
    .size = sizeof(Type), .capacity = COUNT_OF(((Struct *)0)->member),    \
    .count_offset = _Generic(((Struct *)0)->count, uint32_t               \
                             : offsetof(Struct, count))
/* The same, with items converted by a codec. */
#define RECORD_CODED_ARRAY_AT(Struct, member, count, Type, how)        \
    .storage = RECORD_AS_CODED, .shape = RECORD_LIST, .codec = &(how), \
    .offset = _Generic(((Struct *)0)->member, Type *                   \
                       : offsetof(Struct, member)),                    \
    .size = sizeof(Type), .capacity = COUNT_OF(((Struct *)0)->member), \
    .count_offset = _Generic(((Struct *)0)->count, uint32_t            \
                             : offsetof(Struct, count))
/* A pointer in the struct to an array in the arena, with at most `max` items. */
#define RECORD_POINTER_AT(Struct, member, count, max, Type, table)               \
    .storage = RECORD_AS_POINTER, .shape = RECORD_LIST, .fields = (table),       \
    .offset = offsetof(Struct, member), .size = sizeof(Type), .capacity = (max), \
    .count_offset = _Generic(((Struct *)0)->count, uint32_t                      \
                             : offsetof(Struct, count))
#define RECORD_UNKNOWN_AT(Struct, member) \
    .name = "", RECORD_MEMBER(RECORD_AS_UNKNOWN, Struct, member, Value)

typedef struct RecordFormat {
    const char *format; /* "eden.node/1"; NULL: none, because it is part of another record */
    const char *what;   /* for errors: "the record of a node" */
    const RecordField *fields;
    size_t size;                                   /* of the struct */
    uint32_t text_max;                             /* bytes of JSON */
    uint32_t values_max;                           /* values in it; 0: as many as fit */
    bool (*check)(const void *record, Error *err); /* across several fields; NULL: none */
} RecordFormat;

typedef enum RecordOrigin {
    RECORD_STORED,   /* by eden, possibly a newer version: unknown fields are preserved */
    RECORD_EXTERNAL, /* a request, or a file written by a person: unknown fields are errors */
} RecordOrigin;

/* Strings, maps and lists are in the arena or borrowed from `text`; `out` is changed only on
 * success. Missing fields are zero, or an empty map or list. Fails with ERROR_INVALID or
 * ERROR_LIMIT; for external input of several lines the error contains the line number. */
MUST_CHECK bool record_read(const RecordFormat *format, Arena *arena, Str text, RecordOrigin origin,
                            void *out, Error *err);
/* The same for a parsed JSON value. */
MUST_CHECK bool record_from_value(const RecordFormat *format, Arena *arena, Value object,
                                  RecordOrigin origin, void *out, Error *err);
/* Appends it as JSON on one line. */
void record_print(const RecordFormat *format, const void *record, Buf *out);
/* Appends it as a human-readable file: one field per line. */
void record_print_file(const RecordFormat *format, const void *record, Buf *out);

/* --- Values --------------------------------------------------------------------------------- */

/* One invalid field. */
typedef struct FieldProblem {
    Str pointer; /* "/spec/rules/0/verbs" */
    Str text;
    bool is_name;    /* the name is invalid, not the value */
    uint32_t column; /* position in the string, starting at 1; 0: all of it */
} FieldProblem;

enum {
    FIELD_PROBLEMS_MAX = 20
};

typedef struct FieldProblems {
    FieldProblem items[FIELD_PROBLEMS_MAX];
    uint32_t count;       /* further ones are dropped */
    FieldProblem scratch; /* returned for dropped ones */
} FieldProblems;

/* Adds a problem and returns it, so that the caller can add details. */
PRINTF_LIKE(4, 5)
FieldProblem *field_problem(Arena *arena, FieldProblems *problems, Str pointer, const char *format,
                            ...);
/* Whether there is a problem at or below the pointer. */
bool field_has_problem(const FieldProblems *problems, Str pointer);
/* The pointer to the field `name` below a pointer (RFC 6901). */
Str field_below(Arena *arena, Str pointer, Str name);
/* NULL if no field has that name. */
const RecordField *fields_find(const RecordField *fields, Str name);
/* Reports an unknown name, with a suggestion. */
void fields_report_unknown(Arena *arena, const RecordField *fields, Str name, Str pointer,
                           FieldProblems *problems);
/* Checks a map against fields; `pointer` is its location. Adds all problems at once. */
void fields_check(Arena *arena, const RecordField *fields, Value map, Str pointer,
                  FieldProblems *problems);

/* The same for a record, which may have a format; unknown fields are problems only in external
 * input. */
void record_check(Arena *arena, const RecordFormat *format, Value map, RecordOrigin origin,
                  FieldProblems *problems);

/* Appends "type":"object",... to an open JSON object: a JSON Schema as in OpenAPI 3.0. */
void fields_schema(Buf *out, const RecordField *fields);
