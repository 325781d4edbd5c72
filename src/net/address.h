/* Addresses: a host name or an IP address with a port, or the path of a Unix socket. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

typedef enum AddressKind {
    ADDRESS_NAME, /* must be looked up */
    ADDRESS_IP,
    ADDRESS_UNIX,
} AddressKind;

enum {
    ADDRESS_HOST_MAX = 253,
    ADDRESS_TEXT_MAX = 64, /* of a peer: "[IPv6]:port" and a NUL */
};

typedef struct Address {
    AddressKind kind;
    uint16_t port;                   /* 0: when listening, any free one */
    char host[ADDRESS_HOST_MAX + 1]; /* without brackets; the path of a Unix socket */
} Address;

/* "host", "host:port", "10.0.0.1:port", "[::1]:port", "::1", "unix:/path" or "/path". Without a
 * port it is `default_port`. */
MUST_CHECK bool address_parse(Str text, uint16_t default_port, Address *out, Error *err);
/* The Unix socket at a path, which may be a relative one. Fails with ERROR_INVALID. */
MUST_CHECK bool address_unix(Str path, Address *out, Error *err);
/* As address_parse reads it, always with the port. */
void address_format(const Address *address, Buf *out);

/* Whether both name one host, whatever the port: names in any case, IP addresses in any spelling, and
 * an IPv4 address also as IPv6 has it ("::ffff:10.0.0.1"). */
bool address_same_host(const Address *a, const Address *b);
/* An IP address that only this machine itself reaches. */
bool address_is_loopback(const Address *address);
/* "0.0.0.0" or "::" in any spelling: to listen on all addresses of the machine. */
bool address_is_any(const Address *address);
/* Of one to listen on: where this machine itself reaches it. */
void address_reach_here(Address *address);

/* An address as the kernel has it. */
typedef struct SocketAddress {
    struct sockaddr_storage storage;
    socklen_t len;
} SocketAddress;

/* Not for names: those are looked up first. */
SocketAddress address_to_socket(const Address *address);
/* "10.0.0.1:4242", "[::1]:4242"; "unix" for a Unix socket. */
void socket_address_format(const SocketAddress *address, char out[ADDRESS_TEXT_MAX]);
uint16_t socket_address_port(const SocketAddress *address); /* 0 for a Unix socket */

/* Who counts as one when connections are limited: an IPv4 address, the /64 of an IPv6 address. A
 * Unix socket has nobody to count: false. */
bool socket_address_origin(const SocketAddress *address, uint64_t *out);
