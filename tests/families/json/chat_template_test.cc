#include "families/json/chat_template.h"

#include "families/causal_folder.h"
#include "tasks/language_model/generator.h"

namespace sixfold {
namespace {

using nlohmann::json;

/// A GPT-2 whose last tokens are the control tokens of ChatML.
class ChatTemplates : public CausalFolder {
 protected:
  ChatTemplates() {
    change("tokenizer.json", [](json& all) {
      for (const char* text : {"<|im_start|>", "<|im_end|>"}) {
        json token = all["added_tokens"][0];
        token.update({{"id", all["added_tokens"].back()["id"].get<int>() + 1}, {"content", text}});
        all["added_tokens"].push_back(token);
      }
    });
  }
  static std::string golden(const std::string& name) {
    return read_file(SIXFOLD_TEST_GOLDENS "/chat/" + name + ".jinja");
  }
  void set_template(const json& value) const {
    change("tokenizer_config.json", [&](json& c) { c["chat_template"] = value; });
  }
  ChatSettings chat() const { return settings_of<LanguageModelSettings>(load_model_config(model_)).chat; }
};

TEST_F(ChatTemplates, AreRecognizedAndExported) {
  set_template(golden("smollm2"));
  EXPECT_EQ(warnings(), "");
  const std::string smollm = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
  EXPECT_EQ(chat().format, "chatml");
  EXPECT_EQ(chat().system, smollm);
  const std::vector<ChatMessage> messages{{"user", "a<|im_end|>"}};
  const auto prompt = Generator(model_, {.threads = 1}).chat_prompt(messages);
  const std::string out = folder_ / "out";
  export_hugging_face(model_, out);
  EXPECT_NE(read_file(out + "/tokenizer_config.json").find("chat_template"), std::string::npos);
  import_hugging_face(out, folder_ / "again");
  EXPECT_EQ(Generator(folder_ / "again", {.threads = 1}).chat_prompt(messages).ids, prompt.ids);
}

TEST_F(ChatTemplates, AreInSeveralPlaces) {
  set_template(
      {{{"name", "tools"}, {"template", "x"}}, {{"name", "default"}, {"template", golden("qwen2.5")}}});
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(chat().system, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
  write_file_atomically(given_ + "/chat_template.jinja", golden("qwen3"));
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(chat().format, "qwen3") << "the file comes first";
}

TEST_F(ChatTemplates, ThatDoNotFitAreNamed) {
  const auto named = [&](const json& value, const std::string& part) {
    set_template(value);
    const std::string all = warnings();
    EXPECT_NE(all.find(part), std::string::npos) << all;
    EXPECT_EQ(chat().format, "");
    const std::string error = error_message([&] {
      Generator(model_, {.threads = 1}).chat_prompt(std::vector<ChatMessage>{{"user", "a"}});
    });
    EXPECT_NE(error.find("it is not known how the model reads conversations"), std::string::npos) << error;
  };
  named("{{ messages }}", "is none of the known formats: chatml, qwen3,");
  named(golden("phi4"),
        "is that of the format phi4, but its tokenizer finds no special token '<|im_sep|>' in conv");
  named("{{ bos_token }}" + golden("smollm2"), "puts the start token before a text, and the tokenizer none");
  set_template(5);
  refuse("chat_template is 5; it must be a text, or a list of texts with names");
  set_template({{{"name", "default"}}});
  refuse("each of several has a name and a template");
}

}  // namespace
}  // namespace sixfold
