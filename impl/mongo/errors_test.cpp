#include "mongo/replies.hpp"

#include <gtest/gtest.h>

namespace leasehold::mongo {
namespace {

using core::Outcome;

TEST(ErrorTable, OnlyWhatCertainlyDidNotHappenFailedBefore) {
  for (const int code : {24, 112, 10107, 13435, 13436}) {
    EXPECT_EQ(outcome_of_error(code), Outcome::not_executed) << code;
  }
}

TEST(ErrorTable, AnErrorThatNoRetryFixesIsConfiguration) {
  for (const int code : {2,   9,   13,  14,  16,  18,  59,  61, 67,  72,    73,    115,  121,
                         166, 167, 168, 197, 224, 238, 263, 322, 323, 10334, 16554, 51144}) {
    EXPECT_EQ(outcome_of_error(code), Outcome::configuration) << code;
  }
}

TEST(ErrorTable, EverythingElseIsUnknown) {
  for (const int code :
       {0, 6, 7, 26, 50, 64, 79, 89, 91, 100, 189, 262, 9001, 11600, 11601, 11602, 424'242}) {
    EXPECT_EQ(outcome_of_error(code), Outcome::unknown) << code;
  }
}

TEST(ErrorTable, UnsatisfiableWriteConcernsAreHopeless) {
  EXPECT_TRUE(is_permanent_write_concern_error(100));
  EXPECT_TRUE(is_permanent_write_concern_error(79));
  EXPECT_FALSE(is_permanent_write_concern_error(64));
}

}  // namespace
}  // namespace leasehold::mongo
