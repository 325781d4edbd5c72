#include "membership/admission.h"

#include <stdlib.h>

#include "cluster/cluster_keys.h"
#include "membership/pending_limits.h"
#include "membership/pending_record.h"
#include "pki/ca.h"
#include "pki/revocation.h"
#include "ready_state.h"
#include "sys/loop.h"
#include "unit.h"

#define CLUSTER STR("blue")
#define PREFIX  STR("/eden")

typedef struct Fixture {
    Arena arena;
    Loop *loop;
    Store *store;
    ClusterStore cluster_store;
    Credential ca;
    CaSet cas;
    Admission *admission;
    Token token;
    Audit *audit; /* NULL: none */
    Buf audited;
} Fixture;

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
    *(bool *)context = true;
}

static void put(Fixture *f, Str key, Str value)
{
    Error err;
    bool done = false;
    assert_true(store_put(f->store, key, value, 0, put_done, &done, &err));
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
    assert_true(done);
}

typedef struct Got {
    Arena *arena;
    Str value;
    bool there;
} Got;

static void get_done(void *context, const StoreReply *reply, const Error *err)
{
    Got *got = context;
    assert_null(err);
    got->there = reply->ops[0].kv_count > 0;
    got->value = got->there ? arena_copy(got->arena, reply->ops[0].kvs[0].value) : STR_EMPTY;
}

static Got get(Fixture *f, Str key)
{
    Got got = { .arena = &f->arena };
    Error err;
    assert_true(store_get(f->store, key, get_done, &got, &err));
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
    return got;
}

static void put_token(Fixture *f, uint32_t uses)
{
    TokenRecord record;
    Error err;
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    assert_true(token_record_make(
        &f->token, &(TokenTerms){ STR("test"), loop_wall_ms(f->loop), 3600 * 1000, uses }, &record,
        &err));
    token_record_print(&record, &text);
    put(f, cluster_key_token(&f->arena, PREFIX, str_from_c(f->token.id)), buf_str(&text));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->loop = loop_new_virtual(1);
    loop_virtual_set_wall(f->loop, 1800000000000); /* in 2027 */
    f->store = store_open_memory(f->loop, NULL);
    f->cluster_store = (ClusterStore){ f->loop, f->store, PREFIX };
    f->cluster_store.state = ready_state(&f->cluster_store, NULL);
    assert_true(ca_make(&f->arena, CLUSTER, loop_wall_ms(f->loop), &f->ca, &err));
    f->cas = (CaSet){ &f->ca, f->ca.chain };
    f->admission = admission_new(&(AdmissionSettings){
        .certify = { .cluster_store = f->cluster_store, .cluster = CLUSTER, .cas = &f->cas },
        .server = STR("s1"),
        .rpc_port = 1337 });
    assert_true(token_make(TOKEN_JOIN, &f->token, &err));
    f->audited = buf_make_in(&f->arena, BUF_UNLIMITED);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    admission_free(f->admission);
    audit_free(f->audit);
    state_stop(f->cluster_store.state);
    store_close(f->store);
    state_free(f->cluster_store.state);
    loop_free(f->loop);
    credential_clear(&f->ca);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

/* A machine with its key and the responses it got. */
typedef struct Joiner {
    Fixture *f;
    P256Private *key;
    JoinParams request;
    Str text;
    char nonce[JOIN_NONCE_TEXT + 1];
    JoinReply reply;
    Str reply_text;
    const char *address;
    bool answered;
    Error err;
} Joiner;

static Joiner joiner_make(Fixture *f, const char *name, const Token *token)
{
    Joiner joiner = { .f = f, .address = "10.0.0.1:999" };
    Error err;
    assert_true(p256_private_make(&joiner.key, &err));
    joiner.request = (JoinParams){ .name = str_from_c(name),
                                   .ca = f->ca.chain.items[0].pin,
                                   .token = token,
                                   .key = joiner.key,
                                   .now_ms = loop_wall_ms(f->loop) };
    return joiner;
}

static void answered(void *context, const JoinReply *reply, const Error *err)
{
    Joiner *joiner = context;
    assert_false(joiner->answered);
    joiner->answered = true;
    if (reply == NULL) {
        joiner->err = *err;
        return;
    }
    Buf text = buf_make_in(&joiner->f->arena, BUF_UNLIMITED);
    Error bad;
    join_reply_print(reply, &text);
    joiner->reply_text = buf_str(&text);
    assert_true(join_reply_read(&joiner->f->arena, joiner->reply_text, &joiner->reply, &bad));
}

static void send(Joiner *joiner)
{
    joiner->answered = false;
    joiner->err = (Error){ 0 };
    admission_decide(joiner->f->admission, joiner->text, joiner->address, answered, joiner);
}

static void pass(Fixture *f)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
}

