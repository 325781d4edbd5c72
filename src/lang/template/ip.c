/* IP addresses as 128-bit numbers; IPv4 uses the lower 32 bits. */
#include "lang/template/ip.h"

static bool parse_ipv4(Str text, uint32_t *out)
{
    uint32_t address = 0;
    unsigned parts = 0;
    Str part;
    while (str_split_next(&text, '.', &part)) {
        uint64_t number;
        /* "010" is octal to some parsers and decimal to others, so it is rejected. */
        if (parts == 4 || part.len > 3 || (part.len > 1 && part.data[0] == '0') || part.len == 0 ||
            !ascii_is_digit(part.data[0]) || !str_to_u64(part, &number) || number > 255) {
            return false;
        }
        address = address << 8 | (uint32_t)number;
        parts++;
    }
    *out = address;
    return parts == 4;
}

/* Parses the groups on one side of "::"; the last may be an IPv4 address. */
static bool parse_groups(Str text, bool last_side, uint16_t groups[8], unsigned *count)
{
    *count = 0;
    if (text.len == 0) {
        return true;
    }
    Str part;
    while (str_split_next(&text, ':', &part)) {
        uint32_t ipv4;
        if (text.data == NULL && last_side && *count <= 6 && parse_ipv4(part, &ipv4)) {
            groups[(*count)++] = (uint16_t)(ipv4 >> 16);
            groups[(*count)++] = (uint16_t)ipv4;
            return true;
        }
        if (*count == 8 || part.len == 0 || part.len > 4) {
            return false;
        }
        unsigned group = 0;
        for (size_t i = 0; i < part.len; i++) {
            int digit = ascii_hex_value(part.data[i]);
            if (digit < 0) {
                return false;
            }
            group = group << 4 | (unsigned)digit;
        }
        groups[(*count)++] = (uint16_t)group;
    }
    return true;
}

static bool parse_ipv6(Str text, IpNumber *out)
{
    uint16_t head[8], tail[8];
    unsigned head_count, tail_count = 0;
    size_t gap = str_find(text, STR("::"), 0);
    if (gap == STR_NOT_FOUND) {
        if (!parse_groups(text, true, head, &head_count) || head_count != 8) {
            return false;
        }
    } else if (!parse_groups(str_slice(text, 0, gap), false, head, &head_count) ||
               !parse_groups(str_from_offset(text, gap + 2), true, tail, &tail_count) ||
               head_count + tail_count > 7) {
        return false;
    }
    IpNumber address = 0;
    for (unsigned i = 0; i < 8; i++) {
        unsigned tail_start = 8 - tail_count;
        uint16_t group = i < head_count ? head[i] : i >= tail_start ? tail[i - tail_start] : 0;
        address = address << 16 | group;
    }
    *out = address;
    return true;
}

/* Converts a netmask written as an address: ones, then zeros. */
static bool mask_prefix(uint32_t mask, uint8_t *out)
{
    uint32_t zeros = ~mask;
    if ((zeros & (zeros + 1)) != 0) {
        return false;
    }
    *out = (uint8_t)(32 - __builtin_popcount(zeros));
    return true;
}

static bool parse_prefix(Str text, Ip *ip)
{
    uint64_t number;
    uint32_t mask;
    if (text.len > 0 && text.len <= 3 && ascii_is_digit(text.data[0]) &&
        str_to_u64(text, &number)) {
        if (number > ip_bits(ip)) {
            return false;
        }
        ip->prefix = (uint8_t)number;
        return true;
    }
    return ip->version == 4 && parse_ipv4(text, &mask) && mask_prefix(mask, &ip->prefix);
}

bool ip_parse(Str text, Ip *out)
{
    enum {
        TEXT_MAX = 64 /* more than any address has */
    };
    if (text.len > TEXT_MAX) {
        return false;
    }
    size_t slash = str_find(text, STR("/"), 0);
    Str address = str_slice(text, 0, slash);
    uint32_t ipv4;
    *out = (Ip){ .has_prefix = slash != STR_NOT_FOUND };
    if (parse_ipv4(address, &ipv4)) {
        out->version = 4;
        out->address = ipv4;
    } else if (parse_ipv6(address, &out->address)) {
        out->version = 6;
    } else {
        return false;
    }
    out->prefix = (uint8_t)ip_bits(out);
    return !out->has_prefix || parse_prefix(str_from_offset(text, slash + 1), out);
}

IpNumber ip_hostmask(const Ip *ip)
{
    unsigned host_bits = ip_bits(ip) - ip->prefix;
    return host_bits == 128 ? ~(IpNumber)0 : ((IpNumber)1 << host_bits) - 1;
}

IpNumber ip_netmask(const Ip *ip)
{
    IpNumber all = ip->version == 4 ? (IpNumber)UINT32_MAX : ~(IpNumber)0;
    return all & ~ip_hostmask(ip);
}

bool ip_contains(const Ip *outer, const Ip *inner)
{
    return outer->version == inner->version && ip_network(outer) <= ip_network(inner) &&
           ip_last(inner) <= ip_last(outer);
}

static void put_ipv4(uint32_t address, Buf *out)
{
    buf_put_format(out, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
                   address & 255);
}

static void put_ipv6(IpNumber address, Buf *out)
{
    unsigned groups[8];
    unsigned best = 8, best_length = 1; /* a single zero group is not shortened */
    for (unsigned i = 0; i < 8; i++) {
        groups[i] = (unsigned)(address >> (112 - 16 * i) & 0xffff);
    }
    for (unsigned i = 0; i < 8; i++) {
        unsigned length = 0;
        while (i + length < 8 && groups[i + length] == 0) {
            length++;
        }
        if (length > best_length) {
            best = i;
            best_length = length;
        }
    }
    /* IPv4-mapped addresses are shown as such. */
    if (best == 0 && best_length == 5 && groups[5] == 0xffff) {
        buf_put(out, STR("::ffff:"));
        put_ipv4((uint32_t)address, out);
        return;
    }
    for (unsigned i = 0; i < 8; i++) {
        if (i == best) {
            buf_put(out, STR("::"));
            i += best_length - 1;
            continue;
        }
        const char *separator = i == 0 || i == best + best_length ? "" : ":";
        buf_put_format(out, "%s%x", separator, groups[i]);
    }
}

void ip_put_address(unsigned version, IpNumber address, Buf *out)
{
    if (version == 4) {
        put_ipv4((uint32_t)address, out);
    } else {
        put_ipv6(address, out);
    }
}

void ip_put_cidr(unsigned version, IpNumber address, unsigned prefix, Buf *out)
{
    ip_put_address(version, address, out);
    buf_put_format(out, "/%u", prefix);
}

void ip_put_reverse(const Ip *ip, Buf *out)
{
    if (ip->version == 4) {
        for (unsigned i = 0; i < 4; i++) {
            buf_put_format(out, "%u.", (unsigned)(ip->address >> 8 * i & 255));
        }
        buf_put(out, STR("in-addr.arpa."));
        return;
    }
    for (unsigned i = 0; i < 32; i++) {
        buf_put_format(out, "%x.", (unsigned)(ip->address >> 4 * i & 15));
    }
    buf_put(out, STR("ip6.arpa."));
}

void ip_put_number(IpNumber number, Buf *out)
{
    char digits[40];
    size_t pos = sizeof digits;
    do {
        digits[--pos] = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number > 0);
    buf_put(out, str_from(digits + pos, sizeof digits - pos));
}
