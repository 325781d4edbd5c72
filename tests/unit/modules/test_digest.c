#include "modules/digest.h"

#include "base/buf.h"
#include "module_fixture.h"

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void digests_as_sites_write_them(void **state)
{
    AUTO_CLEAR(Arena) memory;
    Arena *arena = &memory;
    arena_init(arena, ARENA_UNLIMITED);
    static const char *const bad[] = {
        "",
        DIGITS,
        "sha256:",
        "sha256:" DIGITS "0",
        "sha512:" DIGITS,
        "sha256:" DIGITS DIGITS,
        "SHA256:" DIGITS,
        "md5:0123456789abcdef0123456789abcdef",
        "sha256: 123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "sha256:g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    };
    Str out;
    Error err;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (digest_parse(arena, str_from_c(bad[i]), &out, &err)) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
    assert_true(digest_parse(arena, STR("sha256:" DIGITS), &out, &err));
    assert_str(out, "sha256:" DIGITS);
    assert_int_equal(digest_kind(out), DIGEST_SHA256);
    assert_true(digest_parse(arena,
                             STR("sha512:ABCDEF6789abcdef0123456789abcdef0123456789abcdef"
                                 "0123456789abcdef" DIGITS),
                             &out, &err));
    assert_str(out,
               "sha512:abcdef6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" DIGITS);
    assert_int_equal(digest_kind(out), DIGEST_SHA512);
}

static void known_digests(void **state)
{
    AUTO_CLEAR(Arena) memory;
    Arena *arena = &memory;
    arena_init(arena, ARENA_UNLIMITED);
    assert_str(digest_of_text(arena, DIGEST_SHA256, STR("abc")),
               "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Str long_one = digest_of_text(arena, DIGEST_SHA512, STR("abc"));
    assert_true(str_starts(long_one, STR("sha512:ddaf35a193617abacc417349ae204131")));
    assert_int_equal(long_one.len, 7 + SHA512_HEX);
}

static void files_have_digests(void **state)
{
    Fixture *fixture = *state;
    AUTO(HostReader) *reader = NULL;
    AUTO_CLEAR(Buf) content = buf_make(BUF_UNLIMITED);
    Str out;
    buf_put_repeat(&content, 'a', 200000); /* several chunks */
    FileWrite write = {
        .content = buf_str(&content), .mode = 0600, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_write(fixture->host, STR("/f"), &write, &fixture->err));
    assert_true(host_reader_open(fixture->host, STR("/f"), &reader, &fixture->err));
    for (DigestKind kind = DIGEST_SHA256; kind <= DIGEST_SHA512; kind++) {
        assert_true(digest_of_file(&fixture->arena, kind, reader, &out, &fixture->err));
        assert_true(str_eq(out, digest_of_text(&fixture->arena, kind, buf_str(&content))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_as_sites_write_them),
        cmocka_unit_test(known_digests),
        cmocka_unit_test_setup_teardown(files_have_digests, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
