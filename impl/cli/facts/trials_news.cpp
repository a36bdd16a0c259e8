#include <algorithm>
#include <chrono>

#include "cli/facts/facts.hpp"

/// Facts on change streams, which bring those who queue the news of their grant.
namespace leasehold::cli {
namespace {

using core::StreamCommand;
using std::chrono::milliseconds;

/// A provider's change stream, on a connection of its own.
class News {
 public:
  News(TrialSite& site, std::size_t connection) : asker_(site[connection]) {
    if (site.routers() > 0) throw NotTried("through a mongos no lock uses a change stream", true);
    const auto opened = asker_.sure(StreamCommand{StreamCommand::Step::open, 0, site.provider()});
    cursor_ = opened.cursor;
    keep(opened);
    require(cursor_ != 0, "the stream ended when it was opened");
  }
  News(const News&) = delete;
  News& operator=(const News&) = delete;
  /// Closed in silence: the end of this connection ends it, too.
  ~News() {
    try {
      asker_.send(StreamCommand{StreamCommand::Step::close, cursor_, 0});
    } catch (const std::exception&) {
    }
  }

  /// One wait for news, 400 ms long at most.
  void wait() {
    const auto reply = asker_.sure(StreamCommand{StreamCommand::Step::next, cursor_, 0});
    require(reply.cursor == cursor_, "the stream ended");
    keep(reply);
  }
  /// Waits until there are so many, for 20 s at most, and once more: more would be wrong.
  const std::vector<core::NamedOwner>& await(std::size_t count) {
    constexpr std::chrono::seconds kLongest{20};
    const auto until = our_clock() + kLongest;
    while (heard_.size() < count && our_clock() < until) wait();
    wait();
    return heard_;
  }

 private:
  void keep(const core::Reply& reply) {
    heard_.insert(heard_.end(), reply.named.begin(), reply.named.end());
  }

  Asker& asker_;
  std::int64_t cursor_ = 0;
  std::vector<core::NamedOwner> heard_;
};

/// A grant as a release of another process makes it, to an owner of this provider.
struct Given {
  std::string lock_id;
  FencingToken at;
};
Given give(TrialSite& site, bool to_other = false) {
  const auto giver = site.attempt(site.name("given"), site.other_owner());
  const auto receiver = site.attempt(giver.name, to_other ? site.other_owner() : site.owner());
  site[1].sure(giver);
  const auto reply = site[1].sure(core::HandOverCommand{
      1, giver.name, giver.owner, receiver.owner, receiver.lock_id, kTrialLease, {}});
  site[2].sure(site.attempt(giver.name));  // refused, and no news
  return {receiver.lock_id, reply.operation_time};
}

std::vector<Given> give_some(TrialSite& site) {
  constexpr int kGrants = 4;
  std::vector<Given> all;
  for (int i = 0; i < kGrants; ++i) {
    give(site, true);
    all.push_back(give(site));
  }
  return all;
}

std::string each_grant_is_reported_once(TrialSite& site) {
  News news(site, 0);
  const auto given = give_some(site);
  const auto& heard = news.await(given.size());
  require(heard.size() == given.size(), "of " + std::to_string(given.size()) + " grants " +
                                            std::to_string(heard.size()) + " were reported");
  for (std::size_t i = 0; i < given.size(); ++i) {
    require(heard[i].document.lock_id == given[i].lock_id,
            "another write than the grant is reported, or in another order");
  }
  return std::to_string(given.size()) + " grants among other writes: each reported once, in order";
}

std::string news_has_the_time_of_the_write(TrialSite& site) {
  News news(site, 0);
  const auto given = give_some(site);
  const auto& heard = news.await(given.size());
  std::size_t found = 0;
  for (const auto& one : given) {
    const auto same = [&](const auto& event) { return event.document.lock_id == one.lock_id; };
    const auto event = std::find_if(heard.begin(), heard.end(), same);
    if (event == heard.end()) continue;
    ++found;
    require(event->at == one.at,
            "a write at " + text_of(one.at) + " is reported as of " + text_of(event->at));
  }
  require(found > 0, "no grant was reported");
  return std::to_string(found) + " grants: clusterTime of each event is operationTime of the reply";
}

std::string stream_waits_for_news(TrialSite& site) {
  constexpr milliseconds kAtLeast{200};
  News news(site, 0);
  const auto began = our_clock();
  news.wait();
  const auto waited = std::to_string((our_clock() - began).count()) + " ms";
  require(our_clock() - began >= kAtLeast, "a wait of 400 ms for news took " + waited);
  return "without news the server answered after " + waited;
}

}  // namespace

std::vector<Fact> facts_of_news() {
  return {
      {"each-grant-is-reported-once",
       "a change stream reports the writes that it asks for, each once and in order, and no other",
       "queue_waiting is as slow as adaptive_waiting", false, each_grant_is_reported_once},
      {"news-has-the-time-of-the-write", "clusterTime of an event is the place of its write",
       "a holder that was passed the lock by a release may have a wrong fencing token", true,
       news_has_the_time_of_the_write},
      {"stream-waits-for-news", "a change stream without news answers when its time is over",
       "queue_waiting keeps the servers busy", false, stream_waits_for_news},
  };
}

}  // namespace leasehold::cli
