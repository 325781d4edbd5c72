/* Names that a server knows, for shells that complete them: at once, from a cache, and never waiting
 * for anybody. What is in the cache is shown however old it is; when it is older than a moment, this
 * program is started once more to ask, and who presses the key again sees what it got. */
#pragma once

#include "cli/invocation.h"
#include "lang/value.h"

enum {
    LIVE_NAMES_FRESH_MS = 30 * 1000,
    LIVE_NAMES_WAIT_MS = 70,  /* for who asks, while the cache has nothing */
    LIVE_NAMES_ASK_MS = 5000, /* for the server, by who asks */
};

/* From the cache, for the server that the invocation chooses. Where nothing can be had there is
 * nothing. One name a line. */
Str live_names_show(const Invocation *invocation, WordKind word);
/* Asks the server, and writes the cache; without a word. */
void live_names_refresh(const Invocation *invocation, WordKind word);

/* --- The cache ------------------------------------------------------------------------------- */

/* The text of a file of it: a moment and names. */
void live_names_print(int64_t now_ms, Str names, Buf *out);
/* False: that is none. */
MUST_CHECK bool live_names_read(Str text, int64_t *made_ms, Str *names);
/* Whether a name is one that a shell may have: what comes from a server must not become a command. */
bool live_names_is_plain(Str name);
/* The names of an answer, those that are plain: objects of a kind, nodes and who waits, tokens. */
void live_names_take(Value answer, Buf *out);