static void ask(Joiner *joiner)
{
    Error err;
    joiner->request.now_ms = loop_wall_ms(joiner->f->loop);
    assert_true(
        join_request_make(&joiner->f->arena, &joiner->request, &joiner->text, joiner->nonce, &err));
    send(joiner);
    pass(joiner->f);
    assert_true(joiner->answered);
}

static void expect(const Joiner *joiner, JoinResult result, JoinReason reason)
{
    assert_int_equal(joiner->err.kind, ERROR_NONE);
    assert_int_equal(joiner->reply.result, result);
    assert_int_equal(joiner->reply.reason, reason);
}

static NodeRecord node_of(Fixture *f, const char *name)
{
    NodeRecord record;
    Error err;
    Got got = get(f, cluster_key_node(&f->arena, PREFIX, str_from_c(name)));
    assert_true(got.there);
    assert_true(node_record_read(&f->arena, got.value, &record, &err));
    return record;
}

static uint32_t uses_of(Fixture *f)
{
    TokenRecord record;
    Error err;
    Got got = get(f, cluster_key_token(&f->arena, PREFIX, str_from_c(f->token.id)));
    assert_true(token_record_read(&f->arena, got.value, &record, &err));
    return record.uses;
}

static void a_machine_with_a_token_is_admitted(void **state)
{
    Fixture *f = *state;
    JoinAdmission accepted;
    Error err;
    put_token(f, 2);
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    assert_true(join_reply_accept(&f->arena, &web.reply, &web.request, web.nonce, &accepted, &err));
    assert_string_equal(accepted.identity.node, "web1");
    NodeRecord node = node_of(f, "web1");
    assert_string_equal(node.token, f->token.id);
    assert_string_equal(node.address, "10.0.0.1:999");
    assert_string_equal(node.enrollment, accepted.chain.items[0].enrollment);
    assert_false(node.is_server);
    assert_int_equal(uses_of(f), 1);
    /* A new name needs no rule. */
    assert_false(get(f, cluster_key_revocations(&f->arena, PREFIX)).there);
    p256_private_free(web.key);
}

static void a_request_can_be_repeated(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    char enrollment[ENROLLMENT_TEXT + 1];
    strcpy(enrollment, node_of(f, "web1").enrollment);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    assert_int_equal(uses_of(f), 1);
    assert_string_equal(node_of(f, "web1").enrollment, enrollment);
    p256_private_free(web.key);
}

static void a_replayed_request_is_rejected(void **state)
{
    Fixture *f = *state;
    put_token(f, 5);
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    send(&web);
    pass(f);
    expect(&web, JOIN_REFUSED, JOIN_REASON_REPLAY);
    assert_int_equal(uses_of(f), 1);
    /* Later its age alone makes it invalid, and the nonce is forgotten. */
    loop_virtual_set_wall(f->loop, loop_wall_ms(f->loop) + 2 * JOIN_SKEW_MS);
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 2 * JOIN_SKEW_MS);
    assert_false(get(f, cluster_key_nonce(&f->arena, PREFIX, str_from_c(web.nonce))).there);
    send(&web);
    pass(f);
    expect(&web, JOIN_REFUSED, JOIN_REASON_CLOCK);
    p256_private_free(web.key);
}

static void a_token_is_limited_in_uses_and_time(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token), db = joiner_make(f, "db1", &f->token);
    ask(&web);
    ask(&db);
    expect(&db, JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP);
    assert_false(get(f, cluster_key_node(&f->arena, PREFIX, STR("db1"))).there);
    put_token(f, 1);
    loop_virtual_set_wall(f->loop, loop_wall_ms(f->loop) + 3600 * 1000);
    ask(&db);
    expect(&db, JOIN_REFUSED, JOIN_REASON_TOKEN_EXPIRED);
    p256_private_free(web.key);
    p256_private_free(db.key);
}

