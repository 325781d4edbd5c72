/* Messages quote what they complain about, and are shown and logged: secrets must not be in them.
 * One place for all of them, because every new filter has messages of its own. */
#include "lang/scrub.h"
#include "lang/template/render.h"

static Str scrubbed(Render *r, const Scrubber *scrubber, Str text)
{
    Buf clean = buf_make_in(r->arena, BUF_UNLIMITED);
    scrubber_apply(scrubber, text, &clean);
    return buf_str(&clean);
}

void fault_hide_secrets(Render *r, const Value *values, uint32_t count)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    SecretSet secrets;
    secret_set_init(&secrets, &scratch);
    Error err;
    bool known = true;
    for (uint32_t i = 0; i < count && known; i++) {
        known = secret_set_add_value(&secrets, values[i], &err);
    }
    AUTO(Scrubber) *scrubber = NULL;
    if (!known || !scrubber_new(&secrets, &scrubber, &err)) {
        r->fault.message = STR("the message is not shown, because it may hold secrets");
        r->fault.hint = STR_EMPTY;
        r->fault.fix = STR_EMPTY;
        r->fault.loops = NULL;
        return;
    }
    r->fault.message = scrubbed(r, scrubber, r->fault.message);
    r->fault.hint = scrubbed(r, scrubber, r->fault.hint);
    r->fault.fix = scrubbed(r, scrubber, r->fault.fix);
    for (FaultLoop *loop = r->fault.loops; loop != NULL; loop = loop->next) {
        loop->item = scrubbed(r, scrubber, loop->item);
    }
}
