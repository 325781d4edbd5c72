/* Requests as etcd reads them, and responses that do not fit their request. What etcd itself
 * answers is covered by tests/contract. */
#include "etcd/message.h"

#include "etcd/etcd.pb-c.h"
#include "rpc/wire.h"
#include "unit.h"

static Str pack(Arena *arena, const void *message)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    wire_pack(message, &out);
    return buf_str(&out);
}

static Etcd__ResponseHeader header_of(int64_t revision)
{
    Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;
    header.revision = revision;
    header.cluster_id = 7;
    return header;
}

static void a_guarded_transaction_is_nested_in_its_guards(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    StoreOp ops[] = {
        { .kind = STORE_PUT, .key = STR("a"), .value = STR("1"), .lease = 5 },
        { .kind = STORE_RANGE, .key = STR("b"), .end = STORE_ALL, .descending = true, .limit = 3 }
    };
    StoreTxn txn = { .success = ops, .success_count = 2 };
    EtcdGuard guard = { STR("b"), STORE_ALL, 41 };
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    etcd_guarded_txn_encode(&txn, &guard, 1, &out);
    const Etcd__TxnRequest *outer = (const Etcd__TxnRequest *)wire_unpack(
        &arena, &etcd__txn_request__descriptor, buf_str(&out), &err);
    assert_non_null(outer);
    assert_int_equal(outer->n_compare, 1);
    assert_int_equal(outer->compare[0]->target, ETCD__COMPARE__TARGET__MOD);
    assert_int_equal(outer->compare[0]->result, ETCD__COMPARE__RESULT__LESS);
    assert_int_equal(outer->compare[0]->mod_revision, 42);
    assert_true(str_eq(wire_bytes(outer->compare[0]->range_end), STORE_ALL));
    assert_int_equal(outer->n_success, 1);
    assert_int_equal(outer->n_failure, 0);
    const Etcd__TxnRequest *inner = (const Etcd__TxnRequest *)wire_unpack(
        &arena, &etcd__txn_request__descriptor, wire_bytes(outer->success[0]->txn), &err);
    assert_non_null(inner);
    assert_int_equal(inner->n_success, 2);
    assert_int_equal(inner->success[0]->put->lease, 5);
    assert_int_equal(inner->success[1]->range->limit, 3);
    assert_int_equal(inner->success[1]->range->sort_order,
                     ETCD__RANGE_REQUEST__SORT_ORDER__DESCEND);
}

static bool decodes(Arena *arena, const Etcd__TxnResponse *response)
{
    StoreOp op = { .kind = STORE_RANGE, .key = STR("a") };
    StoreTxn txn = { .success = &op, .success_count = 1 };
    EtcdHeader header;
    StoreReply reply;
    Error err = { 0 };
    bool ok = etcd_txn_decode(arena, pack(arena, response), &txn, &header, &reply, &err);
    assert_true(ok || err.kind == ERROR_INVALID);
    return ok;
}

static void responses_must_fit_the_request(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Etcd__ResponseHeader header = header_of(9);
    Etcd__RangeResponse range = ETCD__RANGE_RESPONSE__INIT;
    Etcd__PutResponse put = ETCD__PUT_RESPONSE__INIT;
    Etcd__ResponseOp op = ETCD__RESPONSE_OP__INIT, *ops[] = { &op, &op };
    Etcd__TxnResponse response = ETCD__TXN_RESPONSE__INIT;
    op.response_case = ETCD__RESPONSE_OP__RESPONSE_RANGE;
    op.range = &range;
    response.succeeded = true;
    response.n_responses = 1;
    response.responses = ops;
    assert_false(decodes(&arena, &response)); /* no header */
    response.header = &header;
    assert_true(decodes(&arena, &response));
    header.revision = -1;
    assert_false(decodes(&arena, &response));
    header.revision = 9;
    response.n_responses = 2;
    assert_false(decodes(&arena, &response));
    response.n_responses = 1;
    response.succeeded = false;
    assert_false(decodes(&arena, &response));
    response.succeeded = true;
    range.count = -1;
    assert_false(decodes(&arena, &response));
    range.count = 0;
    range.more = true; /* more than nothing: reading on would never end */
    assert_false(decodes(&arena, &response));
    op.response_case = ETCD__RESPONSE_OP__RESPONSE_PUT;
    op.put = &put;
    assert_false(decodes(&arena, &response));
    op.response_case = ETCD__RESPONSE_OP__RESPONSE__NOT_SET;
    assert_false(decodes(&arena, &response));
}

static bool events_decode(Arena *arena, int64_t first, int64_t second, EtcdWatchReply *reply)
{
    Etcd__ResponseHeader header = header_of(9);
    Etcd__KeyValue kvs[2] = { ETCD__KEY_VALUE__INIT, ETCD__KEY_VALUE__INIT };
    Etcd__Event events[2] = { ETCD__EVENT__INIT, ETCD__EVENT__INIT };
    Etcd__Event *list[2] = { &events[0], &events[1] };
    Etcd__WatchResponse response = ETCD__WATCH_RESPONSE__INIT;
    kvs[0].mod_revision = first;
    kvs[0].version = 3;
    kvs[1].mod_revision = second;
    events[0].kv = &kvs[0];
    events[0].type = ETCD__EVENT__TYPE__DELETE;
    events[1].kv = &kvs[1];
    events[1].prev_kv = &kvs[0];
    response.header = &header;
    response.n_events = 2;
    response.events = list;
    EtcdHeader decoded;
    Error err;
    return etcd_watch_decode(arena, pack(arena, &response), &decoded, reply, &err);
}

