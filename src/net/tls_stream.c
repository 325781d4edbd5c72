/* One TLS connection on a non-blocking socket. Uses its own BIO, because OpenSSL's socket BIO
 * writes without MSG_NOSIGNAL and would raise SIGPIPE. */
#include "net/tls_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/rate.h"
#include "net/tls_inner.h"

/* Messages between the data: OpenSSL processes all that have arrived before it returns to us, and a
 * new key takes more time than the 27 bytes that request it. Peers send hardly any: a client gets
 * two tickets, and keys last for gigabytes. */
static const RateLimit message_limit = { .per_second = 1, .burst = 16 };

struct TlsStream {
    SSL *ssl;
    TlsContext *context;
    char *target; /* clients: key of the session to resume */
    int descriptor;
    RateBucket messages;
    bool too_many_messages; /* too many messages; nothing more is read */
};

/* --- Socket BIO without SIGPIPE -------------------------------------------------------------- */

static bool is_transient(int number)
{
    return number == EAGAIN || number == EINTR;
}

static int bio_read(BIO *bio, char *to, size_t room, size_t *count)
{
    const TlsStream *stream = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *count = 0;
    if (stream->too_many_messages) {
        errno = EPROTO;
        return -1;
    }
    ssize_t received_bytes = recv(stream->descriptor, to, room, 0);
    if (received_bytes < 0 && is_transient(errno)) {
        BIO_set_retry_read(bio);
    } else if (received_bytes == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    *count = received_bytes > 0 ? (size_t)received_bytes : 0;
    return received_bytes > 0 ? 1 : (int)received_bytes;
}

static int bio_write(BIO *bio, const char *from, size_t len, size_t *count)
{
    const TlsStream *stream = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t put = send(stream->descriptor, from, len, MSG_NOSIGNAL);
    if (put < 0 && is_transient(errno)) {
        BIO_set_retry_write(bio);
    }
    *count = put > 0 ? (size_t)put : 0;
    return put > 0 ? 1 : (int)put;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    if (command == BIO_CTRL_EOF) {
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    }
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_socket_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");
    if (method == NULL) {
        memory_exhausted(0);
    }
    BIO_meth_set_read_ex(method, bio_read);
    BIO_meth_set_write_ex(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
}

static BIO *tls_socket_bio(TlsStream *stream)
{
    BIO *bio = BIO_new(stream->context->socket_method);
    if (bio == NULL) {
        memory_exhausted(0);
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    return bio;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool set_expected_host(SSL *ssl, const char *host)
{
    struct in6_addr ip;
    if (inet_pton(AF_INET, host, &ip) == 1 || inet_pton(AF_INET6, host, &ip) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* A ticket is used only once. */
static void resume_session(TlsContext *context, SSL *ssl, const char *target)
{
    for (int i = 0; i < TLS_SESSIONS_MAX; i++) {
        TlsStoredSession *stored = &context->sessions[i];
        if (stored->session != NULL && strcmp(stored->target, target) == 0) {
            SSL_set_session(ssl, stored->session);
            SSL_SESSION_free(stored->session);
            stored->session = NULL;
            return;
        }
    }
}

static void count_message(int is_sent, int version, int type, const void *bytes, size_t len,
                          SSL *ssl, void *context)
{
    TlsStream *stream = context;
    const uint8_t *message = bytes;
    if (is_sent == 0 && type == SSL3_RT_HANDSHAKE && len > 0 &&
        (message[0] == SSL3_MT_KEY_UPDATE || message[0] == SSL3_MT_NEWSESSION_TICKET)) {
        int64_t now_ms = loop_now_ms(stream->context->loop);
        stream->too_many_messages |= !rate_take(&stream->messages, message_limit, now_ms, 1);
    }
}

bool tls_stream_new(TlsContext *context, int descriptor, const char *host, const char *target,
                    TlsStream **out, Error *err)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(context->ssl);
    TlsStream *stream = memory_new(sizeof *stream);
    if (ssl == NULL) {
        memory_exhausted(sizeof *stream);
    }
    stream->ssl = ssl;
    stream->context = context;
    stream->descriptor = descriptor;
    context->streams++;
    BIO *bio = tls_socket_bio(stream);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_msg_callback(ssl, count_message);
    SSL_set_msg_callback_arg(ssl, stream);
    if (context->options.ignore_validity) {
        X509_VERIFY_PARAM_set_flags(SSL_get0_param(ssl), X509_V_FLAG_NO_CHECK_TIME);
    } else {
        X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl),
                                   (time_t)(loop_wall_ms(context->loop) / 1000));
    }
    if (context->options.role != TLS_CLIENT) {
        SSL_set_accept_state(ssl);
        *out = stream;
        return true;
    }
    SSL_set_connect_state(ssl);
    if (host != NULL && host[0] != '\0' && !set_expected_host(ssl, host)) {
        tls_error(err, ERROR_INVALID, "cannot set the expected host name");
        tls_stream_free(stream);
        return false;
    }
    if (target != NULL) {
        stream->target = strdup(target);
        SSL_set_app_data(ssl, stream->target);
        resume_session(context, ssl, target);
    }
    *out = stream;
    return true;
}

void tls_stream_free(TlsStream *stream)
{
    if (stream == NULL) {
        return;
    }
    /* Otherwise OpenSSL would discard the session of a connection that was cut, which is when a
     * client reconnects. */
    SSL_set_shutdown(stream->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(stream->ssl);
    tls_context_unref(stream->context);
    free(stream->target);
    free(stream);
}

/* --- Reading and writing --------------------------------------------------------------------- */

/* The peer's reason for rejecting our certificate; NULL if it sent no such alert. */
static const char *rejection_text(void)
{
    switch (ERR_GET_REASON(ERR_peek_error())) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        return TLS_TEXT_REJECTED ": its certificate is revoked, or the node was removed";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return TLS_TEXT_REJECTED ": its certificate has expired, or is not valid yet";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return TLS_TEXT_REJECTED ": the CA of its certificate is unknown";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return TLS_TEXT_REJECTED ": a certificate is required";
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return TLS_TEXT_PROTOCOL;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE: return TLS_TEXT_NO_TLS;
    default: return NULL;
    }
}

static TlsResult failed(const TlsStream *stream, int result, const char *what, Error *err)
{
    int number = errno;
    switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_READ: return TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE: return TLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN: return TLS_CLOSED;
    case SSL_ERROR_SYSCALL:
        error_set(err, ERROR_UNAVAILABLE, "%s: %s", what,
                  number == 0 ? "the connection was closed" : strerror(number));
        ERR_clear_error();
        return TLS_FAILED;
    default: break;
    }
    long verified = SSL_get_verify_result(stream->ssl);
    const char *refused = rejection_text();
    if (refused != NULL) {
        bool is_tls = strcmp(refused, TLS_TEXT_NO_TLS) != 0;
        error_set(err, is_tls ? ERROR_DENIED : ERROR_UNAVAILABLE, "%s", refused);
        ERR_clear_error();
    } else if (verified != X509_V_OK) {
        const char *more = stream->context->distrust;
        error_set(err, ERROR_DENIED, "%s: the peer's certificate: %s%s%s", what,
                  X509_verify_cert_error_string(verified), more[0] == '\0' ? "" : ": ", more);
        ERR_clear_error();
    } else {
        tls_error(err, ERROR_DENIED, what);
    }
    return TLS_FAILED;
}

/* NULL if none of ours was negotiated. */
static const char *agreed_protocol(const TlsStream *stream)
{
    const TlsOptions *options = &stream->context->options;
    const unsigned char *chosen;
    unsigned len;
    SSL_get0_alpn_selected(stream->ssl, &chosen, &len);
    Str protocol = str_from((const char *)chosen, len);
    if (options->preferred != NULL && str_eq_c(protocol, options->preferred)) {
        return options->preferred;
    }
    bool fits = str_eq_c(protocol, options->protocol) || (options->preferred != NULL && len == 0);
    return fits ? options->protocol : NULL;
}

/* OpenSSL verifies a certificate when it is presented; a resumed session presents none. */
static bool check_peer(const TlsStream *stream, const TlsPeer *peer, Error *err)
{
    const TlsOptions *options = &stream->context->options;
    if (SSL_get_SSL_CTX(stream->ssl) != stream->context->ssl || stream->context->freed) {
        return error_set(err, ERROR_UNAVAILABLE, "the certificates have changed since then");
    }
    if (options->role != TLS_SERVER_PUBLIC && options->role != TLS_SERVER_OPTIONAL &&
        !peer->has_certificate) {
        return error_set(err, ERROR_DENIED, "the peer has no certificate");
    }
    if (peer->has_certificate) {
        int64_t now_s = loop_wall_ms(stream->context->loop) / 1000;
        if (SSL_get_verify_result(stream->ssl) != X509_V_OK) {
            return error_set(err, ERROR_DENIED, "the peer's certificate was not verified");
        }
        if (now_s > peer->not_after_s && !options->ignore_validity) {
            return error_set(err, ERROR_DENIED, "the peer's certificate has expired");
        }
    }
    if (peer->protocol == NULL) {
        return error_set(err, ERROR_INVALID, "the peer does not support %s", options->protocol);
    }
    return options->verify == NULL || options->verify(options->verify_context, peer, err);
}

TlsResult tls_stream_handshake(TlsStream *stream, TlsPeer *peer, Error *err)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(stream->ssl);
    if (result != 1) {
        TlsResult why = failed(stream, result, "TLS handshake", err);
        if (why == TLS_CLOSED) {
            error_set(err, ERROR_UNAVAILABLE,
                      "the peer closed the connection during the TLS handshake");
            return TLS_FAILED;
        }
        return why;
    }
    tls_peer_read(stream->ssl, peer);
    peer->protocol = agreed_protocol(stream);
    return check_peer(stream, peer, err) ? TLS_DONE : TLS_FAILED;
}

TlsResult tls_stream_read(TlsStream *stream, char *to, size_t room, size_t *count, Error *err)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_read(stream->ssl, to, room > INT_MAX ? INT_MAX : (int)room);
    *count = result > 0 ? (size_t)result : 0;
    if (stream->too_many_messages) {
        ERR_clear_error();
        error_set(err, ERROR_LIMIT, "the peer sends too many key updates or session tickets");
        return TLS_FAILED;
    }
    return result > 0 ? TLS_DONE : failed(stream, result, "reading", err);
}

