/* The CAs of a server: rotation from the first state to the last, with the process ending before
 * and after every step. */
#include "membership/authority.h"

#include "membership/own_certificates.h"
#include "pki/ca.h"
#include "pki/trust_notice.h"
#include "scratch.h"
#include "store_world.h"

enum {
    LATER_MS = 3600 * 1000, /* until certificates of nodes expire */
};

typedef struct Fixture {
    Scratch *scratch;
    StoreWorld world;
    Directory directory;
    StoreCompare fence; /* of this server, the leader */
    Authority *authority;
    Pin first;
    Pin own;      /* the CA of the server's certificates */
    bool is_slow; /* and whether it waits to renew them */
    bool ready;
    uint32_t changes;
    Error failure;
} Fixture;

static void ready(void *context)
{
    Fixture *f = context;
    f->ready = true;
}

static void changed(void *context)
{
    Fixture *f = context;
    f->changes++;
    if (!f->is_slow) {
        f->own = authority_cas(f->authority)->issuer->chain.items[0].pin;
    }
}

static void failed(void *context, const Error *err)
{
    Fixture *f = context;
    f->failure = *err;
}

static bool certificates_issued_by(void *context, const Pin *ca)
{
    const Fixture *f = context;
    return pin_equal(&f->own, ca);
}

/* Time for many checks. */
static void pass(Fixture *f)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 5000);
}

static bool open_authority(Fixture *f, Error *err)
{
    AuthorityOptions options = { .cluster_store = f->world.cluster_store,
                                 .cluster = STR("blue"),
                                 .node = STR("s1"),
                                 .directory = &f->directory,
                                 .events = { ready, changed, failed, certificates_issued_by, NULL,
                                             f } };
    f->ready = false;
    f->failure = (Error){ 0 };
    if (!authority_open(&options, &f->authority, err)) {
        return false;
    }
    authority_set_leader(f->authority, &f->fence);
    /* Not long enough for a check: the state is unchanged. */
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 100);
    return true;
}

