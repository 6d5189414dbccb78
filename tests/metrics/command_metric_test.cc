#include "metrics/command_metric.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "metrics/evaluation.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

const std::vector<std::string> outputs{"one", "two \"2\"", "three"}, sources{"eins", "zwei", "drei"};
const References references{{"one", "two", "four"}, {"1", "2", "3"}};

double score_by(const std::string& command, const std::optional<BootstrapOptions>& resampling = {}) {
  return score_system(CommandMetric({.command = command, .timeout = 20}), outputs, references, resampling)
      .score;
}

TEST(CommandMetric, ReadsLinesAsJson) {
  const TemporaryFolder folder;
  const std::string seen = folder / "seen";
  const CommandMetric metric({.command = "cat > " + seen + "; echo 5"});
  score_system(metric, outputs, references, {}, sources);
  EXPECT_EQ(read_file(seen),
            "{\"source\":\"eins\",\"output\":\"one\",\"references\":[\"one\",\"1\"]}\n"
            "{\"source\":\"zwei\",\"output\":\"two \\\"2\\\"\",\"references\":[\"two\",\"2\"]}\n"
            "{\"source\":\"drei\",\"output\":\"three\",\"references\":[\"four\",\"3\"]}\n");
  score_system(metric, {outputs.data(), 1}, {{"one"}});
  EXPECT_EQ(read_file(seen), "{\"output\":\"one\",\"references\":[\"one\"]}\n");
}

TEST(CommandMetric, IsTheMeanOfLinesOrTheNumberOfAll) {
  EXPECT_DOUBLE_EQ(score_by("cat > /dev/null; printf '1\\n2.5\\r\\n -0.5e1 \\n\\n'"), -0.5);
  EXPECT_DOUBLE_EQ(score_by("printf 42"), 42) << "it need not read its input";
  EXPECT_EQ(score_system(CommandMetric({.command = "printf '1\\n2\\n3\\n'"}), outputs, references,
                         BootstrapOptions{.samples = 20})
                .samples.size(),
            20u);
  EXPECT_EQ(CommandMetric({.command = "echo 7"}).statistics("a", references[0]).amounts,
            std::vector<double>{7});
}

TEST(CommandMetric, SaysWhatIsWrong) {
  const auto message = [](const std::string& command) { return error_message([&] { score_by(command); }); };
  EXPECT_NE(message("printf '1\\n1e308\\n3\\n'").find("which is not a number below 1e100"), std::string::npos);
  EXPECT_EQ(message("printf '1\\nNaN\\n3\\n'").find("printed 'NaN' in line 2, which is not a number"), 23u)
      << message("printf '1\\nNaN\\n3\\n'");
  for (const std::string wrong : {"1,5", "1 2", "0x10", "score: 3", "inf", "1e999", ""})
    EXPECT_NE(message("printf '%s\\n2\\n3\\n' '" + wrong + "'").find("not a number"), std::string::npos)
        << wrong;
  EXPECT_NE(message("printf '1\\n2\\n'").find("printed 2 numbers for 3 lines"), std::string::npos);
  EXPECT_NE(message("true").find("printed 0 numbers for 3 lines"), std::string::npos);
  EXPECT_NE(message("echo 1; exit 3").find("ended with status 3"), std::string::npos);
  EXPECT_NE(
      message("no-such-program 2> /dev/null").find("'no-such-program 2> /dev/null' ended with status 127"),
      std::string::npos);
  EXPECT_NE(message("yes").find("printed more than 400 bytes"), std::string::npos);
  EXPECT_NE(error_message([] { score_by("echo 1", BootstrapOptions{}); }).find("need one for each"),
            std::string::npos);
  EXPECT_NE(error_message([] { CommandMetric({}); }).find("give metric_command"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
