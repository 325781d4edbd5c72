/* Which member of the cluster to connect to, and when. Pure: the client reports the results of
 * its connection attempts, and asks for the next member. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    BALANCER_MEMBERS_MAX = 16,
    BALANCER_FIRST_MS = 50,
    BALANCER_MAX_MS = 2000, /* between attempts to reach the same member */
};

typedef struct Balancer {
    uint32_t count;
    uint32_t next; /* to try if several are ready */
    uint32_t failures[BALANCER_MEMBERS_MAX];
    int64_t ready_ms[BALANCER_MEMBERS_MAX]; /* not to be tried earlier */
} Balancer;

typedef struct BalancerPick {
    uint32_t member;
    int64_t wait_ms; /* 0: connect now */
} BalancerPick;

/* `random` is a random number, here and below, so that clients start with different members and do
 * not return to one at the same moment. */
void balancer_init(Balancer *balancer, uint32_t count, uint64_t random);
/* The members take turns, so that one that accepts connections but then fails is not tried twice
 * in a row while another one is ready. */
BalancerPick balancer_pick(const Balancer *balancer, int64_t now_ms);
/* The member could not be connected to, did not respond, or failed later. */
void balancer_failed(Balancer *balancer, uint32_t member, int64_t now_ms, uint64_t random);
/* It responded to a request that needs a majority. */
void balancer_succeeded(Balancer *balancer, uint32_t member);
