#include "pki/trust_notice.h"

#include "base/hex.h"
#include "lang/record.h"

/* --- Notices --------------------------------------------------------------------------------- */

static const RecordField notice_fields[] = {
    { "issuer", RECORD_TEXT, RECORD_CODED_AT(TrustNotice, issuer, Pin, pin_codec),
      .is_required = true, .help = "pin of the CA that signs" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(TrustNotice, since_ms), .is_required = true,
      .help = "when it became the signing CA" },
    { "spread_ms", RECORD_INT, RECORD_INT_AT(TrustNotice, spread_ms), .is_required = true,
      .help = "time within which nodes with certificates from another CA renew them" },
    { "bundle", RECORD_TEXT, RECORD_STR_AT(TrustNotice, bundle), .is_required = true,
      .help = "every CA to trust, as PEM" },
    { RECORD_UNKNOWN_AT(TrustNotice, unknown) },
    { 0 },
};

static const RecordFormat notice_format = {
    .format = "eden.trust/1",
    .what = "the trust notice",
    .fields = notice_fields,
    .size = sizeof(TrustNotice),
    .text_max = TRUST_NOTICE_MAX,
};

void trust_notice_print(const TrustNotice *notice, Buf *out)
{
    record_print(&notice_format, notice, out);
}

static bool read_bundle(Arena *arena, const TrustNotice *notice, CertificateSet *bundle, Error *err)
{
    Certificate *cas;
    if (!certificates_from_pem(arena, notice->bundle, &cas, &bundle->count, err)) {
        return false;
    }
    bundle->items = cas;
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (!cas[i].is_ca) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' in the bundle is not a CA",
                             STR_ARG(cas[i].subject));
        }
    }
    return certificate_find_pin(cas, bundle->count, &notice->issuer) != NULL ||
           error_set(err, ERROR_INVALID, "the CA that signs is not in the bundle");
}

bool trust_notice_read(Arena *arena, Str text, TrustNotice *out, CertificateSet *bundle, Error *err)
{
    TrustNotice read;
    if (!record_read(&notice_format, arena, text, RECORD_STORED, &read, err)) {
        return false;
    }
    read.bundle = arena_copy(arena, read.bundle);
    if (!read_bundle(arena, &read, bundle, err)) {
        return error_wrap(err, "%s", notice_format.what);
    }
    *out = read;
    return true;
}

/* --- Reports --------------------------------------------------------------------------------- */

void trust_report_make(const Certificate *certificate, CertificateSet bundle, int64_t now_ms,
                       TrustReport *out)
{
    *out = (TrustReport){ .not_after_ms = certificate->not_after_ms, .time_ms = now_ms };
    memcpy(out->serial, certificate->serial, sizeof out->serial);
    for (uint32_t i = 0; i < bundle.count && i < CERTIFICATES_MAX; i++) {
        const Pin *pin = &bundle.items[i].pin;
        out->trusted[out->trusted_count++] = *pin;
        if (certificate_names_issuer(certificate, pin)) {
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

static bool check_serial(Str serial, Error *err)
{
    return hex_is_valid(serial) || error_set(err, ERROR_INVALID, "must be hexadecimal digits");
}

/* Written only by the node, and stored verbatim. */
static const RecordField report_fields[] = {
    { "issuer", RECORD_TEXT, RECORD_CODED_AT(TrustReport, issuer, Pin, pin_or_none_codec),
      .is_required = true, .help = "pin of the CA of its certificate; empty: not a trusted one" },
    { "serial", RECORD_TEXT, RECORD_CHARS_AT(TrustReport, serial), .is_required = true,
      .check_text = check_serial, .help = "serial number of its certificate" },
    { "not_after_ms", RECORD_INT, RECORD_INT_AT(TrustReport, not_after_ms), .is_required = true,
      .help = "when that certificate expires" },
    { "time_ms", RECORD_INT, RECORD_INT_AT(TrustReport, time_ms), .is_required = true,
      .help = "when the node reported it, by its clock" },
    { "trusted", RECORD_TEXT,
      RECORD_CODED_ARRAY_AT(TrustReport, trusted, trusted_count, Pin, pin_codec),
      .is_required = true, .help = "pins of the CAs that it trusts" },
    { 0 },
};

static const RecordFormat report_format = {
    .format = "eden.trust-report/1",
    .what = "the trust report of a node",
    .fields = report_fields,
    .size = sizeof(TrustReport),
    .text_max = TRUST_REPORT_MAX,
};

void trust_report_print(const TrustReport *report, Buf *out)
{
    record_print(&report_format, report, out);
}

bool trust_report_read(Arena *arena, Str text, TrustReport *out, Error *err)
{
    if (!record_read(&report_format, arena, text, RECORD_STORED, out, err)) {
        return false;
    }
    out->has_issuer = !pin_is_zero(&out->issuer);
    return true;
}
