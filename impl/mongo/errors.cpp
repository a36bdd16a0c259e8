#include "mongo/replies.hpp"

#include <algorithm>
#include <array>

namespace leasehold::mongo {
namespace {

using core::Outcome;

struct Row {
  int code;
  Outcome outcome;
};

/// Codes of `ok: 0`. The same numbers inside a writeConcernError always mean unknown.
constexpr std::array kErrors{
    Row{2, Outcome::configuration},      // BadValue
    Row{9, Outcome::configuration},      // FailedToParse
    Row{13, Outcome::configuration},     // Unauthorized
    Row{14, Outcome::configuration},     // TypeMismatch
    Row{16, Outcome::configuration},     // InvalidLength
    Row{18, Outcome::configuration},     // AuthenticationFailed
    Row{24, Outcome::not_executed},      // LockTimeout
    Row{59, Outcome::configuration},     // CommandNotFound
    Row{61, Outcome::configuration},     // ShardKeyNotFound: sharded, and not by _id
    Row{67, Outcome::configuration},     // CannotCreateIndex
    Row{72, Outcome::configuration},     // InvalidOptions
    Row{73, Outcome::configuration},     // InvalidNamespace
    Row{112, Outcome::not_executed},     // WriteConflict
    Row{115, Outcome::configuration},    // CommandNotSupported
    Row{121, Outcome::configuration},    // DocumentValidationFailure
    Row{166, Outcome::configuration},    // CommandNotSupportedOnView
    Row{167, Outcome::configuration},    // OptionNotSupportedOnView
    Row{168, Outcome::configuration},    // InvalidPipelineOperator
    Row{197, Outcome::configuration},    // InvalidIndexSpecificationOption
    Row{224, Outcome::configuration},    // QueryFeatureNotAllowed: of the compatibility version
    Row{238, Outcome::configuration},    // NotImplemented: of look-alikes
    Row{263, Outcome::configuration},    // OperationNotSupportedInTransaction
    Row{322, Outcome::configuration},    // APIVersionError: a pool that pins a stable API
    Row{323, Outcome::configuration},    // APIStrictError
    Row{10107, Outcome::not_executed},   // NotWritablePrimary
    Row{10334, Outcome::configuration},  // BSONObjectTooLarge
    Row{13435, Outcome::not_executed},   // NotPrimaryNoSecondaryOk
    Row{13436, Outcome::not_executed},   // NotPrimaryOrSecondary
    Row{16554, Outcome::configuration},  // $add of something that is no number or date
    Row{51144, Outcome::configuration},  // $$CLUSTER_TIME is not available: a standalone
};

}  // namespace

Outcome outcome_of_error(int code) {
  const auto row =
      std::find_if(kErrors.begin(), kErrors.end(), [code](const Row& r) { return r.code == code; });
  return row == kErrors.end() ? Outcome::unknown : row->outcome;
}

std::string without_command(std::string message) {
  return message.substr(0, message.find(" to execute command {"));
}

bool spoils_whole_batch(int code) {
  constexpr std::array kCodes{6,    7,     50,    89,    91,    189,   262,
                              9001, 10107, 11600, 11601, 11602, 13435, 13436};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

bool is_permanent_write_concern_error(int code) { return code == 100 || code == 79; }

}  // namespace leasehold::mongo
