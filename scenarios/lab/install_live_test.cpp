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

  void expect_locks(const std::string& program, const std::string& says = "held with token ") {
    const auto ran = run_program({folder_ + "/" + program, sim::live::shared_set().uri()});
    EXPECT_EQ(ran.exit_code, 0) << ran.out;
    EXPECT_NE(ran.out.find(says), std::string::npos) << ran.out;
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

TEST_F(Installed, AProgramInCFoundByPkgConfigLocks) {
  const auto built =
      shell(folder_,
            "export PKG_CONFIG_PATH=$(dirname $(find \"$PWD/prefix\" -name leasehold_c.pc)) && "
            "cc -std=c11 -Wall -Wextra -pedantic -Werror -D_POSIX_C_SOURCE=200809L "
            "'" LEASEHOLD_SOURCE_DIR
            "/impl/examples/c_lock.c' -o c_lock $(pkg-config --cflags --libs leasehold_c) "
            "-Wl,-rpath,$(pkg-config --variable=libdir leasehold_c)");
  ASSERT_EQ(built.exit_code, 0) << built.out;
  expect_locks("c_lock", "working with token ");
}

TEST(Sources, BuildInAnotherProjectTheLockAloneFromLibmongocAlone) {
  const std::string folder =
      testing::TempDir() + "leasehold-subproject-test-" + std::to_string(getpid());
  fs::create_directories(folder);
  const auto built = shell(folder, "cmake -S '" LEASEHOLD_INSTALL_TEST
                                   "/subproject' -B build -G Ninja "
                                   "-DLEASEHOLD_SOURCE_DIR='" LEASEHOLD_SOURCE_DIR
                                   "' -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_UNITY_BUILD=ON "
                                   "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON "
                                   "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON && "
                                   "cmake --build build");
  EXPECT_EQ(built.exit_code, 0) << built.out;
  const auto ran = run_program({folder + "/build/install_test", sim::live::shared_set().uri()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_NE(ran.out.find("held with token "), std::string::npos) << ran.out;
  fs::remove_all(folder);
}

TEST_F(Installed, APublicHeaderNeedsNoDriverHeader) {
  const auto ran =
      shell(folder_, "! grep -rE 'include.*(mongoc|bson|boost)' prefix/include --exclude=asio.hpp");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
}

/// The Debian package, unpacked: what a new user has after `apt install`, without a change to this
/// machine.
class Packaged : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    const auto made =
        shell(folder_, "cpack --config '" LEASEHOLD_BUILD_DIR
                       "/CPackConfig.cmake' -B made >cpack.log 2>&1 || cat cpack.log; "
                       "mv made/*.deb leasehold.deb && dpkg-deb -x leasehold.deb root");
    ASSERT_EQ(made.exit_code, 0) << made.out;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Ran run(const std::string& line) {
    return shell(folder_, "export LEASEHOLD_URI='" + sim::live::shared_set().uri() +
                              "' PATH=\"$PWD/root/usr/bin:$PATH\"; " + line);
  }

  const std::string folder_ =
      testing::TempDir() + "leasehold-package-test-" + std::to_string(getpid());
};

TEST_F(Packaged, TheCommandRunsOneAtATimeAndTellsWhoHolds) {
  // The first waits with its end until the second has been refused for a while.
  const auto ran =
      run("leasehold run --lock job -- sh -c 'echo in; leasehold ls; leasehold show job; sleep 1; "
          "echo out' >first & "
          "while ! leasehold ls 2>/dev/null | grep -q job; do sleep 0.05; done; "
          "leasehold run --lock job --wait 30s -- sh -c 'cat first'; wait");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const auto in = ran.out.find("in\n"), out = ran.out.find("out\n");
  EXPECT_NE(in, std::string::npos) << ran.out;
  EXPECT_NE(out, std::string::npos) << "the second ran before the first had ended: " << ran.out;
  EXPECT_NE(ran.out.find("job"), std::string::npos) << "ls and show name it";
}

TEST_F(Packaged, DoctorFindsNothingWrongAndTheManPageAndTheBoardAreThere) {
  const auto ran = run("leasehold run --lock job -- true && leasehold doctor");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const auto page = run("gzip -cdf root/usr/share/man/man1/leasehold.1*");
  EXPECT_NE(page.out.find(".TH"), std::string::npos) << page.out;
  EXPECT_EQ(run("grep -q leasehold_held_locks root/usr/share/leasehold/grafana.json").exit_code, 0);
}

TEST_F(Packaged, HasTheChangelogsVersionAndNamesWhatItNeeds) {
  const auto version = run("leasehold --version").out;
  const auto release = run("grep -m1 -oE '^## \\[[0-9.]+' '" LEASEHOLD_CHANGELOG "' | tr -d '#[ '");
  EXPECT_FALSE(release.out.empty());
  EXPECT_NE(version.find(release.out), std::string::npos) << version << release.out;
  EXPECT_EQ(run("dpkg-deb -f leasehold.deb Version").out, release.out);
  const auto depends = run("dpkg-deb -f leasehold.deb Depends").out;
  for (const char* needed : {"libmongoc-1.0", "libbson-1.0", "libboost-program-options"}) {
    EXPECT_NE(depends.find(needed), std::string::npos) << depends;
  }
}

TEST_F(Packaged, AServiceIsBuiltAgainstIt) {
  const auto built = run("cmake -S '" LEASEHOLD_INSTALL_TEST
                         "' -B service -G Ninja -DCMAKE_PREFIX_PATH=\"$PWD/root/usr\" && cmake "
                         "--build service && service/install_test \"$LEASEHOLD_URI\"");
  EXPECT_EQ(built.exit_code, 0) << built.out;
  EXPECT_NE(built.out.find("held with token "), std::string::npos) << built.out;
}

}  // namespace
}  // namespace leasehold::lab

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
