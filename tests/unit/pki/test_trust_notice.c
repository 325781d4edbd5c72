#include "pki/trust_notice.h"

#include "pki/ca.h"
#include "unit.h"

#define NOW_MS 1800000000000

static Arena arena;
static Credential ca;

static int set_up(void **state)
{
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    return ca_make(&arena, STR("blue"), NOW_MS, &ca, &err) ? 0 : -1;
}

static int tear_down(void **state)
{
    credential_clear(&ca);
    arena_clear(&arena);
    return 0;
}

static TrustNotice notice_of(const Certificate *issuer)
{
    return (TrustNotice){ .bundle = certificate_pem(&arena, &ca.chain.items[0]),
                          .issuer = issuer->pin,
                          .since_ms = NOW_MS,
                          .spread_ms = 5000 };
}

static Str text_of(const TrustNotice *notice)
{
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    trust_notice_print(notice, &out);
    return buf_str(&out);
}

static void a_notice_survives_a_round_trip(void **state)
{
    TrustNotice notice = notice_of(&ca.chain.items[0]), read;
    CertificateSet bundle;
    Error err;
    assert_true(trust_notice_read(&arena, text_of(&notice), &read, &bundle, &err));
    assert_true(str_eq(notice.bundle, read.bundle));
    assert_true(pin_equal(&notice.issuer, &read.issuer));
    assert_int_equal(read.since_ms, NOW_MS);
    assert_int_equal(read.spread_ms, 5000);
    assert_int_equal(bundle.count, 1);
}

static void the_signer_must_be_trusted(void **state)
{
    AUTO_CLEAR(Credential) other = { 0 };
    Error err;
    TrustNotice read;
    CertificateSet bundle;
    assert_true(ca_make(&arena, STR("blue"), NOW_MS, &other, &err));
    TrustNotice notice = notice_of(&other.chain.items[0]);
    assert_false(trust_notice_read(&arena, text_of(&notice), &read, &bundle, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

/* The certificate of a node does not become a CA by being sent in a bundle. */
static void only_cas_are_in_a_bundle(void **state)
{
    AUTO(P256Private) *key = NULL;
    NodeCertificateSpec grant = { .enrollment = STR("5a000000000000aa"), .now_ms = NOW_MS };
    Certificate node;
    TrustNotice read;
    CertificateSet bundle;
    Error err;
    assert_true(p256_private_make(&key, &err));
    assert_true(p256_public_of(key, &grant.key, &err));
    assert_true(identity_make(STR("blue"), STR("web1"), &grant.identity, &err));
    assert_true(ca_issue_node(&arena, &ca, &grant, &node, &err));
    TrustNotice notice = notice_of(&ca.chain.items[0]);
    notice.bundle = arena_format(&arena, "%" STR_FMT "%" STR_FMT, STR_ARG(notice.bundle),
                                 STR_ARG(certificate_pem(&arena, &node)));
    assert_false(trust_notice_read(&arena, text_of(&notice), &read, &bundle, &err));
    assert_non_null(strstr(err.text, "is not a CA"));

    TrustReport report, again;
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    trust_report_make(&node, ca.chain, NOW_MS, &report);
    assert_true(report.has_issuer && pin_equal(&report.issuer, &ca.chain.items[0].pin));
    assert_true(trust_report_trusts(&report, &ca.chain.items[0].pin));
    assert_false(trust_report_trusts(&report, &node.pin));
    trust_report_print(&report, &text);
    assert_true(trust_report_read(&arena, buf_str(&text), &again, &err));
    assert_string_equal(again.serial, node.serial);
    assert_int_equal(again.trusted_count, 1);
    assert_true(pin_equal(&again.issuer, &report.issuer));
    /* It cannot name an unknown CA. */
    trust_report_make(&node, (CertificateSet){ 0 }, NOW_MS, &report);
    assert_false(report.has_issuer);
}

static void invalid_texts_are_rejected(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"format\":\"eden.trust/1\"}",
        "{\"format\":\"eden.trust-report/1\"}",
        ("{\"format\":\"eden.trust-report/1\",\"issuer\":\"x\",\"serial\":\"\",\"not_after_ms\":0,"
         "\"time_ms\":0,\"trusted\":[]}"),
        ("{\"format\":\"eden.trust-report/1\",\"issuer\":\"\",\"serial\":\"XY\",\"not_after_ms\":0,"
         "\"time_ms\":0,\"trusted\":[]}"),
        ("{\"format\":\"eden.trust-report/1\",\"issuer\":\"\",\"serial\":\"\",\"not_after_ms\":0,"
         "\"time_ms\":0,\"trusted\":[1]}"),
        ("{\"format\":\"eden.trust-report/2\",\"issuer\":\"\",\"serial\":\"\",\"not_after_ms\":0,"
         "\"time_ms\":0,\"trusted\":[]}"),
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        TrustNotice notice;
        CertificateSet bundle;
        TrustReport report;
        Error err;
        assert_false(trust_notice_read(&arena, str_from_c(texts[i]), &notice, &bundle, &err));
        assert_false(trust_report_read(&arena, str_from_c(texts[i]), &report, &err));
    }
}

static void reports_of_newer_nodes_are_read(void **state)
{
    TrustReport report;
    Error err;
    assert_true(trust_report_read(
        &arena,
        STR("{\"format\":\"eden.trust-report/1\",\"issuer\":\"\",\"serial\":\"ab\","
            "\"not_after_ms\":0,\"time_ms\":7,\"trusted\":[],\"more\":1}"),
        &report, &err));
    assert_false(report.has_issuer);
    assert_int_equal(report.time_ms, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notice_survives_a_round_trip),
        cmocka_unit_test(the_signer_must_be_trusted),
        cmocka_unit_test(only_cas_are_in_a_bundle),
        cmocka_unit_test(reports_of_newer_nodes_are_read),
        cmocka_unit_test(invalid_texts_are_rejected),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
