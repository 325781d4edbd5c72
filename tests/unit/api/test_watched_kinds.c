/* Watches of kinds whose objects are not simply the values of keys: certificates, and the audit
 * log. */
#include "api/watch_fixture.h"

#include "cluster/cluster_keys.h"
#include "membership/node_record.h"
#include "membership/revoke.h"

#define PREFIX STR("/eden")

/* The next event, as "added x"; the object's `status.<field>` must be `text`. */
static Value expect(Watcher *w, const char *type, const char *name, const char *field,
                    const char *text)
{
    Value line;
    const Value *object = expect_event(w, type, name, &line);
    if (field != NULL) {
        assert_string_equal(text_of(w->f, *value_get(*object, STR("status")), field), text);
    }
    return line;
}

static void put(Fixture *f, Str key, Str value)
{
    Error err;
    assert_true(store_put(f->store, key, value, 0, written, f, &err));
    world_run(&f->world);
}

static void drop(Fixture *f, Str key)
{
    Error err;
    assert_true(store_delete(f->store, key, written, f, &err));
    world_run(&f->world);
}

static const char *target_from(Fixture *f, const char *plural, int64_t revision)
{
    return arena_format(&f->scratch->arena, "/v1/%s?watch=ndjson&from=%lld", plural,
                        (long long)revision)
        .data;
}

/* --- Certificates ---------------------------------------------------------------------------- */

#define SERIAL_1 "11111111111111110000000000000001"
#define SERIAL_2 "11111111111111110000000000000002"
#define SERIAL_3 "33333333333333330000000000000003"
#define SERIAL_4 "44444444444444440000000000000004"

static Str node_key(Fixture *f, const char *name)
{
    return cluster_key_node(&f->scratch->arena, PREFIX, str_from_c(name));
}

static void put_node(Fixture *f, const char *name, const char *serial, const char *address)
{
    NodeRecord record = { .labels = value_missing(), .not_after_ms = 1 };
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%.16s", serial);
    snprintf(record.serial, sizeof record.serial, "%s", serial);
    snprintf(record.address, sizeof record.address, "%s", address);
    node_record_print(&record, &text);
    put(f, node_key(f, name), buf_str(&text));
}

static Str user_key(Fixture *f, const char *serial)
{
    return cluster_key_user_certificate(&f->scratch->arena, PREFIX, str_from_c(serial));
}

static void put_user(Fixture *f, const char *serial, const char *user)
{
    put(f, user_key(f, serial),
        arena_format(&f->scratch->arena,
                     "{\"format\":\"eden.user-certificate/1\",\"serial\":\"%s\",\"user\":\"%s\","
                     "\"roles\":[\"viewer\"],\"made_by\":\"\",\"created_ms\":1,\"expires_ms\":2}",
                     serial, user));
}

static void a_node_has_its_latest_certificate(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", SERIAL_1, "");
    put_user(f, SERIAL_3, "ann");
    Watcher *w = watch(f, 0, "/v1/certificates?watch=ndjson");
    expect(w, "added", SERIAL_1, "owner", "web1");
    expect(w, "added", SERIAL_3, "owner", "ann");
    assert_int_equal(revision_of(expect(w, "synced", NULL, NULL, NULL)), f->revision);
    /* A changed address is not a change of its certificate. */
    put_node(f, "web1", SERIAL_1, "192.0.2.1");
    put_node(f, "web1", SERIAL_2, "192.0.2.1");
    expect(w, "deleted", SERIAL_1, NULL, NULL);
    assert_true(revision_of(expect(w, "added", SERIAL_2, "owner", "web1")) <= f->revision);
    put_node(f, "web2", SERIAL_4, "");
    expect(w, "added", SERIAL_4, "usage", "node");
    drop(f, node_key(f, "web1"));
    expect(w, "deleted", SERIAL_2, NULL, NULL);
    put(f, node_key(f, "web2"), STR("{}"));
    expect(w, "deleted", SERIAL_4, NULL, NULL);
    drop(f, user_key(f, SERIAL_3));
    expect(w, "deleted", SERIAL_3, NULL, NULL);
    put_user(f, SERIAL_3, "bob");
    expect(w, "added", SERIAL_3, "owner", "bob");
}

static void a_deleted_certificate_is_reported_on_resume(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", SERIAL_1, "");
    put_user(f, SERIAL_3, "ann");
    int64_t since = f->revision;
    put_node(f, "web1", SERIAL_2, "");
    drop(f, user_key(f, SERIAL_3));
    Watcher *w = watch(f, 0, target_from(f, "certificates", since + 1));
    expect(w, "deleted", SERIAL_3, NULL, NULL);
    expect(w, "changed", SERIAL_2, "owner", "web1");
    expect(w, "deleted", SERIAL_1, NULL, NULL);
    assert_int_equal(revision_of(expect(w, "synced", NULL, NULL, NULL)), f->revision);
    /* There is no log for objects without a key. */
    api_certificates_changed(f->api);
    w = watch(f, 1, target_from(f, "certificates", f->revision + 1));
    expect(w, "resync", NULL, NULL, NULL);
    expect(w, "added", SERIAL_2, "owner", "web1");
    expect(w, "synced", NULL, NULL, NULL);
    put_node(f, "web1", SERIAL_4, "");
    w = watch(f, 2, target_from(f, "certificates", f->revision + 1));
    expect(w, "synced", NULL, NULL, NULL);
}

