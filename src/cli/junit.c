#include "cli/junit.h"

#include "base/utf8.h"

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

void junit_declare(Buf *out)
{
    buf_put(out, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
}

void junit_open(Buf *out)
{
    junit_declare(out);
    buf_put(out, STR("<testsuites>\n"));
}

void junit_close(Buf *out)
{
    buf_put(out, STR("</testsuites>\n"));
}

void junit_count(JunitSuite *suite, StepResult result)
{
    suite->tests++;
    suite->failures += result == RESULT_FAILED;
    suite->errors += result == RESULT_BLOCKED || result == RESULT_WAITING;
    suite->skipped += result == RESULT_SKIPPED;
}

void junit_open_suite(Buf *out, const JunitSuite *suite)
{
    buf_put(out, STR("<testsuite"));
    put_attribute(out, "name", suite->name);
    put_attribute(out, "hostname", suite->hostname);
    buf_put_format(out,
                   " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\" time=\"%.3f\">\n",
                   suite->tests, suite->failures, suite->errors, suite->skipped,
                   (double)suite->duration_us / 1e6);
}

void junit_put_case(Buf *out, const JunitCase *test)
{
    buf_put(out, STR("  <testcase"));
    put_attribute(out, "classname", test->class_name);
    put_attribute(out, "name", test->name);
    buf_put_format(out, " time=\"%.3f\">", (double)test->duration_us / 1e6);
    if (test->result == RESULT_FAILED) {
        buf_put(out, STR("<failure"));
        put_attribute(out, "message", test->message);
        buf_put_char(out, '>');
        put_text(out, test->text);
        buf_put(out, STR("</failure>"));
    } else if (test->result == RESULT_BLOCKED || test->result == RESULT_WAITING) {
        buf_put(out, STR("<error"));
        put_attribute(out, "message", test->message);
        buf_put(out, STR("/>"));
    } else if (test->result == RESULT_SKIPPED) {
        buf_put(out, STR("<skipped"));
        put_attribute(out, "message", test->message);
        buf_put(out, STR("/>"));
    }
    buf_put(out, STR("</testcase>\n"));
}

void junit_close_suite(Buf *out)
{
    buf_put(out, STR("</testsuite>\n"));
}
