#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "scenarios/lab/run_program.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;

/// Runs a shell line in a folder of its own.
Ran shell(const std::string& folder, const std::string& line) {
  return run_program({"/bin/sh", "-c", "cd '" + folder + "' && " + line});
}

class Installed : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    const auto ran = shell(folder_, "cmake --install '" LEASEHOLD_BUILD_DIR "' --prefix prefix");
    ASSERT_EQ(ran.exit_code, 0) << ran.out;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void expect_locks(const std::string& program) {
    const auto ran = run_program({folder_ + "/" + program, sim::live::shared_set().uri()});
    EXPECT_EQ(ran.exit_code, 0) << ran.out;
    EXPECT_NE(ran.out.find("held with token "), std::string::npos) << ran.out;
  }

  const std::string folder_ =
      testing::TempDir() + "leasehold-install-test-" + std::to_string(getpid());
};

TEST_F(Installed, AProgramFoundByFindPackageLocks) {
  const auto built = shell(folder_, "cmake -S '" LEASEHOLD_INSTALL_TEST
                                    "' -B build -G Ninja "
                                    "-DCMAKE_PREFIX_PATH=\"$PWD/prefix\" && cmake --build build");
  ASSERT_EQ(built.exit_code, 0) << built.out;
  expect_locks("build/install_test");
}

TEST_F(Installed, AProgramFoundByPkgConfigLocks) {
  const auto built =
      shell(folder_,
            "export PKG_CONFIG_PATH=$(dirname $(find \"$PWD/prefix\" -name leasehold.pc)) && "
            "c++ -std=c++20 '" LEASEHOLD_INSTALL_TEST
            "/main.cpp' -o install_test "
            "$(pkg-config --cflags --libs --static leasehold)");
  ASSERT_EQ(built.exit_code, 0) << built.out;
  expect_locks("install_test");
}

TEST_F(Installed, APublicHeaderNeedsNoDriverHeader) {
  const auto ran =
      shell(folder_, "! grep -rE 'include.*(mongoc|bson|boost)' prefix/include --exclude=asio.hpp");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
}

}  // namespace
}  // namespace leasehold::lab

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