/* Both read the record before either of them writes. */
static void the_last_use_of_a_token_is_granted_once(void **state)
{
    Fixture *f = *state;
    Error err;
    put_token(f, 1);
    Joiner joiners[] = { joiner_make(f, "web1", &f->token), joiner_make(f, "web2", &f->token) };
    for (size_t i = 0; i < 2; i++) {
        assert_true(join_request_make(&f->arena, &joiners[i].request, &joiners[i].text,
                                      joiners[i].nonce, &err));
        send(&joiners[i]);
    }
    pass(f);
    expect(&joiners[0], JOIN_ADMITTED, JOIN_REASON_NONE);
    expect(&joiners[1], JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP);
    assert_int_equal(uses_of(f), 1);
    p256_private_free(joiners[0].key);
    p256_private_free(joiners[1].key);
}

/* --- Audit ----------------------------------------------------------------------------------- */

static void use_audit(Fixture *f)
{
    f->audit = audit_new(&f->cluster_store);
    admission_free(f->admission);
    f->admission = admission_new(&(AdmissionSettings){
        .certify = { .cluster_store = f->cluster_store, .cluster = CLUSTER, .cas = &f->cas },
        .audit = f->audit,
        .server = STR("s1"),
        .rpc_port = 1337 });
}

static void listed(void *context, const AuditPage *page, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    buf_reset(&f->audited);
    for (uint32_t i = 0; i < page->count; i++) {
        const AuditEntry *entry = &page->entries[i];
        buf_put_format(&f->audited, "%" STR_FMT " %" STR_FMT " %s%s%" STR_FMT "\n",
                       STR_ARG(entry->verb), STR_ARG(entry->name),
                       audit_outcome_name(entry->outcome), entry->detail.len > 0 ? ": " : "",
                       STR_ARG(entry->detail));
    }
}

static void expect_audited(Fixture *f, const char *expected)
{
    audit_list(&f->cluster_store, &(AuditQuery){ .limit = 100 }, listed, f);
    pass(f);
    assert_str(buf_str(&f->audited), expected);
}

static void admissions_are_audited_and_repetitions_are_not(void **state)
{
    Fixture *f = *state;
    use_audit(f);
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    expect_audited(f, "join web1 asked\njoin web1 done\n");
    send(&web);
    pass(f);
    Joiner other = joiner_make(f, "web2", &f->token);
    ask(&other);
    expect(&other, JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP);
    expect_audited(f, "join web1 asked\njoin web1 done\n");
    p256_private_free(web.key);
    p256_private_free(other.key);
}

static void a_machine_that_was_too_late_is_audited_as_failed(void **state)
{
    Fixture *f = *state;
    Error err;
    use_audit(f);
    put_token(f, 1);
    Joiner joiners[] = { joiner_make(f, "web1", &f->token), joiner_make(f, "web2", &f->token) };
    for (size_t i = 0; i < 2; i++) {
        assert_true(join_request_make(&f->arena, &joiners[i].request, &joiners[i].text,
                                      joiners[i].nonce, &err));
        send(&joiners[i]);
    }
    pass(f);
    expect(&joiners[0], JOIN_ADMITTED, JOIN_REASON_NONE);
    expect(&joiners[1], JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP);
    expect_audited(f, arena_format(&f->arena,
                                   "join web1 asked\njoin web2 asked\njoin web1 done\n"
                                   "join web2 failed: %s\n",
                                   joiners[1].reply.text)
                          .data);
    p256_private_free(joiners[0].key);
    p256_private_free(joiners[1].key);
}

/* Nothing happens that the log does not show. */
static void a_machine_that_cannot_be_audited_is_not_admitted(void **state)
{
    Fixture *f = *state;
    use_audit(f);
    put_token(f, 1);
    put(f, cluster_key_audit_head(&f->arena, PREFIX), STR("nonsense"));
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    assert_int_not_equal(web.err.kind, ERROR_NONE);
    assert_false(get(f, cluster_key_node(&f->arena, PREFIX, STR("web1"))).there);
    assert_int_equal(uses_of(f), 0);
    p256_private_free(web.key);
}

static void wrong_and_unknown_tokens_give_the_same_error(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    Token forged = f->token;
    forged.secret[0] ^= 1;
    Joiner web = joiner_make(f, "web1", &forged);
    ask(&web);
    assert_int_equal(web.reply.result, JOIN_REFUSED);
    char text[JOIN_TEXT_MAX];
    strcpy(text, web.reply.text);
    JoinReason reason = web.reply.reason;
    put(f, cluster_key_token(&f->arena, PREFIX, str_from_c(f->token.id)), STR("{}"));
    Error err;
    bool done = false;
    assert_true(store_delete(f->store,
                             cluster_key_token(&f->arena, PREFIX, str_from_c(f->token.id)),
                             put_done, &done, &err));
    ask(&web);
    assert_int_equal(web.reply.reason, reason);
    assert_string_equal(web.reply.text, text);
    p256_private_free(web.key);
}

