#include "pki/join_reply.h"

#include <stdio.h>

#include "base/json_text.h"
#include "base/utf8.h"
#include "pki/base32.h"
#include "pki/json_fields.h"

static const char format[] = "eden.join-reply/1";

enum {
    NODES_MAX = 64,
};

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

static void put_text(Buf *out, const char *name, Str text)
{
    buf_put_format(out, ",\"%s\":", name);
    json_text_put(out, text);
}

void join_reply_print(const JoinReply *reply, Buf *out)
{
    buf_put_format(out, "{\"format\":\"%s\",\"nonce\":\"%s\",\"result\":\"%s\",\"reason\":\"%s\"",
                   format, reply->nonce, join_result_name(reply->result),
                   join_reason_name(reply->reason));
    put_text(out, "text", str_from_c(reply->text));
    buf_put_format(out, ",\"time_ms\":%lld", (long long)reply->time_ms);
    if (reply->result == JOIN_ADMITTED) {
        put_text(out, "cluster", reply->cluster);
        put_text(out, "certificate", reply->certificate);
        put_text(out, "bundle", reply->bundle);
        put_text(out, "server", str_from_c(reply->server));
        buf_put_format(out, ",\"rpc_port\":%u", (unsigned)reply->rpc_port);
    }
    buf_put(out, STR("}"));
}

static bool read_server(Value server, Value rpc_port, JoinReply *out, Error *err)
{
    if (value_is_missing(server) || value_is_missing(rpc_port)) {
        return error_set(err, ERROR_INVALID, "it admits without telling where to");
    }
    if (!node_name_check(value_str(server), err)) {
        return false;
    }
    if (!json_copy(server, out->server, sizeof out->server) || rpc_port.integer < 1 ||
        rpc_port.integer > UINT16_MAX) {
        return error_set(err, ERROR_INVALID, "a field is out of its range");
    }
    out->rpc_port = (uint16_t)rpc_port.integer;
    return true;
}

static bool read_reply(Arena *arena, Str text, JoinReply *out, Error *err)
{
    Value object, said, nonce, result, reason, shown, time_ms;
    Value cluster = value_missing(), certificate = value_missing(), bundle = value_missing();
    Value server = value_missing(), rpc_port = value_missing();
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "nonce", VALUE_STRING, false, &nonce },
        { "result", VALUE_STRING, false, &result },
        { "reason", VALUE_STRING, false, &reason },
        { "text", VALUE_STRING, false, &shown },
        { "time_ms", VALUE_INT, false, &time_ms },
        { "cluster", VALUE_STRING, true, &cluster },
        { "certificate", VALUE_STRING, true, &certificate },
        { "bundle", VALUE_STRING, true, &bundle },
        { "server", VALUE_STRING, true, &server },
        { "rpc_port", VALUE_INT, true, &rpc_port },
    };
    JoinReply read = { 0 };
    if (!json_object_read(arena, text, JOIN_REPLY_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, format, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return false;
    }
    if (!json_copy(nonce, read.nonce, sizeof read.nonce) ||
        !json_copy(shown, read.text, sizeof read.text) ||
        !join_result_from_name(value_str(result), &read.result) ||
        !join_reason_from_name(value_str(reason), &read.reason)) {
        return error_set(err, ERROR_INVALID, "a field is out of its range");
    }
    read.time_ms = time_ms.integer;
    if (read.result == JOIN_ADMITTED) {
        if (value_is_missing(cluster) || value_is_missing(certificate) ||
            value_is_missing(bundle)) {
            return error_set(err, ERROR_INVALID, "it admits without a certificate");
        }
        read.cluster = value_str(cluster);
        read.certificate = value_str(certificate);
        read.bundle = value_str(bundle);
        if (!read_server(server, rpc_port, &read, err)) {
            return false;
        }
    }
    *out = read;
    return true;
}

bool join_reply_read(Arena *arena, Str text, JoinReply *out, Error *err)
{
    return read_reply(arena, text, out, err) || error_wrap(err, "the answer of the server");
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
            return error_set(err, ERROR_DENIED, "one of the CAs is not a valid certificate");
        }
    }
    return certificate_find_pin(bundle.items, bundle.count, pin) != NULL ||
           error_set(err, ERROR_DENIED, "the CA that was pinned is not among those to trust");
}

static bool check_certificate(const JoinGain *gain, const JoinReply *reply, const JoinWish *wish,
                              Error *err)
{
    const Certificate *own = &gain->chain.items[0];
    P256Public key;
    if (!p256_public_of(wish->key, &key, err)) {
        return false;
    }
    if (!p256_public_equal(&own->key, &key)) {
        return error_set(err, ERROR_DENIED, "the certificate is not for the key of this machine");
    }
    if (!own->has_identity || !identity_equal(&own->identity, &gain->identity)) {
        return error_set(err, ERROR_DENIED, "the certificate is not for the name that was asked");
    }
    Error why;
    if (certificate_verify(gain->chain, gain->bundle, USE_CLIENT, wish->now_ms, &why) &&
        certificate_verify(gain->chain, gain->bundle, USE_SERVER, wish->now_ms, &why)) {
        return true;
    }
    /* A certificate that was made a moment ago is refused for its time only by a wrong clock. */
    return join_clocks_check(reply->time_ms, wish->now_ms, JOIN_SKEW_MS, err) &&
           error_set(err, ERROR_DENIED, "%s", why.text);
}

bool join_reply_accept(Arena *arena, const JoinReply *reply, const JoinWish *wish,
                       const char *nonce, JoinGain *out, Error *err)
{
    JoinGain gain;
    if (strcmp(reply->nonce, nonce) != 0) {
        return error_set(err, ERROR_DENIED,
                         "the answer of the server: it is the answer to another request");
    }
    if (reply->result != JOIN_ADMITTED) {
        return error_set(err, ERROR_DENIED, "the server did not admit this machine: %s",
                         reply->text);
    }
    if (!identity_make(reply->cluster, wish->name, &gain.identity, err) ||
        !read_set(arena, reply->certificate, &gain.chain, err) ||
        !read_set(arena, reply->bundle, &gain.bundle, err) ||
        !check_bundle(gain.bundle, &wish->ca, err) || !check_certificate(&gain, reply, wish, err)) {
        return error_wrap(err, "the answer of the server");
    }
    *out = gain;
    return true;
}