static void restart(Fixture *f)
{
    Error err;
    authority_free(TAKE(f->authority));
    assert_true(open_authority(f, &err));
    if (!f->ready) {
        fail_msg("%s", f->failure.text);
    }
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static void put_value(Fixture *f, Str key, Str value)
{
    Error err;
    assert_true(store_put(f->world.cluster_store.store, key, value, 0, put_done, NULL, &err));
    world_pass(&f->world);
}

static void put_node(Fixture *f, const char *name, bool is_server)
{
    NodeRecord record = { .is_server = is_server,
                          .not_after_ms = loop_wall_ms(f->world.cluster_store.loop) + LATER_MS,
                          .labels = value_missing() };
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    node_record_print(&record, &text);
    put_value(f, cluster_key_node(&f->world.arena, PREFIX, str_from_c(name)), buf_str(&text));
}

static void report(Fixture *f, const char *name, const Pin *trusted, uint32_t count,
                   const Pin *issuer)
{
    TrustReport sent = { .trusted_count = count, .has_issuer = true, .issuer = *issuer };
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    memcpy(sent.trusted, trusted, count * sizeof *trusted);
    trust_report_print(&sent, &text);
    put_value(f, cluster_key_trust_of(&f->world.arena, PREFIX, str_from_c(name)), buf_str(&text));
}

typedef struct Got {
    Arena *arena;
    Str value;
} Got;

static void got(void *context, const StoreReply *reply, const Error *err)
{
    Got *out = context;
    assert_null(err);
    out->value = reply->ops[0].kv_count == 0 ? STR_EMPTY
                                             : arena_copy(out->arena, reply->ops[0].kvs[0].value);
}

static Str reported_text(Fixture *f)
{
    Got out = { .arena = &f->world.arena };
    Error err;
    assert_true(store_get(f->world.cluster_store.store, cluster_key_trust(&f->world.arena, PREFIX),
                          got, &out, &err));
    world_pass(&f->world);
    return out.value;
}

static CertificateSet reported(Fixture *f, TrustNotice *notice)
{
    CertificateSet bundle;
    Error err;
    assert_true(trust_notice_read(&f->world.arena, reported_text(f), notice, &bundle, &err));
    return bundle;
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    AUTO_CLEAR(Credential) ca = { 0 };
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    world_follow(&f->world);
    f->fence = world_lead(&f->world);
    assert_true(directory_make(scratch_place(f->scratch, "server"), &f->directory, &err));
    assert_true(ca_make(&f->world.arena, STR("blue"), loop_wall_ms(f->world.cluster_store.loop),
                        &ca, &err));
    assert_true(credential_save(&f->directory, AUTHORITY_CA, ca.key, ca.chain, &err));
    f->first = f->own = ca.chain.items[0].pin;
    put_node(f, "s1", true);
    assert_true(open_authority(f, &err));
    assert_true(f->ready);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    authority_free(f->authority);
    directory_close(&f->directory);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void expect_state(Fixture *f, RotationState state)
{
    const Rotation *rotation = authority_rotation(f->authority);
    if (rotation->state != state) {
        fail_msg("it is in '%s', not in '%s'", rotation_state_name(rotation->state),
                 rotation_state_name(state));
    }
}

static void begin(Fixture *f)
{
    authority_begin(f->authority, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    expect_state(f, ROTATION_PREPARE);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void one_ca_signs_and_is_announced(void **state)
{
    Fixture *f = *state;
    TrustNotice notice;
    CertificateSet bundle = reported(f, &notice);
    expect_state(f, ROTATION_STEADY);
    assert_int_equal(bundle.count, 1);
    assert_true(pin_equal(&bundle.items[0].pin, &f->first));
    assert_true(pin_equal(&notice.issuer, &f->first));
    assert_int_equal(authority_cas(f->authority)->trusted.count, 1);
}

static void fields_of_a_newer_server_are_preserved_in_the_record(void **state)
{
    Fixture *f = *state;
    Str key = cluster_key_rotation(&f->world.arena, PREFIX);
    Rotation steady = rotation_steady(&f->first, 1);
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    rotation_print(&steady, &text);
    text.len--; /* the bracket */
    buf_put_c(&text, ",\"pace\":{\"per_s\":5}}");
    put_value(f, key, buf_str(&text));
    restart(f);
    begin(f);
    static const char *const states[] = { "\"state\":\"prepare\"", "\"state\":\"steady\"" };
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        Str record = world_get(&f->world, key).value;
        assert_true(str_find(record, str_from_c(states[i]), 0) != STR_NOT_FOUND);
        assert_true(str_find(record, STR(",\"pace\":{\"per_s\":5}}"), 0) != STR_NOT_FOUND);
        pass(f);
    }
}

static void fields_of_a_newer_server_are_preserved_in_the_notice(void **state)
{
    Fixture *f = *state;
    Str later = STR(",\"later\":{\"list\":[1,null]}"), notice = reported_text(f);
    put_value(f, cluster_key_trust(&f->world.arena, PREFIX),
              arena_join(&f->world.arena, str_slice(notice, 0, notice.len - 1), later, STR("}")));
    begin(f);
    assert_false(str_eq(reported_text(f), notice));
    assert_true(str_find(reported_text(f), later, 0) != STR_NOT_FOUND);
}

static void write_rotation(Fixture *f, const Rotation *rotation)
{
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    rotation_print(rotation, &text);
    put_value(f, cluster_key_rotation(&f->world.arena, PREFIX), buf_str(&text));
}

/* Another server, the leader, has the next CA and advances the rotation; this one learns it from
 * the store. */
static void changes_of_another_server_are_followed(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Credential) next = { 0 };
    Rotation rotation;
    Error err;
    int64_t now_ms = loop_wall_ms(f->world.cluster_store.loop);
    authority_set_leader(f->authority, NULL);
    assert_true(ca_make(&f->world.arena, STR("blue"), now_ms, &next, &err));
    assert_true(credential_save(&f->directory, AUTHORITY_CA_NEXT, next.key, next.chain, &err));
    const Pin *pin = &next.chain.items[0].pin;
    assert_true(rotation_begin(authority_rotation(f->authority), pin, now_ms, &rotation, &err));
    static const RotationState states[] = { ROTATION_PREPARE, ROTATION_DISTRIBUTE, ROTATION_ISSUE,
                                            ROTATION_RETIRE };
    static const uint32_t trusted[] = { 2, 2, 2, 1 };
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        rotation.state = states[i];
        write_rotation(f, &rotation);
        expect_state(f, states[i]);
        assert_int_equal(f->changes, i + 1);
        assert_int_equal(authority_cas(f->authority)->trusted.count, trusted[i]);
        bool signs = pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin, pin);
        assert_int_equal(signs, states[i] >= ROTATION_ISSUE);
    }
    Rotation steady = rotation_steady(pin, now_ms);
    write_rotation(f, &steady);
    expect_state(f, ROTATION_STEADY);
    assert_false(directory_has(&f->directory, AUTHORITY_CA_NEXT));
    begin(f); /* it knows its location, and can write the next one itself */
}

