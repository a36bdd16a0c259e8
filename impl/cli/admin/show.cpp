#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "cli/admin/admin.hpp"
#include "core/document/lock_readers.hpp"

namespace leasehold::cli {
namespace {

po::options_description with_json() {
  po::options_description options("Options");
  options.add_options()("json", "print JSON");
  return options.add(server_options());
}

std::string since(const SeenLock& lock) {
  return lock.since_ms() == 0 ? "?" : span(lock.now_ms() - lock.since_ms());
}

/// Lines as they come, as wide as the first of them need: a list may be longer than memory.
class Table {
 public:
  void add(const SeenLock& lock) {
    constexpr std::size_t kLooked = 1'000;
    rows_.push_back({lock.document.name, lock.state(), since(lock),
                     lock.is_corrupt() || lock.is_free() ? "" : span(lock.left_ms()),
                     lock.holder()});
    width_ = head_printed_ ? width_ : std::max(width_, width_of(lock.document.name));
    if (rows_.size() >= kLooked) flush();
  }
  void flush() {
    if (!head_printed_) line({"NAME", "STATE", "SINCE", "LEFT", "HOLDER"});
    head_printed_ = true;
    for (const auto& row : rows_) line(row);
    rows_.clear();
  }

 private:
  using Row = std::array<std::string, 5>;
  void line(const Row& row) const {
    print(column(row[0], width_) + "  " + column(row[1], 22) + "  " + column(row[2], 12) + "  " +
          column(row[3], 12) + "  " + printable(row[4]) + '\n');
  }

  std::vector<Row> rows_;
  std::size_t width_ = 4;
  bool head_printed_ = false;
};

/// As JSON an array, one element after the other.
void list(Admin& admin, bool json, bool dated) {
  Table table;
  bool any = false;
  admin.each_lock([&](const SeenLock& lock) {
    const bool first = !std::exchange(any, true);
    if (json) return print((first ? "[\n" : ",\n") + text_of(to_json(lock)));
    if (dated && first) print('\n' + date(lock.now_ms()) + '\n');
    table.add(lock);
  });
  if (json) {
    print(any ? "\n]\n" : "[]\n");
  } else if (dated && !any) {
    print("\nno locks\n");
  } else {
    table.flush();
  }
  flush_output();
}

void line(const std::string& what, const std::string& value) {
  print(column(what, 14) + ' ' + printable(value) + '\n');
}

void print_lock(const SeenLock& lock) {
  const auto& document = lock.document;
  const auto readers = core::readers_in(document.lock_id);
  line("lock", document.name);
  line("state", lock.state());
  if (lock.is_corrupt()) {
    line("corrupt", document.corruption + "; it counts as held until it is deleted: release " +
                        "--force --now");
  } else if (!readers.empty()) {
    for (const auto& reader : readers) {
      const bool reads = lock.id && lock.id->room == core::kReaders;
      line(reads ? "reader" : "permit " + std::to_string(reader.slot),
           core::holder_for_people(reader.lock_id) + ", for " +
               span(lock.now_ms() - reader.since.since_1970_ms) + ", in force for " +
               span(reader.until.since_1970_ms - lock.now_ms()) + " more");
    }
  } else if (!lock.is_free()) {
    line("holder", lock.id && lock.id->holder.empty() ? "(does not say)"
                   : lock.id                          ? std::string(lock.id->holder)
                                                      : "(unknown)");
  }
  if (lock.since_ms() != 0) {
    line("held since", date(lock.since_ms()) + ", " + since(lock) + " ago by the server's clock");
  }
  if (lock.id && readers.empty()) {
    line("lease", span(lock.id->lease_ms) + " from the holder's last extension, its command " +
                      "number " + std::to_string(lock.id->beat));
  }
  if (!lock.is_corrupt()) {
    line("expires at", date(document.expires_at.since_1970_ms) + ", in " + span(lock.left_ms()) +
                           (lock.id ? ", including clock_margin" : ""));
  }
  if (lock.waiting > 0) line("waiting", std::to_string(lock.waiting));
  line("stored token",
       std::to_string(document.fencing_token) + " (the holder's own may be higher)");
  line("lockId", document.lock_id);
}

void print_writes(const Result<std::vector<Json>>& writes) {
  if (!writes) {
    return line("last writes",
                "not shown: this role may not read the oplog, or the server is a mongos");
  }
  for (const Json& write : writes.value()) {
    const auto found = write.find("lockId");
    const bool text = found != write.end() && found->is_string();
    line("last writes", write["at"].get<std::string>() + ' ' + write["what"].get<std::string>() +
                            ' ' + (text ? found->get<std::string>() : ""));
  }
}

}  // namespace

int ls(const std::vector<std::string>& words) {
  auto options = with_json();
  options.add_options()("watch", "list them again and again")(
      "every", po::value<std::string>()->default_value("1s")->value_name("DURATION"),
      "with --watch: how often")("times", po::value<int>()->default_value(0)->value_name("N"),
                                 "with --watch: how many times; 0: until it is interrupted");
  const auto values = parse("leasehold ls [OPTIONS]\n\nLists the locks.", options, words);
  const auto every = duration_of("every", values["every"].as<std::string>());
  Admin admin(server_of(values));
  const bool watches = values.contains("watch");
  const int times = watches ? values["times"].as<int>() : 1;
  for (int i = 0; times == 0 || i < times; ++i) {
    if (i > 0) std::this_thread::sleep_for(every);
    list(admin, values.contains("json"), watches);
  }
  return kDone;
}

int show(const std::vector<std::string>& words) {
  auto options = with_json();
  options.add_options()("name", po::value<std::string>()->required(), "the lock's name");
  const auto values = parse_with_name(
      "leasehold show NAME [OPTIONS]\n\nShows one lock, and its last writes if the role may read "
      "the oplog. Exit code 1 if it is free.",
      options, words);
  Admin admin(server_of(values));
  const auto name = lock_name_in(values);
  const auto lock = admin.held_lock(name);
  const auto writes = admin.last_writes(name, 5);
  if (values.contains("json")) {
    Json json = to_json(*lock);
    if (auto listed = writes) json["lastWrites"] = *listed;
    print_json(json);
  } else {
    print_lock(*lock);
    print_writes(writes);
  }
  return kDone;
}

}  // namespace leasehold::cli
