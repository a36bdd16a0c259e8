#include <signal.h>

#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "sim/live/servers/mongod.hpp"
#include "sim/live/system/mongo_client.hpp"

/// Hears what is to be undone, and what has been, and undoes the rest when its input ends.
int main() {
  using namespace leasehold::sim::live;
  signal(SIGPIPE, SIG_IGN);
  std::map<std::string, Json> open;
  for (std::string line; std::getline(std::cin, line);) {
    const auto heard = Json::parse(line);
    const std::string what = heard.at("what");
    if (heard.contains("command")) {
      open[what] = heard;
    } else {
      open.erase(what);
    }
  }
  int failed = 0;
  for (const auto& [what, undo] : open) {
    try {
      until_true(
          what,
          [&undo = undo] {
            MongoClient(undo.at("uri").get<std::string>()).must("admin", undo.at("command"));
            return true;
          },
          std::chrono::seconds(30));
    } catch (const std::exception& error) {
      std::cerr << "leasehold-undo: " << error.what() << '\n';
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}
