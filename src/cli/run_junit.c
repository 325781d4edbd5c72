#include "cli/run_junit.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "sys/file.h"

/* Escapes text for XML 1.0: characters that it cannot represent become '?', invalid UTF-8 becomes
 * U+FFFD. */
static void put_text(Buf *out, Str text)
{
    for (size_t at = 0; at < text.len;) {
        size_t start = at;
        uint32_t code;
        size_t bytes = utf8_decode(text.data + at, text.len - at, &code);
        at += bytes > 0 ? bytes : 1;
        if (bytes == 0) {
            buf_put(out, STR("\xef\xbf\xbd"));
            continue;
        }
        bool allowed =
            (code >= 0x20 && code != 0xfffe && code != 0xffff) || code == '\t' || code == '\n';
        switch (code) {
        case '\r': buf_put(out, STR("&#13;")); break;
        case '<': buf_put(out, STR("&lt;")); break;
        case '>': buf_put(out, STR("&gt;")); break;
        case '&': buf_put(out, STR("&amp;")); break;
        case '"': buf_put(out, STR("&quot;")); break;
        default: buf_put(out, allowed ? str_slice(text, start, at) : STR("?"));
        }
    }
}

static void put_attribute(Buf *out, const char *name, Str value)
{
    buf_put_format(out, " %s=\"", name);
    put_text(out, value);
    buf_put_char(out, '"');
}

static void put_case(Buf *out, const Step *step, const StepReport *report)
{
    StepResult result = report->status.result;
    buf_put(out, STR("  <testcase"));
    put_attribute(out, "classname", step->spec->job->name);
    put_attribute(out, "name", step->name);
    buf_put_format(out, " time=\"%.3f\">", (double)report->duration_us / 1e6);
    if (result == RESULT_FAILED) {
        buf_put(out, STR("<failure"));
        put_attribute(out, "message", report->error != NULL ? report->error->message : STR_EMPTY);
        buf_put_char(out, '>');
        put_text(out, report->shown_error_out);
        buf_put(out, STR("</failure>"));
    } else if (result == RESULT_BLOCKED || result == RESULT_WAITING) {
        buf_put(out, STR("<error"));
        put_attribute(out, "message", report->reason);
        buf_put(out, STR("/>"));
    } else if (result == RESULT_SKIPPED) {
        buf_put(out, STR("<skipped"));
        put_attribute(out, "message", report->reason);
        buf_put(out, STR("/>"));
    }
    buf_put(out, STR("</testcase>\n"));
}

bool run_junit_write(const RunReport *report, const char *path, Error *err)
{
    uint32_t counts[RESULT_COUNT];
    run_report_count(report, counts);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    buf_put(&out, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite"));
    put_attribute(&out, "name", report->planning ? STR("eden plan") : STR("eden apply"));
    put_attribute(&out, "hostname", report->node);
    buf_put_format(&out,
                   " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\" time=\"%.3f\">\n",
                   report->steps->count, counts[RESULT_FAILED],
                   counts[RESULT_BLOCKED] + counts[RESULT_WAITING], counts[RESULT_SKIPPED],
                   (double)report->duration_us / 1e6);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        put_case(&out, &report->steps->items[i], &report->items[i]);
    }
    buf_put(&out, STR("</testsuite>\n"));
    return file_write_atomic(path, buf_str(&out), err);
}
