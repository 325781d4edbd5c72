#include "cli/watch_position.h"

void watch_position_start(WatchPosition *position, int64_t revision)
{
    if (position->from == 0) {
        position->from = revision + 1;
    }
    position->skip = position->from == position->revision ? position->told : 0;
}

void watch_position_progress(WatchPosition *position, int64_t revision)
{
    *position = (WatchPosition){ .from = revision + 1, .revision = revision };
}

bool watch_position_take(WatchPosition *position, int64_t revision)
{
    if (position->skip > 0 && revision == position->revision) {
        position->skip--;
        return false;
    }
    position->told = revision == position->revision ? position->told + 1 : 1;
    position->revision = revision;
    position->from = revision;
    position->skip = 0;
    return true;
}
