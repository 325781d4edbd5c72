/* Reads the CA files and looks them up by pin. */
#include "membership/ca_files.h"

#include <stdlib.h>

#include "base/memory.h"

void ca_files_free(CaFiles *files)
{
    if (files == NULL) {
        return;
    }
    for (int i = 0; i < FILE_COUNT; i++) {
        credential_clear(&files->items[i]);
    }
    arena_clear(&files->arena);
    free(files);
}
bool ca_files_read(const Directory *directory, CaFiles **out, Error *err)
{
    static const char *const names[FILE_COUNT] = { AUTHORITY_CA, AUTHORITY_CA_NEXT };
    AUTO(CaFiles) *files = calloc(1, sizeof *files);
    if (files == NULL) {
        memory_exhausted(sizeof *files);
    }
    arena_init(&files->arena, ARENA_UNLIMITED);
    for (int i = 0; i < FILE_COUNT; i++) {
        if ((i == FILE_CA || directory_has(directory, names[i])) &&
            !credential_load(directory, names[i], &files->arena, &files->items[i], err)) {
            return false;
        }
    }
    *out = TAKE(files);
    return true;
}

const Credential *ca_files_find(const CaFiles *files, const Pin *pin)
{
    for (int i = 0; i < FILE_COUNT; i++) {
        const Credential *credential = &files->items[i];
        if (credential->key != NULL && pin_equal(&credential->chain.items[0].pin, pin)) {
            return credential;
        }
    }
    return NULL;
}

CertificateSet ca_files_trusted(const CaFiles *files, Arena *arena, const Rotation *rotation)
{
    Certificate *items = ARENA_ARRAY(arena, Certificate, 2);
    CertificateSet set = { items, 0 };
    if (rotation_trusts_present(rotation)) {
        items[set.count++] = ca_files_find(files, &rotation->present)->chain.items[0];
    }
    if (rotation_trusts_next(rotation)) {
        items[set.count++] = ca_files_find(files, &rotation->next)->chain.items[0];
    }
    return set;
}

bool ca_files_suffice(const CaFiles *files, const Rotation *rotation)
{
    return (!rotation_trusts_present(rotation) ||
            ca_files_find(files, &rotation->present) != NULL) &&
           (!rotation_trusts_next(rotation) || ca_files_find(files, &rotation->next) != NULL);
}
