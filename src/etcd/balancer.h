/* Selects the member of the cluster to connect to, and when. Pure: the client reports the results
 * of its connection attempts and requests the next member. */
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
    uint32_t next; /* next member to try if several are ready */
    uint32_t failures[BALANCER_MEMBERS_MAX];
    int64_t ready_ms[BALANCER_MEMBERS_MAX]; /* earliest time of the next attempt */
} Balancer;

typedef struct BalancerPick {
    uint32_t member;
    int64_t wait_ms; /* 0: connect now */
} BalancerPick;

/* `random` is a random number, here and below. It makes clients start with different members, and
 * prevents them from reconnecting to one at the same time. */
void balancer_init(Balancer *balancer, uint32_t count, uint64_t random);
/* Replaces the members: `former[i]` is the previous index of the i-th one, or BALANCER_NEW. The first
 * one is tried first. */
#define BALANCER_NEW UINT32_MAX
void balancer_replace(Balancer *balancer, const uint32_t *former, uint32_t count);
/* Selects members in turn, so that a member that accepts connections but then fails is not tried
 * twice in a row while another one is ready. */
BalancerPick balancer_pick(const Balancer *balancer, int64_t now_ms);
/* The connection attempt failed, or the member did not respond or failed later. */
void balancer_failed(Balancer *balancer, uint32_t member, int64_t now_ms, uint64_t random);
/* The member responded to a request that requires a majority. */
void balancer_succeeded(Balancer *balancer, uint32_t member);
