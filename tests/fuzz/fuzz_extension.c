/* Input: the output of an extension module: a description, a response to each request, and the text
 * of a key and of a signature. Invariant: accepted rows are as valid as built-in ones. */
#include "base/bug.h"
#include "modules/extension_response.h"
#include "modules/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(Arena *arena, const ExtensionRows *rows)
{
    BUG_IF(rows->count == 0 || rows->count > EXTENSION_ACTIONS_MAX || rows->module.help == NULL);
    for (uint32_t i = 0; i < rows->count; i++) {
        const Action *action = &rows->module.actions[i];
        BUG_IF(!extension_name_is(str_from_c(action->name)) || action->help == NULL);
        BUG_IF(action_param_count(action) > ACTION_PARAMS_MAX);
        for (const ParamSpec *spec = action->params; spec->name != NULL; spec++) {
            Error err;
            Value value;
            BUG_IF(!extension_name_is(str_from_c(spec->name)) || spec->help == NULL);
            BUG_IF(param_kind_name(spec->kind) == NULL);
            BUG_IF(spec->fallback != NULL &&
                   !param_convert(arena, NULL, spec, value_string(str_from_c(spec->fallback)),
                                  &value, &err));
        }
    }
    BUG_IF(rows->module.actions[rows->count].name != NULL);
}

static void read_signature(Arena *arena, Str text)
{
    static const TrustedKeys none;
    Ed25519Private private;
    PublicKey public;
    const PublicKey *key;
    Str signer;
    Error err;
    if (public_key_parse(arena, text, &public, &err)) {
        Str again = public_key_format(arena, &public.bytes, public.name);
        BUG_IF(!public_key_parse(arena, again, &public, &err));
    }
    (void)!private_key_parse(text, &private, &err);
    BUG_IF(signature_verify(&none, STR("x"), text, text, &signer, &key, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size), progress;
    Value description;
    ExtensionRows rows;
    Error err;
    if (extension_object_read(&arena, text, &description, &err) &&
        extension_rows_read(&arena, "probe", description, &rows, &err)) {
        check_rows(&arena, &rows);
    }
    for (int op = 0; op < EXTENSION_OPS; op++) {
        ExtensionResponse answer;
        bool read = extension_response_read(&arena, text, (ExtensionOp)op, &answer, &err);
        BUG_IF(read && answer.state.len > EXTENSION_STATE_MAX);
        BUG_IF(read && answer.keeps != NULL && answer.keeps->len > EXTENSION_KEEPS_MAX);
    }
    (void)extension_progress_read(&arena, text, &progress);
    read_signature(&arena, text);
    return 0;
}
