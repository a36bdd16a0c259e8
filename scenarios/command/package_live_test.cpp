#include <boost/algorithm/string/replace.hpp>

#include "scenarios/command/ended_test.hpp"

/// The two Debian packages, unpacked over each other: what a new user has after `apt install`,
/// without a change to this machine.
namespace leasehold::lab {
namespace {

class Packaged : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::create_directories(folder());
    const auto made =
        shell(folder(), "cpack --config '" LEASEHOLD_BUILD_DIR
                        "/CPackConfig.cmake' -B made >cpack.log 2>&1 || cat cpack.log; "
                        "mv made/leasehold_*.deb leasehold.deb && mv made/leasehold-lab_*.deb "
                        "lab.deb && dpkg-deb -x leasehold.deb root && dpkg-deb -x lab.deb root");
    ASSERT_EQ(made.exit_code, 0) << made.out;
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static const std::string& folder() {
    static const std::string name =
        testing::TempDir() + "leasehold-package-test-" + std::to_string(getpid());
    return name;
  }

  static Ran run(const std::string& line) {
    return shell(folder(), "export LEASEHOLD_URI='" + shared_set().uri() +
                               "' PATH=\"$PWD/root/usr/bin:$PATH\"; " + line);
  }
  static std::string field(const std::string& package, const std::string& name) {
    return run("dpkg-deb -f " + package + ".deb " + name).out;
  }
};

TEST_F(Packaged, DoctorFindsNothingWrongAndTheManPagesAndTheBoardAreThere) {
  EXPECT_TRUE(ended(run("leasehold run --lock job -- true && leasehold doctor"), 0));
  for (const std::string page : {"leasehold.1", "leasehold-lab.1"}) {
    const auto text = run("gzip -cdf root/usr/share/man/man1/" + page + "*");
    EXPECT_TRUE(has(text, ".TH"));
  }
  EXPECT_EQ(run("grep -q leasehold_held_locks root/usr/share/leasehold/grafana.json").exit_code, 0);
}

TEST_F(Packaged, HaveTheChangelogsVersionAndNameWhatTheyNeed) {
  const auto release = run("grep -m1 -oE '^## \\[[0-9.]+' '" LEASEHOLD_CHANGELOG "' | tr -d '#[ '");
  EXPECT_FALSE(release.out.empty());
  for (const std::string command : {"leasehold", "leasehold-lab"}) {
    const auto version = run(command + " --version").out;
    EXPECT_EQ(version, command + " " + release.out);
  }
  for (const std::string package : {"leasehold", "lab"}) {
    EXPECT_EQ(field(package, "Version"), release.out);
    const auto depends = field(package, "Depends");
    EXPECT_TRUE(has(depends, "libmongoc-1.0", "libbson-1.0", "libboost-program-options"));
    EXPECT_FALSE(has(depends, "leasehold")) << "neither needs the other";
  }
  EXPECT_TRUE(field("lab", "Description").starts_with("laboratory "));
}

TEST_F(Packaged, HaveNoFileInCommon) {
  const auto common =
      run("for p in leasehold lab; do dpkg-deb -c $p.deb | grep -v '^d' | awk '{print $6}' | sort "
          ">$p.list; done; wc -l <lab.list; comm -12 leasehold.list lab.list");
  EXPECT_GT(std::stoi(common.out), 90) << common.out;
  EXPECT_FALSE(has(common, "usr/"));
}

TEST_F(Packaged, TheLaboratoryHasItsFilesAndNoneOfItsTests) {
  for (const char* file :
       {"bin/leasehold-lab", "lib/leasehold/leasehold-worker",
        "lib/leasehold/fetch-mongod", "lib/leasehold/libleasehold_clock_shim.so",
        "share/leasehold/workers/ci.yml", "share/leasehold/workers/action.yml",
        "share/bash-completion/completions/leasehold-lab", "share/doc/leasehold-lab/SCN.md",
        "share/doc/leasehold-lab/WORKERS.md", "share/doc/leasehold-lab/copyright",
        "share/doc/leasehold-lab/guide/ci.md",
        "share/doc/leasehold-lab/history.schema.json", "share/doc/leasehold-lab/worker.schema.json",
        "share/doc/leasehold-lab/workers/templates/cpp/worker.cpp"}) {
    EXPECT_TRUE(fs::exists(folder() + "/root/usr/" + file)) << file;
  }
  const auto stray = run(
      "find root/usr/share -name '*_test.*'; grep -l build/bin root/usr/share/doc/*/*.md");
  EXPECT_EQ(stray.out, "");
}

/// The stories are in the package, because elsewhere, as in the sources, they are not looked for.
TEST_F(Packaged, TheLaboratoryPlaysTheStoriesThatItBrought) {
  const auto all = run("leasehold-lab scenario list");
  EXPECT_TRUE(has(all, "late-release-frees-the-next-holder "));
  EXPECT_TRUE(ended(run("leasehold-lab scenario run release-by-name"), 0));
  const auto fewer =
      run("cd root/usr/share/leasehold/scenarios; mv release ../away; leasehold-lab scenario list; "
          "mv ../away release");
  EXPECT_FALSE(has(fewer, "late-release-frees-the-next-holder "));
}

TEST_F(Packaged, WithoutAMongodTheLaboratorySaysWhatToRun) {
  const auto ran = run("env -u LEASEHOLD_MONGOD PATH=/nowhere XDG_CACHE_HOME=\"$PWD/none\" "
                       "\"$PWD/root/usr/bin/leasehold-lab\" verify --seconds 4");
  EXPECT_TRUE(ended(ran, 69, "root/usr/lib/leasehold/fetch-mongod, which fetches one\n"));
}

/// The shell lines of the steps of a workflow or an action, in their order.
std::vector<std::string> run_steps(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> steps;
  std::size_t block = std::string::npos;  // where the key of an open block is
  for (std::string line; std::getline(in, line);) {
    const auto text = line.find_first_not_of(' '), key = line.find_first_not_of(" -");
    if (text != std::string::npos && block != std::string::npos && text > block) {
      steps.back() += line.substr(text) + '\n';
      continue;
    }
    block = std::string::npos;
    if (key == std::string::npos || line.compare(key, 5, "run: ") != 0) continue;
    const auto rest = line.substr(key + 5);
    if (rest == "|") block = key;
    steps.push_back(rest == "|" ? "" : rest);
  }
  return steps;
}

/// The workflow with nothing but the package, a mongod and a worker. Only apt-get is a stand-in.
TEST_F(Packaged, TheWorkflowOfTheLaboratoryDoesAsItSays) {
  const auto set_up = run(
      "mkdir -p bin ci && cp root/usr/share/leasehold/workers/templates/python/worker.py "
      "root/usr/share/leasehold/workers/templates/promises.json ci && cp lab.deb "
      "ci/leasehold-lab_0_amd64.deb && printf '#!/bin/sh\\necho \"$@\" >>apt.log\\n' "
      ">bin/apt-get && chmod +x bin/apt-get");
  ASSERT_EQ(set_up.exit_code, 0) << set_up.out;
  const auto workers = folder() + "/root/usr/share/leasehold/workers/";
  auto steps = run_steps(workers + "ci.yml");
  const auto of_action = run_steps(workers + "action.yml");
  steps.insert(steps.end(), of_action.begin(), of_action.end());
  ASSERT_EQ(steps.size(), 4u);
  // Debian's Python has its packages; the time is that of a test.
  const auto given = [&workers](const std::string& name) {
    return name + "=\"$(sed -n 's,^ *" + name + ": ,,Ip' '" + workers +
           "ci.yml' | sed 's,^python3,/usr/bin/python3,')\" ";
  };
  for (const auto& step : steps) {
    auto line = boost::replace_all_copy(step, "/usr/lib/", folder() + "/root/usr/lib/");
    boost::replace_all(line, " --faults", " --processes 3 --locks 1 --floors 1 --faults");
    const auto ran = run("export PATH=\"$PWD/bin:$PATH\" GITHUB_STEP_SUMMARY=summary.md "
                         "RUN_SECONDS=10 FAULTS=process,failover,network LEASEHOLD_MONGOD='" +
                         sim::live::find_mongod() + "' " + given("WORKER") + given("PROMISES") +
                         given("PACKAGE") + "; set -e; " + line);
    EXPECT_EQ(ran.exit_code, 0) << line << ran.out;
  }
  EXPECT_NE(run("cat apt.log").out.find("/ci/leasehold-lab_0_amd64.deb\n"), std::string::npos);
  const auto release = run("leasehold-lab --version").out.substr(sizeof "leasehold-lab");
  EXPECT_NE(run("cat '" + workers + "ci.yml'").out.find("/verify@v" + release), std::string::npos);
  const auto summary = run("cat summary.md").out;
  EXPECT_TRUE(has(summary, "### leasehold-lab verify: holds\n", "\n| G2 | holds | "));
  EXPECT_EQ(run("grep -q '<testsuite ' lock.xml && grep -q '<html' lock.html").exit_code, 0);
}

}  // namespace
}  // namespace leasehold::lab
