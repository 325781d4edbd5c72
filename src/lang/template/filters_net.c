/* Filters on IP addresses and networks, with the queries of Ansible's ipaddr. A query is one row of
 * a table: a name and a function that returns a value for an address, or false if the address does
 * not match. */
#include "lang/template/filter.h"
#include "lang/template/ip.h"

enum {
    ANY_VERSION = 0
};

/* Sets `out` to the result of a query for an address, or to false if the address does not match. */
typedef bool (*IpQuery)(Render *r, const Ip *ip, Value *out);

static bool set_false(Value *out)
{
    *out = value_bool(false);
    return true;
}

static bool set_address(Render *r, const Ip *ip, IpNumber address, Value *out)
{
    Buf text = render_buf(r);
    ip_put_address(ip->version, address, &text);
    return take_text(r, &text, false, out);
}

static bool set_cidr(Render *r, const Ip *ip, IpNumber address, Value *out)
{
    Buf text = render_buf(r);
    ip_put_cidr(ip->version, address, ip->prefix, &text);
    return take_text(r, &text, false, out);
}

/* A number that is too large for an integer becomes a string. */
static bool set_number(Render *r, IpNumber number, Value *out)
{
    if (number <= INT64_MAX) {
        *out = value_int((int64_t)number);
        return true;
    }
    Buf text = render_buf(r);
    ip_put_number(number, &text);
    return take_text(r, &text, false, out);
}

static bool is_single(const Ip *ip)
{
    return ip->prefix == ip_bits(ip);
}

/* Whether it is the address of a host rather than a network. */
static bool is_host(const Ip *ip)
{
    return is_single(ip) || ip->prefix + 1u == ip_bits(ip) || ip->address != ip_network(ip);
}

/* In the original notation: with or without prefix. */
static bool query_value(Render *r, const Ip *ip, Value *out)
{
    return ip->has_prefix ? set_cidr(r, ip, ip->address, out)
                          : set_address(r, ip, ip->address, out);
}

static bool query_address(Render *r, const Ip *ip, Value *out)
{
    return is_host(ip) ? set_address(r, ip, ip->address, out) : set_false(out);
}

static bool query_host(Render *r, const Ip *ip, Value *out)
{
    return is_host(ip) ? set_cidr(r, ip, ip->address, out) : set_false(out);
}

static bool query_host_prefix(Render *r, const Ip *ip, Value *out)
{
    return is_host(ip) && !is_single(ip) ? set_cidr(r, ip, ip->address, out) : set_false(out);
}

static bool query_net(Render *r, const Ip *ip, Value *out)
{
    bool network = !is_single(ip) && ip->address == ip_network(ip);
    return network ? set_cidr(r, ip, ip->address, out) : set_false(out);
}

static bool query_network(Render *r, const Ip *ip, Value *out)
{
    return set_address(r, ip, ip_network(ip), out);
}

static bool query_netmask(Render *r, const Ip *ip, Value *out)
{
    return set_address(r, ip, ip_netmask(ip), out);
}

static bool query_hostmask(Render *r, const Ip *ip, Value *out)
{
    return set_address(r, ip, ip_hostmask(ip), out);
}

static bool query_prefix(Render *r, const Ip *ip, Value *out)
{
    *out = value_int(ip->prefix);
    return true;
}

static bool query_subnet(Render *r, const Ip *ip, Value *out)
{
    return set_cidr(r, ip, ip_network(ip), out);
}

static bool query_cidr(Render *r, const Ip *ip, Value *out)
{
    return set_cidr(r, ip, ip->address, out);
}

static bool query_broadcast(Render *r, const Ip *ip, Value *out)
{
    return ip_hostmask(ip) > 1 ? set_address(r, ip, ip_last(ip), out) : set_false(out);
}

static bool query_size(Render *r, const Ip *ip, Value *out)
{
    if (ip->prefix == 0 && ip->version == 6) {
        *out = value_string(STR("340282366920938463463374607431768211456"));
        return true;
    }
    return set_number(r, ip_hostmask(ip) + 1, out);
}

/* Whether the first and last addresses are reserved: in IPv4 networks of more than two
 * addresses. */
static bool has_reserved(const Ip *ip)
{
    return ip_hostmask(ip) > 1 && ip->version == 4;
}

static IpNumber first_usable(const Ip *ip)
{
    return ip_network(ip) + (ip_hostmask(ip) > 1);
}

static IpNumber last_usable(const Ip *ip)
{
    return ip_last(ip) - has_reserved(ip);
}

