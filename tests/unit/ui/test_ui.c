/* The table of pages and their contents. */

#include "base/buf.h"
#include "sys/sha256.h"
#include "ui/ui.h"
#include "unit.h"

static void every_path_leads_to_its_file(void **state)
{
    assert_true(ui_file_count > 4);
    for (uint32_t i = 0; i < ui_file_count; i++) {
        assert_ptr_equal(ui_find(str_from_c(ui_files[i].address)), &ui_files[i]);
    }
    static const char *const others[] = { "",         "/docs", "//",        "/index.html",
                                          "/assets/", "/../",  "/docs/../", "/%2f" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_null(ui_find(str_from_c(others[i])));
    }
}

/* The announced length, and the digest in the tag. */
static void every_file_can_be_unpacked(void **state)
{
    for (uint32_t i = 0; i < ui_file_count; i++) {
        const UiFile *file = &ui_files[i];
        AUTO(UiReader) *reader = ui_reader_new(file, false);
        Buf whole = buf_make(BUF_UNLIMITED);
        char digest[SHA256_HEX + 1], tag[SHA256_HEX + 8];
        Str chunk;
        while (ui_reader_next(reader, &chunk)) {
            assert_true(chunk.len <= UI_CHUNK_MAX);
            buf_put(&whole, chunk);
        }
        assert_false(ui_reader_next(reader, &chunk));
        assert_int_equal(whole.len, file->size);
        sha256_hex(buf_str(&whole), digest);
        snprintf(tag, sizeof tag, "W/\"%s\"", digest);
        assert_string_equal(tag, file->tag);
        buf_clear(&whole);
    }
}

static void every_file_is_available_compressed(void **state)
{
    for (uint32_t i = 0; i < ui_file_count; i++) {
        const UiFile *file = &ui_files[i];
        AUTO(UiReader) *reader = ui_reader_new(file, true);
        Buf whole = buf_make(BUF_UNLIMITED);
        Str chunk;
        while (ui_reader_next(reader, &chunk)) {
            buf_put(&whole, chunk);
        }
        assert_true(str_eq(buf_str(&whole), ui_compressed(file)));
        buf_clear(&whole);
    }
}

/* A client that disconnects in the middle leaves nothing behind. */
static void a_reader_can_be_abandoned(void **state)
{
    AUTO(UiReader) *reader = ui_reader_new(&ui_files[0], false);
    Str chunk;
    assert_true(ui_reader_next(reader, &chunk));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_leads_to_its_file),
        cmocka_unit_test(every_file_can_be_unpacked),
        cmocka_unit_test(every_file_is_available_compressed),
        cmocka_unit_test(a_reader_can_be_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
