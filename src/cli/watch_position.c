/* Counts the changes of a revision, so that a stream that resumes in the middle of one neither
 * repeats nor loses any. */
#include "cli/watch_position.h"

void watch_position_start(WatchPosition *position, int64_t revision)
{
    if (position->next_revision == 0) {
        position->next_revision = revision + 1;
    }
    position->skip = position->next_revision == position->revision ? position->printed : 0;
}

void watch_position_progress(WatchPosition *position, int64_t revision)
{
    *position = (WatchPosition){ .next_revision = revision + 1, .revision = revision };
}

bool watch_position_add(WatchPosition *position, int64_t revision)
{
    if (position->skip > 0 && revision == position->revision) {
        position->skip--;
        return false;
    }
    position->printed = revision == position->revision ? position->printed + 1 : 1;
    position->revision = revision;
    position->next_revision = revision;
    position->skip = 0;
    return true;
}