static PendingRecord joining_of(Fixture *f, const char *name)
{
    PendingRecord record;
    Error err;
    Got got = get(f, cluster_key_joining(&f->arena, PREFIX, str_from_c(name)));
    assert_true(got.there);
    assert_true(pending_record_read(&f->arena, got.value, &record, &err));
    return record;
}

static Pin pin_of(const Joiner *joiner)
{
    P256Public public;
    Pin pin;
    Error err;
    assert_true(p256_public_of(joiner->key, &public, &err));
    p256_public_pin(&public, &pin);
    return pin;
}

static void approve(const Joiner *joiner)
{
    Fixture *f = joiner->f;
    const char *name = arena_copy_c(&f->arena, joiner->request.name);
    PendingRecord record = joining_of(f, name);
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    Pin pin = pin_of(joiner);
    pending_record_approve(&record, &pin, loop_wall_ms(f->loop));
    pending_record_print(&record, &text);
    put(f, cluster_key_joining(&f->arena, PREFIX, str_from_c(name)), buf_str(&text));
}

static void a_joiner_without_a_token_stays_pending_until_approved(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL), other = joiner_make(f, "web1", NULL);
    ask(&web);
    expect(&web, JOIN_PENDING, JOIN_REASON_NONE);
    assert_false(get(f, cluster_key_node(&f->arena, PREFIX, STR("web1"))).there);
    assert_string_equal(joining_of(f, "web1").machines[0].address, "10.0.0.1:999");
    approve(&web);
    /* That key is approved: another one waits next to it, and changes nothing. */
    ask(&other);
    expect(&other, JOIN_PENDING, JOIN_REASON_NONE);
    assert_int_equal(joining_of(f, "web1").count, 2);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    assert_false(get(f, cluster_key_joining(&f->arena, PREFIX, STR("web1"))).there);
    assert_string_equal(node_of(f, "web1").token, "");
    p256_private_free(web.key);
    p256_private_free(other.key);
}

static void an_approved_machine_can_repeat_its_request(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL);
    ask(&web);
    approve(&web);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    NodeRecord first = node_of(f, "web1");
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    NodeRecord second = node_of(f, "web1");
    assert_string_equal(second.enrollment, first.enrollment);
    assert_string_not_equal(second.serial, first.serial);
    /* Once it has expired, it must be reviewed again. */
    loop_virtual_set_wall(f->loop, second.not_after_ms + 1);
    ask(&web);
    expect(&web, JOIN_PENDING, JOIN_REASON_NONE);
    p256_private_free(web.key);
}

static void frequent_requests_are_throttled(void **state)
{
    Fixture *f = *state;
    put_token(f, 2);
    Joiner web = joiner_make(f, "web1", &f->token), other = joiner_make(f, "web2", &f->token);
    uint32_t given = 0;
    for (ask(&web); web.err.kind == ERROR_NONE; ask(&web)) {
        expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
        assert_true(++given < 100);
    }
    assert_true(given > 10);
    assert_int_equal(web.err.kind, ERROR_LIMIT);
    char serial[SERIAL_TEXT + 1];
    strcpy(serial, node_of(f, "web1").serial);
    ask(&web);
    assert_string_equal(node_of(f, "web1").serial, serial);
    ask(&other);
    expect(&other, JOIN_ADMITTED, JOIN_REASON_NONE);
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 60 * 1000);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    p256_private_free(web.key);
    p256_private_free(other.key);
}

static bool waits(Fixture *f, const Joiner *joiner)
{
    Got got = get(f, cluster_key_joining(&f->arena, PREFIX, joiner->request.name));
    PendingRecord record;
    Error err;
    Pin pin = pin_of(joiner);
    return got.there && pending_record_read(&f->arena, got.value, &record, &err) &&
           pending_record_find(&record, &pin) != NULL;
}

