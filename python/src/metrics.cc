#include "metrics/metrics.h"

#include "binding.h"
#include "metrics/bleu.h"
#include "metrics/evaluation.h"

namespace sixfold {
namespace python {
namespace {

/// A metric of the table, with settings by the names that sacreBLEU has for them.
std::unique_ptr<Metric> metric_of(const std::string& name, const py::dict& settings) {
  MetricOptions options;
  read_keywords(settings, name, {OptionVisitor::AnyOptions(options)});
  const MetricEntry& row = metric_named(name);
  return Call::run([&](Call&) { return row.create(options); });
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
  m.def("metric", metric_of);
}

}  // namespace python
}  // namespace sixfold
