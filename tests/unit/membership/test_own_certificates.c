/* A server's own certificates on a virtual clock: renewed at two thirds of their life, and when
 * another CA signs. */
#include "membership/own_certificates.h"

#include "pki/ca.h"
#include "scratch.h"

#define NOW_MS 1800000000000

typedef struct Fixture {
    Scratch *scratch;
    Arena *arena;
    Loop *loop;
    Directory directory;
    Credential ca, next;
    CaSet cas;
    OwnCertificates *own;
    uint32_t changes[OWN_KINDS];
} Fixture;

static const Str names[] = { { "localhost", 9 } };

static void changed(void *context, OwnCertificateKind kind)
{
    Fixture *f = context;
    f->changes[kind]++;
}

static void save_first(Fixture *f)
{
    AUTO(P256Private) *node_key = NULL;
    AUTO(P256Private) *serving_key = NULL;
    NodeCertificateSpec node = { .enrollment = STR("5a000000000000aa"), .now_ms = NOW_MS };
    ServingCertificateSpec serving = { .names = names, .name_count = 1, .now_ms = NOW_MS };
    Certificate made[OWN_KINDS];
    Error err;
    assert_true(p256_private_make(&node_key, &err));
    assert_true(p256_private_make(&serving_key, &err));
    assert_true(p256_public_of(node_key, &node.key, &err));
    assert_true(p256_public_of(serving_key, &serving.key, &err));
    assert_true(identity_make(STR("blue"), STR("s1"), &node.identity, &err));
    assert_true(ca_issue_node(f->arena, &f->ca, &node, &made[OWN_KIND_NODE], &err));
    assert_true(ca_issue_serving(f->arena, &f->ca, &serving, &made[OWN_KIND_SERVING], &err));
    assert_true(credential_save(&f->directory, OWN_NODE, node_key,
                                (CertificateSet){ &made[OWN_KIND_NODE], 1 }, &err));
    assert_true(credential_save(&f->directory, OWN_SERVING, serving_key,
                                (CertificateSet){ &made[OWN_KIND_SERVING], 1 }, &err));
}

static void open_own(Fixture *f)
{
    Error err;
    OwnCertificatesOptions options = { .loop = f->loop,
                                       .directory = &f->directory,
                                       .cas = &f->cas,
                                       .names = names,
                                       .name_count = 1,
                                       .changed = changed,
                                       .context = f };
    if (!own_certificates_open(&options, &f->own, &err)) {
        fail_msg("%s", err.text);
    }
    own_certificates_check(f->own);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    f->arena = &f->scratch->arena;
    *state = f;
    f->loop = loop_new_virtual(1);
    loop_virtual_set_wall(f->loop, NOW_MS);
    assert_true(directory_make(scratch_place(f->scratch, "server"), &f->directory, &err));
    assert_true(ca_make(f->arena, STR("blue"), NOW_MS, &f->ca, &err));
    assert_true(ca_make(f->arena, STR("blue"), NOW_MS, &f->next, &err));
    f->cas = (CaSet){ &f->ca, f->ca.chain };
    save_first(f);
    open_own(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    own_certificates_free(f->own);
    loop_free(f->loop);
    directory_close(&f->directory);
    credential_clear(&f->ca);
    credential_clear(&f->next);
    free(f);
    return scratch_tear_down(state);
}

static void pass_days(Fixture *f, int64_t days)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + days * PKI_DAY_MS);
}

static void they_are_renewed_at_two_thirds(void **state)
{
    Fixture *f = *state;
    pass_days(f, 19);
    assert_int_equal(f->changes[OWN_KIND_NODE], 0);
    pass_days(f, 4);
    assert_int_equal(f->changes[OWN_KIND_NODE], 1);
    assert_int_equal(f->changes[OWN_KIND_SERVING], 0);
    pass_days(f, 46);
    assert_int_equal(f->changes[OWN_KIND_SERVING], 1);
    /* Still the same node, by its enrollment; valid now; what is on the disk is what is used. */
    const Certificate *node = &own_certificates_credential(f->own, OWN_KIND_NODE)->chain.items[0];
    assert_string_equal(node->enrollment, "5a000000000000aa");
    assert_string_equal(node->identity.node, "s1");
    AUTO_CLEAR(Credential) kept = { 0 };
    Error err;
    assert_true(credential_load(&f->directory, OWN_NODE, f->arena, &kept, &err));
    assert_string_equal(kept.chain.items[0].serial, node->serial);
    assert_true(
        certificate_verify(kept.chain, f->ca.chain, USE_SERVER, loop_wall_ms(f->loop), &err));
}

static void those_that_expired_are_renewed_at_the_start(void **state)
{
    Fixture *f = *state;
    own_certificates_free(TAKE(f->own));
    loop_virtual_set_wall(f->loop, NOW_MS + 200 * PKI_DAY_MS);
    open_own(f);
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
    for (OwnCertificateKind kind = 0; kind < OWN_KINDS; kind++) {
        assert_int_equal(f->changes[kind], 1);
        assert_int_equal(own_certificates_plan(f->own, kind).state, RENEWAL_WAIT);
    }
}

static void a_new_signing_ca_renews_them(void **state)
{
    Fixture *f = *state;
    Certificate both[] = { f->ca.chain.items[0], f->next.chain.items[0] };
    assert_true(own_certificates_are_from(f->own, &both[0].pin));
    f->cas = (CaSet){ &f->next, { both, 2 } };
    own_certificates_check(f->own);
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
    assert_true(own_certificates_are_from(f->own, &both[1].pin));
    assert_false(own_certificates_are_from(f->own, &both[0].pin));
}

static void a_certificate_can_be_renewed_immediately(void **state)
{
    Fixture *f = *state;
    Error err;
    Str before = arena_copy(
        f->arena,
        str_from_c(own_certificates_credential(f->own, OWN_KIND_SERVING)->chain.items[0].serial));
    assert_true(own_certificates_renew(f->own, OWN_KIND_SERVING, &err));
    assert_false(str_eq_c(
        before, own_certificates_credential(f->own, OWN_KIND_SERVING)->chain.items[0].serial));
    assert_int_equal(f->changes[OWN_KIND_SERVING], 1);
    assert_int_equal(f->changes[OWN_KIND_NODE], 0);
}

/* An expired CA signs nothing: attempts continue, at their interval. */
static void failures_are_retried(void **state)
{
    Fixture *f = *state;
    Error err;
    loop_virtual_set_wall(f->loop, NOW_MS + CA_LIFETIME_MS + PKI_DAY_MS);
    own_certificates_check(f->own);
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 60 * 1000);
    assert_int_equal(f->changes[OWN_KIND_NODE], 0);
    credential_clear(&f->next);
    assert_true(ca_make(f->arena, STR("blue"), loop_wall_ms(f->loop), &f->next, &err));
    f->cas = (CaSet){ &f->next, f->next.chain };
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 60 * 1000);
    assert_int_equal(f->changes[OWN_KIND_NODE], 1);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(they_are_renewed_at_two_thirds), ROW(those_that_expired_are_renewed_at_the_start),
        ROW(a_new_signing_ca_renews_them),   ROW(a_certificate_can_be_renewed_immediately),
        ROW(failures_are_retried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
