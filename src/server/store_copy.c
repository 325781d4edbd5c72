#include "server/store_copy.h"

#include "store/dump.h"
#include "store/load.h"
#include "sys/file_stream.h"

/* --- Loading --------------------------------------------------------------------------------- */

typedef struct Loading {
    Loop *loop;
    FileReader *dump;
    bool ok;
    Error err;
} Loading;

static bool read_dump(void *context, char *buffer, size_t size, size_t *bytes, Error *err)
{
    Loading *loading = context;
    return file_reader_next(loading->dump, buffer, size, bytes, err);
}

static void loaded(void *context, const StoreLoaded *what, const Error *err)
{
    Loading *loading = context;
    loading->ok = err == NULL;
    loading->err = err == NULL ? loading->err : *err;
    loop_stop(loading->loop);
}

bool store_load_file(Loop *loop, Store *store, const char *path, Error *err)
{
    AUTO(FileReader) *dump = NULL;
    Loading loading = { .loop = loop };
    StoreLoadSpec spec = { .store = store, .read = read_dump, .done = loaded, .context = &loading };
    if (!file_reader_open(path, &dump, err)) {
        return false;
    }
    loading.dump = dump;
    if (!store_load(&spec, err)) {
        return false;
    }
    loop_run(loop);
    *err = loading.err;
    return loading.ok;
}

/* --- Dumping --------------------------------------------------------------------------------- */

typedef struct Dumping {
    Loop *loop;
    FileDraft *file;
    StoreDump *dump;
    bool ok;
    Error err;
} Dumping;

static void dumped(void *context, const StoreDumpPiece *piece, const Error *err)
{
    Dumping *dumping = context;
    bool is_next = false;
    dumping->ok = err == NULL && file_draft_put(dumping->file, piece->bytes, &dumping->err);
    if (err != NULL) {
        dumping->err = *err;
    } else if (dumping->ok && piece->end == NULL) {
        is_next = dumping->ok = store_dump_next(dumping->dump, &dumping->err);
    }
    if (!is_next) {
        loop_stop(dumping->loop);
    }
}

static bool dump_to_file(Loop *loop, Store *from, Str store_id, const char *path, Error *err)
{
    AUTO(FileDraft) *file = NULL;
    if (!file_draft_open(path, 0600, false, &file, err)) {
        return false;
    }
    Dumping dumping = { .loop = loop, .file = file };
    AUTO(StoreDump) *dump = store_dump_new(&(StoreDumpSpec){
        .store = from, .store_id = store_id, .done = dumped, .context = &dumping });
    dumping.dump = dump;
    if (!store_dump_next(dump, err)) {
        return false;
    }
    loop_run(loop);
    *err = dumping.err;
    return dumping.ok && file_draft_keep(file, err);
}

bool store_copy(Loop *loop, Store *from, Str store_id, Store *to, const char *path, Error *err)
{
    return dump_to_file(loop, from, store_id, path, err) && store_load_file(loop, to, path, err);
}
