/* Logging with levels and fields, for code that has no caller to return an error to.
 *
 *     log_warning("member stopped answering, marking it suspect",
 *                 LOG_STR("node", name), LOG_INT("missed", 3));
 *
 * Messages are lowercase and describe what happened and what happens next; everything that varies
 * is a field. Each line is a single call of the sink. The sink is the only mutable global of the
 * program: main sets it before it starts threads.
 *
 * Secrets: LOG_SECRET(key) records that there is one, without its value. Secrets inside other text
 * are removed by the sink's `scrub`, which is applied to every message and string field before it
 * is written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/enum_names.h"
#include "base/str.h"

typedef enum LogLevel {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_OFF, /* for the sink: log nothing */
} LogLevel;

typedef enum LogFormat {
    LOG_FORMAT_HUMAN, /* 2026-01-31T08:15:30.250Z warning: message key=value key="two words" */
    LOG_FORMAT_JSON,  /* {"time":"...","level":"warning","message":"...","key":"value"} */
} LogFormat;

DECLARE_ENUM_NAMES(LogLevel, log_level)
DECLARE_ENUM_NAMES(LogFormat, log_format)

enum {
    LOG_FIELDS_MAX = 32, /* further ones are dropped */
    /* bytes of a message or string field; longer ones are truncated with "..." */
    LOG_TEXT_MAX = 1024,
};

typedef enum LogFieldKind {
    LOG_FIELD_TEXT,
    LOG_FIELD_INT,
    LOG_FIELD_BOOL,
    LOG_FIELD_SECRET,
} LogFieldKind;

typedef struct LogField {
    const char *key; /* name; NULL ends the list */
    LogFieldKind kind;
    union {
        Str text;
        int64_t integer;
        bool boolean;
    };
} LogField;

#define LOG_STR(name, value)  ((LogField){ .key = (name), .kind = LOG_FIELD_TEXT, .text = (value) })
#define LOG_C(name, value)    LOG_STR((name), str_from_c(value))
#define LOG_INT(name, value)  ((LogField){ (name), LOG_FIELD_INT, .integer = (value) })
#define LOG_BOOL(name, value) ((LogField){ (name), LOG_FIELD_BOOL, .boolean = (value) })
#define LOG_SECRET(name)      ((LogField){ .key = (name), .kind = LOG_FIELD_SECRET })

typedef struct LogSink {
    LogLevel level; /* the lowest level that is written */
    LogFormat format;
    void *context; /* passed to the functions below, each of which may be NULL */
    /* Receives a complete line with its newline, from any thread. NULL writes to standard
     * error. */
    void (*write)(void *context, Str line);
    /* Milliseconds since 1970, UTC. NULL omits the time. */
    int64_t (*now_ms)(void *context);
    void (*scrub)(void *context, Str text, Buf *out);
} LogSink;

/* Call it in main only. Before that, warnings and errors go to standard error in human format. */
void log_set_sink(LogSink sink);

bool log_enabled(LogLevel level);
/* `fields` ends with one whose key is NULL. Use the macros: they evaluate the fields only if the
 * level is enabled. */
void log_write(LogLevel level, const char *message, const LogField *fields);

#define LOG_AT(level, message, ...)                                                     \
    do {                                                                                \
        if (log_enabled(level)) {                                                       \
            log_write((level), (message),                                               \
                      (const LogField[]){ __VA_ARGS__ __VA_OPT__(, ){ .key = NULL } }); \
        }                                                                               \
    } while (0)

#define log_debug(...)   LOG_AT(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)    LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warning(...) LOG_AT(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error(...)   LOG_AT(LOG_LEVEL_ERROR, __VA_ARGS__)