/* It has neither the key of that CA nor a reason to stop: its own works. */
static void unusable_changes_are_logged_and_ignored(void **state)
{
    Fixture *f = *state;
    Pin unknown = { { 1 } };
    Rotation rotation;
    Error err;
    assert_true(rotation_begin(authority_rotation(f->authority), &unknown, 1, &rotation, &err));
    write_rotation(f, &rotation);
    expect_state(f, ROTATION_STEADY);
    assert_non_null(strstr(authority_unreadable(f->authority), "is missing here"));
    put_value(f, cluster_key_rotation(&f->world.arena, PREFIX), STR("damaged"));
    assert_non_null(strstr(authority_unreadable(f->authority), "cannot read the record"));
    assert_int_equal(f->failure.kind, ERROR_NONE);
    Rotation steady = rotation_steady(&f->first, 1);
    write_rotation(f, &steady);
    assert_null(authority_unreadable(f->authority));
    begin(f);
}

/* A server without nodes only waits for itself. */
static void a_single_server_completes_a_rotation(void **state)
{
    Fixture *f = *state;
    begin(f);
    Pin next = authority_rotation(f->authority)->next;
    assert_true(directory_has(&f->directory, AUTHORITY_CA_NEXT));
    pass(f);
    expect_state(f, ROTATION_STEADY);
    assert_true(pin_equal(&authority_rotation(f->authority)->present, &next));
    assert_false(directory_has(&f->directory, AUTHORITY_CA_NEXT));
    TrustNotice notice;
    CertificateSet bundle = reported(f, &notice);
    assert_int_equal(bundle.count, 1);
    assert_true(pin_equal(&bundle.items[0].pin, &next));
    restart(f);
    expect_state(f, ROTATION_STEADY);
    assert_true(pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin, &next));
}

static void only_the_leader_advances_it(void **state)
{
    Fixture *f = *state;
    authority_set_leader(f->authority, NULL);
    begin(f); /* an operator may use any server */
    pass(f);
    expect_state(f, ROTATION_PREPARE);
    authority_set_leader(f->authority, &f->fence);
    StoreCompare next = world_lead(&f->world); /* another server, while this one was paused */
    pass(f);
    expect_state(f, ROTATION_PREPARE);
    authority_set_leader(f->authority, &next);
    pass(f);
    expect_state(f, ROTATION_STEADY);
}

static void expect_wait(Fixture *f, RotationState state, const char *what)
{
    uint32_t count;
    pass(f);
    expect_state(f, state);
    const RotationWait *waits = authority_waits(f->authority, &count);
    assert_int_equal(count, 1);
    assert_str(waits[0].node, "web1");
    assert_true(waits[0].silent);
    assert_true(str_find(waits[0].what, str_from_c(what), 0) < waits[0].what.len);
}