static void machines_that_stop_asking_are_forgotten(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL), db = joiner_make(f, "db1", NULL);
    ask(&web);
    ask(&db);
    approve(&db);
    for (int hour = 0; hour < 25; hour++) {
        loop_virtual_set_wall(f->loop, loop_wall_ms(f->loop) + 3600 * 1000);
        loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 3600 * 1000);
        if (hour == 20) {
            ask(&web);
        }
    }
    assert_true(waits(f, &web));
    Str key = cluster_key_leader(&f->arena, PREFIX),
        old = cluster_key_joining(&f->arena, PREFIX, STR("db1"));
    assert_true(get(f, old).there); /* another server is leader */
    put(f, key, STR("{}"));
    StoreCompare fence = { .target = STORE_CREATE_REVISION, .key = key, .number = 1 };
    admission_set_leader(f->admission, &fence); /* until now */
    pass(f);
    assert_true(get(f, old).there);
    fence.number = store_status(f->store).revision;
    admission_set_leader(f->admission, &fence);
    pass(f);
    assert_false(get(f, old).there);
    assert_true(waits(f, &web));
    /* Nor is an approval valid for longer than that, wherever it comes from. */
    ask(&db);
    expect(&db, JOIN_PENDING, JOIN_REASON_NONE);
    approve(&db);
    loop_virtual_set_wall(f->loop, loop_wall_ms(f->loop) + PENDING_LIFETIME_MS);
    ask(&db);
    expect(&db, JOIN_PENDING, JOIN_REASON_NONE);
    p256_private_free(web.key);
    p256_private_free(db.key);
}

/* The same bytes, and new ones, a thousand times: one row, no lease, no new revision. */
static void a_pending_machine_takes_one_row_and_no_lease(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL);
    ask(&web);
    StoreStatus before = store_check_status(f->store);
    for (int i = 0; i < 500; i++) {
        loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 100);
        send(&web);
        pass(f);
        expect(&web, JOIN_PENDING, JOIN_REASON_NONE);
    }
    ask(&web);
    expect(&web, JOIN_PENDING, JOIN_REASON_NONE);
    StoreStatus after = store_check_status(f->store);
    assert_int_equal(after.leases, 0);
    assert_int_equal(after.revision, before.revision);
    assert_int_equal(joining_of(f, "web1").count, 1);
    assert_int_equal(admission_counts(f->admission).waiting, 1);
    p256_private_free(web.key);
}

/* An unauthenticated client uses made-up names; an honest machine waits, is listed, and is
 * admitted. */
static void a_flooding_client_displaces_only_itself(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL), outsider = joiner_make(f, "n", NULL);
    ask(&web);
    outsider.address = "10.9.9.9:1";
    uint32_t refused = 0;
    for (int i = 0; i < 300; i++) {
        outsider.request.name = arena_format(&f->arena, "n%d", i);
        loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 200);
        ask(&outsider);
        refused += outsider.err.kind == ERROR_LIMIT;
    }
    assert_true(refused > 100);
    assert_true(waits(f, &web));
    AdmissionCounts counts = admission_counts(f->admission);
    assert_int_equal(counts.waiting, 1 + WAITING_SOURCE_MAX);
    assert_int_equal(counts.limited, refused);
    /* The newest of its rows are kept. */
    outsider.request.name = STR("n0");
    assert_false(waits(f, &outsider));
    assert_int_equal(store_check_status(f->store).leases, 0);
    approve(&web);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    p256_private_free(web.key);
    p256_private_free(outsider.key);
}

/* From everywhere: the table is full, and still no machine that keeps asking is shut out. */
static void a_full_pending_list_delays_honest_machines(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL), outsider = joiner_make(f, "n", NULL);
    for (int i = 0; i < 1100; i++) {
        char address[32];
        snprintf(address, sizeof address, "10.9.%d.%d:1", i / 20 % 250, i % 250);
        outsider.request.name = arena_format(&f->arena, "n%d", i);
        outsider.address = address;
        loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 250);
        loop_virtual_set_wall(f->loop, loop_wall_ms(f->loop) + 250);
        ask(&outsider);
        expect(&outsider, JOIN_PENDING, JOIN_REASON_NONE);
        if (i == 0) {
            approve(&outsider); /* is not displaced from now on */
        }
        if (i % 60 == 0) {
            ask(&web);
            expect(&web, JOIN_PENDING, JOIN_REASON_NONE);
        }
    }
    assert_int_equal(admission_counts(f->admission).waiting, WAITING_MAX);
    assert_true(waits(f, &web));
    outsider.request.name = STR("n0");
    assert_true(waits(f, &outsider));
    outsider.request.name = STR("n1");
    assert_false(waits(f, &outsider));
    p256_private_free(web.key);
    p256_private_free(outsider.key);
}

