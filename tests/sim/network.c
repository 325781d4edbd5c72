/* Connections as two ends with a queue of messages each. Delays are random, but each queue stays in
 * order. */
#include "network.h"

#include <stdlib.h>

#include "base/memory.h"

typedef struct Parcel Parcel;
struct Parcel {
    Parcel *next;
    int64_t due_ms;
    bool is_end; /* order in which the connection ends: after earlier messages */
    size_t len;
    char bytes[];
};

/* An end of a connection, and the messages in transit to it. */
typedef struct End {
    Link *link;
    /* NULL: the end has left, or was notified of the end of the connection */
    const LinkEvents *events;
    void *context;
    Parcel *first, *last;
    size_t bytes;
    bool paused, was_full;
    LoopTimer arrive;
    LoopTimer give_up;
    LoopTask writable;
} End;

struct Link {
    Loop *loop;
    End ends[LINK_ENDS];
    bool silenced;
    int64_t slowness_ms;
    uint32_t busy;
};

static int64_t delay(Link *link)
{
    uint64_t bits = loop_random(link->loop);
    int64_t ms = 1 + (int64_t)(bits % (uint64_t)link->slowness_ms);
    return bits >> 32 & 127 ? ms : ms + 2000;
}

static void drop_parcels(End *end)
{
    while (end->first != NULL) {
        Parcel *next = end->first->next;
        free(end->first);
        end->first = next;
    }
    end->last = NULL;
    end->bytes = 0;
}

static void free_if_left(Link *link)
{
    if (link->busy > 0 || link->ends[0].events != NULL || link->ends[1].events != NULL) {
        return;
    }
    for (unsigned i = 0; i < LINK_ENDS; i++) {
        End *end = &link->ends[i];
        drop_parcels(end);
        loop_timer_stop(&end->arrive);
        loop_timer_stop(&end->give_up);
        loop_task_stop(link->loop, &end->writable);
    }
    free(link);
}

static void notify_end(End *end, const char *why)
{
    const LinkEvents *events = end->events;
    if (events == NULL) {
        return;
    }
    end->events = NULL;
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "%s", why);
    events->closed(end->context, &err);
}

static void arm(End *end)
{
    if (end->first != NULL && !end->paused && !loop_timer_started(&end->arrive)) {
        loop_timer_start(&end->arrive, end->first->due_ms - loop_now_ms(end->link->loop));
    }
}

static void put(End *to, Str message, bool is_end)
{
    Link *link = to->link;
    Parcel *parcel = malloc(sizeof *parcel + message.len);
    if (parcel == NULL) {
        memory_exhausted(message.len);
    }
    int64_t due = loop_now_ms(link->loop) + delay(link);
    if (to->last != NULL && due < to->last->due_ms) {
        due = to->last->due_ms;
    }
    *parcel = (Parcel){ .due_ms = due, .is_end = is_end, .len = message.len };
    memcpy(parcel->bytes, message.data, message.len);
    if (to->last != NULL) {
        to->last->next = parcel;
    } else {
        to->first = parcel;
    }
    to->last = parcel;
    to->bytes += message.len;
    arm(to);
}

static void parcel_arrived(void *context)
{
    End *end = context;
    Link *link = end->link;
    End *other = &link->ends[end == &link->ends[0] ? 1 : 0];
    Parcel *parcel = end->first;
    end->first = parcel->next;
    if (end->first == NULL) {
        end->last = NULL;
    }
    end->bytes -= parcel->len;
    link->busy++;
    if (parcel->is_end) {
        notify_end(end, "the connection was closed");
    } else if (end->events != NULL) {
        end->events->message(end->context, str_from(parcel->bytes, parcel->len));
    }
    free(parcel);
    if (other->was_full && end->bytes <= LINK_QUEUE_MAX / 2) {
        other->was_full = false;
        loop_defer(link->loop, &other->writable);
    }
    arm(end);
    link->busy--;
    free_if_left(link);
}

static void give_up_now(void *context)
{
    End *end = context;
    Link *link = end->link;
    link->busy++;
    notify_end(end, "the peer has stopped responding");
    link->busy--;
    free_if_left(link);
}

static void notify_writable(void *context)
{
    End *end = context;
    Link *link = end->link;
    link->busy++;
    if (end->events != NULL) {
        end->events->writable(end->context);
    }
    link->busy--;
    free_if_left(link);
}

Link *link_new(Loop *loop)
{
    Link *link = memory_new(sizeof *link);
    link->loop = loop;
    link->slowness_ms = 1 << loop_random(loop) % 9;
    for (unsigned i = 0; i < LINK_ENDS; i++) {
        End *end = &link->ends[i];
        end->link = link;
        loop_timer_init(&end->arrive, loop, parcel_arrived, end);
        loop_timer_init(&end->give_up, loop, give_up_now, end);
        loop_task_init(&end->writable, notify_writable, end);
    }
    return link;
}

void link_attach(Link *link, unsigned end, const LinkEvents *events, void *context)
{
    link->ends[end].events = events;
    link->ends[end].context = context;
}

void link_leave(Link *link, unsigned end, bool silent)
{
    End *own = &link->ends[end], *other = &link->ends[1 - end];
    own->events = NULL;
    if (other->events != NULL) {
        if (silent || link->silenced) {
            loop_timer_start(&other->give_up, LINK_ALIVE_MS);
        } else {
            put(other, STR_EMPTY, true);
        }
    }
    free_if_left(link);
}

bool link_can_send(Link *link, unsigned end)
{
    /* The sender checks before sending, and is then notified. */
    End *own = &link->ends[end];
    own->was_full = link->ends[1 - end].bytes > LINK_QUEUE_MAX;
    if (!own->was_full && loop_random(link->loop) % 16 == 0) {
        loop_defer(link->loop, &own->writable);
        return false;
    }
    return !own->was_full;
}

void link_send(Link *link, unsigned end, Str message)
{
    if (!link->silenced && link->ends[1 - end].events != NULL) {
        put(&link->ends[1 - end], message, false);
    }
}

void link_pause(Link *link, unsigned end, bool paused)
{
    End *own = &link->ends[end];
    own->paused = paused;
    if (paused) {
        loop_timer_stop(&own->arrive);
    } else {
        arm(own);
    }
}

void link_cut(Link *link)
{
    for (unsigned i = 0; i < LINK_ENDS; i++) {
        End *end = &link->ends[i];
        if (end->events != NULL) {
            loop_timer_start(&end->give_up, (int64_t)(loop_random(link->loop) % 1000));
        }
    }
    link->silenced = true;
}

void link_silence(Link *link)
{
    link->silenced = true;
    for (unsigned i = 0; i < LINK_ENDS; i++) {
        End *end = &link->ends[i];
        drop_parcels(end);
        loop_timer_stop(&end->arrive);
        if (end->events != NULL) {
            loop_timer_start(&end->give_up, LINK_ALIVE_MS / 2 +
                                                (int64_t)(loop_random(link->loop) % LINK_ALIVE_MS));
        }
    }
}

void link_stall(Link *link, int64_t ms)
{
    for (unsigned i = 0; i < LINK_ENDS; i++) {
        End *end = &link->ends[i];
        if (end->first != NULL && loop_timer_started(&end->arrive)) {
            end->first->due_ms += ms;
            loop_timer_stop(&end->arrive);
            arm(end);
        }
    }
}
