/* The head of a request of HTTP/2, taken as strictly as one of HTTP/1.1: it is written as one and
 * read by its reader, after a check of what only HTTP/2 has. Pure. */
#pragma once

#include "net/http1.h"
#include "net/http2.h"

/* `reader`, a fresh one for requests, has the head then. Fails as http1_read, with the status to
 * answer in `reader->refusal`. */
MUST_CHECK bool http_h2_head_read(const Http2Headers *headers, Http1Reader *reader, Error *err);
