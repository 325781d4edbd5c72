/* Changes to the objects of one kind, shared by all watches of that kind: each change is read and
 * rendered once, however many watches there are. Loop thread.
 *
 * A changed key marks its object as pending; several changes before it is read cause one read.
 * Objects are read one after another, so that the reported states of an object only get newer.
 *
 * Objects of a log do not change, so the feed remembers none of them and reports only new ones.
 *
 * A feed exists while it has members. */
#pragma once

#include "api/kind.h"
#include "api/watch_event.h"

typedef struct Feed Feed;
typedef struct FeedMember FeedMember;

enum {
    FEED_SOURCES_MAX = 8 /* per kind */
};

/* A change of one object; valid only during the call. */
typedef struct FeedChange {
    const Kind *kind;
    Str name;
    const KindItem *item; /* NULL: deleted */
    bool existed;         /* it was reported before, with `old_labels` */
    Value old_labels;
    bool had_hidden_labels; /* its old labels could not be read */
    bool is_pending;        /* changed again; another report will follow */
    int64_t revision;
    Str object, tombstone; /* JSON of the object; what watches receive if it was deleted */
    Buf frames[WATCH_NDJSON + 1][WATCH_TYPES];
} FeedChange;

struct FeedMember {
    /* Called once, possibly within feed_join(): from now on no change is missed. */
    void (*ready)(void *context);
    void (*changed)(void *context, FeedChange *change);
    void (*tick)(void *context);    /* every five seconds */
    void (*aborted)(void *context); /* the member must leave; nothing more will follow */
    void *context;
    Feed *feed; /* owned by the feed; NULL: not a member */
    FeedMember *next, *previous;
};

void feed_join(Api *api, const Kind *kind, FeedMember *member);
/* May be called at any time, even from callbacks and if it is not a member. */
void feed_leave(FeedMember *member);

/* Must be called when objects of the kind that are not in the store may have changed: notifies
 * watches. */
void feed_check_external(Api *api, const Kind *kind);

const ApiSettings *feed_settings(const Feed *feed);
/* All changes up to this revision have been reported. */
int64_t feed_revision(Feed *feed);
/* Whether the feed has reported this state of the object or a newer one. */
bool feed_has(const Feed *feed, Str name, int64_t revision);
/* The encoded event, shared by all watches. */
Str feed_change_frame(FeedChange *change, WatchFormat format, WatchType type);
/* {"metadata":{...}} of a deleted object. */
Str feed_tombstone(Arena *arena, const Kind *kind, Str name);
