#include "mongo/client/uri.hpp"

#include <gtest/gtest.h>

namespace leasehold::mongo {
namespace {

TEST(Uri, WhatOthersMustNotReadIsFound) {
  for (const auto* uri : {"mongodb://u:p@h/", "mongodb://u:@h", "mongodb+srv://u:p@h/?appName=a",
                          "mongodb://u:p/q@h/", "mongodb://u:p?q@h:1/", "u:p@h"}) {
    EXPECT_EQ(secret_in(uri), "a password") << uri;
  }
  EXPECT_EQ(secret_in("mongodb://h/?tls=true&tlscertificatekeyfilepassword=s"),
            "tlsCertificateKeyFilePassword");
  EXPECT_EQ(secret_in("mongodb://h/?sslClientCertificateKeyPassword=s"),
            "sslClientCertificateKeyPassword");
  EXPECT_EQ(secret_in("mongodb://u@h/?authMechanismProperties=AWS_SESSION_TOKEN:s"),
            "AWS_SESSION_TOKEN");
}

TEST(Uri, AnAtSignInAnOptionIsNoPassword) {
  for (const auto* uri :
       {"mongodb://h:1/?replicaSet=bar&appName=ci@build", "mongodb://h:1,[::1]:2,i/?appName=@a@",
        "mongodb://u@h:1/db", "mongodb://h", "mongodb://%2Ftmp%2Fs.sock/?appName=a@b", ""}) {
    EXPECT_EQ(secret_in(uri), "") << uri;
  }
}

TEST(Uri, HostsAreReplacedAndAllElseStays) {
  const std::vector<std::string> proxies{"127.0.0.1:1", "127.0.0.1:2"};
  EXPECT_EQ(with_hosts("mongodb://db1,db2:27018/app?replicaSet=rs", proxies),
            "mongodb://127.0.0.1:1,127.0.0.1:2/app?replicaSet=rs");
  EXPECT_EQ(with_hosts("mongodb://me:s%40t@db1/?authSource=admin", proxies),
            "mongodb://me:s%40t@127.0.0.1:1,127.0.0.1:2/?authSource=admin");
  EXPECT_EQ(with_hosts("mongodb://[::1]:27017", {"127.0.0.1:1"}), "mongodb://127.0.0.1:1");
  EXPECT_EQ(with_hosts("mongodb://db1/?appName=a@b", {"127.0.0.1:1"}),
            "mongodb://127.0.0.1:1/?appName=a@b");
}

TEST(Uri, AnAddressIsAHostAndAPort) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(host_and_port("db1:27018"), Pair("db1", "27018"));
  EXPECT_EQ(host_and_port("db1"), Pair("db1", "27017"));
  EXPECT_EQ(host_and_port("[::1]:27018"), Pair("::1", "27018"));
  EXPECT_EQ(host_and_port("[::1]"), Pair("::1", "27017"));
}

}  // namespace
}  // namespace leasehold::mongo
