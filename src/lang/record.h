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
 * places in a struct checks and describes values: so the kinds of the API are made.
 *
 * What is stored or sent between programs of eden may come from a newer one: fields that are not
 * known are kept in RECORD_UNKNOWN_AT and printed again. What comes from outside is strict. Pure. */
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
    RECORD_INT,      /* from `min` to `max`; any when both are 0 */
    RECORD_BOOL,
    RECORD_SELECTOR, /* of nodes */
    RECORD_OBJECT,   /* of `fields`; without any, whatever an object has */
    RECORD_ANY,      /* whatever JSON has */
} RecordType;

typedef enum RecordShape {
    RECORD_ONE,
    RECORD_LIST, /* of those */
    RECORD_MAP,  /* from texts to those */
} RecordShape;

/* What the struct has for a field: see the macros below. */
typedef enum RecordPlace {
    RECORD_NOWHERE,
    RECORD_AS_CHARS, /* char[size], with a NUL */
    RECORD_AS_STR,   /* in the arena, or borrowed from the text */
    RECORD_AS_INT,   /* int64_t, int */
    RECORD_AS_UINT,  /* uint64_t, uint32_t, uint16_t */
    RECORD_AS_BOOL,
    RECORD_AS_ENUM,    /* whose constants are called `names` */
    RECORD_AS_VALUE,   /* of any shape */
    RECORD_AS_CODED,   /* of any shape: what its codec makes of it */
    RECORD_AS_STRUCT,  /* of `fields`; a list of them is an array in the struct */
    RECORD_AS_POINTER, /* a list of such structs in the arena; without `fields`, of Strs */
    RECORD_AS_UNKNOWN, /* Value: a map of the fields that the table has not */
} RecordPlace;

/* What is something else in memory than in JSON: a fingerprint, an address. That the value has its type
 * and shape was checked. */
typedef struct RecordCodec {
    bool (*read)(Arena *arena, Value value, void *member, Error *err);
    void (*print)(const void *member, Buf *out); /* as JSON */
    bool (*is_empty)(const void *member);        /* NULL: it never is */
} RecordCodec;

/* A field that tables show. */
typedef struct RecordColumn {
    const char *title; /* NULL: they do not */
    const char *none;  /* what stands there when it is empty; NULL: "-" */
    bool is_wide;      /* only in wide tables */
    bool is_late;      /* of the spec of an object: behind the columns of its status */
} RecordColumn;

typedef struct RecordField RecordField;
struct RecordField {
    const char *name; /* NULL ends a list */
    RecordType type;
    RecordPlace place;
    size_t offset, size; /* in the struct; of a list, the size of one item */
    size_t count_offset; /* of a list in the struct: where the uint32_t with its length is, and */
    uint32_t capacity;   /* how many items it may have */
    const RecordCodec *codec;
    const char *const *names;                 /* of the constants of an enum, and */
    size_t name_count;                        /* how many */
    bool (*check_text)(Str text, Error *err); /* beyond all below; NULL: nothing */

    RecordShape shape;
    bool is_required;    /* others are left out when they are empty, zero or false */
    bool is_printed;     /* and this one not, though it may be missing */
    bool is_secret;      /* shown once, and never logged */
    bool is_nullable;    /* in what the server says: null stands for none */
    bool is_fixed;       /* cannot be changed later */
    bool is_plain;       /* of a text: no control characters */
    const char *choices; /* "join|access" */
    int64_t min, max;    /* of a number; milliseconds of a duration; bytes of other texts */
    const RecordField *fields;
    RecordColumn column;
    const char *help;
};

/* The place of a member of a struct, whose type must fit. */
#define RECORD_PLACE(as, Struct, member, Type)      \
    .place = (as),                                  \
    .offset = _Generic(((Struct *)0)->member, Type  \
                       : offsetof(Struct, member)), \
    .size = sizeof(((Struct *)0)->member)
#define RECORD_CHARS_AT(Struct, member) RECORD_PLACE(RECORD_AS_CHARS, Struct, member, char *)
#define RECORD_STR_AT(Struct, member)   RECORD_PLACE(RECORD_AS_STR, Struct, member, Str)
#define RECORD_BOOL_AT(Struct, member)  RECORD_PLACE(RECORD_AS_BOOL, Struct, member, bool)
#define RECORD_VALUE_AT(Struct, member) RECORD_PLACE(RECORD_AS_VALUE, Struct, member, Value)
#define RECORD_INT_AT(Struct, member)                \
    .place = _Generic(((Struct *)0)->member, int64_t \
                      : RECORD_AS_INT, int           \
                      : RECORD_AS_INT, uint64_t      \
                      : RECORD_AS_UINT, uint32_t     \
                      : RECORD_AS_UINT, uint16_t     \
                      : RECORD_AS_UINT),             \
    .offset = offsetof(Struct, member), .size = sizeof(((Struct *)0)->member)
