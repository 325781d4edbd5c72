#include "base/log.h"

#include "unit.h"

typedef struct Capture {
    Buf text;
    int lines;
} Capture;

static void capture_write(void *context, Str line)
{
    Capture *capture = context;
    buf_put(&capture->text, line);
    capture->lines++;
}

static int64_t fixed_time(void *context)
{
    return 1767225599250; /* 2025-12-31T23:59:59.250Z */
}

static void hide_hunter(void *context, Str text, Buf *out)
{
    size_t hit = str_find(text, STR("hunter2"), 0);
    if (hit == STR_NOT_FOUND) {
        buf_put(out, text);
        return;
    }
    buf_put(out, str_slice(text, 0, hit));
    buf_put(out, STR("(secret)"));
    buf_put(out, str_from_offset(text, hit + 7));
}

static int set_up(void **state)
{
    static Capture capture;
    capture = (Capture){ .text = buf_make(BUF_UNLIMITED) };
    *state = &capture;
    return 0;
}

static int tear_down(void **state)
{
    Capture *capture = *state;
    buf_clear(&capture->text);
    log_set_sink((LogSink){ .level = LOG_LEVEL_WARNING });
    return 0;
}

static LogSink sink_to(Capture *capture, LogLevel level, LogFormat format)
{
    return (
        LogSink){ .level = level, .format = format, .context = capture, .write = capture_write };
}

static void fields_follow_the_message(void **state)
{
    Capture *capture = *state;
    log_set_sink(sink_to(capture, LOG_LEVEL_DEBUG, LOG_FORMAT_HUMAN));
    log_warning("member is suspect", LOG_STR("node", STR("web07")), LOG_INT("missed", -3),
                LOG_BOOL("voter", true), LOG_C("why", "no answer"), LOG_SECRET("token"));
    assert_str(buf_str(&capture->text),
               "warning: member is suspect node=web07 missed=-3 voter=true why=\"no answer\" "
               "token=(secret)\n");
}

static void json_lines_hold_the_same(void **state)
{
    Capture *capture = *state;
    LogSink sink = sink_to(capture, LOG_LEVEL_DEBUG, LOG_FORMAT_JSON);
    sink.now_ms = fixed_time;
    log_set_sink(sink);
    log_info("started \"now\"", LOG_STR("text", STR("a\n\"b\"\xff")), LOG_INT("n", INT64_MIN),
             LOG_BOOL("b", false), LOG_SECRET("token"));
    log_debug("no fields");
    assert_str(buf_str(&capture->text),
               "{\"time\":\"2025-12-31T23:59:59.250Z\",\"level\":\"info\","
               "\"message\":\"started \\\"now\\\"\",\"text\":\"a\\n\\\"b\\\"\xef\xbf\xbd\","
               "\"n\":-9223372036854775808,\"b\":false,\"token\":\"(secret)\"}\n"
               "{\"time\":\"2025-12-31T23:59:59.250Z\",\"level\":\"debug\","
               "\"message\":\"no fields\"}\n");
    assert_int_equal(capture->lines, 2);
}

static void external_text_cannot_forge_lines(void **state)
{
    Capture *capture = *state;
    LogSink sink = sink_to(capture, LOG_LEVEL_DEBUG, LOG_FORMAT_HUMAN);
    sink.now_ms = fixed_time;
    log_set_sink(sink);
    log_error("m\n", LOG_C("a", "x\nerror: forged"), LOG_C("b", "\"q\\"), LOG_C("c", ""),
              LOG_C("d", "k=v"));
    assert_str(buf_str(&capture->text),
               "2025-12-31T23:59:59.250Z error: m\\n a=\"x\\nerror: forged\" b=\"\\\"q\\\\\" "
               "c=\"\" d=\"k=v\"\n");
}

static int evaluations;
static int counted(void)
{
    return ++evaluations;
}

static void levels_below_the_sink_cost_nothing(void **state)
{
    Capture *capture = *state;
    evaluations = 0;
    log_set_sink(sink_to(capture, LOG_LEVEL_WARNING, LOG_FORMAT_HUMAN));
    log_debug("d", LOG_INT("n", counted()));
    log_info("i", LOG_INT("n", counted()));
    assert_int_equal(evaluations, 0);
    log_warning("w", LOG_INT("n", counted()));
    log_error("e", LOG_INT("n", counted()));
    assert_str(buf_str(&capture->text), "warning: w n=1\nerror: e n=2\n");
    log_set_sink(sink_to(capture, LOG_LEVEL_OFF, LOG_FORMAT_HUMAN));
    log_error("e");
    assert_int_equal(capture->lines, 2);
}

static void the_sink_scrubs_messages_and_fields(void **state)
{
    Capture *capture = *state;
    LogSink sink = sink_to(capture, LOG_LEVEL_DEBUG, LOG_FORMAT_JSON);
    sink.scrub = hide_hunter;
    log_set_sink(sink);
    /* The secret lies across the truncation point: it must be removed before truncating, not
     * halved. */
    char text[LOG_TEXT_MAX + 100];
    memset(text, 'x', sizeof text);
    memcpy(text + LOG_TEXT_MAX - 3, "hunter2", 7);
    log_warning("login with hunter2", LOG_C("line", "pw=hunter2;"),
                LOG_STR("long", str_from(text, sizeof text)));
    Str line = buf_str(&capture->text);
    assert_true(str_find(line, STR("\"message\":\"login with (secret)\""), 0) != STR_NOT_FOUND);
    assert_true(str_find(line, STR("\"line\":\"pw=(secret);\""), 0) != STR_NOT_FOUND);
    assert_true(str_find(line, STR("hun"), 0) == STR_NOT_FOUND);
    assert_true(str_ends(line, STR("xx(se...\"}\n")));
}

static void long_values_are_truncated_between_characters(void **state)
{
    Capture *capture = *state;
    log_set_sink(sink_to(capture, LOG_LEVEL_DEBUG, LOG_FORMAT_HUMAN));
    char text[4 * LOG_TEXT_MAX];
    text[0] = 'x';
    for (size_t i = 1; i + 2 <= sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa9", 2);
    }
    log_info("m", LOG_STR("t", str_from(text, sizeof text - 1)));
    assert_true(str_ends(buf_str(&capture->text), STR("\xc3\xa9...\n")));
    assert_true(capture->text.len < LOG_TEXT_MAX + 50);
}

static void names_of_levels_and_formats_can_be_configured(void **state)
{
    LogLevel level;
    assert_true(log_level_from_name(STR("debug"), &level));
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    LogFormat format;
    assert_true(log_format_from_name(STR("json"), &format));
    assert_int_equal(format, LOG_FORMAT_JSON);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(fields_follow_the_message),
        TEST(json_lines_hold_the_same),
        TEST(external_text_cannot_forge_lines),
        TEST(levels_below_the_sink_cost_nothing),
        TEST(the_sink_scrubs_messages_and_fields),
        TEST(long_values_are_truncated_between_characters),
        TEST(names_of_levels_and_formats_can_be_configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
