#include <pybind11/stl/filesystem.h>

#include <atomic>

#include "binding.h"
#include "tasks/tasks.h"
#include "text/tokenizers.h"
#include "train/trainer.h"

namespace sixfold::python {
namespace {

/// Overrides values of `base` by those of `over`, group by group.
void merge(OptionNode& base, OptionNode over) {
  if (base.kind != OptionNode::Kind::map || over.kind != OptionNode::Kind::map) {
    base = std::move(over);
    return;
  }
  for (auto& [key, child] : over.children) {
    if (OptionNode* const known = base.find(key))
      merge(*known, std::move(child));
    else
      base.children.emplace_back(key, std::move(child));
  }
}

/// `config`: None, the path of a file, or a dict. `keys` override its values. `entry` is called with each entry
/// of train.jsonl.
py::object train_run(const py::object& config, const py::dict& keys, const std::filesystem::path& output,
                     bool resume, bool other_processor, bool fit, const py::object& entry) {
  OptionNode options{.kind = OptionNode::Kind::map, .where = "train"};
  if (py::isinstance<py::dict>(config))
    options = node_of(config, "config");
  else if (!config.is_none())
    options = read_option_file(config.cast<std::filesystem::path>().string());
  require(options.kind == OptionNode::Kind::map || options.kind == OptionNode::Kind::null,
          "{}: expected groups of keys with values", options.where);
  OptionNode overrides = node_of(keys, "train");
  std::erase_if(overrides.children,
                [](const auto& child) { return child.second.kind == OptionNode::Kind::null; });
  merge(options, std::move(overrides));
  const TrainOutcome outcome = Call::run([&](Call& call) {
    std::atomic<int> stop = 0;
    const std::stop_callback stopped(call.token(), [&stop] { stop = 1; });
    const TrainRequest request{
        .run = output.string(),
        .resume = resume,
        .other_processor = other_processor,
        .fit = fit,
        .stop = &stop,
        .entry = [&](const std::string& text) { call.ask([&] { entry(text_of(text)); }); }};
    return train(*task_config_of(std::move(options), "train", builtin_tasks(), resume ? request.run : ""),
                 request);
  });
  return result("TrainResult", text_of(outcome.model), text_of(outcome.checkpoint), outcome.updates);
}

using SharedTokenizer = std::shared_ptr<Tokenizer>;

SharedTokenizer shared(const std::shared_ptr<const Tokenizer>& tokenizer) {
  return std::const_pointer_cast<Tokenizer>(tokenizer);  // for pybind11; all that is called is const
}

SharedTokenizer train_tokenizer(const std::vector<std::string>& lines, const py::dict& keywords) {
  TokenizerOptions options;
  read_keywords(keywords, "Tokenizer", {OptionVisitor::AnyOptions(options)});
  return Call::run([&](Call&) { return shared(make_tokenizers(options, lines, {}).source); });
}

SharedTokenizer open_tokenizer(const std::filesystem::path& path, bool target) {
  return Call::run([&](Call&) {
    if (!std::filesystem::is_directory(path))
      return shared(make_tokenizers({.source = path.string()}, std::span<const std::string>(), {}).source);
    const Tokenizers all = load_tokenizers(path.string());
    return shared(target || !all.source ? all.target : all.source);
  });
}

}  // namespace

void add_training(py::module_& m) {
  m.def("train", train_run);
  m.def("default_config", [](const std::string& task) {
    return text_of(to_json(trained_task(task, "default_config").default_options()));
  });
  m.def("train_tokenizer", [](const py::sequence& lines, const py::dict& keywords) {
    return train_tokenizer(texts_of(lines), keywords);
  });
  m.def("open_tokenizer", open_tokenizer);
  py::class_<Tokenizer, SharedTokenizer>(m, "Tokenizer")
      .def("encode",
           [](const Tokenizer& tokenizer, const py::sequence& texts) {
             const std::vector<std::string> all = texts_of(texts);
             std::vector<std::vector<int32_t>> ids;
             {
               const py::gil_scoped_release free;
               for (const std::string& text : all) ids.push_back(tokenizer.encode_text(text));
             }
             return ids;
           })
      .def("decode", [](const Tokenizer& tokenizer,
                        const std::vector<int32_t>& ids) { return text_of(tokenizer.decode_text(ids)); })
      .def("token", [](const Tokenizer& tokenizer, int32_t id) { return text_of(tokenizer.token_text(id)); })
      .def("save",
           [](const SharedTokenizer& tokenizer, const std::filesystem::path& folder) {
             save_tokenizers({.source = tokenizer, .target = tokenizer, .joint = true}, folder.string());
           })
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size)
      .def_property_readonly("kind", [](const Tokenizer& t) { return text_of(name_of_enum(t.kind())); })
      .def_property_readonly("unk", &Tokenizer::unk)
      .def_property_readonly("bos", &Tokenizer::bos)
      .def_property_readonly("eos", &Tokenizer::eos);
}

}  // namespace sixfold::python
