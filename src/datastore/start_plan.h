/* Decides whether and how etcd is started on a server: with its existing data, as a new member that
 * has been added for this server, as the first member of a new cluster, or not at all. Pure.
 *
 * A marker file next to the data records which member owns the data. It is written before the first
 * start of etcd. So data without a marker was not written by eden, and a marker without data means
 * that the data was lost. A member that has voted must not start without its data, so it is
 * replaced by a new member. Data of a removed member is archived and never used again. */
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
    ETCD_ID_TEXT = 16, /* hexadecimal digits of an ID */
    ETCD_VERSION_MAX = 31,
};

typedef enum MarkerState {
    MARKER_CREATING, /* first member of a new cluster; its IDs are not known yet */
    MARKER_JOINING,  /* has not responded yet */
    MARKER_MEMBER,   /* has responded */
    MARKER_REMOVED,
} MarkerState;
DECLARE_ENUM_NAMES(MarkerState, marker_state)

typedef struct Marker {
    MarkerState state;
    char node[NODE_NAME_MAX + 1];
    char cluster_id[ETCD_ID_TEXT + 1]; /* empty if unknown */
    char member_id[ETCD_ID_TEXT + 1];
    char version[ETCD_VERSION_MAX + 1]; /* of the etcd that last used the data */
} Marker;

/* The record "eden.datastore/1". */
void marker_print(const Marker *marker, Buf *out);
MUST_CHECK bool marker_read(Arena *arena, Str text, Marker *out, Error *err);
void marker_id(uint64_t id, char out[ETCD_ID_TEXT + 1]);

/* Extracts the version number from the output of `etcd --version`. Fails with ERROR_INVALID if it
 * is missing or not supported. Versions 3.4 and later of etcd 3 are supported. */
MUST_CHECK bool etcd_version_parse(Str output, char out[ETCD_VERSION_MAX + 1], Error *err);

/* The situation on a server. */
typedef struct StartView {
    Str node;
    Str peer_url;         /* where its member listens for peers */
    Str version;          /* of the installed etcd */
    bool is_new_cluster;  /* its member should be the first of a new cluster */
    bool has_data;        /* the data directory is not empty */
    bool has_wal;         /* there is a write-ahead log: etcd has become a member */
    const Marker *marker; /* NULL if there is no marker */
    /* The cluster's member list, as reported by a member; NULL if no member responded. */
    const EtcdMembers *members;
    uint64_t cluster_id; /* reported with `members` */
} StartView;

typedef enum StartAction {
    START_WAIT,          /* reason in `why` */
    START_REFUSE,        /* reason in `why`; an operator must act */
    START_CREATE,        /* create a cluster */
    START_JOIN,          /* as `member`, which has been added to the cluster */
    START_EXISTING,      /* with the existing data */
    START_ARCHIVE,       /* mark the member as removed, archive its data, and decide again */
    START_REMOVE_MARKER, /* the data is lost: remove the marker and decide again */
} StartAction;

typedef struct StartStep {
    StartAction action;
    uint64_t member; /* of START_JOIN */
    char why[240];   /* of START_WAIT and START_REFUSE */
} StartStep;

void start_plan(const StartView *view, StartStep *out);
