/* Reads the head of an HTTP/2 request as strictly as one of HTTP/1.1: after checks that are
 * specific to HTTP/2, it is rewritten as HTTP/1.1 and parsed by that reader. Pure. */
#pragma once

#include "net/http1.h"
#include "net/http2.h"

/* On success `reader`, which must be a fresh one for requests, has the head. Fails as http1_read
 * does, with the response status in `reader->error_status`. */
MUST_CHECK bool http_h2_head_read(const Http2Headers *headers, Http1Reader *reader, Error *err);
