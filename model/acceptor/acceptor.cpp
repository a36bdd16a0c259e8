#include "model/acceptor/arrows.hpp"
#include "model/acceptor/rules.hpp"
#include "model/acceptor/versions.hpp"

namespace leasehold::model {
namespace {

class Acceptor final : public Inquiry<Acceptance> {
 public:
  Acceptor(const Digest& d, const Diagrams& diagrams)
      : d_(d), known_(d), rules_(d, known_), versions_(d, known_), arrows_(d, known_, diagrams) {}

  void watch(Index from, Index to) override {
    for (Index i = from; i < to; ++i) {
      const Fact& e = d_.fact(i);
      if (!d_.of_a_document) {
        rules_.see(i, e);
        versions_.see(i, e);
      }
      arrows_.see(i, e);
      known_.see(i, e);
    }
  }

  Acceptance result() override {
    Acceptance out;
    out.steps.push_back(arrows_.result(out.taken));
    if (d_.of_a_document) return out;
    out.rules = rules_.result();
    out.steps.push_back(versions_.result());
    return out;
  }

 private:
  const Digest& d_;
  Known known_;
  Rules rules_;
  VersionStates versions_;
  Arrows arrows_;
};

}  // namespace

std::unique_ptr<Inquiry<Acceptance>> acceptor(const Digest& d, const Diagrams& diagrams) {
  return std::make_unique<Acceptor>(d, diagrams);
}

Acceptance accept(const Digest& d, const Diagrams& diagrams) {
  Acceptor following(d, diagrams);
  walk(d, {&following});
  return following.result();
}

}  // namespace leasehold::model