static bool query_first_usable(Render *r, const Ip *ip, Value *out)
{
    return is_single(ip) ? set_false(out) : set_address(r, ip, first_usable(ip), out);
}

static bool query_last_usable(Render *r, const Ip *ip, Value *out)
{
    return is_single(ip) ? set_false(out) : set_address(r, ip, last_usable(ip), out);
}

static bool query_range_usable(Render *r, const Ip *ip, Value *out)
{
    if (is_single(ip)) {
        return set_false(out);
    }
    Buf text = render_buf(r);
    ip_put_address(ip->version, first_usable(ip), &text);
    buf_put_char(&text, '-');
    ip_put_address(ip->version, last_usable(ip), &text);
    return take_text(r, &text, false, out);
}

static bool query_version(Render *r, const Ip *ip, Value *out)
{
    *out = value_int(ip->version);
    return true;
}

static bool query_type(Render *r, const Ip *ip, Value *out)
{
    *out = value_string(is_host(ip) ? STR("address") : STR("network"));
    return true;
}

static bool query_int(Render *r, const Ip *ip, Value *out)
{
    if (!ip->has_prefix) {
        return set_number(r, ip->address, out);
    }
    Buf text = render_buf(r);
    ip_put_number(ip->address, &text);
    buf_put_format(&text, "/%u", ip->prefix);
    return take_text(r, &text, false, out);
}

static bool query_revdns(Render *r, const Ip *ip, Value *out)
{
    Buf text = render_buf(r);
    ip_put_reverse(ip, &text);
    return take_text(r, &text, false, out);
}

static bool query_wrap(Render *r, const Ip *ip, Value *out)
{
    if (ip->version == 4) {
        return query_value(r, ip, out);
    }
    Buf text = render_buf(r);
    buf_put_char(&text, '[');
    ip_put_address(ip->version, ip->address, &text);
    buf_put_char(&text, ']');
    if (ip->has_prefix) {
        buf_put_format(&text, "/%u", ip->prefix);
    }
    return take_text(r, &text, false, out);
}

/* Special-purpose address blocks. */
static bool is_in_any(const Ip *ip, const char *const *networks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Ip network;
        if (ip_parse(str_from_c(networks[i]), &network) && ip_contains(&network, ip)) {
            return true;
        }
    }
    return false;
}

static const char *const private_blocks[] = {
    "10.0.0.0/8",    "172.16.0.0/12", "192.168.0.0/16", "192.0.0.0/24", "100.64.0.0/10",
    "198.18.0.0/15", "fc00::/7",      "fec0::/10",      "239.0.0.0/8",  "fe80::/10",
};
static const char *const loopback_blocks[] = { "127.0.0.0/8", "::1/128" };
static const char *const link_local_blocks[] = { "169.254.0.0/16", "fe80::/10" };
static const char *const multicast_blocks[] = { "224.0.0.0/4", "ff00::/8" };
static const char *const reserved_blocks[] = {
    "240.0.0.0/4", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "0.0.0.0/8", "::/128",
};

#define IS_IN(ip, blocks) is_in_any((ip), (blocks), COUNT_OF(blocks))

static bool query_private(Render *r, const Ip *ip, Value *out)
{
    return IS_IN(ip, private_blocks) ? query_value(r, ip, out) : set_false(out);
}

static bool query_loopback(Render *r, const Ip *ip, Value *out)
{
    return IS_IN(ip, loopback_blocks) ? query_value(r, ip, out) : set_false(out);
}

static bool query_link_local(Render *r, const Ip *ip, Value *out)
{
    return IS_IN(ip, link_local_blocks) ? query_value(r, ip, out) : set_false(out);
}

static bool query_multicast(Render *r, const Ip *ip, Value *out)
{
    return IS_IN(ip, multicast_blocks) ? query_value(r, ip, out) : set_false(out);
}

static bool query_unicast(Render *r, const Ip *ip, Value *out)
{
    return IS_IN(ip, multicast_blocks) ? set_false(out) : query_value(r, ip, out);
}

static bool query_public(Render *r, const Ip *ip, Value *out)
{
    bool special = IS_IN(ip, private_blocks) || IS_IN(ip, loopback_blocks) ||
                   IS_IN(ip, link_local_blocks) || IS_IN(ip, multicast_blocks) ||
                   IS_IN(ip, reserved_blocks);
    return special ? set_false(out) : query_value(r, ip, out);
}

static const IpNumber mapped_block = (IpNumber)0xffff << 32;

