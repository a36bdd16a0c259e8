#include "sim/virtual/documents/expression.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace leasehold::sim::simulated {
namespace {

TEST(Expression, DatesOverflowsAndNothing) {
  const Value root = make({{"a", std::int32_t{2}}, {"when", Date{1'000}}});
  const Scope scope{root, Date{5'000}, Timestamp{7, 3}};
  const auto result = [&](const Value& expression) {
    Value out;
    return Value(evaluate(expression, scope, out));
  };
  const auto of = [&](const char* op, std::vector<Value> arguments) {
    return result(make({{op, Array{std::move(arguments)}}}));
  };
  EXPECT_EQ(of("$add", {std::string("$when"), std::int64_t{5}}), Value(Date{1'005}));
  EXPECT_EQ(of("$add", {std::string("$a"), std::int32_t{3}}), Value(std::int32_t{5}));
  // A missing field makes it null, and the largest long plus one a double: no error in either.
  EXPECT_EQ(of("$add", {std::string("$nobody"), std::int32_t{3}}), Value(Null{}));
  EXPECT_TRUE(of("$add", {std::numeric_limits<std::int64_t>::max(), std::int64_t{1}}).is<double>());
  EXPECT_EQ(of("$max", {std::string("$nobody"), std::string("$when")}), Value(Date{1'000}));
  EXPECT_EQ(of("$indexOfBytes", {std::string("abc"), std::string("bc")}), Value(std::int32_t{1}));
  EXPECT_THROW(of("$indexOfBytes", {std::int32_t{1}, std::string("x")}), ServerError);
  EXPECT_EQ(result(make({{"$tsSecond", std::string("$$CLUSTER_TIME")}})),
            Value(std::int64_t{7}));
}

}  // namespace
}  // namespace leasehold::sim::simulated
