/* /v1/ssh-key, and approval over SSH. */
#include "api/handlers.h"
#include "api/ssh_approve.h"
#include "base/json_out.h"

static void refuse(ApiCall *call)
{
    call_refuse(call, 503, "this server does not use SSH");
}

void ssh_key_get(ApiCall *call)
{
    const SshVerifier *back = call_settings(call)->ssh_verifier;
    Str line, sudo_line;
    Error err;
    if (back == NULL) {
        refuse(call);
        return;
    }
    if (!ssh_verifier_line(back, &call->arena, false, &line, &err) ||
        !ssh_verifier_line(back, &call->arena, true, &sudo_line, &err)) {
        call_fail(call, &err);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ssh-key/1");
    json_out_text(&json, "line", line);
    json_out_text(&json, "sudo_line", sudo_line);
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

static void told(void *context, const SshVerifyResult *done, const Error *err)
{
    ApiCall *call = context;
    char pin[PIN_TEXT + 1], fingerprint[SSH_FINGERPRINT_TEXT + 1];
    if (!call_goes_on(call, err)) {
        return;
    }
    pin_text(&done->key, pin);
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ssh-approval/1");
    json_out_text(&json, "name", call->part);
    json_out_text(&json, "key", str_from_c(pin));
    json_out_text(&json, "host_key",
                  arena_join(&call->arena, done->host_key.type, STR(" "), done->host_key.blob));
    if (ssh_fingerprint(done->host_key.blob, fingerprint)) {
        json_out_text(&json, "fingerprint", str_from_c(fingerprint));
    }
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

void ssh_approve(ApiCall *call, const ApproveWish *wish)
{
    SshVerifier *back = call_settings(call)->ssh_verifier;
    if (back == NULL) {
        refuse(call);
        return;
    }
    SshVerifyRequest visit = { .node = call->part, .target = wish->target, .trust = wish->trust };
    ssh_verifier_approve(back, &visit, told, call);
}
