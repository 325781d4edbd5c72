#include "model/debts.h"

#include "base/utc.h"

static const struct {
    RequisiteKind kind;
    const char *name;
} kinds[] = {
    { REQUISITE_WATCH, "watch" },
    { REQUISITE_ONCHANGES, "onchanges" },
    { REQUISITE_LISTEN, "listen" },
};

const char *debt_kind_name(RequisiteKind kind)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].kind == kind) {
            return kinds[i].name;
        }
    }
    return NULL;
}

bool debt_kind_from_name(Str name, RequisiteKind *out)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (str_eq_c(name, kinds[i].name)) {
            *out = kinds[i].kind;
            return true;
        }
    }
    return false;
}

void debt_book_init(DebtBook *book, Arena *arena)
{
    *book = (DebtBook){ .arena = arena };
    str_map_init(&book->by_step, arena);
    str_map_init(&book->by_cause, arena);
}

static Debt *find(const DebtBook *book, Str step, Str cause, RequisiteKind kind)
{
    for (Debt *debt = str_map_find(&book->by_step, step); debt != NULL; debt = debt->next_owed) {
        if (!debt->ended && debt->kind == kind && str_eq(debt->cause, cause)) {
            return debt;
        }
    }
    return NULL;
}

static void link_debt(DebtBook *book, Debt *debt)
{
    debt->next_owed = str_map_find(&book->by_step, debt->step);
    str_map_put(&book->by_step, debt->step, debt);
    debt->next_cause = str_map_find(&book->by_cause, debt->cause);
    str_map_put(&book->by_cause, debt->cause, debt);
    VEC_PUSH(book->arena, &book->all, debt);
}

static Debt *add(DebtBook *book, const Debt *input)
{
    Debt *debt = ARENA_NEW(book->arena, Debt);
    *debt = (Debt){
        .step = arena_copy(book->arena, input->step),
        .cause = arena_copy(book->arena, input->cause),
        .kind = input->kind,
        .unit = arena_copy(book->arena, input->unit),
        .site = input->site,
        .site_path = input->site_path,
        .run = input->run,
        .boot = input->boot,
        .at_ms = input->at_ms,
        .state = input->state,
    };
    link_debt(book, debt);
    return debt;
}

void debt_book_begin(DebtBook *book, Str run, Str boot, int64_t at_ms, const Debt *edges,
                     uint32_t count)
{
    book->run = arena_copy(book->arena, run);
    book->boot = arena_copy(book->arena, boot);
    book->run_open = true;
    /* A step may have thousands of edges: a linear search for each would be quadratic. */
    bool fresh = debt_book_count(book) == 0;
    Str site_path = count > 0 ? arena_copy(book->arena, edges[0].site_path) : STR_EMPTY;
    Str site = count > 0 ? arena_copy(book->arena, edges[0].site) : STR_EMPTY;
    for (uint32_t i = 0; i < count; i++) {
        Debt *known = fresh ? NULL : find(book, edges[i].step, edges[i].cause, edges[i].kind);
        if (known == NULL) {
            Debt noted = edges[i];
            noted.run = book->run;
            noted.boot = book->boot;
            noted.site_path = site_path;
            noted.site = site;
            noted.at_ms = at_ms;
            noted.state = DEBT_NOTED;
            known = add(book, &noted);
        }
        known->is_current = true;
    }
}

void debt_book_start_action(DebtBook *book, Str cause, int64_t at_ms)
{
    for (Debt *debt = str_map_find(&book->by_cause, cause); debt != NULL; debt = debt->next_cause) {
        if (!debt->ended && debt->is_current && debt->state != DEBT_OWED) {
            debt->state = DEBT_POSSIBLE;
            debt->at_ms = at_ms;
        }
    }
}

/* An edge in the current run stays, because its cause may change something again. */
static void settle(Debt *debt)
{
    debt->state = DEBT_SETTLED;
    debt->ended = !debt->is_current;
}

void debt_book_finish_action(DebtBook *book, Str cause, bool changed)
{
    for (Debt *debt = str_map_find(&book->by_cause, cause); debt != NULL; debt = debt->next_cause) {
        if (debt->ended || debt->state == DEBT_OWED) {
            continue; /* an earlier change stays owed although this one changed nothing */
        }
        if (changed) {
            debt->state = DEBT_OWED;
        } else {
            settle(debt);
        }
    }
}

void debt_book_pay(DebtBook *book, Str step)
{
    for (Debt *debt = str_map_find(&book->by_step, step); debt != NULL; debt = debt->next_owed) {
        /* The change in progress happens after the reaction. */
        if (!debt->ended && debt->state != DEBT_POSSIBLE) {
            debt->paid = true; /* even if it is not recorded as owed: records may be lost */
            settle(debt);
        }
    }
}

static bool remains_owed(const Debt *debt, bool power_failed)
{
    return debt->state == DEBT_OWED || debt->state == DEBT_POSSIBLE ||
           (power_failed && (debt->state == DEBT_NOTED || debt->paid));
}

static void finish_run(DebtBook *book, bool power_failed)
{
    for (uint32_t i = 0; i < book->all.len; i++) {
        Debt *debt = book->all.items[i];
        if (!debt->ended && remains_owed(debt, power_failed)) {
            debt->state = DEBT_OWED;
        } else {
            debt->ended = true;
        }
        debt->is_current = debt->paid = false;
    }
    book->run_open = false;
}

void debt_book_end(DebtBook *book)
{
    finish_run(book, false);
}