/* A peer that rejects us sends an alert and closes. Our write fails then, while its alert is still
 * waiting to be read. */
static TlsResult write_failed(const TlsStream *stream, int result, Error *err)
{
    TlsResult why = failed(stream, result, "writing", err);
    char ignored;
    if (why == TLS_FAILED && err->kind == ERROR_UNAVAILABLE &&
        SSL_peek(stream->ssl, &ignored, 1) <= 0 && rejection_text() != NULL) {
        error_set(err, ERROR_DENIED, "%s", rejection_text());
    }
    ERR_clear_error();
    return why;
}

TlsResult tls_stream_write(TlsStream *stream, Str bytes, size_t *count, Error *err)
{
    *count = 0;
    while (*count < bytes.len) {
        size_t left = bytes.len - *count;
        ERR_clear_error();
        errno = 0;
        int result =
            SSL_write(stream->ssl, bytes.data + *count, left > INT_MAX ? INT_MAX : (int)left);
        if (result <= 0) {
            return write_failed(stream, result, err);
        }
        *count += (size_t)result;
    }
    return TLS_DONE;
}

bool tls_stream_has_pending(const TlsStream *stream)
{
    return SSL_has_pending(stream->ssl) == 1;
}

void tls_stream_close_notify(TlsStream *stream)
{
    ERR_clear_error();
    SSL_shutdown(stream->ssl);
    ERR_clear_error();
}
