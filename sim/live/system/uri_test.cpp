#include "sim/live/system/uri.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live {
namespace {

TEST(Uris, HostsAreReplacedAndAllElseStays) {
  const std::vector<std::string> proxies{"127.0.0.1:1", "127.0.0.1:2"};
  EXPECT_EQ(with_hosts("mongodb://db1,db2:27018/app?replicaSet=rs", proxies),
            "mongodb://127.0.0.1:1,127.0.0.1:2/app?replicaSet=rs");
  EXPECT_EQ(with_hosts("mongodb://me:s%40t@db1/?authSource=admin", proxies),
            "mongodb://me:s%40t@127.0.0.1:1,127.0.0.1:2/?authSource=admin");
  EXPECT_EQ(with_hosts("mongodb://[::1]:27017", {"127.0.0.1:1"}), "mongodb://127.0.0.1:1");
  EXPECT_EQ(with_hosts("mongodb://db1/?appName=a@b", {"127.0.0.1:1"}),
            "mongodb://127.0.0.1:1/?appName=a@b");
}

TEST(Uris, AnAddressIsAHostAndAPort) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(host_and_port("db1:27018"), Pair("db1", "27018"));
  EXPECT_EQ(host_and_port("db1"), Pair("db1", "27017"));
  EXPECT_EQ(host_and_port("[::1]:27018"), Pair("::1", "27018"));
  EXPECT_EQ(host_and_port("[::1]"), Pair("::1", "27017"));
}

TEST(Uris, WhatStandsInTheWayOfProxiesIsSaidWithItsRemedy) {
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
