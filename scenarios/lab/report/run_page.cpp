#include <string.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "model/history/digest.hpp"
#include "properties/campaigns/judgement.hpp"
#include "properties/stories/scenario.hpp"
#include "scenarios/lab/report/report.hpp"

namespace leasehold::lab {
namespace {

using Json = nlohmann::ordered_json;
using model::Event;
using model::Index;
using model::Kind;

constexpr std::size_t kMostStoryLines = 20'000;

/// Gathers the data of the page. Its times are those of the transcript.
class Gatherer {
 public:
  Gatherer(const model::History& history, const Conclusion& c)
      : history_(history),
        c_(c),
        digest_(model::digest(history)),
        began_ns_(properties::began_ns(history)) {}

  Json gather() {
    auto story = properties::transcript(history_);
    if (story.size() > kMostStoryLines) story.resize(kMostStoryLines);
    return {{"run", c_.run.empty() ? lock_and_world() : c_.run},
            {"end", history_.empty() ? 0.0 : ms(history_.back().at_ns)},
            {"advice", c_.advice},
            {"repeat", c_.repeat},
            {"lanes", lanes()},
            {"faults", faults()},
            {"clocks", clocks()},
            {"documents", documents()},
            {"verdicts", verdicts()},
            {"story", story}};
  }

 private:
  std::string lock_and_world() const {
    if (history_.empty()) return "";
    return history_.front().lock + (history_.front().live ? " live" : " virtual");
  }
  double ms(std::int64_t ns) const { return static_cast<double>(ns - began_ns_) / 1e6; }
  double ms_of(Index i) const { return ms(history_[i].at_ns); }

  Json lanes() const {
    std::map<std::string, Json> lanes;
    std::vector<std::string> order;
    for (const Event& e : history_) {
      if (e.kind != Kind::start) continue;
      order.push_back(e.process);
      lanes[e.process] = {{"name", properties::short_name(e.process)},
                          {"bars", Json::array()},
                          {"marks", Json::array()}};
    }
    for (const model::SessionDigest& s : digest_.sessions) {
      const auto process = digest_.process_name(s.process);
      add_session(lanes[process], process, s);
    }
    for (const auto& [name, p] : digest_.processes) {
      if (!lanes.contains(name)) continue;
      for (const auto& away : p.away) {
        const auto to = std::min(away.to, history_.back().at_ns);
        lanes[name]["bars"].push_back(
            {{"kind", "stopped"}, {"from", ms(away.from)}, {"to", ms(to)}});
      }
      if (p.crash != model::kNone) {
        lanes[name]["marks"].push_back({{"kind", "killed"}, {"at", ms_of(p.crash)}});
      }
    }
    for (const Event& e : history_) {
      if (e.kind != Kind::write || !lanes.contains(e.process)) continue;
      lanes[e.process]["marks"].push_back(
          {{"kind", "write"}, {"at", ms(e.at_ns)}, {"outcome", e.outcome}});
    }
    std::ranges::sort(order, [](const std::string& a, const std::string& b) {
      return strverscmp(a.c_str(), b.c_str()) < 0;  // p2 before p10
    });
    Json list = Json::array();
    for (const auto& name : order) list.push_back(lanes[name]);
    return list;
  }

  void add_session(Json& lane, const std::string& process, const model::SessionDigest& s) const {
    if (s.ask == model::kNone || lane.is_null()) return;
    const Event& ask = history_[s.ask];
    Index until = s.granted != model::kNone ? s.granted : s.ended;
    if (until == model::kNone) until = digest_.processes.at(process).crash;
    if (until == model::kNone) until = static_cast<Index>(history_.size() - 1);
    lane["bars"].push_back({{"kind", "waits"}, {"from", ms(ask.at_ns)}, {"to", ms_of(until)}});
    if (s.granted == model::kNone) return;
    lane["bars"].push_back({{"kind", "held"},
                            {"from", ms_of(s.granted)},
                            {"to", ms(held_until(s, digest_.processes.at(process)))},
                            {"lock", ask.name},
                            {"token", std::to_string(history_[s.granted].token)}});
  }