/* Every state with a node that delays it, and with the server exiting in it. */
static void it_waits_for_nodes_and_survives_the_server(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", false);
    report(f, "web1", &f->first, 1, &f->first);
    begin(f);
    Pin next = authority_rotation(f->authority)->next;
    Pin both[] = { f->first, next };
    restart(f);
    expect_state(f, ROTATION_PREPARE);

    expect_wait(f, ROTATION_DISTRIBUTE, "does not trust the next CA");
    restart(f);
    expect_wait(f, ROTATION_DISTRIBUTE, "does not trust the next CA");
    assert_true(pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin, &f->first));
    assert_int_equal(authority_cas(f->authority)->trusted.count, 2);

    report(f, "web1", both, 2, &f->first);
    expect_wait(f, ROTATION_ISSUE, "no certificate from the next CA");
    restart(f);
    expect_wait(f, ROTATION_ISSUE, "no certificate from the next CA");
    assert_true(pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin, &next));
    assert_int_equal(authority_cas(f->authority)->trusted.count, 2);
    /* The cross-signed certificate for those who know the old one only leads there. */
    CertificateSet chain = authority_chain(f->authority);
    Error err;
    assert_int_equal(chain.count, 2);
    assert_true(pin_equal(&chain.items[0].pin, &next));
    assert_true(certificate_names_issuer(&chain.items[0], &f->first));
    assert_true(pin_equal(&chain.items[1].pin, &f->first));

    report(f, "web1", both, 2, &next);
    expect_wait(f, ROTATION_RETIRE, "still trusts the old CA");
    restart(f);
    expect_wait(f, ROTATION_RETIRE, "still trusts the old CA");
    assert_int_equal(authority_cas(f->authority)->trusted.count, 1);

    report(f, "web1", &next, 1, &next);
    pass(f);
    expect_state(f, ROTATION_STEADY);
    restart(f);
    AUTO_CLEAR(Credential) kept = { 0 };
    assert_true(credential_load(&f->directory, AUTHORITY_CA, &f->world.arena, &kept, &err));
    assert_true(pin_equal(&kept.chain.items[0].pin, &next));
    assert_int_equal(kept.chain.count, 1);
}

/* Either file may be lost while the server runs, in every state. */
static void lost_files_are_rewritten(void **state)
{
    static const char *const names[] = { AUTHORITY_CA, AUTHORITY_CA_NEXT };
    Fixture *f = *state;
    Error err;
    put_node(f, "web1", false);
    report(f, "web1", &f->first, 1, &f->first);
    begin(f);
    Pin both[] = { f->first, authority_rotation(f->authority)->next };
    report(f, "web1", both, 2, &f->first);
    expect_wait(f, ROTATION_ISSUE, "no certificate from the next CA");
    assert_true(authority_is_saved(f->authority));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(directory_remove(&f->directory, names[i], &err));
        assert_false(authority_is_saved(f->authority));
        assert_true(authority_save(f->authority, &err));
        assert_true(authority_is_saved(f->authority));
        restart(f);
        expect_state(f, ROTATION_ISSUE);
    }
    report(f, "web1", &both[1], 1, &both[1]);
    pass(f);
    expect_state(f, ROTATION_STEADY);
    assert_true(authority_is_saved(f->authority));
}

static void the_servers_own_certificates_count(void **state)
{
    Fixture *f = *state;
    f->is_slow = true;
    begin(f);
    pass(f);
    expect_state(f, ROTATION_ISSUE);
    f->own = authority_rotation(f->authority)->next;
    authority_check(f->authority);
    pass(f);
    expect_state(f, ROTATION_STEADY);
}

static void the_agent_of_the_server_counts_too(void **state)
{
    Fixture *f = *state;
    uint32_t count;
    report(f, "s1", &f->first, 1, &f->first);
    begin(f);
    Pin both[] = { f->first, authority_rotation(f->authority)->next };
    pass(f);
    expect_state(f, ROTATION_DISTRIBUTE);
    assert_str(authority_waits(f->authority, &count)->node, "s1");
    report(f, "s1", both, 2, &f->first);
    pass(f);
    expect_state(f, ROTATION_ISSUE);
    report(f, "s1", both, 2, &both[1]);
    pass(f);
    expect_state(f, ROTATION_RETIRE);
    report(f, "s1", &both[1], 1, &both[1]);
    pass(f);
    expect_state(f, ROTATION_STEADY);
}

