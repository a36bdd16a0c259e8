#include "bench/contend/load.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "cli/command_line.hpp"

namespace leasehold::bench {
namespace {

constexpr double kCut = 100;  ///< no Pareto holding is longer than this many means
constexpr int kMostLocks = 100'000;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text + ":");
  for (std::string word; std::getline(in, word, ':');) words.push_back(word);
  return words;
}

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& rule) {
  throw cli::UsageError("--" + option + " is '" + text + "': it must be " + rule);
}

double ns_of(const std::string& option, const std::string& text) {
  return static_cast<double>(cli::duration_of(option, text).count()) * 1e6;
}

/// The text as a number; nothing if a part of it is none.
double number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != 0 ? std::nan("") : value;
}

}  // namespace

double draw_share(Random& random) {
  return (static_cast<double>(random.draw() >> 11) + 1) * 0x1p-53;
}

Holding Holding::parse(const std::string& text) {
  const auto words = words_of(text);
  const auto& kind = words[0];
  Holding h;
  const bool two = words.size() == 2, three = words.size() == 3;
  if (two && (kind == "constant" || kind == "exponential")) {
    h.kind_ = kind == "constant" ? Kind::constant : Kind::exponential;
    h.a_ns_ = ns_of("hold", words[1]);
  } else if (three && kind == "uniform") {
    h.kind_ = Kind::uniform;
    h.a_ns_ = ns_of("hold", words[1]);
    h.b_ns_ = ns_of("hold", words[2]);
    if (h.b_ns_ < h.a_ns_) refuse("hold", text, "uniform:LEAST:MOST, the least first");
  } else if ((two || three) && kind == "pareto") {
    h.kind_ = Kind::pareto;
    h.a_ns_ = ns_of("hold", words[1]);
    h.exponent_ = three ? number_of(words[2]) : 1.5;
    if (!(h.exponent_ > 1 && h.exponent_ <= 100)) {
      refuse("hold", text, "pareto:MEAN:EXPONENT with an exponent above 1, at most 100");
    }
  } else {
    refuse("hold", text,
           "constant:TIME, uniform:LEAST:MOST, exponential:MEAN or pareto:MEAN[:EXPONENT]");
  }
  return h;
}

std::int64_t Holding::draw_ns(Random& random) const {
  const double share = draw_share(random);  // one draw, whatever the kind
  switch (kind_) {
    case Kind::constant: return std::llround(a_ns_);
    case Kind::uniform: return std::llround(a_ns_ + share * (b_ns_ - a_ns_));
    case Kind::exponential: return std::llround(-std::log(share) * a_ns_);
    case Kind::pareto: {
      const double least = a_ns_ * (exponent_ - 1) / exponent_;
      return std::llround(std::min(least * std::pow(share, -1 / exponent_), kCut * a_ns_));
    }
  }
  return 0;
}

double Holding::mean_ns() const {
  if (kind_ == Kind::uniform) return (a_ns_ + b_ns_) / 2;
  if (kind_ != Kind::pareto || a_ns_ <= 0) return a_ns_;
  const double least = a_ns_ * (exponent_ - 1) / exponent_;
  const double beyond_cut =
      least * std::pow(least / (kCut * a_ns_), exponent_ - 1) / (exponent_ - 1);
  return a_ns_ - beyond_cut;
}

Arrivals Arrivals::parse(const std::string& text) {
  const auto words = words_of(text);
  Arrivals a;
  if (words[0] == "closed" && words.size() <= 2) {
    if (words.size() == 2) a.pause_ns = std::llround(ns_of("arrivals", words[1]));
  } else if (words[0] == "open" && words.size() == 2) {
    a.kind = Kind::open;
    a.share_of_ideal = number_of(words[1]) / 100;
    if (!(a.share_of_ideal > 0 && a.share_of_ideal <= 10)) {
      refuse("arrivals", text, "open:PERCENT of the ideal rate, above 0 and at most 1000");
    }
  } else if (text == "once") {
    a.kind = Kind::once;
  } else {
    refuse("arrivals", text, "closed, closed:PAUSE, open:PERCENT or once");
  }
  return a;
}

Locks Locks::parse(const std::string& text) {
  const auto words = words_of(text);
  const bool zipf = words[0] == "zipf" && words.size() <= 3;
  const bool many = words[0] == "many" && words.size() == 2;
  const double count = text == "one" ? 1 : words.size() > 1 ? number_of(words[1]) : 0;
  const double s = !zipf ? 0 : words.size() == 3 ? number_of(words[2]) : 1;
  const bool whole = count >= 1 && count <= kMostLocks && count == std::floor(count);
  if (!(text == "one" || zipf || many) || !whole || !(s >= 0 && s <= 10)) {
    refuse("locks", text,
           "one, many:COUNT or zipf:COUNT[:EXPONENT], of 1 to 100000 locks, exponent 0 to 10");
  }
  Locks locks;
  double sum = 0;
  for (int k = 1; k <= static_cast<int>(count); ++k) {
    locks.up_to_.push_back(sum += std::pow(k, -s));
  }
  for (double& up_to : locks.up_to_) up_to /= sum;
  return locks;
}

int Locks::draw(Random& random) const {
  const auto at = std::lower_bound(up_to_.begin(), up_to_.end() - 1, draw_share(random));
  return static_cast<int>(at - up_to_.begin());
}

double Locks::share_of(int lock) const {
  const auto i = static_cast<std::size_t>(lock);
  return up_to_.at(i) - (i == 0 ? 0 : up_to_[i - 1]);
}

double ideal_per_s(const Load& load, double write_ms) {
  const double turn_s = Holding::parse(load.hold).mean_ns() * 1e-9 + write_ms * 1e-3;
  return 1 / (turn_s * Locks::parse(load.locks).hottest_share());
}

}  // namespace leasehold::bench
