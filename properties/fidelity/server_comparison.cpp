#include "properties/fidelity/server_comparison.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>

#include "core/document/lock_queue.hpp"
#include "mongo/replies.hpp"

namespace leasehold::properties {
namespace {

using sim::simulated::Array;
using sim::simulated::Bytes;
using sim::simulated::Date;
using sim::simulated::Object;
using sim::simulated::Timestamp;
using sim::simulated::Value;

/// Masks what no reader of a reply uses, and what names objects of this run. Error labels are
/// masked because the adapter goes by codes.
bool is_masked(const std::string& key) {
  static const std::set<std::string> masked{"operationTime",
                                            "$clusterTime",
                                            "electionId",
                                            "opTime",
                                            "codeName",
                                            "errmsg",
                                            "errInfo",
                                            "ns",
                                            "keyValue",
                                            "numYields",
                                            "postBatchResumeToken",
                                            "numIndexesBefore",
                                            "numIndexesAfter",
                                            "createdCollectionAutomatically",
                                            "commitQuorum",
                                            "topologyVersion",
                                            "note",
                                            "errorLabels"};
  return masked.contains(key);
}

/// The times in a lock's queue are dates too.
std::string without_times(std::string text) {
  for (auto mark = text.find(core::kQueueMark); mark != std::string::npos;
       mark = text.find(core::kQueueMark, mark + 1)) {
    text.replace(mark + 1, core::kUntilDigits, "until");
  }
  return text;
}

std::string render(const std::string& key, const Value& value);

std::string render(const Object& object) {
  std::vector<std::string> fields;
  for (const auto& [key, value] : object.fields) {
    const auto* inner = value.as<Object>();
    const bool resume_token = inner != nullptr && inner->find("_data") != nullptr;
    if (!is_masked(key) && !resume_token) fields.push_back(key.text() + ':' + render(key, value));
  }
  std::sort(fields.begin(), fields.end());
  std::string text;
  for (const auto& field : fields) text += (text.empty() ? "" : " ") + field;
  return '{' + text + '}';
}

std::string render(const std::string& key, const Value& value) {
  if (key == "fencingToken") return value.type_name();
  if (key == "id" && value.is<std::int64_t>()) return value.integer() == 0 ? "0" : "cursor";
  if (value.is<Date>() || value.is<Timestamp>()) return value.type_name();
  if (key.starts_with("cursors")) return std::to_string(value.as<Array>()->items.size());
  if (const auto* object = value.as<Object>()) return render(*object);
  if (const auto* text = value.as<std::string>()) return without_times(*text);
  if (const auto* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (const auto* real = value.as<double>()) return std::to_string(static_cast<long long>(*real));
  if (value.is_number()) return std::to_string(value.integer());
  const auto* array = value.as<Array>();
  if (array == nullptr) return value.type_name();
  std::string text;
  for (const Value& item : array->items) text += (text.empty() ? "" : " ") + render("", item);
  return '[' + text + ']';
}

const char* render(core::Outcome outcome) {
  constexpr const char* kNames[] = {"done", "unknown", "failed before", "duplicate key",
                                    "configuration"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string render(const Request& request, const Answer& answer) {
  if (answer.kind == Answer::Kind::silent) return "nothing comes";
  if (answer.kind == Answer::Kind::broken) return "the connection ends";
  std::string text;
  if (request.command) {
    const auto read = mongo::read_reply(*request.command, *Bytes(answer.reply).get());
    text = std::string(render(read.outcome)) + (read.retried ? ", retried: " : ": ");
  }
  return text + render(answer.reply);
}

}  // namespace

Call Stage::send(int member, const Request& request) {
  requests_.push_back(request);
  return set_.send(member, request.bytes);
}

Answer Stage::note(const std::string& label, Call call, std::int64_t limit_ms) {
  Answer answer = set_.await(call, limit_ms);
  lines_.push_back({label, render(requests_.at(call), answer)});
  times_.resize(lines_.size());
  const Value* time = answer.reply.find("operationTime");
  // A stream's reply is of the time up to which a majority has everything, as far as the server has
  // heard by then; no client reads it.
  // No client reads when an index was made, either: the simulated set's oplog has no such entry.
  const std::string& name = requests_.at(call).bytes.fields.at(0).first;
  const bool read = name != "aggregate" && name != "getMore" && name != "createIndexes";
  if (time != nullptr && compares_times_ && read) times_.back() = *time->as<Timestamp>();
  return answer;
}

Answer Stage::ask(const std::string& label, int member, const Request& request) {
  return note(label, send(member, request));
}

std::vector<Seen> Stage::lines() const {
  std::set<Timestamp> ranks;
  for (const auto& time : times_) {
    if (time) ranks.insert(*time);
  }
  auto lines = lines_;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (!times_[i]) continue;
    const auto rank = std::distance(ranks.begin(), ranks.find(*times_[i]));
    lines[i].text += " at T" + std::to_string(rank);
  }
  return lines;
}

void Stage::isolate(int member, bool on) {
  const sim::LinkRule rule{.hold_requests = on, .hold_replies = on};
  for (int other = 0; other < servers_.links.size(); ++other) {
    if (other == member) continue;
    for (const char* what : {"/beat", "/sync"}) {
      for (const auto& [from, to] : {std::pair(member, other), std::pair(other, member)}) {
        const sim::Link link{sim::member_name(from) + what, to};
        // What waited is lost.
        if (!on) servers_.links.reset_link(link);
        servers_.links.set_link_rule(link, rule);
      }
    }
  }
}

void Stage::wait_until(const std::function<bool()>& is_so) {
  const auto over_ms = set_.true_ms() + 30'000;
  while (!is_so()) {
    if (set_.true_ms() > over_ms) throw std::runtime_error("no member became primary");
    set_.pass(10);
  }
}

void Stage::step_up(int member) {
  wait_until([&] {
    (void)servers_.members->step_up(member, std::chrono::milliseconds(1'000));
    return servers_.members->is_primary(member);
  });
}

int Stage::primary() {
  wait_until([this] { return servers_.members->primary_now() >= 0; });
  return servers_.members->primary_now();
}

}  // namespace leasehold::properties
