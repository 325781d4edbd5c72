/* Parses and compares the names of the API. A name is canonical, so that a certificate can be
 * compared with the settings. */
#include "pki/serving_names.h"

#include "pki/crypto_fault.h"
#include "pki/handle.h"

enum {
    DNS_MAX = 253,
    DNS_LABEL_MAX = 63,
};

static bool is_label(Str label, bool *numeric)
{
    *numeric = true;
    for (size_t i = 0; i < label.len; i++) {
        char c = label.data[i];
        bool edge = i == 0 || i + 1 == label.len;
        if (!(c >= 'a' && c <= 'z') && !ascii_is_digit(c) && (c != '-' || edge)) {
            return false;
        }
        *numeric = *numeric && ascii_is_digit(c);
    }
    return label.len > 0 && label.len <= DNS_LABEL_MAX;
}

/* The last label must not be a number, so that no DNS name looks like part of an address. */
static bool is_dns_name(Str name)
{
    bool numeric = true;
    if (name.len == 0 || name.len > DNS_MAX || name.data[name.len - 1] == '.') {
        return false;
    }
    for (Str label; str_split_next(&name, '.', &label);) {
        if (!is_label(label, &numeric)) {
            return false;
        }
    }
    return !numeric;
}

static GENERAL_NAME *make_name(int type, ASN1_STRING *value)
{
    GENERAL_NAME *name = value == NULL ? NULL : GENERAL_NAME_new();
    if (name == NULL) {
        ASN1_STRING_free(value);
        return NULL;
    }
    GENERAL_NAME_set0_value(name, type, value);
    return name;
}

static GENERAL_NAME *read_name(const char *text)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(text);
    if (address != NULL) {
        return make_name(GEN_IPADD, address);
    }
    if (!is_dns_name(str_from_c(text))) {
        return NULL;
    }
    ASN1_IA5STRING *dns = ASN1_IA5STRING_new();
    if (dns != NULL && ASN1_STRING_set(dns, text, -1) != 1) {
        ASN1_IA5STRING_free(dns);
        dns = NULL;
    }
    return make_name(GEN_DNS, dns);
}

static bool has_name(const GENERAL_NAMES *names, GENERAL_NAME *name)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        if (GENERAL_NAME_cmp(sk_GENERAL_NAME_value(names, i), name) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_name(GENERAL_NAMES *names, Str name, Error *err)
{
    char text[DNS_MAX + 1] = "";
    /* A NUL would truncate the name, here and for other readers of the certificate. */
    if (name.len > DNS_MAX || memchr(name.data, '\0', name.len) != NULL) {
        return error_set(err, ERROR_INVALID, "an API name is neither a DNS name nor an IP address");
    }
    for (size_t i = 0; i < name.len; i++) {
        text[i] = ascii_lower(name.data[i]);
    }
    AUTO(GENERAL_NAME) *read = name.len == 0 ? NULL : read_name(text);
    if (read == NULL) {
        crypto_done();
        return error_set(err, ERROR_INVALID, "'%s' is neither a DNS name nor an IP address", text);
    }
    if (has_name(names, read)) {
        return error_set(err, ERROR_INVALID, "'%s' is specified twice", text);
    }
    if (sk_GENERAL_NAME_push(names, read) == 0) {
        return crypto_fail(err, ERROR_OS, "cannot store a name");
    }
    (void)TAKE(read);
    return true;
}

bool serving_names_make(const Str *names, uint32_t count, GENERAL_NAMES **out, Error *err)
{
    if (count == 0 || count > SERVING_NAMES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "the API has %u names; a certificate must have 1 to %d", count,
                         SERVING_NAMES_MAX);
    }
    crypto_begin();
    AUTO(GENERAL_NAMES) *general_names = sk_GENERAL_NAME_new_null();
    if (general_names == NULL) {
        return crypto_fail(err, ERROR_OS, "cannot store names");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!add_name(general_names, names[i], err)) {
            return false;
        }
    }
    *out = TAKE(general_names);
    return crypto_done();
}
