/* /v1/store: single keys as they are, for looking for faults. */
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/json_out.h"

static bool key_fits(ApiCall *call)
{
    if (call->query.len > STORE_KEY_MAX) {
        call_refuse(call, 413, "the key is longer than keys can be");
        return false;
    }
    return true;
}

static void got(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    if (reply->ops[0].kv_count == 0) {
        call_refuse(call, 404, "there is no such key");
        return;
    }
    const StoreKv *kv = &reply->ops[0].kvs[0];
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.value/1");
    json_out_bytes(&json, "key", kv->key);
    json_out_bytes(&json, "value", kv->value);
    json_out_int(&json, "create_revision", kv->create_revision);
    json_out_int(&json, "mod_revision", kv->mod_revision);
    json_out_int(&json, "version", kv->version);
    json_out_int(&json, "lease", kv->lease);
    json_out_int(&json, "revision", reply->revision);
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

void store_key_get(ApiCall *call)
{
    Error err;
    if (key_fits(call) && !store_get(call_store(call)->store, call->query, got, call, &err)) {
        call_fail(call, &err);
    }
}

static void changed(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    if (reply->ops[0].kind == STORE_DELETE && reply->ops[0].count == 0) {
        call_refuse(call, 404, "there is no such key");
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.done/1");
    json_out_int(&json, "revision", reply->revision);
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

void store_key_put(ApiCall *call)
{
    Str value;
    Error err;
    if (!key_fits(call)) {
        return;
    }
    if (!value_body_read(&call->arena, call_body(call), &value, &err)) {
        call_fail(call, &err);
        return;
    }
    if (value.len > STORE_VALUE_MAX) {
        call_refuse(call, 413, "the value is larger than values can be");
        return;
    }
    if (!store_put(call_store(call)->store, call->query, value, 0, changed, call, &err)) {
        call_fail(call, &err);
    }
}

void store_key_delete(ApiCall *call)
{
    Error err;
    if (key_fits(call) &&
        !store_delete(call_store(call)->store, call->query, changed, call, &err)) {
        call_fail(call, &err);
    }
}
