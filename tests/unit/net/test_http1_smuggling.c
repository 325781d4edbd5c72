/* Requests designed to be parsed in two ways: each is rejected, and nothing after it is read. The
 * table is a corpus of the fuzz target that compares parsers, in the format described in
 * tests/fuzz/lines.py. */
#include "net/http1.h"
#include "sys/file.h"
#include "unit.h"

static const char table[] = "tests/fuzz/corpus/http1_llhttp/smuggling.lines";

enum {
    BODY_MAX = 1 << 20,
    CASES_WANTED = 186
};

static Str unescape(Arena *arena, Str line)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < line.len; i++) {
        char c = line.data[i];
        if (c == '\\') {
            c = line.data[++i];
            if (c == 'x') {
                c = (char)(ascii_hex_value(line.data[i + 1]) * 16 +
                           ascii_hex_value(line.data[i + 2]));
                i += 2;
            } else {
                c = c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
            }
        }
        buf_put_char(&out, c);
    }
    return buf_str(&out);
}

/* Whether the first message is rejected with this error, for any chunking. */
static void check_refused(Str line, Str bytes, Str wanted, size_t step)
{
    Http1Reader reader;
    Http1Event event = HTTP1_MORE;
    Error err;
    char found[sizeof err.text + 16];
    bool ok = true;
    http1_reader_init(&reader, HTTP1_REQUEST, BODY_MAX);
    for (size_t i = 0; ok && i < bytes.len; i += step) {
        Str chunk = str_slice(bytes, i, i + step < bytes.len ? i + step : bytes.len);
        do {
            ok = http1_read(&reader, &chunk, &event, &err);
            if (ok && event == HTTP1_END) {
                fail_msg("taken: %.*s", (int)line.len, line.data);
            }
        } while (ok && event != HTTP1_MORE);
    }
    if (ok) {
        fail_msg("waited for more of: %.*s", (int)line.len, line.data);
    }
    snprintf(found, sizeof found, "%d %s", reader.error_status, err.text);
    if (strncmp(found, wanted.data, 4) != 0 ||
        str_find(str_from_c(found), str_from_offset(wanted, 4), 0) == STR_NOT_FOUND) {
        fail_msg("'%s' for: %.*s", found, (int)line.len, line.data);
    }
    http1_reader_clear(&reader);
}

static void all_smuggling_attempts_are_rejected(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text, line, wanted = STR_EMPTY;
    uint32_t count = 0;
    Error err;
    assert_true(file_read(&arena, table, 1 << 20, &text, &err));
    while (str_split_next(&text, '\n', &line)) {
        if (str_starts(line, STR("# ")) && line.len > 6 && ascii_is_digit(line.data[2])) {
            wanted = str_from_offset(line, 2);
        } else if (line.len > 0 && line.data[0] != '#') {
            Str bytes = unescape(&arena, line);
            check_refused(line, bytes, wanted, bytes.len);
            check_refused(line, bytes, wanted, 1);
            count++;
        }
    }
    assert_true(count >= CASES_WANTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_smuggling_attempts_are_rejected) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
