#include "scenarios/command/facts/lies.hpp"

namespace leasehold::lab {
namespace {

class Liar final : public cli::TrialConnection {
 public:
  Liar(const std::string& uri, Teller teller)
      : real_(cli::connect_for_trials(uri)), teller_(std::move(teller)) {}

  mongo::Bson ask(const std::string& database, const mongo::Bson& command,
                  std::uint32_t member) override {
    const Json asked = mongo::to_json(*command.get());
    const auto really = [&](const mongo::Bson& bytes, std::uint32_t whom) {
      return mongo::to_json(*real_->ask(database, bytes, whom).get());
    };
    const auto said =
        teller_({asked, member, [&] { return really(command, member); },
                 [&](const Json& other) { return really(mongo::from_json(other), 0); }});
    return said ? mongo::from_json(*said) : real_->ask(database, command, member);
  }
  [[nodiscard]] std::vector<mongo::JsonClient::Member> members() const override {
    return real_->members();
  }

 private:
  std::unique_ptr<cli::TrialConnection> real_;
  Teller teller_;
};

}  // namespace

cli::Connect lying_about(const std::string& uri, Teller teller) {
  return [uri, teller = std::move(teller)] { return std::make_unique<Liar>(uri, teller); };
}

}  // namespace leasehold::lab
