/* Certificates of nodes: renewed, issued for a request, revoked, each in one transaction. */
#include "membership/certify.h"

#include "membership/node_sweep.h"
#include "membership/nodes.h"
#include "membership/revoke.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/trust_notice.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    Credential ca;
    CaSet cas;
    CertifySettings settings;
    bool answered;
    Str certificate, bundle;
    Certificate own;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    world_open(&f->world);
    world_follow(&f->world);
    assert_true(ca_make(&f->world.arena, STR("blue"), loop_wall_ms(f->world.cluster_store.loop),
                        &f->ca, &err));
    f->cas = (CaSet){ &f->ca, f->ca.chain };
    f->settings = (CertifySettings){ .cluster_store = f->world.cluster_store,
                                     .cluster = STR("blue"),
                                     .cas = &f->cas };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    credential_clear(&f->ca);
    free(f);
    return 0;
}

static void certified(void *context, const Certified *given, const Error *err)
{
    Fixture *f = context;
    assert_false(f->answered);
    assert_int_equal(given == NULL, err != NULL);
    f->answered = true;
    f->err = err == NULL ? (Error){ 0 } : *err;
    if (given != NULL) {
        Certificate *chain;
        uint32_t count;
        Error bad;
        f->certificate = arena_copy(&f->world.arena, given->certificate);
        f->bundle = arena_copy(&f->world.arena, given->bundle);
        assert_true(certificates_from_pem(&f->world.arena, f->certificate, &chain, &count, &bad));
        f->own = chain[0];
    }
}

static void expect(Fixture *f, ErrorKind kind, const char *piece)
{
    world_pass(&f->world);
    assert_true(f->answered);
    f->answered = false;
    assert_int_equal(f->err.kind, kind);
    if (piece != NULL && strstr(f->err.text, piece) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", piece, f->err.text);
    }
}

static Str make_csr(Fixture *f)
{
    AUTO(P256Private) *key = NULL;
    Str csr;
    Error err;
    assert_true(p256_private_make(&key, &err));
    assert_true(csr_make(&f->world.arena, key, &csr, &err));
    return csr;
}

static void admit(Fixture *f, const char *name)
{
    certify_admit(&f->settings, str_from_c(name), make_csr(f), certified, f);
    expect(f, ERROR_NONE, NULL);
}

static NodeRecord record_of(Fixture *f, const char *name)
{
    NodeRecord record;
    Error err;
    WorldValue got =
        world_get(&f->world, cluster_key_node(&f->world.arena, PREFIX, str_from_c(name)));
    assert_true(got.there);
    assert_true(node_record_read(&f->world.arena, got.value, &record, &err));
    return record;
}

