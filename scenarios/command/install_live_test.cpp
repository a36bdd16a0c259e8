#include "scenarios/command/ended_test.hpp"

namespace leasehold::lab {
namespace {

class Installed : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    const auto ran = shell(folder_, "cmake --install '" LEASEHOLD_BUILD_DIR
                                     "' --prefix prefix --component leasehold");
    ASSERT_EQ(ran.exit_code, 0) << ran.out;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void expect_locks(const std::string& program, const std::string& says = "held with token ") {
    EXPECT_TRUE(ended(run_program({folder_ + "/" + program, shared_set().uri()}), 0,
                      says));
    // Nothing is held, in the database of a URI that names none.
    sim::live::MongoClient client(shared_set().uri());
    const auto list = [&client](const sim::live::Json& command) {
      return client.must("leasehold", command)["cursor"]["firstBatch"];
    };
    EXPECT_EQ(list({{"find", "distributed.locks"}}), sim::live::Json::array());
    EXPECT_EQ(list({{"listCollections", 1}}).size(), 1u) << "it was there";
  }

  /// What a compiler says, with the flags of the package that pkg-config finds in the prefix.
  [[nodiscard]] Ran built_with(const std::string& package, const std::string& compiler) const {
    return shell(folder_, "export PKG_CONFIG_PATH=$(dirname $(find \"$PWD/prefix\" -name " +
                              package + ".pc)) && " + compiler +
                              " $(pkg-config --cflags --libs " + package + ")");
  }

  const std::string folder_ =
      testing::TempDir() + "leasehold-install-test-" + std::to_string(getpid());
};

const std::string kCompile = "c++ -std=c++20 '" LEASEHOLD_INSTALL_TEST "/main.cpp'";

TEST_F(Installed, AProgramFoundByFindPackageLocks) {
  const auto built = shell(folder_, "cmake -S '" LEASEHOLD_INSTALL_TEST
                                    "' -B build -G Ninja "
                                    "-DCMAKE_PREFIX_PATH=\"$PWD/prefix\" && cmake --build build");
  ASSERT_EQ(built.exit_code, 0) << built.out;
  expect_locks("build/install_test");
}

TEST_F(Installed, AProgramFoundByPkgConfigLocks) {
  const auto built = built_with("leasehold", kCompile + " -o install_test");
  ASSERT_EQ(built.exit_code, 0) << built.out;
  expect_locks("install_test");
}

TEST_F(Installed, AProgramDoesNotLinkWithTheLibraryOfAnotherVersion) {
  shell(folder_, "sed -i 's/inline v[0-9_]* /inline v9_9 /' prefix/include/leasehold/*.hpp");
  const auto built = built_with("leasehold", kCompile + " -o install_test");
  EXPECT_NE(built.exit_code, 0);
  EXPECT_TRUE(has(built, "undefined reference to `leasehold::v9_9::LockProvider::connect("));
}

TEST_F(Installed, ASharedObjectOfItsUserDoesNotShowTheLibrary) {
  const auto built = built_with("leasehold", kCompile + " -shared -fPIC -o plugin.so");
  ASSERT_EQ(built.exit_code, 0) << built.out;
  const auto shown =
      shell(folder_, "nm -DC --defined-only plugin.so | grep -E ' [TDBR] ' | grep leasehold");
  EXPECT_EQ(shown.exit_code, 1) << shown.out;
}

TEST_F(Installed, AProgramInCFoundByPkgConfigLocks) {
  const auto built = built_with(
      "leasehold_c",
      "cc -std=c11 -Wall -Wextra -pedantic -Werror -D_POSIX_C_SOURCE=200809L "
      "'" LEASEHOLD_SOURCE_DIR "/impl/examples/c_lock.c' -o c_lock "
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
  EXPECT_TRUE(ended(run_program({folder + "/build/install_test", shared_set().uri()}), 0,
                    "held with token "));
  fs::remove_all(folder);
}

TEST_F(Installed, APublicHeaderNeedsNoDriverHeader) {
  EXPECT_TRUE(ended(shell(folder_,
                          "! grep -rE 'include.*(mongoc/|bson|boost)' prefix/include "
                          "--exclude=asio.hpp --exclude=mongocxx.hpp"), 0));
}

}  // namespace
}  // namespace leasehold::lab
