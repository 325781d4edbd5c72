#include "net/host_check.h"

#include "net/address.h"

/* A trailing dot does not change a name. */
static bool parse(Str text, Address *out)
{
    Error err;
    size_t colon = str_find_last(text, STR(":"));
    size_t end = colon == STR_NOT_FOUND ? text.len : colon;
    if (end > 1 && text.data[end - 1] == '.') {
        char copy[ADDRESS_HOST_MAX + 8];
        if (text.len > sizeof copy) {
            return false;
        }
        memcpy(copy, text.data, end - 1);
        memcpy(copy + end - 1, text.data + end, text.len - end);
        return address_parse(str_from(copy, text.len - 1), 0, out, &err) &&
               out->kind == ADDRESS_NAME;
    }
    return address_parse(text, 0, out, &err) && out->kind != ADDRESS_UNIX;
}

bool host_is_own(const HostRules *rules, Str host)
{
    Address requested, own, name;
    for (uint32_t i = 0; i < rules->name_count; i++) {
        if (host.len > 0 && str_eq(host, rules->names[i])) {
            return true; /* the most common case */
        }
    }
    if (!parse(host, &requested)) {
        return false;
    }
    for (uint32_t i = 0; i < rules->name_count; i++) {
        if (parse(rules->names[i], &name) && address_same_host(&requested, &name)) {
            return true;
        }
    }
    if (!parse(rules->local_address, &own)) {
        return false;
    }
    return requested.kind == ADDRESS_IP
               ? address_same_host(&requested, &own)
               : str_eq_ignore_case(str_from_c(requested.host), STR("localhost")) &&
                     address_is_loopback(&own);
}

/* Browsers omit the default port of HTTPS, in both headers alike. */
bool origin_is_own(Str origin, Str host)
{
    Str scheme = STR("https://");
    return str_starts(origin, scheme) &&
           str_eq_ignore_case(str_from_offset(origin, scheme.len), host);
}
