/* Formats log lines. A line is built in memory and written with a single call, so that lines of
 * several threads do not mix. Every text is scrubbed of secrets and truncated before it is
 * formatted, and control characters are escaped. */
#include "base/log.h"

#include <stdio.h>
#include <time.h>

#include "base/json_out.h"
#include "base/utf8.h"
#include "base/visible.h"

DEFINE_ENUM_NAMES(
    LogLevel, log_level, [LOG_LEVEL_DEBUG] = "debug", [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARNING] = "warning", [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_OFF] = "off")
DEFINE_ENUM_NAMES(LogFormat, log_format, [LOG_FORMAT_HUMAN] = "human", [LOG_FORMAT_JSON] = "json")

static LogSink log_sink = { .level = LOG_LEVEL_WARNING };

void log_set_sink(LogSink sink)
{
    log_sink = sink;
}

bool log_enabled(LogLevel level)
{
    return level >= log_sink.level && level < LOG_LEVEL_OFF;
}

/* RFC 3339 in UTC. */
static void put_time(int64_t now_ms, Buf *out)
{
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) != NULL) {
        buf_put_format(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(now_ms % 1000));
    }
}

/* Removes secrets before the text is truncated, so that no part of one can remain. `scratch` holds
 * the result. */
static Str clean_text(Str text, Buf *scratch)
{
    buf_reset(scratch);
    if (log_sink.scrub != NULL) {
        log_sink.scrub(log_sink.context, text, scratch);
        text = buf_str(scratch);
    }
    if (text.len <= LOG_TEXT_MAX) {
        return text;
    }
    size_t len = LOG_TEXT_MAX;
    while (len > 0 && utf8_is_continuation(text.data[len])) {
        len--;
    }
    if (log_sink.scrub == NULL) {
        buf_put(scratch, str_slice(text, 0, len));
    } else {
        scratch->len = len;
    }
    buf_put(scratch, STR("..."));
    return buf_str(scratch);
}

static bool needs_quotes(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == '"' || c == '=' || c == 0x7f || c == '\\') {
            return true;
        }
    }
    return text.len == 0;
}

static void put_human_text(Str text, Buf *out)
{
    if (!needs_quotes(text)) {
        visible_put(out, text);
        return;
    }
    buf_put_char(out, '"');
    for (size_t pos = 0; pos < text.len;) {
        if (text.data[pos] == '"' || text.data[pos] == '\\') {
            buf_put_char(out, '\\');
        }
        VisiblePiece piece = visible_next(text, &pos);
        buf_put(out, str_from(piece.text, piece.bytes));
    }
    buf_put_char(out, '"');
}

static void put_text(Str text, Buf *out, Buf *scratch)
{
    text = clean_text(text, scratch);
    if (log_sink.format == LOG_FORMAT_JSON) {
        json_text_put(out, text);
    } else {
        put_human_text(text, out);
    }
}

static void put_value(const LogField *field, Buf *out, Buf *scratch)
{
    switch (field->kind) {
    case LOG_FIELD_TEXT: put_text(field->text, out, scratch); break;
    case LOG_FIELD_INT: buf_put_i64(out, field->integer); break;
    case LOG_FIELD_BOOL: buf_put_c(out, field->boolean ? "true" : "false"); break;
    case LOG_FIELD_SECRET: put_text(STR("(secret)"), out, scratch); break;
    }
}

static void put_human_start(LogLevel level, const char *message, Buf *out, Buf *scratch)
{
    if (log_sink.now_ms != NULL) {
        put_time(log_sink.now_ms(log_sink.context), out);
        buf_put_char(out, ' ');
    }
    buf_put_format(out, "%s: ", log_level_name(level));
    visible_put(out, clean_text(str_from_c(message), scratch));
}

static void put_json_start(LogLevel level, const char *message, Buf *out, Buf *scratch)
{
    buf_put_char(out, '{');
    if (log_sink.now_ms != NULL) {
        buf_put(out, STR("\"time\":\""));
        put_time(log_sink.now_ms(log_sink.context), out);
        buf_put(out, STR("\","));
    }
    buf_put_format(out, "\"level\":\"%s\",\"message\":", log_level_name(level));
    put_text(str_from_c(message), out, scratch);
}

void log_write(LogLevel level, const char *message, const LogField *fields)
{
    if (!log_enabled(level)) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) scratch = buf_make(BUF_UNLIMITED);
    bool json = log_sink.format == LOG_FORMAT_JSON;
    if (json) {
        put_json_start(level, message, &out, &scratch);
    } else {
        put_human_start(level, message, &out, &scratch);
    }
    for (size_t i = 0; i < LOG_FIELDS_MAX && fields[i].key != NULL; i++) {
        buf_put_format(&out, json ? ",\"%s\":" : " %s=", fields[i].key);
        put_value(&fields[i], &out, &scratch);
    }
    buf_put(&out, json ? STR("}\n") : STR("\n"));
    if (log_sink.write != NULL) {
        log_sink.write(log_sink.context, buf_str(&out));
    } else {
        /* Standard error is unbuffered and its lock is held, so the line is written at once. */
        fwrite(out.data, 1, out.len, stderr);
    }
}
