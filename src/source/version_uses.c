/* Decides which versions are in use. A version that was just created or requested is in use for a
 * while, because its creator is about to refer to it. */
#include "source/version_uses.h"

#include <stdlib.h>

#include "base/memory.h"
#include "source/site_parts.h"

static void add(StrMap *uses, Str name)
{
    if (name.len > 0) {
        str_map_put(uses, arena_copy(uses->arena, name), NULL);
    }
}

void version_uses_find(const State *state, Str prefix, StrMap *uses)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    CurrentVersion current;
    if (versions_current(&arena, state, prefix, &current)) {
        add(uses, str_from_c(current.version));
        add(uses, str_from_c(current.previous));
    }
    add(uses, site_parts_find(&arena, state, prefix).version);
}

uint32_t version_uses_plan(const VersionEntry *entries, uint32_t count, const StrMap *uses,
                           const VersionRetention *retention, uint32_t *out)
{
    uint32_t counts[] = { [VERSION_VALID] = 0, [VERSION_REJECTED] = 0 }, found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const VersionEntry *entry = &entries[i];
        if (entry->error.len == 0 && counts[entry->version.state]++ >= retention->retained &&
            entry->version.created_ms < retention->before_ms && !str_map_has(uses, entry->name)) {
            out[found++] = i;
        }
    }
    return found;
}

const VersionEntry *version_uses_oldest(const VersionEntry *entries, uint32_t count,
                                        const StrMap *uses)
{
    const VersionEntry *oldest = NULL;
    for (uint32_t i = count; i > 0; i--) {
        const VersionEntry *entry = &entries[i - 1];
        if (entry->error.len > 0 || str_map_has(uses, entry->name)) {
            continue;
        }
        if (entry->version.state == VERSION_REJECTED) {
            return entry;
        }
        oldest = oldest == NULL ? entry : oldest;
    }
    return oldest;
}

/* --- In the memory of a server ---------------------------------------------------------------- */

VersionNotes *version_notes_new(void)
{
    VersionNotes *notes = memory_new(sizeof *notes);
    notes->references = 1;
    return notes;
}

VersionNotes *version_notes_ref(VersionNotes *notes)
{
    notes->references++;
    return notes;
}

void version_notes_unref(VersionNotes *notes)
{
    if (--notes->references == 0) {
        free(notes);
    }
}

void version_notes_created(VersionNotes *notes, const char *name, int64_t now_ms)
{
    uint32_t at = notes->next++ % VERSION_NOTES_MAX;
    memcpy(notes->created[at].name, name, sizeof notes->created[at].name);
    notes->created[at].time_ms = now_ms;
}

void version_notes_freed(VersionNotes *notes, const VersionsFreed *more)
{
    notes->freed.versions += more->versions;
    notes->freed.blobs += more->blobs;
    notes->freed.bytes += more->bytes;
}

void version_notes_add(const VersionNotes *notes, int64_t since_ms, StrMap *uses)
{
    for (size_t i = 0; i < VERSION_NOTES_MAX; i++) {
        if (notes->created[i].time_ms >= since_ms) {
            add(uses, str_from_c(notes->created[i].name));
        }
    }
}
