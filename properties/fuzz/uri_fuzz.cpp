#include <fuzzer/FuzzedDataProvider.h>

#include "mongo/client/uri.hpp"
#include "properties/fuzz/fuzz.hpp"

/// Connection strings, sound and damaged: no password is shown, and only hosts are replaced.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  using namespace leasehold::mongo;
  FuzzedDataProvider input(bytes, size);
  const bool made = input.ConsumeBool();
  auto uri = input.ConsumeRandomLengthString(200);
  if (made) {
    const std::string user = input.PickValueInArray({"", "me@", "me:s3cret@", "m%40e:s3cret@"});
    const std::string scheme = input.PickValueInArray({"mongodb://", "mongodb+srv://"});
    uri = scheme + user + uri;
  }
  (void)host_and_port(uri);
  (void)secret_in(uri);
  (void)with_option(uri, "appName=x");
  const auto shown = without_password(uri);
  const auto password = uri.find(":s3cret@");
  // Nowhere else, such as at the end of a user's name.
  const bool once = uri.find("s3cret@") == password + 1 && uri.rfind("s3cret@") == password + 1;
  const bool plain = once && uri.find_first_of("/?", uri.find("://") + 3) > password;
  if (made && password != std::string::npos && plain) {
    fuzz::must(shown.find("s3cret@") == std::string::npos, "a password is not shown");
  }
  if (uri.find("://") == std::string::npos) return 0;
  const auto moved = with_hosts(uri, {"a:1", "b:2"});
  fuzz::must(moved.find("a:1,b:2") != std::string::npos, "the hosts are those that were named");
  fuzz::must(with_hosts(moved, {"a:1", "b:2"}) == moved, "nothing but the hosts is replaced");
  return 0;
}