  /// A worker's grant has no deadline: it is held until the worker says otherwise, or is killed.
  std::int64_t held_until(const model::SessionDigest& s, const model::ProcessDigest& p) const {
    const auto end_ns = history_.back().at_ns;
    if (history_[s.granted].deadline_ns != 0) return std::min(s.over_ns, end_ns);
    auto until = std::min(s.answers.first_no_ns, end_ns);
    for (const Index end : {s.lost, s.notified, s.release, s.released, p.crash}) {
      if (end != model::kNone) until = std::min(until, history_[end].at_ns);
    }
    return until;
  }

  /// A fault that lasts ends at its "ends", any other is a moment.
  Json faults() const {
    Json list = Json::array();
    std::map<std::pair<std::string, std::string>, std::size_t> open;
    for (const Event& e : history_) {
      if (e.kind != Kind::fault) continue;
      const std::pair key{e.fault, e.victim};
      if (e.ends) {
        if (open.contains(key)) list[open[key]]["to"] = ms(e.at_ns);
        open.erase(key);
        continue;
      }
      if (e.begins) open[key] = list.size();
      list.push_back({{"what", e.fault},
                      {"whom", properties::short_name(e.victim)},
                      {"amount", e.amount},
                      {"from", ms(e.at_ns)},
                      {"to", ms(e.at_ns)}});
    }
    return list;
  }

  /// How far each member's clock was moved, as steps.
  Json clocks() const {
    std::map<std::string, Json> members;
    for (const Event& e : history_) {
      if (e.kind != Kind::fault || !e.fault.starts_with("clock-")) continue;
      auto& steps = members[e.victim];
      if (steps.is_null()) steps = Json::array();
      const bool jump = e.fault == "clock-jump";
      steps.push_back({{"at", ms(e.at_ns)},
                       {"ms", jump ? e.amount : 0},
                       {"ppm", jump || e.ends ? 0 : e.amount}});
    }
    Json list = Json::array();
    for (const auto& [name, steps] : members) list.push_back({{"name", name}, {"steps", steps}});
    return list;
  }

  Json documents() const {
    Json list = Json::array();
    for (const auto& changes : digest_.truth) {
      if (changes.empty()) continue;
      Json one{{"lock", history_[changes.front().event].name}, {"changes", Json::array()}};
      for (const auto& change : changes) {
        const Event& e = history_[change.event];
        one["changes"].push_back({{"at", ms(e.at_ns)},
                                  {"gone", change.gone},
                                  {"lockId", e.lock_id.empty() ? e.owner : e.lock_id}});
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  Json verdicts() const {
    Json list = Json::array();
    for (const auto& f : properties::judge(history_, c_.promises).findings) {
      Json one{
          {"guarantee", to_string(f.check)},        {"statement", about(f.check).statement},
          {"verdict", model::to_string(f.verdict)},     {"checked", checks_of(f)},
          {"why", properties::with_short_names(f.why)}, {"events", Json::array()}};
      for (const Index i : f.events) {
        if (i < history_.size()) one["events"].push_back({{"at", ms_of(i)}});
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  const model::History& history_;
  const Conclusion& c_;
  const model::Digest digest_;
  const std::int64_t began_ns_;
};

}  // namespace

std::string run_page(const model::History& history, const Conclusion& c) {
  std::string data =
      Gatherer(history, c).gather().dump(-1, ' ', false, Json::error_handler_t::replace);
  // In JSON each "<" is in a string. Escaped, none ends the script or opens a comment in it.
  boost::replace_all(data, "<", "\\u003c");
  std::string page(pages::run_page_html);
  boost::replace_first(page, "{{style}}", pages::run_page_css);
  boost::replace_first(page, "{{script}}", pages::run_page_js);
  boost::replace_first(page, "{{run}}", data);  // last, so that it is inserted unchanged
  return page;
}

}  // namespace leasehold::lab
