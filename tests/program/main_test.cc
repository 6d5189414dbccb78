#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/file.h"
#include "base/options.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(Program, WithoutArgumentsShowsItsHelp) {
  const Outcome outcome = sixfold("");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.text.find("Make a model"), std::string::npos) << outcome.text;
}

TEST(Program, TellsHelpAndVersion) {
  EXPECT_EQ(sixfold("--help").status, 0);
  EXPECT_EQ(sixfold("evaluate --help").status, 0);
  const Outcome version = sixfold("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.text.starts_with("sixfold ")) << version.text;
}

/// A command that is declared and not added would be missing silently.
TEST(Program, HasEveryCommandThatIsDeclared) {
  const std::string help = sixfold("--help").text, plots = sixfold("plot --help").text;
  const auto expect_commands = [](const std::string& header, const std::string& prefix, const std::string& in) {
    const std::string declarations = read_file(SIXFOLD_SOURCE_DIR "/src/program/" + header);
    const std::regex declaration("void " + prefix + "(\\w+)\\(CLI::App&");
    int commands = 0;
    for (std::sregex_iterator one(declarations.begin(), declarations.end(), declaration), end; one != end;
         ++one, ++commands) {
      std::string name = (*one)[1];
      std::ranges::replace(name, '_', '-');
      EXPECT_NE(in.find("\n  " + name + " "), std::string::npos) << header << ": " << name;
    }
    EXPECT_GT(commands, 5) << header;
  };
  expect_commands("commands.h", "add_", help);
  expect_commands("plots.h", "add_plot_", plots);
}

TEST(Program, NamesTheNearestOptionOrCommand) {
  expect_error(sixfold("evaluate --refrence x"), "unknown option --refrence; did you mean --reference?");
  expect_error(sixfold("evaluate --refrence=x"), "unknown option --refrence; did you mean --reference?");
  expect_error(sixfold("evalute"), "unknown command evalute; did you mean evaluate?");
  expect_error(sixfold("evaluate y --reference x"), "unexpected argument 'y'");
}

TEST(Program, CompletesInBash) {
  const auto complete = [](const std::string& words) {
    std::string command = "bash -c 'source <(" SIXFOLD_BINARY " completion bash); COMP_WORDS=(" + words +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sixfold; echo \"${COMPREPLY[@]}\"'";
    return shell(command).text;
  };
  EXPECT_EQ(complete("sixfold tr"), "train translate\n");
  EXPECT_EQ(complete("sixfold plot at"), "attention\n");
  EXPECT_EQ(complete("sixfold train --res"), "--resume\n");
  EXPECT_EQ(complete("sixfold plot curves --th"), "--theme\n");
  EXPECT_EQ(complete("sixfold translate train --format js"), "json jsonl\n");  // "train" is the model here
  EXPECT_EQ(complete("sixfold translate --format = t"), "text tsv\n");         // how bash parts --format=t
  EXPECT_EQ(complete("sixfold plot curves run --theme \"\""), "auto light dark\n");
  EXPECT_EQ(complete("sixfold completion \"\""), "bash zsh fish\n");
  EXPECT_EQ(complete("sixfold train c.yaml --set data.max_l"), "data.max_length=\n");
  EXPECT_EQ(complete("sixfold train --set schedule.kind=noam --set train.up"), "train.updates=\n");
  EXPECT_EQ(complete("sixfold evaluate -r train -"), complete("sixfold evaluate -"));
  // Names of files are bash's own affair, which knows how to quote them.
  EXPECT_EQ(complete("sixfold translate /bi"), "\n");
  EXPECT_EQ(complete("sixfold translate model --output my\\ fi"), "\n");
  EXPECT_EQ(shell("bash -c 'source <(" SIXFOLD_BINARY " completion bash); complete -p sixfold'").text,
            "complete -o default -F _sixfold sixfold\n");
}

TEST(Program, CompletionIsValidInOtherShells) {
  for (const std::string other : {"zsh", "fish"}) {
    const Outcome script = sixfold("completion " + other);
    EXPECT_EQ(script.status, 0);
    for (const char* part : {"on-spike", "text tsv json jsonl", "data.max_length=", "bash zsh fish"})
      EXPECT_NE(script.text.find(part), std::string::npos) << part;
    if (shell("command -v " + other).status != 0) continue;  // not everybody has it
    const Outcome checked = shell(SIXFOLD_BINARY " completion " + other + " | " + other + " -n /dev/stdin");
    EXPECT_EQ(checked.status, 0) << checked.text;
  }
  expect_error(sixfold("completion csh"), "expected one of bash, zsh, fish");
}

TEST(Program, WritesAManualPageForEachCommand) {
  const TemporaryFolder folder;
  EXPECT_EQ(sixfold("man " + (folder / "man1")).status, 0);
  for (const char* page : {"sixfold", "sixfold-train", "sixfold-plot-attention", "sixfold-man"}) {
    const std::string text = read_file(folder / ("man1/" + std::string(page) + ".1"));
    EXPECT_TRUE(text.starts_with(".TH ")) << page;
    EXPECT_NE(text.find(".SH SYNOPSIS"), std::string::npos) << page;
  }
  EXPECT_NE(read_file(folder / "man1/sixfold-train.1").find("\\-\\-resume"), std::string::npos);
}

/// The pages of train and serve list every key of what --options lists.
TEST(Program, ItsManualPagesHaveTheKeysOfConfigs) {
  const TemporaryFolder folder;
  ASSERT_EQ(sixfold("man " + folder.path().string()).status, 0);
  const auto expect_keys = [&](const char* command, const std::string& options) {
    const std::string page = read_file(folder / ("sixfold-" + std::string(command) + ".1"));
    const std::string listing = sixfold(std::string(command) + " --options " + options).text;
    const std::vector<ListedOption> keys = listed_options(parse_yaml_options(listing, options));
    EXPECT_GT(keys.size(), 20u);
    for (const ListedOption& key : keys)
      EXPECT_NE(page.find(key.value.empty() ? "\n.SS " + key.key + "\n" : "\n\\fB" + key.key + "\\fR = "),
                std::string::npos)
          << command << " " << options << " " << key.key;
  };
  expect_keys("train", "translation");
  expect_keys("serve", "");
  const std::string train = read_file(folder / "sixfold-train.1");
  const size_t images = train.find("\n.SS The task image_classification\n");
  ASSERT_NE(images, std::string::npos);
  EXPECT_NE(train.find("\\fBimage.patch\\fR = 4\n", images), std::string::npos);
  EXPECT_NE(train.find("It does not have generation, tokenizer, data.weights,", images), std::string::npos);
}

TEST(Program, EndsWellWhenItsReaderHasGone) {
  // `sleep` holds the pipe's writing end back until `true` has ended and closed the reading end.
  const Outcome outcome = shell("{ sleep 0.2; " SIXFOLD_BINARY " --help; echo status $? >&2; } | true");
  EXPECT_EQ(outcome.text, "status 0\n");
}

TEST(Program, SaysThatItsOutputWasLost) {
  const Outcome outcome = sixfold("--help > /dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.text.find("can't write to standard output"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace sixfold