/* An approved machine cannot be displaced by requests for its name with other keys, or for other
 * names. */
static void an_approval_is_not_affected_by_other_clients(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL);
    ask(&web);
    approve(&web);
    for (int i = 0; i < 3 * PENDING_MACHINES_MAX; i++) {
        char address[32];
        snprintf(address, sizeof address, "10.9.9.%d:1", i);
        Joiner thief = joiner_make(f, "web1", NULL);
        thief.address = address;
        ask(&thief);
        expect(&thief, JOIN_PENDING, JOIN_REASON_NONE);
        p256_private_free(thief.key);
    }
    assert_int_equal(joining_of(f, "web1").count, PENDING_MACHINES_MAX);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    p256_private_free(web.key);
}

/* A restarted server reloads the pending machines. */
static void the_pending_list_follows_the_store(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL), db = joiner_make(f, "db1", NULL);
    ask(&web);
    ask(&db);
    approve(&db);
    AdmissionSettings settings = {
        .certify = { .cluster_store = f->cluster_store, .cluster = CLUSTER, .cas = &f->cas },
        .server = STR("s1"),
        .rpc_port = 1337
    };
    admission_free(f->admission);
    f->admission = admission_new(&settings);
    pass(f);
    assert_int_equal(admission_counts(f->admission).waiting, 1);
    p256_private_free(web.key);
    p256_private_free(db.key);
}

static void requests_per_source_are_limited(void **state)
{
    Fixture *f = *state;
    put_token(f, 5);
    Joiner outsider = joiner_make(f, "n", NULL), web = joiner_make(f, "web1", &f->token);
    outsider.address = "[2001:db8::1]:1";
    ask(&outsider);
    for (int i = 0; i < 200; i++) {
        send(&outsider);
        pass(f);
        assert_true(i > 90 || outsider.err.kind == ERROR_NONE);
    }
    /* The same network counts as one; others are not affected. */
    for (send(&outsider); outsider.err.kind == ERROR_NONE; send(&outsider)) {
        pass(f);
    }
    web.address = "[2001:db8::2]:1";
    ask(&web);
    assert_int_equal(web.err.kind, ERROR_LIMIT);
    web.address = "10.0.0.7:1";
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    p256_private_free(web.key);
    p256_private_free(outsider.key);
}

static void a_name_being_removed_cannot_be_joined(void **state)
{
    Fixture *f = *state;
    Error err;
    bool done = false;
    put_token(f, 1);
    Str mark = cluster_key_removed(&f->arena, PREFIX, STR("web1"));
    put(f, mark, STR("{}"));
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    assert_int_equal(web.err.kind, ERROR_UNAVAILABLE);
    assert_int_equal(uses_of(f), 0);
    assert_true(store_delete(f->store, mark, put_done, &done, &err));
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    p256_private_free(web.key);
}

/* --- Combined with revoked, server, expired --------------------------------------------------- */

static void change_node(Fixture *f, const char *name, bool is_server, bool forget_token,
                        int64_t not_after_ms)
{
    NodeRecord record = node_of(f, name);
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    record.is_server = is_server;
    if (forget_token) {
        record.token[0] = '\0';
    }
    if (not_after_ms != 0) {
        record.not_after_ms = not_after_ms;
    }
    node_record_print(&record, &text);
    put(f, cluster_key_node(&f->arena, PREFIX, str_from_c(name)), buf_str(&text));
}

static void revoke_node(Fixture *f, const char *name)
{
    NodeRecord record = node_of(f, name);
    RevocationList list = { 0 };
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    Error err;
    assert_true(revocation_add_serial(&f->arena, &list, str_from_c(record.serial),
                                      record.not_after_ms, &err));
    revocation_print(&list, &text);
    put(f, cluster_key_revocations(&f->arena, PREFIX), buf_str(&text));
}

