#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::sim::live {

/// Measures how long the requests of one connection wait for their answers, in MongoDB's protocol.
/// The time in which a server waits by design, such as for news of a change stream, does not count.
/// Pure; times are in ns of any one clock.
class RequestWatch {
 public:
  /// Waits that are shorter are not reported. The shortest operation timeout is 100 ms, and an
  /// attempt with a new connection waits for three answers ...
  static constexpr std::int64_t kSlowFrom_ns = 25'000'000;
  /// ... but for those that end without an answer, because on a busy machine a request may need
  /// most of that timeout until it arrives here.
  static constexpr std::int64_t kGivenUpFrom_ns = 10'000'000;
  /// Then the driver sends nothing for so long: after an error it asks a server no sooner whether
  /// it is there (Server Discovery and Monitoring, minHeartbeatFrequencyMS).
  static constexpr std::int64_t kUnreachable_ns = 500'000'000;
  /// Called for each slow wait, with when it began and until when nothing could be sent.
  using Report = std::function<void(std::int64_t from_ns, std::int64_t to_ns)>;

  explicit RequestWatch(Report report) : report_(std::move(report)) {}

  /// What the client said arrived.
  void asked(std::string_view bytes, std::int64_t now_ns);
  /// What the server said was passed on to the client.
  void answered(std::string_view bytes, std::int64_t now_ns);
  /// Reports the waits so far of the requests that have no answer. They wait on.
  void report_open(std::int64_t now_ns);
  /// Nobody waits any more.
  void ended(std::int64_t now_ns);

 private:
  /// Divides bytes into messages, and keeps the beginning of each.
  class Messages {
   public:
    template <typename Each>
    void read(std::string_view bytes, const Each& each);

   private:
    std::string begin_;
    std::size_t seen_ = 0, size_ = 0;  ///< of this message; 0: its size is not known yet
    bool lost_ = false;                ///< these are no messages
  };
  struct Request {
    std::int32_t number = 0;
    std::int64_t from_ns = 0;  ///< an answer is due from then on
  };

  /// Whether it has waited for so long that it was reported.
  bool report(const Request& one, std::int64_t now_ns) const;

  const Report report_;
  Messages requests_, answers_;
  std::vector<Request> open_;  ///< few
};

}  // namespace leasehold::sim::live
