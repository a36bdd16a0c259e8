#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "model/history.hpp"

namespace leasehold::properties {

/// The situations that a history went through, seen from so far away that few differ: for each
/// lock whose document it is (nobody's, a live or a dead process's), how many hold it by their own
/// account, how many wait, how many asking and leaving commands are unanswered, whether one that
/// holds it is stopped, what the last reply said; and how many faults last. Counts stop at 2: two
/// of a kind stand for many.
///
/// Two runs that went through the same ones tested the same; that is all that they are for.
class AbstractStates {
 public:
  static constexpr std::size_t kCount = 1 << 16;  ///< states are numbers below

  /// What is reached by each event, with the kind of the event that led there.
  [[nodiscard]] static std::set<std::uint16_t> of(const model::History& history);

 private:
  enum class Document : std::uint8_t { none, of_live, of_dead };
  struct Lock {
    Document document = Document::none;
    std::string owner;  ///< whom the document names
    std::set<std::pair<std::string, std::int64_t>> waiting, holding;  ///< process and session
    int asking = 0, leaving = 0;  ///< commands without a reply
    std::uint8_t last_reply = 0;
  };
  struct Sent {
    std::string name;
    bool asks = false;
  };

  void take(const model::Event& event);
  void take_reply(const model::Event& event);
  /// Of a process that died: what it did is over, and its documents are a dead one's.
  void bury(const std::string& process);
  [[nodiscard]] std::uint16_t number(const Lock& lock, model::Kind by) const;

  std::map<std::string, Lock> locks_;
  std::map<std::pair<std::string, std::int64_t>, Sent> sent_;  ///< by process and command
  std::map<std::string, std::string> process_of_;              ///< by owner
  std::set<std::string> dead_, stopped_;
  int faults_ = 0;
};

}  // namespace leasehold::properties
