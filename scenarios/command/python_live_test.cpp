#include <algorithm>

#include "scenarios/command/ended_test.hpp"

/// The wheel, installed into an environment of its own, as its users do it.
namespace leasehold::lab {
namespace {

class Python : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = testing::TempDir() + "leasehold-python-test-" + std::to_string(getpid());
    fs::create_directories(folder());
    const auto installed = shell(
        "/usr/bin/python3 -m venv --system-site-packages venv && "
        "venv/bin/pip install --quiet --no-index --no-deps "
        "'" LEASEHOLD_WHEELS "'/leasehold-*.whl");
    ASSERT_EQ(installed.exit_code, 0) << installed.out;
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static std::string& folder() {
    static std::string path;
    return path;
  }

  static Ran shell(const std::string& line) {
    return run_program({"/bin/sh", "-c", "cd '" + folder() + "' && " + line});
  }

  static Ran python(const std::string& arguments) {
    return shell("LEASEHOLD_URI='" + shared_set().uri() +
                 "' PYTHONDONTWRITEBYTECODE=1 venv/bin/python " + arguments);
  }

  /// `verify` of the worker around the package, by a plan.
  static Ran verified(const std::string& plan) {
    std::ofstream(folder() + "/plan.scn") << plan;
    return run_program({LEASEHOLD_LAB_PROGRAM, "verify", "--worker",
                        folder() + "/venv/bin/python " LEASEHOLD_WORKERS "/leasehold_worker.py",
                        "--promises", LEASEHOLD_WORKERS "/leasehold_python.json", "--plan",
                        folder() + "/plan.scn", "--floors", "5", "--runs", folder() + "/runs"},
                       kLongProgram);
  }
};

/// Holders that are stopped past their lease, and one that is killed. The leases are so long that
/// their operation timeouts are above the round trips of a machine that is busy with other tests.
/// Many holdings are long, so that a pause meets a holder whose lease then ends.
constexpr const char* kPlan = R"(
lock leasehold
seed 5
locks 2
clock-margin 800
faulty 6000
process expiry=2000 hold=5 long=40 timeout=2000 callers=2
process expiry=2000 hold=5 long=40 timeout=2000
process expiry=2000 hold=5 long=40 timeout=4000 callers=2
process expiry=2500 hold=5 long=40 timeout=4000
fault pause at=900 for=2600 pick=1
fault pause at=1300 for=2600 pick=2
fault crash at=1600 pick=3
fault slow-link at=2000 for=600 pick=4 amount=300
fault cut-link at=3600 for=1500 pick=5 amount=200
fault lost-replies at=4300 for=1200 pick=6 amount=500
)";

TEST_F(Python, TheExampleOfTheReadmeRunsAsItStands) {
  const auto readme = content_of(LEASEHOLD_PYTHON_SOURCES "/README.md");
  const std::string begin = "```python\n";
  const auto from = readme.find(begin);
  ASSERT_NE(from, std::string::npos);
  const auto at = from + begin.size();
  const auto example = readme.substr(at, readme.find("```", at) - at);
  EXPECT_LE(std::count(example.begin(), example.end(), '\n'), 60);
  std::ofstream(folder() + "/example.py") << example;
  const auto ran = python("example.py");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(has(ran, "worker 2 had token ", "not twice: ", "still held", "released: RELEASED"));
}

TEST_F(Python, ThePackageDoesWhatItSaysWithARealSet) {
  EXPECT_TRUE(ended(python("'" LEASEHOLD_PYTHON_SOURCES "/tests/live.py'"), 0, "OK"));
}

TEST_F(Python, TheWheelIsForThisPlatformAndCarriesItsTypesAndItsLibrary) {
  const auto files = shell("ls '" LEASEHOLD_WHEELS "'; venv/bin/pip show --files leasehold").out;
  EXPECT_TRUE(has(files, "-py3-none-linux_", "leasehold/py.typed", "leasehold/libleasehold_c.so.1",
                  "Version: " LEASEHOLD_VERSION));
}

TEST_F(Python, TheLockHoldsBehindTheProtocol) {
  EXPECT_TRUE(ended(verified(kPlan), 0, "leasehold for Python: "));
}

}  // namespace
}  // namespace leasehold::lab
