/* /v1/tokens */
#include <openssl/crypto.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/json_out.h"
#include "base/json_text.h"
#include "cluster/tokens.h"

static void put_token(Buf *out, const TokenRecord *record, int64_t now_ms)
{
    json_out_text(out, "id", str_from_c(record->id));
    json_out_text(out, "label", str_from_c(record->label));
    json_out_text(out, "state", str_from_c(token_verdict_name(token_standing(record, now_ms))));
    json_out_time(out, "created", record->created_ms);
    json_out_time(out, "expires", record->expires_ms);
    json_out_int(out, "uses", record->uses);
    json_out_int(out, "uses_max", record->uses_max);
}

static void listed(void *context, const TokenRecord *records, uint32_t count, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.tokens/1");
    json_out_open(&json, "tokens", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_out_open(&json, NULL, '{');
        put_token(&json, &records[i], loop_wall_ms(call_store(call)->loop));
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

void tokens_get(ApiCall *call)
{
    tokens_list(call_store(call), listed, call);
}

/* What a machine needs beside the token. */
static void put_way_in(Buf *out, const ApiSettings *settings)
{
    char pin[PIN_TEXT + 1];
    if (settings->cas != NULL) {
        pin_text(&settings->cas->issuer->chain.items[0].pin, pin);
        json_out_text(out, "ca_pin", str_from_c(pin));
    } else {
        json_out_null(out, "ca_pin");
    }
    json_out_open(out, "servers", '[');
    for (uint32_t i = 0; i < settings->name_count; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        json_text_put(out, settings->names[i]);
    }
    json_out_close(out, ']');
}

static void made(void *context, const Token *token, const TokenRecord *record, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    char text[TOKEN_TEXT + 1] = { 0 };
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    token_text(token, text);
    json_out_start(&json, "eden.token-created/1");
    json_out_text(&json, "token", str_from(text, TOKEN_TEXT));
    put_token(&json, record, record->created_ms);
    put_way_in(&json, call_settings(call));
    json_out_close(&json, '}');
    OPENSSL_cleanse(text, sizeof text);
    call_answer(call, 201, &json);
}

void tokens_post(ApiCall *call)
{
    TokenWish wish;
    Error err;
    if (!token_body_read(&call->arena, call_body(call), &wish, &err)) {
        call_fail(call, &err);
        return;
    }
    tokens_create(call_store(call), &wish, made, call);
}

void token_delete(ApiCall *call)
{
    tokens_revoke(call_store(call), call->part, call_done, call);
}
