#include "cli/uri.hpp"

#include <gtest/gtest.h>

namespace leasehold::cli {
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

}  // namespace
}  // namespace leasehold::cli
