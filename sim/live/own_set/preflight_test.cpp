#include "sim/live/own_set/user_set.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live {
namespace {

TEST(Preflight, AUriThatProxiesCannotServeIsRefusedWithItsRemedy) {
  EXPECT_EQ(why_no_proxies("mongodb://me:pw@db1,db2/?replicaSet=rs"), "");
  EXPECT_EQ(why_no_proxies("nonsense"), "");
  EXPECT_EQ(why_no_proxies("mongodb://db1/?tls=true").find("--uri has TLS: "), 0u);
  EXPECT_EQ(why_no_proxies("mongodb://db1/?ssl=true").find("--uri has TLS: "), 0u);
  EXPECT_EQ(why_no_proxies("mongodb+srv://db.example.org/?tls=false").find("--uri is 'mongodb+"),
            0u);
  EXPECT_EQ(why_no_proxies("mongodb://db1/?directConnection=true").find("--uri has directConn"),
            0u);
  EXPECT_EQ(why_no_proxies("mongodb://db1/?appName=mine").find("--uri has appName: "), 0u);
}

}  // namespace
}  // namespace leasehold::sim::live