/* Killed after the file was written and before the store was: as if nothing had happened. */
static void a_file_unknown_to_the_store_is_removed(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Credential) stray = { 0 };
    Error err;
    assert_true(ca_make(&f->world.arena, STR("blue"), loop_wall_ms(f->world.cluster_store.loop),
                        &stray, &err));
    assert_true(credential_save(&f->directory, AUTHORITY_CA_NEXT, stray.key, stray.chain, &err));
    restart(f);
    expect_state(f, ROTATION_STEADY);
    assert_false(directory_has(&f->directory, AUTHORITY_CA_NEXT));
    assert_true(pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin, &f->first));
}

/* Killed at the end: the store names the new CA, and ca.pem is still the old one, or both are the
 * new one. */
static void the_last_step_is_completed_after_a_kill(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Credential) next = { 0 };
    Error err;
    for (int moment = 0; moment < 2; moment++) {
        credential_clear(&next);
        assert_true(ca_make(&f->world.arena, STR("blue"), loop_wall_ms(f->world.cluster_store.loop),
                            &next, &err));
        Rotation done = rotation_steady(&next.chain.items[0].pin, 1);
        Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
        rotation_print(&done, &text);
        put_value(f, cluster_key_rotation(&f->world.arena, PREFIX), buf_str(&text));
        assert_true(credential_save(&f->directory, AUTHORITY_CA_NEXT, next.key, next.chain, &err));
        if (moment == 1) {
            assert_true(credential_save(&f->directory, AUTHORITY_CA, next.key, next.chain, &err));
        }
        restart(f);
        assert_false(directory_has(&f->directory, AUTHORITY_CA_NEXT));
        restart(f);
        assert_true(pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin,
                              &next.chain.items[0].pin));
    }
}

static void a_lost_next_ca_is_abandoned(void **state)
{
    Fixture *f = *state;
    Error err;
    put_node(f, "web1", false);
    begin(f);
    pass(f);
    expect_state(f, ROTATION_DISTRIBUTE);
    authority_free(TAKE(f->authority));
    assert_true(directory_remove(&f->directory, AUTHORITY_CA_NEXT, &err));
    assert_true(open_authority(f, &err));
    assert_true(f->ready);
    expect_state(f, ROTATION_STEADY);
    begin(f);
}

static void a_ca_without_its_key_prevents_the_start(void **state)
{
    Fixture *f = *state;
    Error err;
    put_node(f, "web1", false);
    report(f, "web1", &f->first, 1, &f->first);
    begin(f);
    Pin both[] = { f->first, authority_rotation(f->authority)->next };
    report(f, "web1", both, 2, &f->first);
    pass(f);
    expect_state(f, ROTATION_ISSUE);
    authority_free(TAKE(f->authority));
    assert_true(directory_remove(&f->directory, AUTHORITY_CA_NEXT, &err));
    assert_true(open_authority(f, &err));
    assert_false(f->ready);
    assert_int_equal(f->failure.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(f->failure.text, "same backup"));
}