static void events_are_in_order(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdWatchReply reply;
    assert_true(events_decode(&arena, 4, 4, &reply));
    assert_true(events_decode(&arena, 4, 5, &reply));
    assert_int_equal(reply.count, 2);
    assert_true(reply.events[0].deleted);
    assert_false(reply.events[0].has_previous);
    assert_int_equal(reply.events[0].kv.version, 0);
    assert_true(reply.events[1].has_previous);
    assert_int_equal(reply.events[1].previous.mod_revision, 4);
    assert_false(events_decode(&arena, 5, 4, &reply));
    assert_false(events_decode(&arena, 0, 4, &reply));
    assert_false(events_decode(&arena, 4, INT64_MAX, &reply));
}

static void leases_are_sorted(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Etcd__ResponseHeader header = header_of(9);
    Etcd__LeaseStatus leases[3] = { ETCD__LEASE_STATUS__INIT, ETCD__LEASE_STATUS__INIT,
                                    ETCD__LEASE_STATUS__INIT };
    Etcd__LeaseStatus *list[3] = { &leases[0], &leases[1], &leases[2] };
    leases[0].id = INT64_MAX;
    leases[1].id = 1;
    leases[2].id = 5;
    Etcd__LeaseLeasesResponse response = ETCD__LEASE_LEASES_RESPONSE__INIT;
    response.header = &header;
    response.n_leases = 3;
    response.leases = list;
    EtcdHeader decoded;
    const int64_t *ids;
    uint32_t count;
    Error err;
    assert_true(etcd_leases_decode(&arena, pack(&arena, &response), &decoded, &ids, &count, &err));
    assert_int_equal(count, 3);
    assert_int_equal(decoded.cluster_id, 7);
    assert_true(ids[0] == 1 && ids[1] == 5 && ids[2] == INT64_MAX);
}

static bool members_decode(Arena *arena, uint64_t first, uint64_t second, EtcdMembers *out)
{
    Etcd__ResponseHeader header = header_of(9);
    Etcd__Member members[2] = { ETCD__MEMBER__INIT, ETCD__MEMBER__INIT };
    Etcd__Member *list[2] = { &members[0], &members[1] };
    char name[] = "web1", first_url[] = "https://10.0.0.1:2380", second_url[] = "x";
    char *urls[] = { first_url, second_url };
    members[0].id = first;
    members[0].name = name;
    members[0].peer_urls = urls;
    members[0].n_peer_urls = 2;
    members[1].id = second;
    members[1].is_learner = true;
    Etcd__MembersResponse response = ETCD__MEMBERS_RESPONSE__INIT;
    response.header = &header;
    response.n_members = 2;
    response.members = list;
    EtcdHeader decoded;
    Error err;
    return etcd_members_decode(arena, pack(arena, &response), &decoded, out, &err);
}

static void members_are_sorted_and_have_different_ids(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdMembers members;
    assert_true(members_decode(&arena, UINT64_MAX, 3, &members));
    assert_int_equal(members.count, 2);
    assert_true(members.items[0].id == 3 && members.items[0].is_learner);
    assert_str(members.items[0].name, "");
    assert_str(members.items[0].peer_url, "");
    assert_true(members.items[1].id == UINT64_MAX);
    assert_str(members.items[1].name, "web1");
    assert_str(members.items[1].peer_url, "https://10.0.0.1:2380");
    assert_false(members_decode(&arena, 3, 3, &members));
    assert_false(members_decode(&arena, 0, 3, &members));
}

static void an_added_member_is_named(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Etcd__ResponseHeader header = header_of(9);
    Etcd__Member member = ETCD__MEMBER__INIT, *list[] = { &member };
    Etcd__MemberAddResponse response = ETCD__MEMBER_ADD_RESPONSE__INIT;
    EtcdHeader decoded;
    EtcdMembers members;
    uint64_t added;
    Error err;
    member.id = 12;
    response.header = &header;
    response.n_members = 1;
    response.members = list;
    assert_false(
        etcd_member_add_decode(&arena, pack(&arena, &response), &decoded, &members, &added, &err));
    response.member = &member;
    assert_true(
        etcd_member_add_decode(&arena, pack(&arena, &response), &decoded, &members, &added, &err));
    assert_true(added == 12 && members.count == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guarded_transaction_is_nested_in_its_guards),
        cmocka_unit_test(responses_must_fit_the_request),
        cmocka_unit_test(events_are_in_order),
        cmocka_unit_test(leases_are_sorted),
        cmocka_unit_test(members_are_sorted_and_have_different_ids),
        cmocka_unit_test(an_added_member_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
