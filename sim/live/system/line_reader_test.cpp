#include "sim/live/system/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace leasehold::sim::live {
namespace {

class Lines : public testing::Test {
 protected:
  Lines() { EXPECT_EQ(pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0); }
  ~Lines() override {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  void write_text(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  bool read_once() { return lines_.read_from(ends_[0]); }

  int ends_[2];
  LineReader lines_;
};

TEST_F(Lines, AreGivenOnceTheyAreWhole) {
  EXPECT_FALSE(read_once());
  write_text("one\ntw");
  EXPECT_TRUE(read_once());
  EXPECT_EQ(lines_.next(), "one");
  EXPECT_EQ(lines_.next(), std::nullopt);
  EXPECT_EQ(lines_.waiting(), 2u);
  EXPECT_EQ(lines_.rest(1), "t");
  write_text("o\n\n");
  EXPECT_TRUE(read_once());
  EXPECT_EQ(lines_.next(), "two");
  EXPECT_EQ(lines_.next(), "");
  EXPECT_EQ(lines_.next(), std::nullopt);
  EXPECT_FALSE(lines_.ended());
}

TEST_F(Lines, EndWithTheirWriter) {
  write_text("last\nunfinished");
  close(ends_[1]);
  ends_[1] = -1;
  EXPECT_TRUE(read_once());
  EXPECT_FALSE(read_once());
  EXPECT_TRUE(lines_.ended());
  EXPECT_EQ(lines_.next(), "last");
  EXPECT_EQ(lines_.next(), std::nullopt);
}

}  // namespace
}  // namespace leasehold::sim::live
