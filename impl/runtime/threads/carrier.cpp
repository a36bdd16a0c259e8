#include "runtime/threads/carrier.hpp"

namespace leasehold::runtime {
namespace {

class WaitingCarrier final : public Carrier {
 public:
  explicit WaitingCarrier(std::unique_ptr<core::Connection> connection)
      : connection_(std::move(connection)) {}

  void carry(core::Command command, std::function<void(core::Reply)> done) override {
    done(connection_->execute(command));
  }
  void interrupt(core::CommandId command) noexcept override { connection_->interrupt(command); }

 private:
  const std::unique_ptr<core::Connection> connection_;
};

}  // namespace

Carriers carriers_of(std::shared_ptr<core::Transport> transport) {
  return [transport = std::move(transport)] {
    return std::make_unique<WaitingCarrier>(transport->connect());
  };
}

}  // namespace leasehold::runtime