void debt_book_recover(DebtBook *book, Str boot)
{
    if (book->run_open) {
        finish_run(book, !str_eq(book->boot, boot));
    }
}

void debt_book_owe(DebtBook *book, const Debt *debt)
{
    if (find(book, debt->step, debt->cause, debt->kind) == NULL) {
        Debt owed = *debt;
        owed.state = DEBT_OWED;
        owed.run = arena_copy(book->arena, debt->run);
        owed.boot = arena_copy(book->arena, debt->boot);
        owed.site_path = arena_copy(book->arena, debt->site_path);
        owed.site = arena_copy(book->arena, debt->site);
        add(book, &owed);
    }
}

uint16_t debt_book_kinds(const DebtBook *book, Str step)
{
    uint16_t owed = 0;
    for (const Debt *debt = str_map_find(&book->by_step, step); debt != NULL;
         debt = debt->next_owed) {
        if (!debt->ended && debt->state == DEBT_OWED) {
            owed |= (uint16_t)(1u << debt->kind);
        }
    }
    return owed;
}

const Debt *debt_book_next(const DebtBook *book, uint32_t *pos, bool possible)
{
    while (*pos < book->all.len) {
        const Debt *debt = book->all.items[(*pos)++];
        if (!debt->ended &&
            (debt->state == DEBT_OWED || (possible && debt->state == DEBT_POSSIBLE))) {
            return debt;
        }
    }
    return NULL;
}

uint32_t debt_book_count(const DebtBook *book)
{
    uint32_t count = 0;
    for (uint32_t pos = 0; debt_book_next(book, &pos, false) != NULL;) {
        count++;
    }
    return count;
}

/* A step may claim several resources; the first unit is the one that its reaction restarts. */
static Str unit_of(const Step *step)
{
    for (uint32_t i = 0; step->claims != NULL && i < step->claims->len; i++) {
        Str claim = value_str(step->claims->items[i]);
        if (str_starts(claim, STR("unit:"))) {
            return str_from_offset(claim, STR("unit:").len);
        }
    }
    return STR_EMPTY;
}

/* Without a reaction, only onchanges can owe something: running the step. */
static bool can_owe(const Step *step, RequisiteKind kind)
{
    return debt_kind_name(kind) != NULL &&
           (kind == REQUISITE_ONCHANGES || step->spec->action->react != NULL);
}

void debts_of_graph(Arena *arena, const Graph *graph, Str site, Str site_path, Debt **out,
                    uint32_t *count)
{
    VEC(Debt) found = { 0 };
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const Edge *edge = &graph->edges[i];
        const Step *step = &graph->steps.items[edge->from];
        if (can_owe(step, edge->kind)) {
            Debt debt = {
                .step = step->id,
                .cause = graph->steps.items[edge->to].id,
                .kind = edge->kind,
                .unit = unit_of(step),
                .site = site,
                .site_path = site_path,
            };
            VEC_PUSH(arena, &found, debt);
        }
    }
    *out = found.items;
    *count = found.len;
}

bool debt_belongs_to(const Debt *debt, Str site, Str site_path)
{
    return debt->site.len > 0 && site.len > 0 ? str_eq(debt->site, site)
                                              : str_eq(debt->site_path, site_path);
}

DebtVerdict debt_verdict(const Debt *debt, const DebtView *view)
{
    if (!view->in_site) {
        return DEBT_LEFT_SITE;
    }
    if (debt->unit.len > 0) {
        /* After a reboot, everything that runs has been restarted. */
        bool rebooted = debt->boot.len > 0 && view->boot.len > 0 && !str_eq(debt->boot, view->boot);
        if (rebooted || view->unit_started_ms > debt->at_ms) {
            return DEBT_RESTARTED;
        }
    }
    return DEBT_REMAINS;
}

Str debt_notice(Arena *arena, const Debt *debt, DebtVerdict verdict)
{
    switch (verdict) {
    case DEBT_LEFT_SITE:
        return arena_format(arena, "'%" STR_FMT "' is no longer in the site", STR_ARG(debt->step));
    case DEBT_RESTARTED:
        return arena_format(arena, "'%" STR_FMT "' has been restarted since", STR_ARG(debt->unit));
    case DEBT_REMAINS: break;
    }
    return arena_format(arena, "'%" STR_FMT "' owes its reaction to '%" STR_FMT "'",
                        STR_ARG(debt->step), STR_ARG(debt->cause));
}

Value debt_value(Arena *arena, const Debt *debt)
{
    static const char *const states[] = {
        [DEBT_NOTED] = "noted",
        [DEBT_POSSIBLE] = "possible",
        [DEBT_OWED] = "owed",
        [DEBT_SETTLED] = "settled",
    };
    Map *map = map_new(arena, 8);
    map_set_str(arena, map, STR("step"), value_string(debt->step));
    map_set_str(arena, map, STR("kind"), value_string(str_from_c(debt_kind_name(debt->kind))));
    map_set_str(arena, map, STR("cause"), value_string(debt->cause));
    map_set_str(arena, map, STR("unit"),
                debt->unit.len > 0 ? value_string(debt->unit) : value_null());
    map_set_str(arena, map, STR("site"),
                debt->site_path.len > 0 ? value_string(debt->site_path) : value_null());
    map_set_str(arena, map, STR("run"), value_string(debt->run));
    map_set_str(arena, map, STR("since"), value_string(utc_text(arena, debt->at_ms)));
    map_set_str(arena, map, STR("state"), value_string(str_from_c(states[debt->state])));
    return value_map(map);
}
