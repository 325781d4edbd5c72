/* The few facts of each node that servers keep in memory, so that nodes can be selected by them
 * without reading the store: short strings and numbers, in less than FACTS_DIGEST_MAX bytes. Pure.
 *
 * A node reports its own facts: use them to find nodes, not for permissions. */
#pragma once

#include "base/buf.h"
#include "lang/value.h"

enum {
    FACTS_DIGEST_MAX = 768,
    FACTS_DIGEST_TEXT_MAX = 64 /* maximum size of one value as JSON; larger values are omitted */
};

/* Digests stored facts (JSON). The result for invalid JSON is unspecified and may be invalid JSON
 * too. */
void facts_digest(Str facts, Buf *out);
/* The same facts with an example value each, to check which names an expression uses. */
Value facts_digest_sample(Arena *arena);
/* "arch, cpus, ...", for messages and help. */
#define FACTS_DIGEST_NAMES                                                                 \
    "arch, cpus, fqdn, init_system, ipv4, ipv6, kernel, memory.total, memory.swap, name, " \
    "os, os_family, os_version, package_manager, timezone, virtualization"
