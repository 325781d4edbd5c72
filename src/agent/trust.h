/* A node's certificate and trusted CAs, on disk and in the TLS of its connections. Loop thread.
 *
 * The certificate is renewed at two thirds of its lifetime, or when another CA signs, through
 * the established connection. CAs arrive with the watch "trust" and with every renewal. They
 * are written to disk before they are used; established connections are not touched, new ones
 * use them. After every change the node reports what it has (pki/trust_notice.h), which a CA
 * rotation needs.
 *
 *     bundle    ca.pem, by one rename
 *     renewal   ca.pem, then node.pem with key and certificate, each by one rename: a crash
 *               leaves a certificate and its key, old or new, and the CAs that issued it */
#pragma once

#include "net/grpc_client.h"
#include "pki/credential.h"
#include "pki/renewal.h"
#include "sys/directory.h"

/* Name of the session's watch for trust_notice(). Its position is not stored: it is one small
 * value, sent again with every connection. */
#define TRUST_WATCH "trust"
/* Key of the reports, which are records of kind STATUS. */
#define TRUST_RECORD "trust"

typedef struct Trust Trust;

typedef struct TrustOptions {
    Loop *loop;
    const Directory *directory; /* of the agent; borrowed */
    TlsVerify *verify;          /* verifies servers; may be NULL */
    void *verify_context;
    /* The established connection to a server, otherwise NULL. */
    GrpcClient *(*client)(void *context);
    /* Sends a report to the server, as a record; after a failure it is called again. */
    bool (*report)(void *context, Str body, Error *err);
    void *context;
} TrustOptions;

/* Fails if the files cannot be read. No callback runs during this call. */
MUST_CHECK bool trust_open(const TrustOptions *options, Trust **out, Error *err);
void trust_free(Trust *trust); /* NULL is allowed */
DEFINE_AUTO(Trust, trust_free)

/* For connections to servers: protocol "h2". Lives as long as the trust. */
TlsContext *trust_tls(const Trust *trust);

/* Processes a value of the watch. An invalid one is logged and has no effect. */
void trust_notice(Trust *trust, Str value);
/* Called when a connection is established: continues operations that were waiting for one. */
void trust_connected(Trust *trust);

/* Called when the server has lost this node's trust report, for example after a restore: reports it
 * again. */
void trust_resend_report(Trust *trust);

typedef void TrustDone(void *context, const Error *err);
/* Renews immediately, regardless of the certificate's age. `done` is called once, unless the trust
 * is freed first. ERROR_UNAVAILABLE without a connection, ERROR_CONFLICT during another renewal. */
void trust_renew(Trust *trust, TrustDone *done, void *context);

typedef struct TrustStatus {
    const Certificate *certificate; /* owned by the trust */
    CertificateSet bundle;
    RenewalPlan plan;
    bool renewing;
    uint32_t failures; /* consecutive failures */
    const Error *why;  /* reason for the last failure; otherwise NULL */
} TrustStatus;
TrustStatus trust_status(const Trust *trust);
