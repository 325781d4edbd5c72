/* Where a fault happened, found out only when there is one: a render without fault pays nothing.
 *
 * The instruction that failed says where a value was used. For an undefined value the place where
 * it comes from says more. That place is found in the code: operands are still on the stack, and
 * every instruction knows how many there were before it, which tells who pushed which of them. */
#include "lang/template/ops.h"
#include "lang/template/runtime.h"

enum {
    ORIGINS_MAX = 16,
    LOOPS_MAX = 8,
    ITEM_SHOWN = 40 /* bytes of the name of an item */
};

/* --- Who made an undefined value ---------------------------------------------------------- */

static bool is_same(Value v, const Undefined *what)
{
    return v.kind == VALUE_UNDEFINED && v.undefined == what;
}

/* Whether a slot holds the value, or is the unset variable that it stands for. */
static bool slot_is(const Frame *frame, uint32_t slot, const Undefined *what)
{
    return is_same(frame->slots[slot], what) ||
           (value_is_missing(frame->slots[slot]) && value_is_missing(what->owner) &&
            str_eq(frame->function->slot_names[slot], what->name));
}

/* Whether instruction `i` may have pushed the value; it does unless there are branches. */
static bool may_make(const Frame *frame, uint32_t i, const Undefined *what)
{
    const Instruction *code = &frame->function->code[i];
    const Name *names = frame->function->template->names;
    switch ((Opcode)code->op) {
    case INS_LOAD: return slot_is(frame, code->c, what);
    case INS_LOAD_OUTER:
        for (uint32_t level = code->b; level > 0; level--) {
            frame = frame->outer;
        }
        return slot_is(frame, code->c, what);
    case INS_LOAD_NAME:
        return value_is_missing(what->owner) && str_eq(names[code->c].text, what->name);
    case INS_GET_ATTR:
    case INS_LOAD_ATTR:
        return !value_is_missing(what->owner) && str_eq(names[code->c].text, what->name);
    case INS_GET_ITEM:
    case INS_GET_CALLEE: return !value_is_missing(what->owner);
    case INS_FILTER:
    case INS_FILTER_SITE:
    case INS_CALL:
    case INS_CALL_METHOD:
    case INS_UNDEFINED: return true;
    default: return false;
    }
}

/* The instruction before `i` that pushed operand `place`, or UINT32_MAX. */
static uint32_t find_maker(const Frame *frame, uint32_t i, uint32_t place, const Undefined *what)
{
    const Origin *origins = frame->function->origins;
    while (i > 0 && origins[i].stack > place) {
        i--;
        if (origins[i + 1].stack == place + 1 && may_make(frame, i, what)) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* The name that `attribute` is read from, as in `name.attribute`; offsets and spans of tokens. */
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

static Origin maker_origin(const Frame *frame, uint32_t maker)
{
    const Function *function = frame->function;
    bool element =
        (function->code[maker].op == INS_GET_ITEM || function->code[maker].op == INS_GET_CALLEE) &&
        maker > 0 && function->code[maker - 1].op == INS_CONST;
    return function->origins[maker - element]; /* `key` of owner['key'] */
}

/* Where the undefined value comes from that instruction `i` could not work with; where it was used
 * when that is not known. */
static Origin undefined_origin(const Frame *frame, uint32_t i, const Undefined *what)
{
    const Function *function = frame->function;
    const Instruction *code = &function->code[i];
    Origin used = function->origins[i];
    if ((code->op == INS_LOAD_ATTR || code->op == INS_EMIT_ATTR) && slot_is(frame, code->b, what)) {
        return name_before(function->template->text, used, function->slot_names[code->b]);
    }
    for (uint32_t place = used.stack; place > 0; place--) {
        if (is_same(frame->stack[place - 1], what)) {
            uint32_t maker = find_maker(frame, i, place - 1, what);
            return maker == UINT32_MAX ? used : maker_origin(frame, maker);
        }
    }
    return used;
}

/* --- Loops -------------------------------------------------------------------------------- */

/* What an item of a loop is called: itself, or the name that a map has for it. */
static Str item_name(Render *r, Value item)
{
    static const char *const keys[] = { "name", "id", "key", "host" };
    if (value_is_secret(item)) {
        return STR_EMPTY;
    }
    if (item.kind == VALUE_TUPLE && item.list->len > 0) {
        item = item.list->items[0]; /* as from items() */
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
        .line = source_place(&source, function->origins[begin].offset).line,
        .index = (uint64_t)loop->index,
        .item = item_name(r, item_of(loop)),
    };
    return found;
}

/* The loops that instruction `i` stands in, innermost first. A loop is an operand for as long as it
 * runs: it is around `i` when the stack was never lower since it began. */
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
        uint32_t place = function->origins[i].stack;
        if (function->code[i].op != INS_LOOP_BEGIN || place > lowest) {
            lowest = place < lowest ? place : lowest;
            continue;
        }
        Value v = frame->stack[place - 1]; /* another value where the stack is deeper than told */
        if (v.kind == VALUE_OBJECT && v.object->type == &loop_type &&
            ((const Loop *)v.object)->index >= 0) {
            *end = describe_loop(r, function, i, (const Loop *)v.object);
            end = &(*end)->next;
            count++;
        }
        lowest = place - 1;
    }
}

/* --- Faults ------------------------------------------------------------------------------- */

static void locate_first(Render *r, const Frame *frame, uint32_t i)
{
    const Template *template = frame->function->template;
    Source source = { .text = template->text, .first_line = 1 };
    Origin origin = frame->function->origins[i];
    Place place = source_place(&source, origin.offset);
    Fault *fault = &r->fault;
    if (fault->class == FAULT_UNDEFINED && r->undefined != NULL) {
        /* The line stays the one that Jinja2 tells. */
        Origin better = undefined_origin(frame, i, r->undefined);
        Place there = source_place(&source, better.offset);
        if (there.line == place.line) {
            origin = better;
            place = there;
        }
    }
    fault->template_name = template->name;
    fault->template_text = template->text;
    fault->offset = origin.offset;
    fault->span = origin.span;
    fault->line = place.line;
    fault->column = place.column;
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
        .line = source_place(&source, frame->function->origins[i].offset).line,
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
