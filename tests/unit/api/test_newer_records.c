/* A newer server writes fields into records that this one does not know: they are kept when this
 * one changes the record. */
#include "api/api_fixture.h"

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    loop_stop(f->world.loop);
}

typedef struct Read {
    Fixture *f;
    Str value;
} Read;

static void read_done(void *context, const StoreReply *reply, const Error *err)
{
    Read *read = context;
    assert_null(err);
    assert_int_equal(reply->ops[0].kv_count, 1);
    read->value = arena_copy(&read->f->scratch->arena, reply->ops[0].kvs[0].value);
    loop_stop(read->f->world.loop);
}

static Str value_of(Fixture *f, Str key)
{
    Read read = { .f = f };
    Error err;
    assert_true(store_get(f->store, key, read_done, &read, &err));
    world_run(&f->world);
    return read.value;
}

static void put_value(Fixture *f, Str key, Str value)
{
    Error err;
    assert_true(store_put(f->store, key, value, 0, stored, f, &err));
    world_run(&f->world);
}

#define NEWER ",\"newer\":{\"list\":[1,null,\"x\"]}"

static void extend(Fixture *f, Str key)
{
    Str value = value_of(f, key);
    put_value(f, key,
              arena_join(&f->scratch->arena, str_slice(value, 0, value.len - 1), STR(NEWER "}"),
                         STR_EMPTY));
}

/* It contains `chunk`, and still what a newer server wrote. */
static void expect_kept(Fixture *f, Str key, const char *chunk)
{
    Str value = value_of(f, key);
    if (str_find(value, str_from_c(chunk), 0) == STR_NOT_FOUND ||
        str_find(value, STR(NEWER), 0) == STR_NOT_FOUND) {
        fail_msg("%.*s", (int)value.len, value.data);
    }
}

static void labeling_a_node_preserves_them(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    Str record = cluster_key_node(&f->scratch->arena, f->cluster_store.prefix, STR("web1"));
    extend(f, record);
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"role\":\"web\"}}}");
    expect(f, 200, "metadata.labels.role", "web");
    expect_kept(f, record, "\"labels\":{\"role\":\"web\"}");
    p256_private_free(key);
}

static void approving_a_machine_preserves_them(void **state)
{
    Fixture *f = *state;
    char text[PIN_TEXT + 1], body[200];
    P256Private *key = join_with_new_key(f, text);
    Str record = cluster_key_joining(&f->scratch->arena, f->cluster_store.prefix, STR("web1"));
    extend(f, record);
    snprintf(body, sizeof body, "{\"key\":\"%s\"}", text);
    ask(f, "POST", "/v1/nodes/web1/approve", body);
    expect(f, 200, "status.state", "approved");
    expect_kept(f, record, text);
    p256_private_free(key);
}

static void using_a_token_preserves_them(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    Token token;
    TokenRecord record;
    P256Private *key;
    Error err;
    char nonce[JOIN_NONCE_TEXT + 1];
    Str request;
    int64_t now_ms = loop_wall_ms(f->world.loop);
    assert_true(token_make(TOKEN_JOIN, &token, &err));
    assert_true(token_record_make(&token, &(TokenTerms){ STR("x"), now_ms, 3600 * 1000, 2 },
                                  &record, &err));
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    token_record_print(&record, &text);
    Str place = cluster_key_token(arena, f->cluster_store.prefix, str_from_c(token.id));
    put_value(f, place, buf_str(&text));
    extend(f, place);
    assert_true(p256_private_make(&key, &err));
    JoinParams params = { .name = STR("web1"),
                          .ca = f->ca.chain.items[0].pin,
                          .token = &token,
                          .key = key,
                          .now_ms = now_ms };
    assert_true(join_request_make(arena, &params, &request, nonce, &err));
    Caller before = f->caller;
    f->caller = (Caller){ 0 };
    ask_as(f, "POST", "/v1/join", "application/json", request);
    f->caller = before;
    expect(f, 200, "result", "admitted");
    expect_kept(f, place, "\"uses\":1,");
    token_clear(&token);
    p256_private_free(key);
}

static void the_revocations_preserve_them(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    Str record = cluster_key_revocations(&f->scratch->arena, f->cluster_store.prefix);
    put_value(f, record,
              STR("{\"format\":\"eden.revocations/1\",\"serials\":[],\"names\":[]" NEWER "}"));
    ask(f, "DELETE", "/v1/nodes/web1", "");
    expect(f, 200, "format", "eden.done/1");
    expect_kept(f, record, "\"node\":\"web1\"");
    p256_private_free(key);
}

static void changing_an_object_preserves_them(void **state)
{
    Fixture *f = *state;
    ask(f, "PUT", "/v1/config/a", "{\"spec\":{\"title\":\"x\"}}");
    extend(f, STR("/eden/objects/config/a"));
    ask(f, "PATCH", "/v1/config/a", "{\"spec\":{\"title\":\"y\"}}");
    expect(f, 200, "spec.title", "y");
    expect_kept(f, STR("/eden/objects/config/a"), "\"title\":\"y\"");
    ask(f, "PUT", "/v1/config/a", "{\"spec\":{\"title\":\"z\"}}");
    expect(f, 200, "spec.title", "z");
    expect_kept(f, STR("/eden/objects/config/a"), "\"title\":\"z\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(labeling_a_node_preserves_them),    ROW(approving_a_machine_preserves_them),
        ROW(using_a_token_preserves_them),      ROW(the_revocations_preserve_them),
        ROW(changing_an_object_preserves_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