/* `prefix` as in DEFINE_ENUM_NAMES. */
#define RECORD_ENUM_AT(Struct, member, prefix)                      \
    .place = RECORD_AS_ENUM, .offset = offsetof(Struct, member),    \
    .size = sizeof(((Struct *)0)->member), .names = prefix##_names, \
    .name_count = COUNT_OF(prefix##_names)
#define RECORD_CODED_AT(Struct, member, Type, how) \
    RECORD_PLACE(RECORD_AS_CODED, Struct, member, Type), .codec = &(how)
#define RECORD_STRUCT_AT(Struct, member, Type, table) \
    RECORD_PLACE(RECORD_AS_STRUCT, Struct, member, Type), .fields = (table)
/* An array in the struct, with the number of its items beside it. */
#define RECORD_STRUCTS_AT(Struct, member, count, Type, table)           \
    .place = RECORD_AS_STRUCT, .shape = RECORD_LIST, .fields = (table), \
    .offset = _Generic(((Struct *)0)->member, Type *                    \
                       : offsetof(Struct, member)),                     \
    .size = sizeof(Type), .capacity = COUNT_OF(((Struct *)0)->member),  \
    .count_offset = _Generic(((Struct *)0)->count, uint32_t             \
                             : offsetof(Struct, count))
/* The same, each item as its codec has it. */
#define RECORD_CODEDS_AT(Struct, member, count, Type, how)             \
    .place = RECORD_AS_CODED, .shape = RECORD_LIST, .codec = &(how),   \
    .offset = _Generic(((Struct *)0)->member, Type *                   \
                       : offsetof(Struct, member)),                    \
    .size = sizeof(Type), .capacity = COUNT_OF(((Struct *)0)->member), \
    .count_offset = _Generic(((Struct *)0)->count, uint32_t            \
                             : offsetof(Struct, count))
/* A pointer in the struct to an array in the arena, which has `max` items at most. */
#define RECORD_POINTER_AT(Struct, member, count, max, Type, table)               \
    .place = RECORD_AS_POINTER, .shape = RECORD_LIST, .fields = (table),         \
    .offset = offsetof(Struct, member), .size = sizeof(Type), .capacity = (max), \
    .count_offset = _Generic(((Struct *)0)->count, uint32_t                      \
                             : offsetof(Struct, count))
#define RECORD_UNKNOWN_AT(Struct, member) \
    .name = "", RECORD_PLACE(RECORD_AS_UNKNOWN, Struct, member, Value)

typedef struct RecordFormat {
    const char *format; /* "eden.node/1"; NULL: it says none, being part of another */
    const char *what;   /* for errors: "the record of a node" */
    const RecordField *fields;
    size_t size;                                   /* of the struct */
    uint32_t text_max;                             /* bytes of JSON */
    uint32_t values_max;                           /* in it; 0: as many as fit */
    bool (*check)(const void *record, Error *err); /* what concerns several fields; NULL: nothing */
} RecordFormat;

typedef enum RecordOrigin {
    RECORD_STORED,  /* by eden, perhaps a newer one: unknown fields are kept */
    RECORD_OUTSIDE, /* a request or a file that people write: unknown fields are errors */
} RecordOrigin;

/* Texts, maps and lists are in the arena or borrowed from `text`; `out` is changed only when all is
 * well. What is not there is zero, or an empty map or list. Fails with ERROR_INVALID or ERROR_LIMIT; of
 * a text from outside that has several lines it says in which one. */
MUST_CHECK bool record_read(const RecordFormat *format, Arena *arena, Str text, RecordOrigin origin,
                            void *out, Error *err);
/* The same of what was read as JSON. */
MUST_CHECK bool record_from_value(const RecordFormat *format, Arena *arena, Value object,
                                  RecordOrigin origin, void *out, Error *err);
/* Appends it as JSON on one line. */
void record_print(const RecordFormat *format, const void *record, Buf *out);
/* As a file that people read: every field on a line of its own. */
void record_print_file(const RecordFormat *format, const void *record, Buf *out);

/* --- Values --------------------------------------------------------------------------------- */

/* One thing that is wrong. */
typedef struct FieldProblem {
    Str pointer; /* "/spec/rules/0/verbs" */
    Str text;
    bool is_name;    /* it is the name that is wrong, not what stands under it */
    uint32_t column; /* within the text that stands there, from 1 on; 0: it is about all of it */
} FieldProblem;

enum {
    FIELD_PROBLEMS_MAX = 20
};

typedef struct FieldProblems {
    FieldProblem items[FIELD_PROBLEMS_MAX];
    uint32_t count;       /* further ones are not kept */
    FieldProblem scratch; /* handed out for those */
} FieldProblems;

/* Returns the problem, for what else is known of it. */
PRINTF_LIKE(4, 5)
FieldProblem *field_problem(Arena *arena, FieldProblems *problems, Str pointer, const char *format,
                            ...);
/* Whether something is known to be wrong there, or below. */
bool field_is_told(const FieldProblems *problems, Str pointer);
/* The pointer to what stands under `name` there, as RFC 6901 writes it. */
Str field_below(Arena *arena, Str pointer, Str name);
/* NULL: there is none of that name. */
const RecordField *fields_find(const RecordField *fields, Str name);
/* What is wrong with a name that none of them has: which one may be meant. */
void fields_tell_unknown(Arena *arena, const RecordField *fields, Str name, Str pointer,
                         FieldProblems *problems);
/* Checks a map against fields; `pointer` is where it stands. Adds what is wrong, all of it at once. */
void fields_check(Arena *arena, const RecordField *fields, Value map, Str pointer,
                  FieldProblems *problems);

/* The same for a record, which may say its format; what is not known is wrong only from outside. */
void record_check(Arena *arena, const RecordFormat *format, Value map, RecordOrigin origin,
                  FieldProblems *problems);

/* Appends "type":"object",... of an object that was opened: a JSON Schema as OpenAPI 3.0 has them. */
void fields_schema(Buf *out, const RecordField *fields);
