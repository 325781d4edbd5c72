#include "run/waiting.h"

enum {
    NOTES_MAX = 16, /* of steps between two looks; further ones are not shown */
    WHY_MAX = 240   /* bytes */
};

typedef struct Note {
    uint32_t step;
    uint32_t len;
    char why[WHY_MAX];
} Note;

typedef struct Notes {
    Note items[NOTES_MAX];
    uint32_t count;
} Notes;

static const SharedKind notes_kind = { sizeof(Notes), NULL };

void waiting_note(Shared *shared, uint32_t step, Str why)
{
    Notes *notes = shared_lock(shared, &notes_kind);
    uint32_t at = 0;
    while (at < notes->count && notes->items[at].step != step) {
        at++;
    }
    if (at < NOTES_MAX) {
        Note *note = &notes->items[at];
        why = str_slice(why, 0, WHY_MAX);
        note->step = step;
        note->len = (uint32_t)why.len;
        memcpy(note->why, why.data, why.len);
        notes->count += at == notes->count;
    }
    shared_unlock(shared, &notes_kind);
}

void waiting_tick(const ExecutorSettings *settings, Arena *arena)
{
    Shared *shared = host_shared(settings->host);
    Notes *notes = shared_lock(shared, &notes_kind);
    Notes taken = *notes;
    notes->count = 0;
    shared_unlock(shared, &notes_kind);
    const RunView *view = &settings->view;
    for (uint32_t i = 0; view->waits != NULL && i < taken.count; i++) {
        Str why = arena_copy(arena, str_from(taken.items[i].why, taken.items[i].len));
        if (settings->world.scrub != NULL) {
            why = settings->world.scrub(settings->world.context, why, arena);
        }
        view->waits(view->context, taken.items[i].step, why, 0);
    }
    if (view->tick != NULL) {
        view->tick(view->context);
    }
}
