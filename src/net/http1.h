/* HTTP/1.1 messages (RFC 9112), read as strictly as it goes and written. Pure: bytes in, parts out.
 *
 * What two readers of one message could take differently is refused, because somebody between us
 * and the other side may take it the other way: lines end with CR LF only, nothing is folded, a
 * body has one length or is chunked, chunks have a size and nothing else around them, and everything
 * is bounded. docs/http-parser.md has the list, beside what another parser takes. */
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
    HTTP1_BODY_UNTIL_CLOSE, /* of a response: until the connection ends */
} Http1Body;

typedef struct Http1Header {
    Str name, value; /* the value without white space around it */
} Http1Header;

typedef struct Http1Head {
    Str method;    /* of a request */
    Str path;      /* of a request: begins with '/', still encoded; "*" of OPTIONS */
    Str query;     /* of a request: behind '?', without it */
    Str authority; /* of a request: the host in its address, which Host has too; mostly empty */
    int status;    /* of a response */
    Http1Header headers[HTTP1_HEADERS_MAX];
    uint32_t header_count;
    Http1Body body;
    uint64_t length; /* with HTTP1_BODY_LENGTH */
    bool keep_alive; /* another message may follow on the connection */
    bool is_newer;   /* HTTP/1.1: the sender understands chunked bodies */
    bool expects_continue;
} Http1Head;

/* NULL when there is none; names are the same in any case. */
const Str *http1_find(const Http1Head *head, const char *name);
uint32_t http1_count(const Http1Head *head, const char *name); /* how often it is there */
/* GET and HEAD: a request that changes nothing. */
bool http1_is_safe(const Http1Head *head);

/* What one call of http1_read found. */
typedef enum Http1Event {
    HTTP1_MORE, /* all bytes are taken, more are needed */
    HTTP1_HEAD, /* `head` is there, until bytes of the next message are read */
    HTTP1_DATA, /* `data` is a piece of the body, borrowed from the bytes given */
    HTTP1_END,  /* the message is over; the next one may follow */
} Http1Event;

typedef struct Http1Reader {
    Http1Kind kind;
    uint64_t body_max;
    Http1Head head;
    Str data;
    int refusal;   /* after a failure: the status to answer a request with */
    bool bodyless; /* the next response answers HEAD: it tells a length and has no body */
    Buf text;      /* of the head, so far */
    Buf line;      /* of a chunk, so far */
    uint8_t state;
    uint64_t left;  /* of the body or chunk */
    uint64_t taken; /* of the body */
} Http1Reader;

void http1_reader_init(Http1Reader *reader, Http1Kind kind, uint64_t body_max);
void http1_reader_clear(Http1Reader *reader);

/* Takes bytes from the front of `bytes` up to the next event. After a failure (ERROR_INVALID,
 * ERROR_LIMIT) nothing more can be read from this connection. */
MUST_CHECK bool http1_read(Http1Reader *reader, Str *bytes, Http1Event *event, Error *err);
/* The connection has ended. Fails when that is in the middle of a message; `*event` is HTTP1_END
 * when it ended one, else HTTP1_MORE. */
MUST_CHECK bool http1_read_end(Http1Reader *reader, Http1Event *event, Error *err);

/* Whether a message may have this field: the name is a token, and the value has no control
 * characters and no blanks around it. */
bool http1_is_field(Str name, Str value);

/* "Not Found" of 404; "Unknown" for those that we never send. */
const char *http1_status_text(int status);
/* Heads, to be followed by http1_put_header, one of the ends, and the body. */
void http1_put_status(Buf *out, int status);
void http1_put_request(Buf *out, const char *method, Str target, Str host);
/* A value with control characters in it is a bug of the caller. */
void http1_put_header(Buf *out, const char *name, Str value);
void http1_put_end_length(Buf *out, uint64_t length);
void http1_put_end_chunked(Buf *out);
void http1_put_end_bare(Buf *out); /* of an answer that never has a body */
/* One chunk; an empty one is the last. */
void http1_put_chunk(Buf *out, Str data);
