#include "cluster/facts_digest.h"

#include "lang/json.h"
#include "unit.h"

static void expect(Str facts, const char *wanted)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    facts_digest(facts, &out);
    assert_string_equal(buf_c(&out), wanted);
}

static void short_known_facts_are_kept(void **state)
{
    expect(STR("{}"), "{}");
    expect(STR("{\"os\":\"debian\",\"cpus\":2}"), "{\"os\":\"debian\",\"cpus\":2}");
    expect(STR(" { \"os\" : \"debian\" , \"cpus\" : 2 } "), "{\"os\":\"debian\",\"cpus\":2}");
    expect(STR("{\"disks\":{\"os\":\"}\",\"x\":[{},\"]\"]},\"os\":\"a\\\"b\"}"),
           "{\"os\":\"a\\\"b\"}");
    expect(STR("{\"memory\":{\"total\":5,\"free\":1},\"secret\":\"x\",\"arch\":\"arm\"}"),
           "{\"memory\":{\"total\":5},\"arch\":\"arm\"}");
    expect(STR("{\"os\":null,\"cpus\":\"2\",\"arch\":5,\"kernel\":[1],\"memory\":7}"),
           "{\"memory\":null}");
}

static void long_facts_are_omitted(void **state)
{
    AUTO_CLEAR(Buf) facts = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    buf_put_c(&facts, "{\"kernel\":\"");
    for (int i = 0; i < FACTS_DIGEST_TEXT_MAX; i++) {
        buf_put_char(&facts, 'k');
    }
    buf_put_c(&facts, "\",\"os\":\"debian\"}");
    expect(buf_str(&facts), "{\"os\":\"debian\"}");
    /* A node may repeat the same report. */
    buf_reset(&facts);
    buf_put_char(&facts, '{');
    for (int i = 0; i < 1000; i++) {
        buf_put_c(&facts, "\"os\":\"debian\",\"memory\":{\"total\":1,\"total\":2},");
    }
    facts_digest(buf_str(&facts), &out);
    assert_true(out.len <= FACTS_DIGEST_MAX);
}

/* Truncated anywhere, and with a stray byte anywhere: it terminates, and the result is short. */
static void damaged_facts_are_harmless(void **state)
{
    Str facts =
        STR("{\"os\":\"de\\\\bian\",\"memory\":{\"total\":12},\"x\":[1,{\"y\":\"z\"}],\"cpus\":3}");
    static const char stray[] = "\"{}[],:\\ ";
    char copy[128];
    for (size_t i = 0; i <= facts.len; i++) {
        for (size_t k = 0; k < sizeof stray; k++) {
            AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
            facts_digest(str_slice(facts, 0, i), &out);
            memcpy(copy, facts.data, facts.len);
            copy[i] = stray[k];
            facts_digest(str_from(copy, facts.len), &out);
            assert_true(out.len <= 2 * FACTS_DIGEST_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_known_facts_are_kept),
        cmocka_unit_test(long_facts_are_omitted),
        cmocka_unit_test(damaged_facts_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
