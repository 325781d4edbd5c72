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
    FEED_SOURCES_MAX = 8 /* prefixes of one kind */
};

/* News of one object; only for the call. */
typedef struct FeedNews {
    const Kind *kind;
    Str name;
    const KindItem *item; /* NULL: it is gone */
    bool was_there;       /* so it was told before, with these labels: */
    Value before;
    bool hid_labels; /* they could not be read */
    bool is_due;     /* it was touched again: there will be more */
    int64_t revision;
    Str object, remains; /* JSON: as it is, and what is told of one that is gone */
    Buf frames[WATCH_NDJSON + 1][WATCH_TYPES];
} FeedNews;

struct FeedMember {
    /* Once, within feed_join or later: from now on nothing is missed. */
    void (*ready)(void *context);
    void (*told)(void *context, FeedNews *news);
    void (*beat)(void *context); /* every five seconds */
    void (*lost)(void *context); /* it must leave: there will be no more */
    void *context;
    Feed *feed; /* the feed's own from here on; NULL: it is in none */
    FeedMember *next, *previous;
};

void feed_join(Api *api, const Kind *kind, FeedMember *member);
/* At any time, also from within; fine when it is in none. */
void feed_leave(FeedMember *member);

/* The objects of the kind that are in no key may be others now: whoever watches is told. */
void feed_look_again(Api *api, const Kind *kind);

const ApiSettings *feed_settings(const Feed *feed);
/* Whatever was touched up to here has been told. */
int64_t feed_revision(Feed *feed);
/* Whether the feed has told this state of the object, or a newer one is none. */
bool feed_has(const Feed *feed, Str name, int64_t revision);
/* The event, made once for all. */
Str feed_news_frame(FeedNews *news, WatchFormat format, WatchType type);
/* {"metadata":{...}} of an object that is gone. */
Str feed_remains(Arena *arena, const Kind *kind, Str name);
