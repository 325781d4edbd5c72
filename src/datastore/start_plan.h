/* Decides whether and how etcd is started on a server: with its data, as a new member that was
 * added for it, as the first member of a new cluster, or not at all. Pure.
 *
 * Next to the data is a marker, which says whose data it is. It is written before etcd is started
 * for the first time, so data without a marker is not ours, and a marker without data
 * means that the data is lost: a member that has voted must not start again without it, so its
 * server gets a new one. A member that was removed never starts with its old data either: that is
 * moved away. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "base/identity.h"
#include "etcd/message.h"

#define MARKER_FILE "member.json"

enum {
    MARKER_MAX = 4096, /* bytes */
    ETCD_ID_TEXT = 16, /* digits of an id */
    ETCD_VERSION_MAX = 31,
};

typedef enum MarkerState {
    MARKER_CREATING, /* the first member of a new cluster, whose ids are not known yet */
    MARKER_JOINING,  /* it has not responded yet */
    MARKER_MEMBER,   /* it has responded */
    MARKER_REMOVED,
} MarkerState;
DECLARE_ENUM_NAMES(MarkerState, marker_state)

typedef struct Marker {
    MarkerState state;
    char node[NODE_NAME_MAX + 1];
    char cluster_id[ETCD_ID_TEXT + 1]; /* empty if it is not known yet */
    char member_id[ETCD_ID_TEXT + 1];
    char version[ETCD_VERSION_MAX + 1]; /* of the etcd that has used the data last */
} Marker;

/* "eden.datastore/1". */
void marker_print(const Marker *marker, Buf *out);
MUST_CHECK bool marker_read(Arena *arena, Str text, Marker *out, Error *err);
void marker_id(uint64_t id, char out[ETCD_ID_TEXT + 1]);

/* The number of etcd's version, in the output of `etcd --version`. Fails with ERROR_INVALID if
 * there is none or it is not supported: 3.4 and later versions of 3 are. */
MUST_CHECK bool etcd_version_parse(Str output, char out[ETCD_VERSION_MAX + 1], Error *err);

/* The situation on a server. */
typedef struct StartView {
    Str node;
    Str peer_url;         /* where its member listens for others */
    Str version;          /* of the installed etcd */
    bool creates;         /* its member is to be the first one of a new cluster */
    bool has_data;        /* there is something in the data directory */
    bool has_log;         /* there is the log of etcd: etcd has got as far as being a member */
    const Marker *marker; /* NULL: none */
    /* The members of the cluster, from one of them; NULL: none has responded. */
    const EtcdMembers *members;
    uint64_t cluster_id; /* of those */
} StartView;

typedef enum StartAction {
    START_WAIT,    /* for `why` */
    START_REFUSE,  /* for `why`; only an operator can change that */
    START_CREATE,  /* a new cluster */
    START_JOIN,    /* as the member `member`, which was added */
    START_AGAIN,   /* with its data */
    START_ARCHIVE, /* mark the member as removed, move its data away, and decide again */
    START_FORGET,  /* the data is lost: remove the marker, and decide again */
} StartAction;

typedef struct StartStep {
    StartAction action;
    uint64_t member; /* of START_JOIN */
    char why[240];   /* of START_WAIT and START_REFUSE */
} StartStep;

void start_plan(const StartView *view, StartStep *out);
