/* HTTP/1.1 messages (RFC 9112), strictly parsed and written. Pure: bytes in, parts out.
 *
 * Whatever two parsers could understand differently is rejected, because a proxy between us and the
 * peer may understand it the other way (request smuggling): lines end with CR LF only, there is no
 * folding, a body has one length or is chunked, chunks have a size and no extensions, and
 * everything is bounded. docs/http-parser.md lists the rules and compares them with another
 * parser. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

enum {
    HTTP1_HEAD_MAX = 16 * 1024,
    HTTP1_HEADERS_MAX = 64
};

typedef enum Http1Kind {
    HTTP1_REQUEST,
    HTTP1_RESPONSE,
} Http1Kind;

typedef enum Http1Body {
    HTTP1_BODY_NONE,
    HTTP1_BODY_LENGTH,
    HTTP1_BODY_CHUNKED,
    HTTP1_BODY_UNTIL_CLOSE, /* in responses: until the connection is closed */
} Http1Body;

typedef struct Http1Header {
    Str name, value; /* without surrounding spaces */
} Http1Header;

typedef struct Http1Head {
    Str method; /* requests only */
    Str path;   /* requests only; starts with '/', not decoded; "*" for OPTIONS */
    Str query;  /* requests only; the part after '?' */
    /* requests only; the host in an absolute URL, which must equal Host; usually empty */
    Str authority;
    int status; /* responses only */
    Http1Header headers[HTTP1_HEADERS_MAX];
    uint32_t header_count;
    Http1Body body;
    uint64_t length; /* for HTTP1_BODY_LENGTH */
    bool keep_alive; /* another message may follow on the connection */
    bool is_http11;  /* HTTP/1.1: the sender supports chunked bodies */
    bool expects_continue;
} Http1Head;

/* Names are compared without case. NULL if there is none. */
const Str *http1_find(const Http1Head *head, const char *name);
/* number of headers with this name */
uint32_t http1_count(const Http1Head *head, const char *name);
/* GET and HEAD: requests without side effects. */
bool http1_is_safe(const Http1Head *head);

/* Result of one call of http1_read. */
typedef enum Http1Event {
    HTTP1_MORE, /* all bytes are consumed, more are needed */
    HTTP1_HEAD, /* `head` is complete, and valid until the next message is read */
    HTTP1_DATA, /* `data` is a part of the body, and points into the input */
    HTTP1_END,  /* the message is complete; another one may follow */
} Http1Event;

typedef struct Http1Reader {
    Http1Kind kind;
    uint64_t body_max;
    Http1Head head;
    Str data;
    int error_status; /* after a failure: the status with which to answer the request */
    /* the next response answers a HEAD request: it may have a length but has no body */
    bool bodyless;
    Buf text; /* the head as received so far */
    Buf line; /* the incomplete line of a chunk */
    uint8_t state;
    uint64_t remaining;  /* remaining bytes of the body or chunk */
    uint64_t body_bytes; /* received bytes of the body */
} Http1Reader;

void http1_reader_init(Http1Reader *reader, Http1Kind kind, uint64_t body_max);
void http1_reader_clear(Http1Reader *reader);

/* Consumes `bytes` up to the next event. After a failure (ERROR_INVALID, ERROR_LIMIT) nothing more
 * can be read from this connection. */
MUST_CHECK bool http1_read(Http1Reader *reader, Str *bytes, Http1Event *event, Error *err);
/* Call it when the connection has ended. Fails in the middle of a message. Sets `*event` to
 * HTTP1_END if this completed a message, otherwise to HTTP1_MORE. */
MUST_CHECK bool http1_read_end(Http1Reader *reader, Http1Event *event, Error *err);

/* Whether a message may contain this header: the name is a token, and the value has no control
 * characters and no surrounding spaces. */
bool http1_is_field(Str name, Str value);

/* "Not Found" for 404; "Unknown" for codes that this program never sends. */
const char *http1_status_text(int status);
/* Write a message head: first one of these functions, then http1_put_header, one of the
 * http1_put_end functions, and the body. */
void http1_put_status(Buf *out, int status);
void http1_put_request(Buf *out, const char *method, Str target, Str host);
/* The value must not contain control characters. */
void http1_put_header(Buf *out, const char *name, Str value);
void http1_put_end_length(Buf *out, uint64_t length);
void http1_put_end_chunked(Buf *out);
void http1_put_end_bare(Buf *out); /* ends the head of a response that cannot have a body */
/* Writes one chunk; an empty one is the last. */
void http1_put_chunk(Buf *out, Str data);
