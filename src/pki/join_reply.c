#include "pki/join_reply.h"

#include <stdio.h>

#include "lang/record.h"

DEFINE_ENUM_NAMES(JoinResult, join_result, [JOIN_ADMITTED] = "admitted", [JOIN_PENDING] = "pending",
                  [JOIN_REFUSED] = "refused")

DEFINE_ENUM_NAMES(
    JoinReason, join_reason, [JOIN_REASON_NONE] = "none", [JOIN_REASON_CLOCK] = "clock",
    [JOIN_REASON_CA] = "ca", [JOIN_REASON_REPLAY] = "replay",
    [JOIN_REASON_TOKEN_UNKNOWN] = "token unknown", [JOIN_REASON_TOKEN_WRONG] = "token wrong",
    [JOIN_REASON_TOKEN_EXPIRED] = "token expired", [JOIN_REASON_TOKEN_USED_UP] = "token used up",
    [JOIN_REASON_NAME_TAKEN] = "name taken")

void join_reply_make(const JoinRequest *request, const JoinVerdict *verdict, int64_t now_ms,
                     JoinReply *out)
{
    *out = (JoinReply){ .result = verdict->result, .reason = verdict->reason, .time_ms = now_ms };
    if (out->reason == JOIN_REASON_TOKEN_WRONG) {
        out->reason = JOIN_REASON_TOKEN_UNKNOWN;
    }
    memcpy(out->nonce, request->nonce, sizeof out->nonce);
    memcpy(out->text, verdict->text, sizeof out->text);
}

static bool check_reply(const void *record, Error *err)
{
    const JoinReply *reply = record;
    if (reply->result != JOIN_ADMITTED) {
        return true;
    }
    if (reply->cluster.len == 0 || reply->certificate.len == 0 || reply->bundle.len == 0) {
        return error_set(err, ERROR_INVALID, "it admits the machine but contains no certificate");
    }
    return (reply->server[0] != '\0' && reply->rpc_port != 0) ||
           error_set(err, ERROR_INVALID, "it admits the machine but contains no server address");
}

static const RecordField reply_fields[] = {
    { "nonce", RECORD_TEXT, RECORD_CHARS_AT(JoinReply, nonce), .is_required = true,
      .help = "nonce of the request" },
    { "result", RECORD_CHOICE, RECORD_ENUM_AT(JoinReply, result, join_result), .is_required = true,
      .help = "whether the machine is admitted" },
    { "reason", RECORD_CHOICE, RECORD_ENUM_AT(JoinReply, reason, join_reason), .is_required = true,
      .help = "why it is not" },
    { "text", RECORD_TEXT, RECORD_CHARS_AT(JoinReply, text), .is_required = true,
      .help = "the reason, for display" },
    { "time_ms", RECORD_INT, RECORD_INT_AT(JoinReply, time_ms), .is_required = true,
      .help = "time of the server" },
    { "cluster", RECORD_TEXT, RECORD_STR_AT(JoinReply, cluster), .help = "name of the cluster" },
    { "certificate", RECORD_TEXT, RECORD_STR_AT(JoinReply, certificate),
      .help = "certificate of the node and its chain, as PEM" },
    { "bundle", RECORD_TEXT, RECORD_STR_AT(JoinReply, bundle),
      .help = "every CA to trust, as PEM" },
    { "server", RECORD_TEXT, RECORD_CHARS_AT(JoinReply, server), .check_text = node_name_check,
      .help = "name of the server" },
    { "rpc_port", RECORD_INT, RECORD_INT_AT(JoinReply, rpc_port), .min = 1, .max = UINT16_MAX,
      .help = "port of the server for nodes" },
    { 0 },
};

static const RecordFormat reply_format = {
    .format = "eden.join-reply/1",
    .what = "the server's response",
    .fields = reply_fields,
    .size = sizeof(JoinReply),
    .text_max = JOIN_REPLY_MAX,
    .check = check_reply,
};

void join_reply_print(const JoinReply *reply, Buf *out)
{
    record_print(&reply_format, reply, out);
}

bool join_reply_read(Arena *arena, Str text, JoinReply *out, Error *err)
{
    return record_read(&reply_format, arena, text, RECORD_STORED, out, err);
}

static bool read_set(Arena *arena, Str pem, CertificateSet *out, Error *err)
{
    Certificate *items;
    uint32_t count;
    if (!certificates_from_pem(arena, pem, &items, &count, err)) {
        return false;
    }
    *out = (CertificateSet){ items, count };
    return true;
}

static bool check_bundle(CertificateSet bundle, const Pin *pin, Error *err)
{
    for (uint32_t i = 0; i < bundle.count; i++) {
        if (!bundle.items[i].is_ca) {
            return error_set(err, ERROR_DENIED, "one of the certificates is not a CA certificate");
        }
    }
    return certificate_find_pin(bundle.items, bundle.count, pin) != NULL ||
           error_set(err, ERROR_DENIED, "the pinned CA is not among the trusted CAs");
}

static bool check_certificate(const JoinAdmission *admission, const JoinReply *reply,
                              const JoinParams *params, Error *err)
{
    const Certificate *certificate = &admission->chain.items[0];
    P256Public key;
    if (!p256_public_of(params->key, &key, err)) {
        return false;
    }
    if (!p256_public_equal(&certificate->key, &key)) {
        return error_set(err, ERROR_DENIED, "the certificate does not match this machine's key");
    }
    if (!certificate->has_identity ||
        !identity_equal(&certificate->identity, &admission->identity)) {
        return error_set(err, ERROR_DENIED, "the certificate is not for the requested name");
    }
    Error why;
    if (certificate_verify(admission->chain, admission->bundle, USE_CLIENT, params->now_ms, &why) &&
        certificate_verify(admission->chain, admission->bundle, USE_SERVER, params->now_ms, &why)) {
        return true;
    }
    /* A certificate that was just issued can be outside its validity period only if a clock is
     * wrong. */
    return join_clocks_check(reply->time_ms, params->now_ms, JOIN_SKEW_MS, err) &&
           error_set(err, ERROR_DENIED, "%s", why.text);
}

bool join_reply_accept(Arena *arena, const JoinReply *reply, const JoinParams *params,
                       const char *nonce, JoinAdmission *out, Error *err)
{
    JoinAdmission admission;
    if (strcmp(reply->nonce, nonce) != 0) {
        return error_set(err, ERROR_DENIED, "the server's response: it belongs to another request");
    }
    if (reply->result != JOIN_ADMITTED) {
        return error_set(err, ERROR_DENIED, "the server did not admit this machine: %s",
                         reply->text);
    }
    if (!identity_make(reply->cluster, params->name, &admission.identity, err) ||
        !read_set(arena, reply->certificate, &admission.chain, err) ||
        !read_set(arena, reply->bundle, &admission.bundle, err) ||
        !check_bundle(admission.bundle, &params->ca, err) ||
        !check_certificate(&admission, reply, params, err)) {
        return error_wrap(err, "the server's response");
    }
    *out = admission;
    return true;
}