static void a_revoked_node_cannot_return_with_its_used_token(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    char serial[SERIAL_TEXT + 1];
    strcpy(serial, node_of(f, "web1").serial);
    revoke_node(f, "web1");
    ask(&web);
    expect(&web, JOIN_REFUSED, JOIN_REASON_TOKEN_USED_UP);
    assert_string_equal(node_of(f, "web1").serial, serial);
    /* Nor with the remaining uses of a multi-use token: its name is in use, by itself. */
    put_token(f, 5);
    ask(&web);
    expect(&web, JOIN_REFUSED, JOIN_REASON_NAME_TAKEN);
    p256_private_free(web.key);
}

static void only_a_valid_approved_node_gets_its_certificate_again(void **state)
{
    Fixture *f = *state;
    static const struct {
        bool is_server, is_revoked, is_expired, by_token;
        JoinResult result;
    } rows[] = {
        { .result = JOIN_ADMITTED },
        { .is_server = true, .result = JOIN_PENDING },
        { .is_revoked = true, .result = JOIN_PENDING },
        { .is_expired = true, .result = JOIN_PENDING },
        { .by_token = true, .result = JOIN_PENDING },
        { .is_server = true, .is_revoked = true, .result = JOIN_PENDING },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = arena_format(&f->arena, "web%zu%c", i, '\0').data;
        put_token(f, 1);
        Joiner web = joiner_make(f, name, &f->token);
        ask(&web);
        expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
        change_node(f, name, rows[i].is_server, !rows[i].by_token,
                    rows[i].is_expired ? loop_wall_ms(f->loop) : 0);
        if (rows[i].is_revoked) {
            revoke_node(f, name);
        }
        char serial[SERIAL_TEXT + 1];
        strcpy(serial, node_of(f, name).serial);
        web.request.token = NULL;
        ask(&web);
        expect(&web, rows[i].result, JOIN_REASON_NONE);
        assert_int_equal(strcmp(node_of(f, name).serial, serial) == 0,
                         rows[i].result == JOIN_PENDING);
        p256_private_free(web.key);
    }
}

static void a_name_in_use_is_not_given_to_another_key(void **state)
{
    Fixture *f = *state;
    put_token(f, 5);
    Joiner web = joiner_make(f, "web1", &f->token), thief = joiner_make(f, "web1", &f->token);
    ask(&web);
    char serial[SERIAL_TEXT + 1];
    strcpy(serial, node_of(f, "web1").serial);
    ask(&thief);
    expect(&thief, JOIN_REFUSED, JOIN_REASON_NAME_TAKEN);
    assert_string_equal(node_of(f, "web1").serial, serial);
    assert_int_equal(uses_of(f), 1);
    p256_private_free(web.key);
    p256_private_free(thief.key);
}

static void a_reused_name_inherits_nothing(void **state)
{
    Fixture *f = *state;
    Error err;
    put_token(f, 5);
    Joiner old = joiner_make(f, "web1", &f->token), new = joiner_make(f, "web1", &f->token);
    ask(&old);
    NodeRecord before = node_of(f, "web1");
    /* As removing a node does. */
    RevocationList list = { 0 };
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    bool done = false;
    assert_true(
        revocation_set_name(&f->arena, &list, STR("web1"), STR_EMPTY, before.not_after_ms, &err));
    revocation_print(&list, &text);
    put(f, cluster_key_revocations(&f->arena, PREFIX), buf_str(&text));
    assert_true(store_delete(f->store, cluster_key_node(&f->arena, PREFIX, STR("web1")), put_done,
                             &done, &err));
    ask(&new);
    expect(&new, JOIN_ADMITTED, JOIN_REASON_NONE);
    NodeRecord after = node_of(f, "web1");
    assert_string_not_equal(after.enrollment, before.enrollment);
    Got got = get(f, cluster_key_revocations(&f->arena, PREFIX));
    assert_true(revocation_read(&f->arena, got.value, &list, &err));
    assert_true(revocation_check(&list, STR("web1"), str_from_c(after.serial), &err));
    assert_false(revocation_check(&list, STR("web1"), str_from_c(before.serial), &err));
    p256_private_free(old.key);
    p256_private_free(new.key);
}

static void another_ca_is_rejected(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token);
    web.request.ca.bytes[0] ^= 1;
    ask(&web);
    expect(&web, JOIN_REFUSED, JOIN_REASON_CA);
    p256_private_free(web.key);
}

static void invalid_requests_are_reported(void **state)
{
    Fixture *f = *state;
    Joiner web = joiner_make(f, "web1", NULL);
    web.text = STR("{\"format\":\"eden.join/0\"}");
    send(&web);
    assert_true(web.answered);
    assert_int_equal(web.err.kind, ERROR_INVALID);
    p256_private_free(web.key);
}

