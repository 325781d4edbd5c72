#include "etcd/balancer.h"

#include "base/bug.h"

void balancer_init(Balancer *balancer, uint32_t count, uint64_t random)
{
    BUG_IF(count == 0 || count > BALANCER_MEMBERS_MAX);
    *balancer = (Balancer){ .count = count, .next = (uint32_t)(random % count) };
}

void balancer_replace(Balancer *balancer, const uint32_t *former, uint32_t count)
{
    const Balancer before = *balancer;
    balancer_init(balancer, count, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (former[i] != BALANCER_NEW) {
            BUG_IF(former[i] >= before.count);
            balancer->failures[i] = before.failures[former[i]];
            balancer->ready_ms[i] = before.ready_ms[former[i]];
        }
    }
}

BalancerPick balancer_pick(const Balancer *balancer, int64_t now_ms)
{
    uint32_t best = balancer->next;
    for (uint32_t i = 0; i < balancer->count; i++) {
        uint32_t member = (balancer->next + i) % balancer->count;
        if (balancer->ready_ms[member] <= now_ms) {
            return (BalancerPick){ .member = member };
        }
        if (balancer->ready_ms[member] < balancer->ready_ms[best]) {
            best = member;
        }
    }
    return (BalancerPick){ best, balancer->ready_ms[best] - now_ms };
}

/* A random delay between half of a limit and the limit, which doubles with each failure. */
static int64_t delay_ms(uint32_t failures, uint64_t random)
{
    int64_t max = BALANCER_FIRST_MS;
    for (uint32_t i = 1; i < failures && max < BALANCER_MAX_MS; i++) {
        max *= 2;
    }
    max = max > BALANCER_MAX_MS ? BALANCER_MAX_MS : max;
    return max - (int64_t)(random % (uint64_t)(max / 2 + 1));
}

void balancer_failed(Balancer *balancer, uint32_t member, int64_t now_ms, uint64_t random)
{
    uint32_t *failures = &balancer->failures[member];
    *failures += *failures < UINT32_MAX ? 1 : 0;
    balancer->ready_ms[member] = now_ms + delay_ms(*failures, random);
    balancer->next = (member + 1) % balancer->count;
}

void balancer_succeeded(Balancer *balancer, uint32_t member)
{
    balancer->failures[member] = 0;
    balancer->ready_ms[member] = 0;
}
