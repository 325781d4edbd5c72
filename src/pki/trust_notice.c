#include "pki/trust_notice.h"

#include "base/hex.h"
#include "base/json_text.h"
#include "pki/json_fields.h"

enum {
    NODES_MAX = 16 + CERTIFICATES_MAX,
};

#define NOTICE_FORMAT "eden.trust/1"
#define REPORT_FORMAT "eden.trust-report/1"

/* --- Notices --------------------------------------------------------------------------------- */

void trust_notice_print(const TrustNotice *notice, Buf *out)
{
    char issuer[PIN_TEXT + 1];
    pin_text(&notice->issuer, issuer);
    buf_put_format(out,
                   "{\"format\":\"" NOTICE_FORMAT "\",\"issuer\":\"%s\",\"since_ms\":%lld,"
                   "\"spread_ms\":%lld,\"bundle\":",
                   issuer, (long long)notice->since_ms, (long long)notice->spread_ms);
    json_text_put(out, notice->bundle);
    buf_put_char(out, '}');
}

static bool read_bundle(Arena *arena, Value text, TrustNotice *out, CertificateSet *bundle,
                        Error *err)
{
    Certificate *cas;
    out->bundle = arena_copy(arena, value_str(text));
    if (!certificates_from_pem(arena, out->bundle, &cas, &bundle->count, err)) {
        return false;
    }
    bundle->items = cas;
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (!cas[i].is_ca) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' in the bundle is no CA",
                             STR_ARG(cas[i].subject));
        }
    }
    return certificate_find_pin(cas, bundle->count, &out->issuer) != NULL ||
           error_set(err, ERROR_INVALID, "the CA that signs is not in the bundle");
}

bool trust_notice_read(Arena *arena, Str text, TrustNotice *out, CertificateSet *bundle, Error *err)
{
    Value object, said, issuer, since, spread, pem;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said }, { "issuer", VALUE_STRING, false, &issuer },
        { "since_ms", VALUE_INT, false, &since }, { "spread_ms", VALUE_INT, false, &spread },
        { "bundle", VALUE_STRING, false, &pem },
    };
    TrustNotice read = { 0 };
    if (!json_object_read(arena, text, TRUST_NOTICE_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, NOTICE_FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !pin_parse(value_str(issuer), &read.issuer, err) ||
        !read_bundle(arena, pem, &read, bundle, err)) {
        return error_wrap(err, "the trust notice");
    }
    read.since_ms = since.integer;
    read.spread_ms = spread.integer;
    *out = read;
    return true;
}

/* --- Reports --------------------------------------------------------------------------------- */

void trust_report_make(const Certificate *own, CertificateSet bundle, int64_t now_ms,
                       TrustReport *out)
{
    *out = (TrustReport){ .not_after_ms = own->not_after_ms, .time_ms = now_ms };
    memcpy(out->serial, own->serial, sizeof out->serial);
    for (uint32_t i = 0; i < bundle.count && i < CERTIFICATES_MAX; i++) {
        const Pin *pin = &bundle.items[i].pin;
        out->trusted[out->trusted_count++] = *pin;
        if (certificate_names_issuer(own, pin)) {
            out->has_issuer = true;
            out->issuer = *pin;
        }
    }
}

bool trust_report_trusts(const TrustReport *report, const Pin *ca)
{
    for (uint32_t i = 0; i < report->trusted_count; i++) {
        if (pin_equal(&report->trusted[i], ca)) {
            return true;
        }
    }
    return false;
}

void trust_report_print(const TrustReport *report, Buf *out)
{
    char pin[PIN_TEXT + 1] = "";
    if (report->has_issuer) {
        pin_text(&report->issuer, pin);
    }
    buf_put_format(out,
                   "{\"format\":\"" REPORT_FORMAT "\",\"issuer\":\"%s\",\"serial\":\"%s\","
                   "\"not_after_ms\":%lld,\"time_ms\":%lld,\"trusted\":[",
                   pin, report->serial, (long long)report->not_after_ms,
                   (long long)report->time_ms);
    for (uint32_t i = 0; i < report->trusted_count; i++) {
        pin_text(&report->trusted[i], pin);
        buf_put_format(out, "%s\"%s\"", i > 0 ? "," : "", pin);
    }
    buf_put_c(out, "]}");
}

static bool read_trusted(Value list, TrustReport *out, Error *err)
{
    if (list.list->len > CERTIFICATES_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d CAs", CERTIFICATES_MAX);
    }
    for (uint32_t i = 0; i < list.list->len; i++) {
        Value item = list.list->items[i];
        if (!value_is_string(item)) {
            return error_set(err, ERROR_INVALID, "'trusted' is a list of pins");
        }
        if (!pin_parse(value_str(item), &out->trusted[i], err)) {
            return false;
        }
    }
    out->trusted_count = list.list->len;
    return true;
}

bool trust_report_read(Arena *arena, Str text, TrustReport *out, Error *err)
{
    Value object, said, issuer, serial, not_after, time, trusted;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "issuer", VALUE_STRING, false, &issuer },
        { "serial", VALUE_STRING, false, &serial },
        { "not_after_ms", VALUE_INT, false, &not_after },
        { "time_ms", VALUE_INT, false, &time },
        { "trusted", VALUE_LIST, false, &trusted },
    };
    TrustReport read = { 0 };
    if (!json_object_read(arena, text, TRUST_REPORT_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, REPORT_FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !read_trusted(trusted, &read, err)) {
        return error_wrap(err, "what a node says about its trust");
    }
    read.has_issuer = value_str(issuer).len > 0;
    if ((read.has_issuer && !pin_parse(value_str(issuer), &read.issuer, err)) ||
        !hex_is(value_str(serial)) || !json_copy(serial, read.serial, sizeof read.serial)) {
        return error_set(err, ERROR_INVALID,
                         "what a node says about its trust: a field is out of its range");
    }
    read.not_after_ms = not_after.integer;
    read.time_ms = time.integer;
    *out = read;
    return true;
}
