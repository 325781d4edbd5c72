#include "modules/signature.h"

#include "unit.h"

#define BYTES STR("#!/bin/sh\nexit 0\n")

typedef struct Fixture {
    Arena arena;
    Ed25519Private key;
    TrustedKeys keys;
    Str signature; /* of the module "probe" */
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = test_calloc(1, sizeof *f);
    PublicKey public = { .name = STR("ann") };
    arena_init(&f->arena, ARENA_UNLIMITED);
    assert_true(ed25519_make(&f->key, &f->err));
    assert_true(ed25519_public(&f->key, &public.bytes, &f->err));
    ed25519_id(&public.bytes, public.id);
    VEC_PUSH(&f->arena, &f->keys, public);
    assert_true(signature_make(&f->arena, &f->key, STR("probe"), BYTES, &f->signature, &f->err));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    arena_clear(&f->arena);
    test_free(f);
    return 0;
}

/* The signer that is reported; `why` is in the error. */
static Str rejected(Fixture *f, Str module, Str bytes, Str signature, const char *why)
{
    const PublicKey *key;
    Str signer;
    assert_false(signature_verify(&f->keys, module, bytes, signature, &signer, &key, &f->err));
    assert_null(key);
    assert_int_equal(f->err.kind, ERROR_DENIED);
    if (strstr(f->err.text, why) == NULL) {
        fail_msg("%s", f->err.text);
    }
    return signer;
}

static void a_signature_is_valid_for_its_module_and_content(void **state)
{
    Fixture *f = *state;
    const PublicKey *key;
    Str signer;
    assert_true(
        signature_verify(&f->keys, STR("probe"), BYTES, f->signature, &signer, &key, &f->err));
    assert_str(key->name, "ann");
    assert_str(signer, key->id);
    rejected(f, STR("other"), BYTES, f->signature, "by 'ann' is invalid");
    signer = rejected(f, STR("probe"), STR("exit 1"), f->signature, "by 'ann' is invalid");
    assert_str(signer, f->keys.items[0].id);
    f->keys.len = 0;
    rejected(f, STR("probe"), BYTES, f->signature, "does not trust");
}

/* With either part damaged; an ID that is none is not shown. */
static void malformed_signatures_are_rejected(void **state)
{
    Fixture *f = *state;
    size_t id = (size_t)(str_find(f->signature, STR(" "), 0) + 1);
    Str format = str_slice(f->signature, 0, id);
    Str encoded = str_from_offset(f->signature, id + ED25519_ID + 1);
    Str known = str_slice(f->signature, id, id + ED25519_ID);
    const struct {
        Str id, encoded;
    } rows[] = {
        { STR("not an ID"), encoded }, { STR("0123456789abcdeg"), encoded },
        { STR("0123"), encoded },      { known, STR("AAAA") },
        { known, STR("////") },        { known, str_slice(encoded, 0, encoded.len - 8) },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str text = arena_format(&f->arena, "%" STR_FMT "%" STR_FMT " %" STR_FMT, STR_ARG(format),
                                STR_ARG(rows[i].id), STR_ARG(rows[i].encoded));
        Str signer = rejected(f, STR("probe"), BYTES, text, "not created by 'eden modules sign'");
        assert_str(signer, "");
    }
    rejected(f, STR("probe"), BYTES, STR_EMPTY, "not created by");
    rejected(f, STR("probe"), BYTES, known, "not created by");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_signature_is_valid_for_its_module_and_content),
        TEST(malformed_signatures_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
