/* Changes to the objects of one kind, for all of their watches: a view of the state, and one
 * read and one rendering per change, however many watches there are. Loop thread.
 *
 * A changed key marks its object as due; several changes before it is read cause one read.
 * Objects are read one after another, so that the reported states of an object only get newer.
 *
 * For a log nothing is kept, because its objects do not change: only new ones are reported.
 *
 * It lives as long as there is a watch. */
#pragma once

#include "api/kind.h"
#include "api/watch_event.h"

typedef struct Feed Feed;
typedef struct FeedMember FeedMember;

enum {
    FEED_SOURCES_MAX = 8 /* per kind */
};

/* A change of one object; valid only during the call. */
typedef struct FeedNews {
    const Kind *kind;
    Str name;
    const KindItem *item; /* NULL: deleted */
    bool was_there;       /* it was reported before, with these labels: */
    Value before;
    bool hid_labels; /* its labels could not be read */
    bool is_due;     /* changed again; another report will follow */
    int64_t revision;
    Str object, remains; /* JSON of the object, and what is reported of a deleted one */
    Buf frames[WATCH_NDJSON + 1][WATCH_TYPES];
} FeedNews;

struct FeedMember {
    /* Called once, possibly within feed_join(): from now on no change is missed. */
    void (*ready)(void *context);
    void (*told)(void *context, FeedNews *news);
    void (*beat)(void *context); /* every five seconds */
    void (*lost)(void *context); /* the member must leave; nothing more will follow */
    void *context;
    Feed *feed; /* owned by the feed; NULL: not a member */
    FeedMember *next, *previous;
};

void feed_join(Api *api, const Kind *kind, FeedMember *member);
/* May be called at any time, even from callbacks and if it is not a member. */
void feed_leave(FeedMember *member);

/* Must be called when objects of the kind that are not in the store may have changed: notifies
 * watches. */
void feed_look_again(Api *api, const Kind *kind);

const ApiSettings *feed_settings(const Feed *feed);
/* All changes up to this revision have been reported. */
int64_t feed_revision(Feed *feed);
/* Whether the feed has reported this state of the object or a newer one. */
bool feed_has(const Feed *feed, Str name, int64_t revision);
/* The encoded event, shared by all watches. */
Str feed_news_frame(FeedNews *news, WatchFormat format, WatchType type);
/* {"metadata":{...}} of a deleted object. */
Str feed_remains(Arena *arena, const Kind *kind, Str name);