static bool query_to_ipv6(Render *r, const Ip *ip, Value *out)
{
    if (ip->version == 6) {
        return query_value(r, ip, out);
    }
    const Ip mapped = { ip->address | mapped_block, 6, (uint8_t)(ip->prefix + 96), true };
    return set_cidr(r, &mapped, mapped.address, out);
}

static bool query_to_ipv4(Render *r, const Ip *ip, Value *out)
{
    if (ip->version == 4) {
        return query_value(r, ip, out);
    }
    IpNumber block = ip->address >> 32 << 32;
    if ((block != mapped_block && block != 0) || ip->prefix < 96) {
        return set_false(out);
    }
    const Ip plain = { (uint32_t)ip->address, 4, (uint8_t)(ip->prefix - 96), true };
    return set_cidr(r, &plain, plain.address, out);
}

static const struct {
    const char *name;
    IpQuery query;
} queries[] = {
    { "", query_value },
    { "address", query_address },
    { "ip", query_address },
    { "host", query_host },
    { "host/prefix", query_host_prefix },
    { "address/prefix", query_host_prefix },
    { "net", query_net },
    { "network", query_network },
    { "network_id", query_network },
    { "netmask", query_netmask },
    { "hostmask", query_hostmask },
    { "wildcard", query_hostmask },
    { "prefix", query_prefix },
    { "subnet", query_subnet },
    { "network/prefix", query_subnet },
    { "cidr", query_cidr },
    { "broadcast", query_broadcast },
    { "size", query_size },
    { "first_usable", query_first_usable },
    { "last_usable", query_last_usable },
    { "range_usable", query_range_usable },
    { "version", query_version },
    { "type", query_type },
    { "int", query_int },
    { "revdns", query_revdns },
    { "wrap", query_wrap },
    { "public", query_public },
    { "private", query_private },
    { "loopback", query_loopback },
    { "link-local", query_link_local },
    { "lo", query_loopback },
    { "multicast", query_multicast },
    { "unicast", query_unicast },
    { "ipv4", query_to_ipv4 },
    { "ipv6", query_to_ipv6 },
};

/* The address at `index` in the network, counted from its end if negative. */
static bool query_index(Render *r, const Ip *ip, int64_t index, Value *out)
{
    IpNumber last = ip_hostmask(ip);
    IpNumber distance = index < 0 ? (IpNumber)(-(index + 1)) : (IpNumber)index;
    if (distance > last) {
        return set_false(out);
    }
    return set_cidr(r, ip, ip_network(ip) + (index < 0 ? last - distance : distance), out);
}

static bool value_to_ip(Value v, Ip *out)
{
    if (v.kind == VALUE_INT && v.integer >= 0) {
        unsigned version = v.integer <= UINT32_MAX ? 4 : 6;
        *out = (Ip){ (IpNumber)v.integer, (uint8_t)version, version == 4 ? 32 : 128, false };
        return true;
    }
    return v.kind == VALUE_STRING && ip_parse(value_str(v), out);
}

static bool run_query(Render *r, const Ip *ip, Value query, Value *out)
{
    int64_t index;
    if (query.kind == VALUE_INT) {
        return query_index(r, ip, query.integer, out);
    }
    Str name;
    if (!op_text(r, query, &name)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        if (str_eq_c(name, queries[i].name)) {
            return queries[i].query(r, ip, out);
        }
    }
    if (str_to_i64(name, &index)) {
        return query_index(r, ip, index, out);
    }
    Ip network;
    if (ip_parse(name, &network)) {
        return ip_contains(&network, ip) ? query_value(r, ip, out) : set_false(out);
    }
    return render_raise(r, FAULT_FILTER_ARGUMENT, "unknown ipaddr query: %" STR_FMT,
                        STR_ARG(repr_for_message(r, query)));
}

/* Queries a value, or filters a list to the items with a result. */
static bool query_items(Render *r, Value v, unsigned version, Value query, Value *out)
{
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    if (v.kind > VALUE_STRING) {
        List *items, *matches = list_new(r->arena, 0);
        if (!iter_collect(r, v, &items)) {
            return false;
        }
        for (uint32_t i = 0; i < items->len; i++) {
            Value result = value_bool(false);
            if (items->items[i].kind <= VALUE_STRING &&
                !query_items(r, items->items[i], version, query, &result)) {
                return false;
            }
            if (result.kind != VALUE_BOOL) {
                list_push(r->arena, matches, result);
            }
        }
        *out = value_list(matches);
        return true;
    }
    Ip ip;
    if (!value_to_ip(v, &ip) || (version != ANY_VERSION && ip.version != version)) {
        return set_false(out);
    }
    return run_query(r, &ip, query, out);
}

