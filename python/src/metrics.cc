#include "binding.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/evaluation.h"

namespace sixfold {

/// The settings by the names that sacreBLEU has for them.
static void visit(OptionVisitor& v, BleuOptions& o) {
  v.field("tokenize", o.tokenizer, "how sentences are split into words");
  v.field("smooth_method", o.smoothing, "what counts if no n-gram of an order matches");
  v.field("smooth_value", o.smooth_value, "the constant of floor and add-k");
  v.field("lowercase", o.lowercase, "ignore case");
  v.field("use_effective_order", o.effective_order, "ignore orders longer than the sentence");
}
static void visit(OptionVisitor& v, ChrfOptions& o) {
  v.field("word_order", o.word_order, "0, or 2 for chrF2++", between(0, 2));
  v.field("lowercase", o.lowercase, "ignore case");
}

namespace python {
namespace {

template <class M, class Options>
std::unique_ptr<M> metric_of(const char* name, const py::dict& keywords) {
  Options options;
  read_keywords(keywords, name, {OptionVisitor::Walk(options)});
  return std::make_unique<M>(options);
}

/// Score, sums, details, and mean and half width of the samples of a bootstrap, if `samples` is above 1.
py::tuple score(const Metric& metric, const py::sequence& outputs, const py::sequence& references, int samples,
                uint64_t seed) {
  const std::vector<std::string> texts = texts_of(outputs);
  References right;
  for (const py::handle stream : references) right.push_back(texts_of(stream.cast<py::sequence>()));
  MetricSums sums(metric);
  const SystemScore scored = Call::run([&](Call&) {
    const std::optional<BootstrapOptions> resampling =
        samples > 1 ? std::optional(BootstrapOptions{samples, seed}) : std::nullopt;
    SystemScore all = score_system(metric, texts, right, resampling);
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::string> own;
      for (const std::vector<std::string>& stream : right) own.push_back(stream[i]);
      sums.add(texts[i], own);
    }
    return all;
  });
  const Confidence interval = scored.samples.empty() ? Confidence{} : confidence(scored.samples);
  return py::make_tuple(scored.score, std::vector<double>(sums.sums().begin(), sums.sums().end()),
                        scored.details, interval.mean, interval.half_width);
}

}  // namespace

void add_metrics(py::module_& m) {
  py::class_<Metric>(m, "Metric")
      .def("score", score)
      .def("signature", [](const Metric& metric, size_t references, int samples, uint64_t seed) {
        return signature_of(metric, references,
                            samples > 1 ? std::optional(BootstrapOptions{samples, seed}) : std::nullopt);
      });
  py::class_<Bleu, Metric>(m, "Bleu").def("parts", [](const Bleu& metric, const std::vector<double>& sums) {
    const BleuScore parts = metric.whole_score(sums);
    return py::make_tuple(parts.precisions, parts.brevity_penalty);
  });
  py::class_<Chrf, Metric>(m, "Chrf");
  m.def("bleu", [](const py::dict& keywords) { return metric_of<Bleu, BleuOptions>("bleu", keywords); });
  m.def("chrf", [](const py::dict& keywords) { return metric_of<Chrf, ChrfOptions>("chrf", keywords); });
}

}  // namespace python
}  // namespace sixfold
