#include "tasks/embedding/task.h"

#include "base/error.h"
#include "base/plural.h"
#include "tasks/embedding/settings.h"

namespace sixfold {
namespace {

void describe_embedding(const ModelConfig& model, const InfoLine& line) {
  const std::string limit =
      model.context_tokens > 0 ? " of at most " + counted(model.context_tokens, "token") : "";
  line("embeds", fmt::format("texts{} as {} (pooling {}{})", limit, counted(model.d_model, "number"),
                             name_of_enum(model.head.pooling),
                             settings_of<EmbeddingSettings>(model).normalize ? ", norm 1" : ""));
}

}  // namespace

TaskEntry embedding_entry() {
  return {.name = EmbeddingSettings::task,
          .purpose = "embeds texts",
          .command = "embed",
          .config_of = nullptr,
          .default_options = nullptr,
          .describe = describe_embedding};
}

}  // namespace sixfold