static bool filter_ipaddr(Render *r, const Args *args, Value *out)
{
    return query_items(r, args->values[0], ANY_VERSION, arg_or(args, 1, value_string(STR_EMPTY)),
                       out);
}

static bool filter_ipv4(Render *r, const Args *args, Value *out)
{
    return query_items(r, args->values[0], 4, arg_or(args, 1, value_string(STR_EMPTY)), out);
}

static bool filter_ipv6(Render *r, const Args *args, Value *out)
{
    return query_items(r, args->values[0], 6, arg_or(args, 1, value_string(STR_EMPTY)), out);
}

/* Values other than IPv6 addresses are unchanged. */
static bool filter_ipwrap(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Ip ip;
    if (value_is_sequence(v)) {
        List *wrapped = list_new(r->arena, v.list->len);
        for (uint32_t i = 0; i < v.list->len; i++) {
            Value item = v.list->items[i];
            if (value_to_ip(item, &ip) && !query_wrap(r, &ip, &item)) {
                return false;
            }
            list_push(r->arena, wrapped, item);
        }
        *out = value_list(wrapped);
        return true;
    }
    *out = v;
    return !value_to_ip(v, &ip) || query_wrap(r, &ip, out);
}

/* Splits a network into subnets, or returns the network with this prefix around an address. */
static bool split_network(Render *r, const Ip *ip, int64_t prefix, const Args *args, Value *out)
{
    if (prefix < 0 || prefix > ip_bits(ip)) {
        return set_false(out);
    }
    int64_t index = 0;
    bool indexed = arg_not_none(args, 2);
    if (indexed && !value_to_index(r, args->values[2], &index)) {
        return false;
    }
    if (!ip->has_prefix) {
        int64_t length = index < 0 ? ip_bits(ip) + index : prefix + index;
        if (length < prefix || length > ip_bits(ip)) {
            return set_false(out);
        }
        const Ip network = { ip->address, ip->version, (uint8_t)length, true };
        return query_subnet(r, &network, out);
    }
    if (prefix < ip->prefix || prefix - ip->prefix > 64) {
        return set_false(out);
    }
    IpNumber count = (IpNumber)1 << (prefix - ip->prefix);
    if (!indexed) {
        return set_number(r, count, out);
    }
    IpNumber distance = index < 0 ? (IpNumber)(-(index + 1)) : (IpNumber)index;
    if (distance >= count) {
        return set_false(out);
    }
    IpNumber position = index < 0 ? count - 1 - distance : distance;
    unsigned shift = (unsigned)(ip_bits(ip) - prefix);
    const Ip subnet = { ip_network(ip) | (shift < 128 ? position << shift : 0), ip->version,
                        (uint8_t)prefix, true };
    return query_subnet(r, &subnet, out);
}

static bool filter_ipsubnet(Render *r, const Args *args, Value *out)
{
    Ip ip, network;
    Str text;
    int64_t prefix;
    if (!value_to_ip(args->values[0], &ip)) {
        return set_false(out);
    }
    if (!arg_text(r, args, 1, STR_EMPTY, &text)) {
        return false;
    }
    if (text.len == 0) {
        return ip.has_prefix && ip.address != ip_network(&ip) ? set_false(out)
                                                              : query_subnet(r, &ip, out);
    }
    if (str_to_i64(text, &prefix)) {
        return split_network(r, &ip, prefix, args, out);
    }
    /* The position of a subnet in a larger network, from 1. */
    if (!ip_parse(text, &network) || !ip_contains(&network, &ip)) {
        return set_false(out);
    }
    unsigned shift = ip_bits(&ip) - ip.prefix;
    IpNumber distance = ip_network(&ip) - ip_network(&network);
    return set_number(r, (shift < 128 ? distance >> shift : 0) + 1, out);
}

static bool filter_ipmath(Render *r, const Args *args, Value *out)
{
    Ip ip;
    int64_t amount;
    if (!value_to_index(r, args->values[1], &amount)) {
        return false;
    }
    if (!value_to_ip(args->values[0], &ip)) {
        return set_false(out);
    }
    ip.prefix = 0;
    IpNumber available = amount < 0 ? ip.address : ip_last(&ip) - ip.address;
    IpNumber distance = amount < 0 ? (IpNumber)(-(amount + 1)) + 1 : (IpNumber)amount;
    if (distance > available) {
        return set_false(out);
    }
    return set_address(r, &ip, amount < 0 ? ip.address - distance : ip.address + distance, out);
}