static void a_damaged_record_admits_no_machine(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    put(f, cluster_key_revocations(&f->arena, PREFIX), STR("not a list"));
    Joiner web = joiner_make(f, "web1", &f->token);
    ask(&web);
    assert_int_equal(web.err.kind, ERROR_INVALID);
    assert_false(get(f, cluster_key_node(&f->arena, PREFIX, STR("web1"))).there);
    p256_private_free(web.key);
}

/* The endpoint is public, and the list may be long. */
static void rejected_machines_are_not_looked_up_in_the_revocations(void **state)
{
    Fixture *f = *state;
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token), other = joiner_make(f, "web1", NULL),
           outsider = joiner_make(f, "web2", NULL);
    ask(&web);
    expect(&web, JOIN_ADMITTED, JOIN_REASON_NONE);
    put(f, cluster_key_revocations(&f->arena, PREFIX), STR("not a list"));
    ask(&outsider);
    expect(&outsider, JOIN_PENDING, JOIN_REASON_NONE);
    ask(&other);
    expect(&other, JOIN_PENDING, JOIN_REASON_NONE);
    /* Machines that could be admitted are. */
    ask(&web);
    assert_int_equal(web.err.kind, ERROR_INVALID);
    approve(&outsider);
    ask(&outsider);
    assert_int_equal(outsider.err.kind, ERROR_INVALID);
    p256_private_free(web.key);
    p256_private_free(other.key);
    p256_private_free(outsider.key);
}

static void requests_in_progress_can_be_abandoned(void **state)
{
    Fixture *f = *state;
    Error err;
    put_token(f, 1);
    Joiner web = joiner_make(f, "web1", &f->token);
    assert_true(join_request_make(&f->arena, &web.request, &web.text, web.nonce, &err));
    send(&web);
    admission_free(TAKE(f->admission));
    pass(f);
    assert_false(web.answered);
    p256_private_free(web.key);
}

/* The network of a machine, regardless of its port; 0 if it is not a network address. */
static void origins_are_addresses_without_ports(void **state)
{
    static const char *const none[] = { "", "10.0.0.2:port", "10.0.0.2:0x1", "/tmp/socket",
                                        "[::1" };
    uint64_t origin = pending_origin("10.0.0.2:99");
    assert_true(origin != 0);
    assert_true(origin == pending_origin("10.0.0.2:98"));
    assert_true(origin != pending_origin("10.0.0.3:99"));
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        if (pending_origin(none[i]) != 0) {
            fail_msg("'%s' has an origin", none[i]);
        }
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins_are_addresses_without_ports),
        ROW(a_machine_with_a_token_is_admitted),
        ROW(a_request_can_be_repeated),
        ROW(a_replayed_request_is_rejected),
        ROW(a_token_is_limited_in_uses_and_time),
        ROW(the_last_use_of_a_token_is_granted_once),
        ROW(admissions_are_audited_and_repetitions_are_not),
        ROW(a_machine_that_was_too_late_is_audited_as_failed),
        ROW(a_machine_that_cannot_be_audited_is_not_admitted),
        ROW(wrong_and_unknown_tokens_give_the_same_error),
        ROW(a_joiner_without_a_token_stays_pending_until_approved),
        ROW(an_approved_machine_can_repeat_its_request),
        ROW(frequent_requests_are_throttled),
        ROW(machines_that_stop_asking_are_forgotten),
        ROW(a_pending_machine_takes_one_row_and_no_lease),
        ROW(a_flooding_client_displaces_only_itself),
        ROW(a_full_pending_list_delays_honest_machines),
        ROW(an_approval_is_not_affected_by_other_clients),
        ROW(the_pending_list_follows_the_store),
        ROW(requests_per_source_are_limited),
        ROW(a_name_being_removed_cannot_be_joined),
        ROW(a_revoked_node_cannot_return_with_its_used_token),
        ROW(only_a_valid_approved_node_gets_its_certificate_again),
        ROW(a_name_in_use_is_not_given_to_another_key),
        ROW(a_reused_name_inherits_nothing),
        ROW(another_ca_is_rejected),
        ROW(invalid_requests_are_reported),
        ROW(a_damaged_record_admits_no_machine),
        ROW(rejected_machines_are_not_looked_up_in_the_revocations),
        ROW(requests_in_progress_can_be_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
