#include "model/history/history.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/history/from_outside.hpp"

namespace leasehold::model {
namespace {

TEST(History, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(valid_utf8("ung\xfcltig \xc3\xbc"), "ung\uFFFDltig \u00fc");
  EXPECT_EQ(valid_utf8("cut \xe2\x82"), "cut \uFFFD");
}

/// An event with every field that its kind has.
Event full(Kind kind) {
  Event e;
  e.kind = kind;
  each_field(e, [kind]<typename T>(Field field, T& value) {
    if (!about(kind).fields.contains(field)) return;
    if constexpr (std::is_integral_v<T>) {
      value = std::numeric_limits<T>::max();
    } else {
      value = "\x01\n words, \"quoted\" \\ \u00fc";
    }
  });
  return e;
}

TEST(History, EveryKindIsReadBackWithAllItsFieldsAndRefusedWithAnyOther) {
  for (const auto& [kind, name, meaning, fields] : about_kinds::kAll) {
    const Event e = full(kind);
    EXPECT_EQ(fields_set(e), fields) << name;
    EXPECT_EQ(event_from_json(to_json(e)), e) << name;
    for (const auto& other : about_kinds::kAll) {
      if (other.fields.without(fields).empty()) continue;
      Event stray = full(other.kind);
      stray.kind = kind;
      EXPECT_THROW((void)event_from_json(to_json(stray)), std::runtime_error)
          << name << " with the fields of " << other.name;
    }
  }
}

/// Its fields, and what each means.
std::string format_page() {
  std::string page = "| kind | is | fields |\n|---|---|---|\n";
  for (const auto& row : about_kinds::kAll) {
    std::string fields;
    for (const Field field : row.fields) {
      fields += (fields.empty() ? "" : ", ") + std::string(to_string(field));
    }
    page += std::string("| ") + row.name + " | " + row.meaning + " | " + fields + " |\n";
  }
  page += "\n| field | means |\n|---|---|\n";
  for (const auto& row : kAboutFields) {
    page += std::string("| ") + row.name + " | " + row.meaning + " |\n";
  }
  return page;
}

TEST(History, TheReadmeHasTheTablesOfTheFormat) {
  std::ifstream in(LEASEHOLD_MODEL_README);
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(readme.find(format_page()), std::string::npos) << format_page();
}

/// `leasehold-lab check --schema` writes it.
TEST(History, TheSchemaIsThatOfTheFormat) {
  std::ifstream in(LEASEHOLD_HISTORY_SCHEMA);
  const std::string kept{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(kept, history_schema());
}

TEST(History, TheSchemaHasTheTypesThatAreRead) {
  const auto schema = nlohmann::json::parse(history_schema());
  for (const auto& row : about_kinds::kAll) {
    const auto line = nlohmann::json::parse(to_json(full(row.kind)));
    for (const auto& [key, value] : line.items()) {
      if (key == "at_ns" || key == "kind") continue;
      const auto& type = schema["$defs"][key]["type"];
      EXPECT_EQ(type, value.is_string()    ? "string"
                      : value.is_boolean() ? "boolean"
                                           : "integer")
          << key;
    }
  }
}

TEST(History, ErrorsNameTheLine) {
  for (const char* bad : {"{\"at_ns\":1,\"kind\":\"ask\"}\n{nonsense", "\n\n",
                          "{\"at_ns\":1,\"kind\":\"dance\"}", "{\"kind\":\"ask\"}",
                          // Older programs wrote such histories.
                          "{\"at_ns\":1,\"kind\":\"exit\",\"matched\":3}",
                          "{\"at_ns\":1,\"kind\":\"put\",\"detail\":\"x\"}",
                          "{\"at_ns\":1,\"kind\":\"put\",\"order\":\"12x\"}",
                          // Found by the fuzzer: undefined behaviour in the conversion.
                          "{\"at_ns\":1e42,\"kind\":\"ask\"}", "{\"at_ns\":1.5,\"kind\":\"ask\"}",
                          "{\"at_ns\":9223372036854775808,\"kind\":\"ask\"}"}) {
    std::istringstream in(bad);
    try {
      (void)read(in);
      ADD_FAILURE() << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("line "), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace leasehold::model
