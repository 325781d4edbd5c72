#include "pki/pem.h"

#include "authority.h"

#define LABEL_32 "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF"
#define BLOCK    "-----BEGIN TEST-----\nAAEC\n-----END TEST-----\n"

static void blocks_are_read_one_by_one(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str rest = STR("\n" BLOCK "\n\n-----BEGIN TWO WORDS-----\r\nAA==\r\n-----END TWO WORDS-----");
    PemBlock block;
    Str bytes;
    bool found;
    assert_succeeds(pem_next(&rest, &block, &found, &err));
    assert_true(found);
    assert_str(block.label, "TEST");
    assert_succeeds(pem_bytes_in(&arena, &block, &bytes, &err));
    assert_int_equal(bytes.len, 3);
    assert_memory_equal(bytes.data, "\0\1\2", 3);
    assert_succeeds(pem_next(&rest, &block, &found, &err));
    assert_true(found);
    assert_str(block.label, "TWO WORDS");
    assert_succeeds(pem_bytes_in(&arena, &block, &bytes, &err));
    assert_int_equal(bytes.len, 1);
    assert_succeeds(pem_next(&rest, &block, &found, &err));
    assert_false(found);
    rest = STR("-----BEGIN " LABEL_32 "-----\nAAEC\n-----END " LABEL_32 "-----\n");
    assert_succeeds(pem_next(&rest, &block, &found, &err));
    assert_str(block.label, LABEL_32);
}

static void bytes_survive_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char bytes[200];
    for (size_t len = 1; len < sizeof bytes; len++) {
        memset(bytes, (int)len, len);
        Str text = pem_text(&arena, "SOME BYTES", str_from(bytes, len)), back;
        assert_int_equal(text.data[text.len - 1], '\n');
        PemBlock block;
        assert_succeeds(pem_read_single(text, "SOME BYTES", &block, &err));
        assert_succeeds(pem_bytes_in(&arena, &block, &back, &err));
        assert_int_equal(back.len, len);
        assert_memory_equal(back.data, bytes, len);
    }
}

#define ROW(text, why)                  \
    {                                   \
        { text, sizeof(text) - 1 }, why \
    }

static void malformed_pem_is_rejected(void **state)
{
    static const struct {
        Str text;
        const char *why;
    } rows[] = {
        ROW("x\n" BLOCK, "does not start"),
        ROW("\0" BLOCK, "does not start"),
        ROW("-----BEGIN TEST", "label"),
        ROW("-----BEGIN " LABEL_32 "X-----\nAAEC\n-----END " LABEL_32 "X-----\n", "label"),
        ROW("-----BEGIN -----\nAAEC\n-----END -----\n", "label"),
        ROW("-----BEGIN test-----\nAAEC\n-----END test-----\n", "label"),
        ROW("-----BEGIN TEST-----", "is incomplete"),
        ROW("-----BEGIN TEST-----AAEC\n-----END TEST-----\n", "is incomplete"),
        ROW("-----BEGIN TEST-----\n-----END TEST-----\n", "other than base64"),
        ROW("-----BEGIN TEST-----\nAAE\n-----END TEST-----\n", "other than base64"),
        ROW("-----BEGIN TEST-----\nA=EC\n-----END TEST-----\n", "other than base64"),
        ROW("-----BEGIN TEST-----\nAA C\n-----END TEST-----\n", "other than base64"),
        ROW("-----BEGIN TEST-----\nAA\0C\n-----END TEST-----\n", "other than base64"),
        ROW("-----BEGIN TEST-----\nProc-Type: 4,ENCRYPTED\n\nAAEC\n-----END TEST-----\n",
            "not PEM"),
        ROW("-----BEGIN TEST-----\nAAF=\n-----END TEST-----\n", "invalid base64"),
        ROW("-----BEGIN TEST-----\nAAEC-----END TEST-----\n", "end with its label"),
        ROW("-----BEGIN TEST-----\nAAEC\n-----END BEST-----\n", "end with its label"),
        ROW("-----BEGIN TEST-----\nAAEC\n", "end with its label"),
        ROW("-----BEGIN TEST-----\nAAEC\n-----END TEST-----x\n", "after a block"),
        ROW(BLOCK BLOCK, "more than one"),
        ROW(BLOCK "x", "does not start"),
        ROW("", "empty"),
        ROW("-----BEGIN BEST-----\nAAEC\n-----END BEST-----\n", "it is a 'BEST'"),
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        PemBlock block;
        unsigned char bytes[256];
        size_t len;
        assert_fails(pem_read_single(rows[i].text, "TEST", &block, &err) &&
                         pem_bytes(&block, bytes, &len, &err),
                     ERROR_INVALID, rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_read_one_by_one),
        cmocka_unit_test(bytes_survive_a_round_trip),
        cmocka_unit_test(malformed_pem_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