static void a_rotation_can_be_aborted_early(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", false);
    begin(f);
    pass(f);
    expect_state(f, ROTATION_DISTRIBUTE);
    authority_revert(f->authority, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    expect_state(f, ROTATION_STEADY);
    assert_false(directory_has(&f->directory, AUTHORITY_CA_NEXT));
    assert_int_equal(authority_cas(f->authority)->trusted.count, 1);
    authority_revert(f->authority, world_done, &f->world);
    world_expect(&f->world, ERROR_CONFLICT, "not being rotated");
}

/* Those with certificates of the next CA renew once more. */
static void reverting_while_nodes_renew(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", false);
    report(f, "web1", &f->first, 1, &f->first);
    begin(f);
    Pin next = authority_rotation(f->authority)->next, both[] = { f->first, next };
    report(f, "web1", both, 2, &next);
    f->is_slow = true;
    pass(f);
    expect_state(f, ROTATION_ISSUE);
    f->is_slow = false;
    authority_revert(f->authority, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    restart(f);
    expect_wait(f, ROTATION_ISSUE, "no certificate from the next CA");
    report(f, "web1", both, 2, &f->first);
    pass(f);
    report(f, "web1", &f->first, 1, &f->first);
    pass(f);
    expect_state(f, ROTATION_STEADY);
    restart(f);
    assert_true(pin_equal(&authority_cas(f->authority)->issuer->chain.items[0].pin, &f->first));
    assert_false(directory_has(&f->directory, AUTHORITY_CA_NEXT));
}

static void it_continues_without_an_excluded_node(void **state)
{
    Fixture *f = *state;
    authority_exclude(f->authority, STR("web1"), world_done, &f->world);
    world_expect(&f->world, ERROR_CONFLICT, "not being rotated");
    put_node(f, "web1", false);
    begin(f);
    expect_wait(f, ROTATION_DISTRIBUTE, "does not trust");
    authority_exclude(f->authority, STR("web2"), world_done, &f->world);
    world_expect(&f->world, ERROR_NOT_FOUND, "node 'web2' not found");
    authority_exclude(f->authority, STR("s1"), world_done, &f->world);
    world_expect(&f->world, ERROR_CONFLICT, "is a server");
    authority_exclude(f->authority, STR("web1"), world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    pass(f);
    expect_state(f, ROTATION_STEADY);
    /* The next time it counts again. */
    begin(f);
    expect_wait(f, ROTATION_DISTRIBUTE, "does not trust");
}

/* Nothing is withheld from a node whose certificate is no longer valid. */
static void it_does_not_wait_for_removed_nodes(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", false);
    begin(f);
    expect_wait(f, ROTATION_DISTRIBUTE, "does not trust");
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + LATER_MS);
    pass(f);
    expect_state(f, ROTATION_STEADY);
}

static void there_is_one_rotation_at_a_time(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", false);
    begin(f);
    Pin next = authority_rotation(f->authority)->next;
    authority_begin(f->authority, world_done, &f->world);
    world_expect(&f->world, ERROR_CONFLICT, "already being rotated");
    restart(f);
    assert_true(pin_equal(&authority_rotation(f->authority)->next, &next));
}

/* Freed with a pending response of the store. */
static void it_can_be_freed_at_any_time(void **state)
{
    Fixture *f = *state;
    Error err;
    begin(f);
    for (int ms = 0; ms < 600; ms += 10) {
        loop_run_virtual_until(f->world.cluster_store.loop,
                               loop_now_ms(f->world.cluster_store.loop) + ms);
        authority_free(TAKE(f->authority));
        assert_true(open_authority(f, &err));
    }
    pass(f);
    expect_state(f, ROTATION_STEADY);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(one_ca_signs_and_is_announced),
        ROW(changes_of_another_server_are_followed),
        ROW(unusable_changes_are_logged_and_ignored),
        ROW(a_single_server_completes_a_rotation),
        ROW(fields_of_a_newer_server_are_preserved_in_the_record),
        ROW(fields_of_a_newer_server_are_preserved_in_the_notice),
        ROW(only_the_leader_advances_it),
        ROW(it_waits_for_nodes_and_survives_the_server),
        ROW(lost_files_are_rewritten),
        ROW(the_servers_own_certificates_count),
        ROW(the_agent_of_the_server_counts_too),
        ROW(a_file_unknown_to_the_store_is_removed),
        ROW(the_last_step_is_completed_after_a_kill),
        ROW(a_lost_next_ca_is_abandoned),
        ROW(a_ca_without_its_key_prevents_the_start),
        ROW(a_rotation_can_be_aborted_early),
        ROW(reverting_while_nodes_renew),
        ROW(it_continues_without_an_excluded_node),
        ROW(it_does_not_wait_for_removed_nodes),
        ROW(there_is_one_rotation_at_a_time),
        ROW(it_can_be_freed_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