static RevocationList revoked(Fixture *f)
{
    RevocationList list = { 0 };
    Error err;
    WorldValue got = world_get(&f->world, cluster_key_revocations(&f->world.arena, PREFIX));
    assert_true(!got.there || revocation_read(&f->world.arena, got.value, &list, &err));
    return list;
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void a_request_becomes_a_node(void **state)
{
    Fixture *f = *state;
    TrustReport report;
    Error err;
    Str without = cluster_key_rotation_excluded(&f->world.arena, PREFIX, STR("web1"));
    world_put(&f->world, without, STR("{}"));
    admit(f, "web1");
    assert_false(world_get(&f->world, without).there);
    NodeRecord record = record_of(f, "web1");
    assert_string_equal(record.serial, f->own.serial);
    assert_string_equal(record.enrollment, f->own.enrollment);
    assert_true(pin_equal(&record.key, &f->own.pin));
    assert_int_equal(record.not_after_ms, f->own.not_after_ms);
    assert_string_equal(f->own.identity.node, "web1");
    assert_true(certificate_verify((CertificateSet){ &f->own, 1 }, f->ca.chain, USE_CLIENT,
                                   loop_wall_ms(f->world.cluster_store.loop), &err));
    WorldValue sent =
        world_get(&f->world, cluster_key_trust_of(&f->world.arena, PREFIX, STR("web1")));
    assert_true(trust_report_read(&f->world.arena, sent.value, &report, &err));
    assert_true(trust_report_trusts(&report, &f->ca.chain.items[0].pin));
    certify_admit(&f->settings, STR("web1"), make_csr(f), certified, f);
    expect(f, ERROR_CONFLICT, "already exists");
    certify_admit(&f->settings, STR("Web1"), make_csr(f), certified, f);
    expect(f, ERROR_INVALID, NULL);
    certify_admit(&f->settings, STR("web2"), STR("x"), certified, f);
    expect(f, ERROR_INVALID, NULL);
}

/* The store answers pending requests while it is closed, and the CAs are gone by then. */
static void without_its_cas_no_certificate_is_issued(void **state)
{
    Fixture *f = *state;
    certify_admit(&f->settings, STR("web1"), make_csr(f), certified, f);
    f->settings.cas = NULL;
    expect(f, ERROR_UNAVAILABLE, "stopping");
    assert_false(
        world_get(&f->world, cluster_key_node(&f->world.arena, PREFIX, STR("web1"))).there);
}

static void a_renewed_certificate_has_the_same_enrollment(void **state)
{
    Fixture *f = *state;
    admit(f, "web1");
    NodeRecord before = record_of(f, "web1");
    f->settings.node_lifetime_ms = PKI_DAY_MS;
    certify_renew(&f->settings, STR("web1"), str_from_c(before.serial), make_csr(f), certified, f);
    expect(f, ERROR_NONE, NULL);
    NodeRecord after = record_of(f, "web1");
    assert_string_equal(after.enrollment, before.enrollment);
    assert_string_not_equal(after.serial, before.serial);
    assert_string_equal(after.serial, f->own.serial);
    assert_false(pin_equal(&after.key, &before.key));
    assert_int_equal(after.joined_ms, before.joined_ms);
    assert_int_equal(after.not_after_ms,
                     loop_wall_ms(f->world.cluster_store.loop) / 1000 * 1000 + PKI_DAY_MS);
    /* The previous one may be used again, while it is valid. */
    certify_renew(&f->settings, STR("web1"), str_from_c(before.serial), make_csr(f), certified, f);
    expect(f, ERROR_NONE, NULL);
}

static void removed_nodes_get_no_certificate(void **state)
{
    Fixture *f = *state;
    admit(f, "web1");
    admit(f, "web2");
    Str web1 = str_from_c(arena_copy_c(&f->world.arena, str_from_c(record_of(f, "web1").serial)));
    Str web2 = str_from_c(arena_copy_c(&f->world.arena, str_from_c(record_of(f, "web2").serial)));
    certify_renew(&f->settings, STR("web3"), web1, make_csr(f), certified, f);
    expect(f, ERROR_DENIED, "not a node");
    certify_renew(&f->settings, STR("web1"), web2, make_csr(f), certified, f);
    expect(f, ERROR_DENIED, "joined again");
    certify_renew(&f->settings, STR("web1"), STR("4a"), make_csr(f), certified, f);
    expect(f, ERROR_DENIED, NULL);
    revoke_serial(&f->world.cluster_store, web1, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    certify_renew(&f->settings, STR("web1"), web1, make_csr(f), certified, f);
    expect(f, ERROR_DENIED, "revoked");
    revoke_node(&f->world.cluster_store, STR("web2"), world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    certify_renew(&f->settings, STR("web2"), web2, make_csr(f), certified, f);
    expect(f, ERROR_DENIED, NULL);
}

/* Both are requested in one turn: in either order, the node has no certificate afterward. */
static void revocation_takes_precedence_over_renewal(void **state)
{
    Fixture *f = *state;
    admit(f, "web1");
    NodeRecord before = record_of(f, "web1");
    certify_renew(&f->settings, STR("web1"), str_from_c(before.serial), make_csr(f), certified, f);
    revoke_node(&f->world.cluster_store, STR("web1"), world_done, &f->world);
    world_pass(&f->world);
    assert_true(f->answered && f->world.is_done);
    assert_int_equal(f->world.err.kind, ERROR_NONE);
    RevocationList list = revoked(f);
    Error err;
    assert_false(revocation_check(&list, STR("web1"), str_from_c(before.serial), &err));
    if (f->err.kind == ERROR_NONE) {
        assert_false(revocation_check(&list, STR("web1"), str_from_c(f->own.serial), &err));
    }
}

static void revoking_a_node_revokes_all_its_certificates(void **state)
{
    Fixture *f = *state;
    Error err;
    admit(f, "web1");
    NodeRecord before = record_of(f, "web1");
    revoke_node(&f->world.cluster_store, STR("web1"), world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    NodeRecord after = record_of(f, "web1");
    assert_string_not_equal(after.enrollment, before.enrollment);
    assert_string_equal(after.name, "web1");
    RevocationList list = revoked(f);
    assert_int_equal(list.name_count, 1);
    assert_false(revocation_check(&list, STR("web1"), str_from_c(before.serial), &err));
}

static void only_node_certificates_can_be_revoked(void **state)
{
    Fixture *f = *state;
    NodeRecord server = { .is_server = true, .labels = value_missing() };
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    snprintf(server.name, sizeof server.name, "s1");
    snprintf(server.enrollment, sizeof server.enrollment, "5a000000000000aa");
    node_record_print(&server, &text);
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, STR("s1")), buf_str(&text));
    admit(f, "web1");
    revoke_node(&f->world.cluster_store, STR("s1"), world_done, &f->world);
    world_expect(&f->world, ERROR_CONFLICT, "is a server");
    revoke_serial(&f->world.cluster_store, STR("5a000000000000aa0000000000000001"), world_done,
                  &f->world);
    world_expect(&f->world, ERROR_CONFLICT, "is a server");
    revoke_node(&f->world.cluster_store, STR("wbe1"), world_done, &f->world);
    world_expect(&f->world, ERROR_NOT_FOUND, "did you mean 'web1'");
    revoke_serial(&f->world.cluster_store, STR("5b000000000000aa0000000000000001"), world_done,
                  &f->world);
    world_expect(&f->world, ERROR_NOT_FOUND, "no node has");
    revoke_serial(&f->world.cluster_store, STR("web1"), world_done, &f->world);
    world_expect(&f->world, ERROR_INVALID, "digits");
    assert_int_equal(revoked(f).serial_count, 0);
}

/* A name that was removed and is used again: the first node's certificates stay revoked. */
static void a_reused_name_inherits_nothing(void **state)
{
    Fixture *f = *state;
    Error err;
    admit(f, "web1");
    NodeRecord first = record_of(f, "web1");
    nodes_remove(&f->world.cluster_store, STR("web1"), 0, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_false(
        world_get(&f->world, cluster_key_trust_of(&f->world.arena, PREFIX, STR("web1"))).there);
    /* Not before stopped, and everything removed. */
    certify_admit(&f->settings, STR("web1"), make_csr(f), certified, f);
    expect(f, ERROR_UNAVAILABLE, NULL);
    StoreCompare fence = world_lead(&f->world);
    NodeSweep *sweep = node_sweep_new(&f->world.cluster_store, &fence);
    world_pass(&f->world);
    node_sweep_free(sweep);
    admit(f, "web1");
    RevocationList list = revoked(f);
    assert_false(revocation_check(&list, STR("web1"), str_from_c(first.serial), &err));
    assert_true(revocation_check(&list, STR("web1"), str_from_c(f->own.serial), &err));
    certify_renew(&f->settings, STR("web1"), str_from_c(first.serial), make_csr(f), certified, f);
    expect(f, ERROR_DENIED, NULL);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_request_becomes_a_node),
        ROW(without_its_cas_no_certificate_is_issued),
        ROW(a_renewed_certificate_has_the_same_enrollment),
        ROW(removed_nodes_get_no_certificate),
        ROW(revocation_takes_precedence_over_renewal),
        ROW(revoking_a_node_revokes_all_its_certificates),
        ROW(only_node_certificates_can_be_revoked),
        ROW(a_reused_name_inherits_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