static bool filter_nthhost(Render *r, const Args *args, Value *out)
{
    Ip ip;
    int64_t index;
    if (!value_to_index(r, args->values[1], &index)) {
        return false;
    }
    if (!value_to_ip(args->values[0], &ip) || index < 0 || (IpNumber)index > ip_hostmask(&ip)) {
        return set_false(out);
    }
    return set_address(r, &ip, ip_network(&ip) + (IpNumber)index, out);
}

static bool is_address(const Args *args, unsigned version, Value *out)
{
    Ip ip;
    *out = value_bool(value_to_ip(args->values[0], &ip) &&
                      (version == ANY_VERSION || ip.version == version));
    return true;
}

static bool filter_is_ip(Render *r, const Args *args, Value *out)
{
    return is_address(args, ANY_VERSION, out);
}

static bool filter_is_ipv4(Render *r, const Args *args, Value *out)
{
    return is_address(args, 4, out);
}

static bool filter_is_ipv6(Render *r, const Args *args, Value *out)
{
    return is_address(args, 6, out);
}

const Native filters_net[] = {
    { .name = "ipaddr",
      .call = filter_ipaddr,
      .params = { { "value" }, { "query", "''" } },
      .help = "Returns the value if it is an IP address or network, false otherwise; filters "
              "lists. A query selects a part: address, network, netmask, prefix, broadcast, "
              "subnet, size, host, net, public, private, revdns ..., the address at an index, or "
              "whether it is in a network.",
      .example = "{{ '192.168.32.45/24' | ipaddr('network') }} {{ '10.0.0.0/24' | ipaddr(5) }} "
                 "{{ 'nonsense' | ipaddr }}",
      .output = "192.168.32.0 10.0.0.5/24 False" },
    { .name = "ipv4",
      .call = filter_ipv4,
      .params = { { "value" }, { "query", "''" } },
      .help = "Like ipaddr, for IPv4 only.",
      .example = "{{ ['10.0.0.1', '::1'] | ipv4 }}",
      .output = "['10.0.0.1']" },
    { .name = "ipv6",
      .call = filter_ipv6,
      .params = { { "value" }, { "query", "''" } },
      .help = "Like ipaddr, for IPv6 only.",
      .example = "{{ ['10.0.0.1', '0:0:0:0:0:0:0:1'] | ipv6 }}",
      .output = "['::1']" },
    { .name = "ipwrap",
      .call = filter_ipwrap,
      .params = { { "value" } },
      .help = "Puts IPv6 addresses in brackets; other values are unchanged.",
      .example = "{{ ['::1', '10.0.0.1', 'web.lan'] | ipwrap }}",
      .output = "['[::1]', '10.0.0.1', 'web.lan']" },
    { .name = "ipsubnet",
      .call = filter_ipsubnet,
      .params = { { "value" }, { "query", "''" }, { "index", "none" } },
      .help =
          "Counts the subnets with a prefix length in a network, or returns the one at an index.",
      .example = "{{ '10.0.0.0/8' | ipsubnet(16) }} {{ '10.0.0.0/8' | ipsubnet(16, 3) }} "
                 "{{ '10.1.2.3' | ipsubnet(20) }}",
      .output = "256 10.3.0.0/16 10.1.0.0/20" },
    { .name = "ipmath",
      .call = filter_ipmath,
      .params = { { "value" }, { "amount" } },
      .help = "Adds an offset to an address; it may be negative.",
      .example = "{{ '10.0.0.250' | ipmath(10) }} {{ '10.0.1.0' | ipmath(-1) }}",
      .output = "10.0.1.4 10.0.0.255" },
    { .name = "nthhost",
      .call = filter_nthhost,
      .params = { { "value" }, { "query" } },
      .help = "Returns the address at an index in a network, without the prefix.",
      .example = "{{ '10.0.0.0/24' | nthhost(5) }}",
      .output = "10.0.0.5" },
    { .name = "is_ip",
      .call = filter_is_ip,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "Returns whether the string is an IP address or network.",
      .example = "{{ '10.0.0.1' | is_ip }} {{ 'web' | is_ip }}",
      .output = "True False" },
    { .name = "is_ipv4",
      .call = filter_is_ipv4,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "Returns whether the string is an IPv4 address or network.",
      .example = "{{ '10.0.0.1' | is_ipv4 }} {{ '::1' | is_ipv4 }}",
      .output = "True False" },
    { .name = "is_ipv6",
      .call = filter_is_ipv6,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "Returns whether the string is an IPv6 address or network.",
      .example = "{{ 'fe80::1/64' | is_ipv6 }}",
      .output = "True" },
    { 0 },
};
