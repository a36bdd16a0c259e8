#pragma once

#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_provider.hpp>
#include <leasehold/result.hpp>
#include <memory>
#include <string>
#include <string_view>

// As <mongoc/mongoc.h> declares them, which this header does not need.
extern "C" {
typedef struct _bson_t bson_t;
typedef struct _mongoc_client_t mongoc_client_t;
typedef struct _mongoc_client_pool_t mongoc_client_pool_t;
}

/// For applications that use libmongoc themselves.
namespace leasehold::inline v0_1 {

/// `LockProvider::connect` on connections that the application has already.
///
/// It takes clients out of the pool for as long as it lives: up to `workers`, and one for each
/// change stream, two while it is replaced; up to four times as many while commands hang. If the
/// pool is empty, the call that needs a client fails; `connect` needs one if the options name no
/// database, because only a client knows it. The pool's URI decides what options cannot say:
/// `server_selection_timeout` is not used, a socket time-out (300 s unless named) bounds a hung
/// command, and one host needs `replicaSet` or `directConnection=false`. The driver keeps each
/// unused client, with its sockets, unless `minPoolSize` names how many (1 in pools of our own).
/// The pool is shared, because it lives on until the last command has ended.
///
///     std::shared_ptr<mongoc_client_pool_t> pool(mongoc_client_pool_new(uri),
///                                                mongoc_client_pool_destroy);
///     auto provider = leasehold::connect(pool);
[[nodiscard]] Result<LockProvider> connect(std::shared_ptr<mongoc_client_pool_t> pool,
                                           ProviderOptions options = {});

/// Which document a fenced update or read is for.
struct FencedTarget {
  std::string database;
  std::string collection;
  /// Make the document if there is none; without it, a missing one is left missing.
  bool upsert = false;
};

/// Updates one document unless a later holder has written or read it: the field `fencingToken` that
/// it keeps there must not be above `token`, and is `token` afterwards, as is `writeToken`, which
/// `fenced_read` asks. One command, acknowledged by a majority.
///
/// `id` is {_id: ...} and nothing else; `update` has update operators only ($set, $inc, ...).
/// True: written. False: a later holder has written, or there is no such document and `upsert` is
/// off. An upsert that meets another's insert of the document is tried once more, and refused only
/// by a higher token. Error: with `unknown_outcome` it may be written; `invalid_option` names what
/// is wrong with the arguments; with `unavailable` and `configuration` it is not. `configuration`
/// is also that another document has the same keys of a unique index, which the message names, or
/// that the document's `fencingToken` is neither a number nor null. A refusal costs a read more,
/// with `upsert` a second try too; if that read fails, the error is `unavailable`.
/// Thread safety: as the client, which is for one thread at a time.
///
///     BSON_APPEND_UTF8(&id, "_id", "order-7");            // {_id: "order-7"}
///     auto written = leasehold::fenced_update(client, {"shop", "orders"}, id, update,
///                                             handle.fencing_token());
///     if (written && !*written) return;  // the lock is another's by now
[[nodiscard]] Result<bool> fenced_update(mongoc_client_t* client, const FencedTarget& target,
                                         const bson_t& id, const bson_t& update,
                                         FencingToken token);

/// Reads one document unless a later holder has written it: the field `writeToken` there must not
/// be above `token`, and `fencingToken` is at least `token` afterwards. So a writer that was
/// granted the lock before cannot change what was read, however late it comes. It is one command
/// for a majority, and only the first read under a token writes. After a write by a release without
/// this function, which sets no `writeToken`, a late reader is not refused.
///
/// `id` is as of `fenced_update`, and so are errors and thread safety; `upsert` counts for nothing.
/// True: `document` is what was read. False: a later holder wrote it, or there is no such document.
/// `document` need not be initialised; it is afterwards in any case, and the caller destroys it.
///
///     bson_t order;
///     auto shown = leasehold::fenced_read(client, {"shop", "orders"}, id, reading.fencing_token(),
///                                         order);
///     if (shown && !*shown) ...  // a later holder has written: what was read so far is over
///     bson_destroy(&order);
[[nodiscard]] Result<bool> fenced_read(mongoc_client_t* client, const FencedTarget& target,
                                       const bson_t& id, FencingToken token, bson_t& document);

/// Not for users: the filter and the update of a fenced update, as BSON; both arguments are BSON.
namespace detail {
struct FencedBytes {
  std::string filter, update;
};
[[nodiscard]] Result<FencedBytes> fenced_bytes(std::string_view id, std::string_view update,
                                               FencingToken token);
}  // namespace detail

}  // namespace leasehold
