#include <fuzzer/FuzzedDataProvider.h>

#include <nlohmann/json.hpp>
#include <set>

#include "properties/campaigns/judgement.hpp"
#include "properties/fuzz/fuzz.hpp"
#include "properties/stories/transcript.hpp"

/// Histories that are no run of any lock: of few processes, locks, owners, commands and times, so
/// that events concern each other. The checkers say something of each guarantee, and their words
/// name events that exist.
namespace leasehold::fuzz {
namespace {

using model::Event;
using model::Field;
using Texts = std::vector<std::string>;

const Texts& words_of(Field of) {
  static const Texts processes{"", "p0.1", "p1.1"}, names{"", "x", "y"},
      owners{"", "a", "b", "c"}, lock_ids{"", "a.1.1", "a.1.2", "b.1.1", "b.1.2", "c.1.1"},
      outcomes{"",        "done",      "unknown",   "failed_before", "duplicate_key", "yes",
               "no",      "accepted",  "refused",   "released",      "not_owner",     "deadline",
               "kept",    "timed_out", "vanished",  "unread",        "max_holding",   "exited",
               "killed",  "line",      "never_ready"},
      verbs{"", "acquire", "extend", "delete", "pass-on", "hand-over", "look", "stream", "index"},
      faults{"clock-jump", "lost-data", "delete-document", "step-up", "isolate", "wall-clock"},
      locks{"leasehold", "canary", "distributed-lock", "another"};
  switch (of) {
    case field(&Event::process): return processes;
    case field(&Event::name): return names;
    case field(&Event::owner):
    case field(&Event::giver):
    case field(&Event::also_owner): return owners;
    case field(&Event::lock_id):
    case field(&Event::seen_lock_id):
    case field(&Event::observed_lock_id): return lock_ids;
    case field(&Event::outcome): return outcomes;
    case field(&Event::verb): return verbs;
    case field(&Event::fault): return faults;
    case field(&Event::lock): return locks;
    default: return names;
  }
}

/// Times and lengths of similar size; few numbers of all else.
std::int64_t number(Field of, FuzzedDataProvider& input) {
  constexpr std::int64_t kMs = 1'000'000;
  const std::string name = to_string(of);
  if (name.ends_with("_ns")) return input.ConsumeIntegralInRange<std::int64_t>(0, 5'000) * kMs;
  if (name.ends_with("_ms")) return input.ConsumeIntegralInRange<std::int64_t>(0, 3'000);
  return input.ConsumeIntegralInRange<std::int64_t>(-1, 6);
}

model::Event event(model::Kind kind, std::int64_t at_ns, FuzzedDataProvider& input) {
  nlohmann::ordered_json line{{"at_ns", at_ns}, {"kind", to_string(kind)}};
  for (const Field one : about(kind).fields) {
    if (!input.ConsumeBool()) continue;
    auto& value = line[to_string(one)];
    switch (type_of(about(one))) {
      case model::FieldType::text: {
        const auto& words = words_of(one);
        value = words[input.ConsumeIntegralInRange<std::size_t>(0, words.size() - 1)];
        break;
      }
      case model::FieldType::number: value = number(one, input); break;
      case model::FieldType::digits:
        value = std::to_string(input.ConsumeIntegralInRange(0, 12));
        break;
      case model::FieldType::flag: value = input.ConsumeBool(); break;
    }
  }
  return model::event_from_json(line.dump());
}

model::History history(FuzzedDataProvider& input) {
  constexpr int kMostEvents = 80;
  model::History all;
  std::int64_t now = 0;
  while (input.remaining_bytes() > 0 && all.size() < kMostEvents) {
    now += input.ConsumeIntegralInRange<std::int64_t>(now > 0 ? -1 : 0, 20) * model::kMs * 10;
    const auto kind = input.ConsumeIntegralInRange<std::size_t>(
        0, model::about_kinds::kAll.size() - 1);
    all.push_back(event(static_cast<model::Kind>(kind), now, input));
  }
  return all;
}

void check(const model::History& history, const std::optional<model::Promises>& promises) {
  const auto [findings, arrows] = properties::judge(history, promises);
  (void)properties::totals_of(history, findings);
  for (const auto& f : findings) {
    const bool told = f.verdict == model::Verdict::holds || !f.why.empty();
    must(told, (std::string("what does not hold has a reason: ") + to_string(f.check)).c_str());
    for (const auto i : f.events) must(i < history.size(), "its events are in the history");
    (void)properties::transcript_of(history, f.events);
  }
}

model::Promises all_promises(FuzzedDataProvider& input) {
  model::Promises p;
  p.tokens = model::Promises::Tokens::rising;
  p.tells_loss = input.ConsumeBool();
  p.waits = input.ConsumeBool() ? model::Promises::Waits::polls : model::Promises::Waits::none;
  if (input.ConsumeBool()) p.clock_margin_ms = 500;
  if (input.ConsumeBool()) p.document = model::DocumentMapping{"locks", "_id", "owner", "until"};
  return p;
}

}  // namespace
}  // namespace leasehold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  FuzzedDataProvider input(bytes, size);
  const bool of_a_worker = input.ConsumeBool();
  const auto promises = of_a_worker ? std::optional(fuzz::all_promises(input)) : std::nullopt;
  const auto history = fuzz::history(input);
  if (history.empty()) return 0;
  fuzz::check(history, promises);
  (void)properties::transcript(history);
  return 0;
}