static void one_certificate_is_watched_alone(void **state)
{
    Fixture *f = *state;
    Watcher *w = watch(f, 0, "/v1/certificates/" SERIAL_2 "?watch=ndjson");
    expect(w, "synced", NULL, NULL, NULL);
    put_node(f, "web1", SERIAL_1, "");
    put_node(f, "web1", SERIAL_2, "");
    expect(w, "added", SERIAL_2, "owner", "web1");
    put_node(f, "web1", SERIAL_4, "");
    expect(w, "deleted", SERIAL_2, NULL, NULL);
}

static void revoked(void *context, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    loop_stop(f->world.loop);
}

static void a_revocation_is_reported(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", SERIAL_1, "");
    put_node(f, "web2", SERIAL_4, "");
    Watcher *w = watch(f, 0, "/v1/certificates?watch=ndjson");
    expect(w, "added", SERIAL_1, "state", "expired");
    expect(w, "added", SERIAL_4, "state", "expired");
    int64_t since = revision_of(expect(w, "synced", NULL, NULL, NULL));
    revoke_node(&f->cluster_store, STR("web1"), revoked, f);
    world_run(&f->world);
    expect(w, "changed", SERIAL_1, "state", "revoked");
    revoke_serial(&f->cluster_store, STR(SERIAL_4), revoked, f);
    world_run(&f->world);
    expect(w, "changed", SERIAL_4, "state", "revoked");
    w = watch(f, 1, "/v1/certificates?watch=ndjson");
    expect(w, "added", SERIAL_1, "state", "revoked");
    expect(w, "added", SERIAL_4, "state", "revoked");
    expect(w, "synced", NULL, NULL, NULL);
    w = watch(f, 2, target_from(f, "certificates", since + 1));
    expect(w, "changed", SERIAL_4, "state", "revoked");
    expect(w, "changed", SERIAL_1, "state", "revoked");
    expect(w, "synced", NULL, NULL, NULL);
}

/* --- The audit log --------------------------------------------------------------------------- */

enum {
    NEWEST = 100 /* entries that a watch starts with */
};

static void append(Fixture *f, Audit *audit, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        audit_append(audit,
                     &(AuditEntry){ .who = STR("root (uid 0)"),
                                    .verb = STR("delete"),
                                    .kind = STR("Node"),
                                    .outcome = AUDIT_DONE },
                     NULL, NULL);
    }
}

/* All of these, in this order. */
static void expect_entries(Watcher *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i <= to; i++) {
        char name[30];
        snprintf(name, sizeof name, "%llu", (unsigned long long)i);
        expect(w, "added", name, "verb", "delete");
    }
}

static void wait_for(Fixture *f, uint64_t revision)
{
    while (store_status(f->store).revision < (int64_t)revision) {
        world_pass(&f->world, 1);
    }
}

static void a_log_starts_with_its_newest_entries(void **state)
{
    Fixture *f = *state;
    AUTO(Audit) *audit = audit_new(&(ClusterStore){ f->world.loop, f->store, PREFIX });
    append(f, audit, 5);
    Watcher *w = watch(f, 0, "/v1/audit?watch=ndjson");
    wait_for(f, 1);
    append(f, audit, NEWEST + 50);
    /* Wherever it starts and the existing entries end, each arrives once, in order. */
    uint64_t seen = 0;
    bool is_synced = false;
    while (seen < NEWEST + 55 || !is_synced) {
        Value line = next(w);
        if (strcmp(text_of(f, line, "type"), "synced") == 0) {
            assert_false(is_synced);
            is_synced = true;
            continue;
        }
        const Value *metadata = value_get(*value_get(line, STR("object")), STR("metadata"));
        uint64_t number = strtoull(text_of(f, *metadata, "name"), NULL, 10);
        assert_true(seen == 0 ? number > 0 : number == seen + 1);
        assert_string_equal(text_of(f, line, "type"), "added");
        seen = number;
    }
    w = watch(f, 1, "/v1/audit?watch=ndjson");
    expect_entries(w, 56, NEWEST + 55);
    int64_t since = revision_of(expect(w, "synced", NULL, NULL, NULL));
    append(f, audit, 1);
    expect_entries(w, NEWEST + 56, NEWEST + 56);
    append(f, audit, 20);
    expect_entries(w, NEWEST + 57, NEWEST + 76);
    /* After a disconnect it gets everything since, oldest first. */
    w = watch(f, 2, target_from(f, "audit", since + 1));
    expect_entries(w, NEWEST + 56, NEWEST + 76);
    expect(w, "synced", NULL, NULL, NULL);
    w = watch(f, 3, "/v1/audit/7?watch=ndjson");
    expect_entries(w, 7, 7);
    expect(w, "synced", NULL, NULL, NULL);
}

/* Too many to be sent individually: the newest again, the others are in the list. */
static void a_watcher_gone_for_too_long_starts_over(void **state)
{
    Fixture *f = *state;
    AUTO(Audit) *audit = audit_new(&(ClusterStore){ f->world.loop, f->store, PREFIX });
    append(f, audit, 1);
    wait_for(f, 1);
    int64_t since = store_status(f->store).revision;
    Watcher *w = watch(f, 0, "/v1/audit?watch=ndjson");
    expect_entries(w, 1, 1);
    expect(w, "synced", NULL, NULL, NULL);
    append(f, audit, 1200);
    expect_entries(w, 2, 1201);
    w = watch(f, 1, target_from(f, "audit", since + 1));
    expect(w, "resync", NULL, NULL, NULL);
    expect_entries(w, 1201 - NEWEST + 1, 1201);
    expect(w, "synced", NULL, NULL, NULL);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_node_has_its_latest_certificate),    ROW(a_deleted_certificate_is_reported_on_resume),
        ROW(one_certificate_is_watched_alone),     ROW(a_revocation_is_reported),
        ROW(a_log_starts_with_its_newest_entries), ROW(a_watcher_gone_for_too_long_starts_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
