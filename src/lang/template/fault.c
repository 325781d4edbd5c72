/* Completes the fault of a render: removes secrets from the message, determines the location and
 * the enclosing loops, and suggests similar names. Nothing here runs unless a render fails. */
#include "lang/template/fault.h"

#include "base/own.h"
#include "base/suggest.h"
#include "lang/scrub.h"
#include "lang/template/host_object.h"
#include "lang/template/ops.h"
#include "lang/template/render.h"
#include "lang/template/runtime.h"

static const struct {
    const char *name;
    const char *code;
} rows[] = {
#define X(constant, name, code) [constant] = { name, code },
    FAULT_CLASSES(X)
#undef X
};

const char *fault_class_name(FaultClass class)
{
    return (size_t) class < COUNT_OF(rows) ? rows[class].name : "";
}

const char *fault_class_code(FaultClass class)
{
    return (size_t) class < COUNT_OF(rows) ? rows[class].code : "";
}

/* --- Secrets ---------------------------------------------------------------------------------- */

/* Messages quote the offending values, and are shown and logged, so secrets must be removed. All
 * messages pass through here instead of relying on each filter to do it. */

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
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        ok = secret_set_add_value(&secrets, values[i], &err);
    }
    AUTO(Scrubber) *scrubber = NULL;
    if (!ok || !scrubber_new(&secrets, &scrubber, &err)) {
        r->fault.message = STR("message hidden because it may contain secrets");
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

/* --- Location of a fault ---------------------------------------------------------------------- */

/* The location of a fault is determined only when one occurs, so a successful render pays nothing
 * for it.
 *
 * The failed instruction determines where a value was used. For an undefined value, the location
 * where it was produced is more useful. It is derived from the code: operands are still on the
 * stack, and every instruction records the stack depth before it, which identifies the instruction
 * that pushed each operand. */

enum {
    ORIGINS_MAX = 16,
    LOOPS_MAX = 8,
    ITEM_SHOWN = 40 /* maximum bytes of an item's name in a message */
};

/* --- Origin of an undefined value --------------------------------------------------------- */

static bool is_same(Value v, const Undefined *undefined)
{
    return v.kind == VALUE_UNDEFINED && v.undefined == undefined;
}

/* Whether a slot holds the undefined value, or is the unset variable that it represents. */
static bool slot_is(const Frame *frame, uint32_t slot, const Undefined *undefined)
{
    return is_same(frame->slots[slot], undefined) ||
           (value_is_missing(frame->slots[slot]) && value_is_missing(undefined->owner) &&
            str_eq(frame->function->slot_names[slot], undefined->name));
}

/* Whether instruction `i` may have pushed the value; certain unless there are branches. */
static bool may_push(const Frame *frame, uint32_t i, const Undefined *undefined)
{
    const Instruction *code = &frame->function->code[i];
    const Name *names = frame->function->template->names;
    switch ((Opcode)code->op) {
    case INS_LOAD: return slot_is(frame, code->c, undefined);
    case INS_LOAD_OUTER:
        for (uint32_t level = code->b; level > 0; level--) {
            frame = frame->outer;
        }
        return slot_is(frame, code->c, undefined);
    case INS_LOAD_NAME:
        return value_is_missing(undefined->owner) && str_eq(names[code->c].text, undefined->name);
    case INS_GET_ATTR:
    case INS_LOAD_ATTR:
        return !value_is_missing(undefined->owner) && str_eq(names[code->c].text, undefined->name);
    case INS_GET_ITEM:
    case INS_GET_CALLEE: return !value_is_missing(undefined->owner);
    case INS_FILTER:
    case INS_FILTER_SITE:
    case INS_CALL:
    case INS_CALL_METHOD:
    case INS_UNDEFINED: return true;
    default: return false;
    }
}

/* The instruction before `i` that pushed the operand at `position`, or UINT32_MAX. */
static uint32_t find_producer(const Frame *frame, uint32_t i, uint32_t position,
                              const Undefined *undefined)
{
    const Origin *origins = frame->function->origins;
    while (i > 0 && origins[i].stack > position) {
        i--;
        if (origins[i + 1].stack == position + 1 && may_push(frame, i, undefined)) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* The origin of `name` in `name.attribute`, where `attribute` is the origin of the attribute.
 * Offsets and spans are those of tokens. */
static Origin name_before(Str text, Origin attribute, Str name)
{
    size_t end = attribute.offset < text.len ? attribute.offset : text.len;
    while (end > 0 && (ascii_is_space(text.data[end - 1]) || text.data[end - 1] == '.')) {
        end--;
    }
    if (name.len > 0 && str_ends(str_slice(text, 0, end), name)) {
        return (Origin){ .offset = (uint32_t)(end - name.len), .span = (uint16_t)name.len };
    }
    return attribute;
}

static Origin producer_origin(const Frame *frame, uint32_t producer)
{
    const Function *function = frame->function;
    bool element = (function->code[producer].op == INS_GET_ITEM ||
                    function->code[producer].op == INS_GET_CALLEE) &&
                   producer > 0 && function->code[producer - 1].op == INS_CONST;
    return function->origins[producer - element]; /* `key` of owner['key'] */
}

/* Where the undefined value that instruction `i` failed on was produced, or where it was used if
 * that is not known. */
static Origin undefined_origin(const Frame *frame, uint32_t i, const Undefined *undefined)
{
    const Function *function = frame->function;
    const Instruction *code = &function->code[i];
    Origin used = function->origins[i];
    if ((code->op == INS_LOAD_ATTR || code->op == INS_EMIT_ATTR) &&
        slot_is(frame, code->b, undefined)) {
        return name_before(function->template->text, used, function->slot_names[code->b]);
    }
    for (uint32_t position = used.stack; position > 0; position--) {
        if (is_same(frame->stack[position - 1], undefined)) {
            uint32_t producer = find_producer(frame, i, position - 1, undefined);
            return producer == UINT32_MAX ? used : producer_origin(frame, producer);
        }
    }
    return used;
}

/* --- Loops -------------------------------------------------------------------------------- */

/* The name of a loop item in messages: a string itself, or the name field of a map. */
static Str item_name(Render *r, Value item)
{
    static const char *const keys[] = { "name", "id", "key", "host" };
    if (value_is_secret(item)) {
        return STR_EMPTY;
    }
    if (item.kind == VALUE_TUPLE && item.list->len > 0) {
        item = item.list->items[0]; /* a pair from items() */
    } else if (item.kind == VALUE_MAP) {
        const Value *found = NULL;
        for (size_t i = 0; i < COUNT_OF(keys) && found == NULL; i++) {
            found = value_get(item, str_from_c(keys[i]));
        }
        item = found == NULL ? value_null() : *found;
    }
    if (value_is_secret(item) || item.kind != VALUE_STRING || item.len > ITEM_SHOWN) {
        return STR_EMPTY;
    }
    return arena_format(r->arena, "'%" STR_FMT "'", STR_ARG(value_str(item)));
}

static Value item_of(const Loop *loop)
{
    return loop->secret || loop->list == NULL || loop->index >= loop->list->len
               ? value_null()
               : loop->list->items[loop->index];
}

static FaultLoop *describe_loop(Render *r, const Function *function, uint32_t begin,
                                const Loop *loop)
{
    Source source = { .text = function->template->text, .first_line = 1 };
    FaultLoop *found = ARENA_NEW(r->arena, FaultLoop);
    *found = (FaultLoop){
        .template_name = function->template->name,
        .line = source_location(&source, function->origins[begin].offset).line,
        .index = (uint64_t)loop->index,
        .item = item_name(r, item_of(loop)),
    };
    return found;
}

/* Records the loops that enclose instruction `i`, innermost first. A running loop stays on the
 * operand stack, so it encloses `i` if the stack has not dropped below it since it began. */
static void locate_loops(Render *r, const Frame *frame, uint32_t i)
{
    const Function *function = frame->function;
    FaultLoop **end = &r->fault.loops;
    uint32_t count = 0;
    for (; *end != NULL; end = &(*end)->next) {
        count++;
    }
    uint32_t lowest = function->origins[i].stack;
    while (i-- > 0 && lowest > 0 && count < LOOPS_MAX) {
        uint32_t position = function->origins[i].stack;
        if (function->code[i].op != INS_LOOP_BEGIN || position > lowest) {
            lowest = position < lowest ? position : lowest;
            continue;
        }
        Value v =
            frame->stack[position - 1]; /* not the loop if the stack is deeper than recorded */
        if (v.kind == VALUE_OBJECT && v.object->type == &loop_type &&
            ((const Loop *)v.object)->index >= 0) {
            *end = describe_loop(r, function, i, (const Loop *)v.object);
            end = &(*end)->next;
            count++;
        }
        lowest = position - 1;
    }
}

/* --- Faults ------------------------------------------------------------------------------- */

static void locate_first(Render *r, const Frame *frame, uint32_t i)
{
    const Template *template = frame->function->template;
    Source source = { .text = template->text, .first_line = 1 };
    Origin origin = frame->function->origins[i];
    LineColumn position = source_location(&source, origin.offset);
    Fault *fault = &r->fault;
    if (fault->class == FAULT_UNDEFINED && r->undefined != NULL) {
        /* Report the same line as Jinja2. */
        Origin better = undefined_origin(frame, i, r->undefined);
        LineColumn better_location = source_location(&source, better.offset);
        if (better_location.line == position.line) {
            origin = better;
            position = better_location;
        }
    }
    fault->template_name = template->name;
    fault->template_text = template->text;
    fault->offset = origin.offset;
    fault->span = origin.span;
    fault->line = position.line;
    fault->column = position.column;
    fault_suggest_name(r, frame);
}

static void add_origin(Render *r, const Frame *frame, uint32_t i)
{
    const Template *template = frame->function->template;
    Source source = { .text = template->text, .first_line = 1 };
    FaultOrigin **end = &r->fault.origin;
    for (int length = 0; *end != NULL; end = &(*end)->next) {
        if (++length >= ORIGINS_MAX) {
            return;
        }
    }
    *end = ARENA_NEW(r->arena, FaultOrigin);
    **end = (FaultOrigin){
        .template_name = template->name,
        .line = source_location(&source, frame->function->origins[i].offset).line,
    };
}

void fault_locate(Render *r, const Frame *frame, uint32_t instruction)
{
    if (r->fault.line == 0) {
        locate_first(r, frame, instruction);
    } else {
        add_origin(r, frame, instruction);
    }
    locate_loops(r, frame, instruction);
}

/* --- Suggestions ------------------------------------------------------------------------------ */

/* "Did you mean" for variables: candidates are the names defined where the missing one was used. */

static void offer_map(Suggest *suggest, const Map *map)
{
    for (uint32_t i = 0; map != NULL && i < map->len && i < SUGGEST_OFFERS_MAX; i++) {
        if (value_is_string(map->entries[i].key) && !value_is_secret(map->entries[i].key)) {
            suggest_offer(suggest, value_str(map->entries[i].key));
        }
    }
}

/* Slots hold the variables of the template. A name whose lookup failed has a slot as well. */
static void offer_slots(Suggest *suggest, const Frame *frame)
{
    for (uint32_t i = 0; i < frame->function->slot_count; i++) {
        if (!value_is_missing(frame->slots[i])) {
            suggest_offer(suggest, frame->function->slot_names[i]);
        }
    }
}

/* Whether the name exists one level down, as in `vars.company` for `company`. */
static bool has_key(Render *r, Value owner, Str name)
{
    bool mapping =
        owner.kind == VALUE_MAP || (owner.kind == VALUE_OBJECT && owner.object->type->mapping);
    bool has = false;
    return mapping && !value_is_secret(owner) && op_contains(r, value_string(name), owner, &has) &&
           has;
}

static bool find_in_map(Render *r, const Map *map, Str name, Str *owner)
{
    for (uint32_t i = 0; map != NULL && i < map->len && i < SUGGEST_OFFERS_MAX; i++) {
        const MapEntry *entry = &map->entries[i];
        if (value_is_string(entry->key) && !value_is_secret(entry->key) &&
            has_key(r, entry->value, name)) {
            *owner = value_str(entry->key);
            return true;
        }
    }
    return false;
}

static bool find_owner(Render *r, const Frame *frame, Str name, Str *owner)
{
    for (const Frame *scope = frame; scope != NULL; scope = scope->outer) {
        /* backwards: inner loops have the later slots */
        for (uint32_t i = scope->function->slot_count; i-- > 0;) {
            if (has_key(r, scope->slots[i], name)) {
                *owner = scope->function->slot_names[i];
                return true;
            }
        }
    }
    for (const Context *context = frame->context; context != NULL; context = context->parent) {
        if (find_in_map(r, context->vars, name, owner) ||
            find_in_map(r, context->base, name, owner)) {
            return true;
        }
    }
    return false;
}

/* An imported template does not see the variables of the importer unless it is imported with
 * context. */
static bool is_imported_without_context(const Render *r, const Frame *frame, Str name)
{
    for (const Context *context = frame->context; context != NULL; context = context->parent) {
        if (context->base != NULL) {
            return false;
        }
    }
    return r->variables != NULL && map_find_str(r->variables, name) != NULL;
}

void fault_suggest_name(Render *r, const Frame *frame)
{
    const Undefined *undefined = r->undefined;
    if (r->fault.class != FAULT_UNDEFINED || r->fault.hint.len > 0 || undefined == NULL ||
        undefined->hint.len > 0 || !value_is_missing(undefined->owner)) {
        return;
    }
    Str owner;
    if (find_owner(r, frame, undefined->name, &owner)) {
        render_did_you_mean(r, arena_format(r->arena, "%" STR_FMT ".%" STR_FMT, STR_ARG(owner),
                                            STR_ARG(undefined->name)));
        return;
    }
    if (is_imported_without_context(r, frame, undefined->name)) {
        render_hint(
            r,
            "templates are imported without variables by default; write 'import ... with context'");
        return;
    }
    Suggest suggest = suggest_make(undefined->name);
    for (const Frame *scope = frame; scope != NULL; scope = scope->outer) {
        offer_slots(&suggest, scope);
    }
    for (const Context *context = frame->context; context != NULL; context = context->parent) {
        offer_map(&suggest, context->vars);
        offer_map(&suggest, context->base);
    }
    if (r->settings->globals.kind == VALUE_MAP) {
        offer_map(&suggest, r->settings->globals.map);
    }
    for (const Native *const *table = global_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            suggest_offer(&suggest, str_from_c(row->name));
        }
    }
    Str nearest;
    if (suggest_found(&suggest, &nearest)) {
        render_did_you_mean(r, nearest);
    }
}

/* --- Faults of nested renders ----------------------------------------------------------------- */

bool render_raise_nested(Render *r, const Fault *fault, Value document)
{
    if (render_failed(r)) {
        return false;
    }
    Fault *copy = &r->fault;
    *copy = *fault;
    copy->message = arena_copy(r->arena, fault->message);
    copy->hint = arena_copy(r->arena, fault->hint);
    copy->fix = arena_copy(r->arena, fault->fix);
    copy->next = NULL;
    copy->origin = NULL;
    FaultOrigin **end = &copy->origin;
    for (const FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        *end = ARENA_NEW(r->arena, FaultOrigin);
        **end = *origin;
        (*end)->next = NULL;
        if (origin->document.kind == VALUE_NULL) {
            (*end)->document = document;
        }
        end = &(*end)->next;
    }
    copy->loops = NULL;
    FaultLoop **last = &copy->loops;
    for (const FaultLoop *loop = fault->loops; loop != NULL; loop = loop->next) {
        *last = ARENA_NEW(r->arena, FaultLoop);
        **last = *loop;
        (*last)->item = arena_copy(r->arena, loop->item);
        (*last)->next = NULL;
        last = &(*last)->next;
    }
    if (copy->document.kind == VALUE_NULL) {
        copy->document = document;
    }
    return false;
}
