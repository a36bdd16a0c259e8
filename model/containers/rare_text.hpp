#pragma once

#include <memory>
#include <string>
#include <utility>

namespace leasehold::model {

/// A text that few events have. Empty it takes no more than a pointer: a history has many events,
/// and each is moved several times.
class RareText {
 public:
  RareText() = default;
  RareText(std::string text)
      : text_(text.empty() ? nullptr : std::make_unique<std::string>(std::move(text))) {}
  RareText(const char* text) : RareText(std::string(text)) {}
  RareText(const RareText& other) : RareText(other.str()) {}
  RareText(RareText&&) = default;
  RareText& operator=(const RareText& other) { return *this = RareText(other.str()); }
  RareText& operator=(RareText&&) = default;
  ~RareText() = default;

  [[nodiscard]] bool empty() const { return text_ == nullptr; }
  [[nodiscard]] const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }
  friend bool operator==(const RareText& a, const RareText& b) { return a.str() == b.str(); }

 private:
  std::unique_ptr<std::string> text_;  ///< never of an empty one
};

}  // namespace leasehold::model
