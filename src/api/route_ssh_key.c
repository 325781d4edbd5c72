/* /v1/ssh-key, and approval over SSH. */
#include "api/handlers.h"
#include "api/ssh_approve.h"
#include "base/json_out.h"

static void refuse_disabled(ApiCall *call)
{
    call_refuse(call, 503, "this server does not use SSH");
}

void ssh_key_get(ApiCall *call)
{
    const SshVerifier *verifier = call_settings(call)->ssh_verifier;
    Str line, sudo_line;
    Error err;
    if (verifier == NULL) {
        refuse_disabled(call);
        return;
    }
    if (!ssh_verifier_line(verifier, &call->arena, false, &line, &err) ||
        !ssh_verifier_line(verifier, &call->arena, true, &sudo_line, &err)) {
        call_fail(call, &err);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ssh-key/1");
    json_out_text(&json, "line", line);
    json_out_text(&json, "sudo_line", sudo_line);
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

static void on_verified(void *context, const SshVerifyResult *result, const Error *err)
{
    ApiCall *call = context;
    char pin[PIN_TEXT + 1], fingerprint[SSH_FINGERPRINT_TEXT + 1];
    if (!call_resume(call, err)) {
        return;
    }
    pin_text(&result->key, pin);
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ssh-approval/1");
    json_out_text(&json, "name", call->part);
    json_out_text(&json, "key", str_from_c(pin));
    json_out_text(&json, "host_key",
                  arena_join(&call->arena, result->host_key.type, STR(" "), result->host_key.blob));
    if (ssh_fingerprint(result->host_key.blob, fingerprint)) {
        json_out_text(&json, "fingerprint", str_from_c(fingerprint));
    }
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void ssh_approve(ApiCall *call, const ApproveRequest *request)
{
    SshVerifier *verifier = call_settings(call)->ssh_verifier;
    if (verifier == NULL) {
        refuse_disabled(call);
        return;
    }
    SshVerifyRequest verify = { .node = call->part,
                                .target = request->target,
                                .trust = request->trust };
    ssh_verifier_approve(verifier, &verify, on_verified, call);
}
