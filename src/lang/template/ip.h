/* IP addresses and networks as numbers; parsing and printing without system calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

typedef unsigned __int128 IpNumber;

/* An address with the prefix length of its network. */
typedef struct Ip {
    IpNumber address;
    uint8_t version; /* 4 or 6 */
    uint8_t prefix;
    bool has_prefix; /* false: the full length is implied */
} Ip;

/* "10.0.0.1", "10.0.0.0/8", "10.0.0.0/255.0.0.0", "fe80::1", "2001:db8::/32", "::ffff:1.2.3.4". */
bool ip_parse(Str text, Ip *out);

static inline unsigned ip_bits(const Ip *ip)
{
    return ip->version == 4 ? 32 : 128;
}
IpNumber ip_netmask(const Ip *ip);
IpNumber ip_hostmask(const Ip *ip); /* complement of the netmask */
static inline IpNumber ip_network(const Ip *ip)
{
    return ip->address & ip_netmask(ip);
}
static inline IpNumber ip_last(const Ip *ip)
{
    return ip->address | ip_hostmask(ip);
}
/* Whether `outer` contains every address of `inner`. */
bool ip_contains(const Ip *outer, const Ip *inner);

/* IPv6 as in RFC 5952: lowercase, the longest run of zeros shortened. */
void ip_put_address(unsigned version, IpNumber address, Buf *out);
/* "address/prefix" */
void ip_put_cidr(unsigned version, IpNumber address, unsigned prefix, Buf *out);
/* The name for reverse lookups, with a trailing dot. */
void ip_put_reverse(const Ip *ip, Buf *out);
void ip_put_number(IpNumber number, Buf *out);
