#include "serve/metrics.h"

#include <fmt/format.h>

namespace sixfold::serve {
namespace {

/// Builds the text, metric by metric.
class MetricsText {
 public:
  /// Begins a metric; the values that follow belong to it.
  void begin(const std::string& name, std::string_view kind, std::string_view help) {
    name_ = "sixfold:" + name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, kind);
  }
  /// `labels` is empty or like `a="b"`.
  void value(const std::string& labels, double value) { line("", labels, fmt::format("{}", value)); }
  void histogram(const std::string& labels, const Histogram& histogram) {
    const std::string before = labels.empty() ? "" : labels + ",";
    uint64_t count = 0;
    for (size_t i = 0; i < histogram.counts().size(); ++i) {
      count += histogram.counts()[i];
      const std::string bound =
          i < histogram.bounds().size() ? fmt::format("{}", histogram.bounds()[i]) : "+Inf";
      line("_bucket", before + "le=\"" + bound + "\"", fmt::format("{}", count));
    }
    line("_sum", labels, fmt::format("{}", histogram.sum()));
    line("_count", labels, fmt::format("{}", count));
  }
  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, const std::string& labels, const std::string& value) {
    text_ += fmt::format("{}{}{} {}\n", name_, suffix, labels.empty() ? "" : "{" + labels + "}", value);
  }
  std::string name_, text_;
};

/// The value of a label in quotes, with backslashes, quotes and line ends escaped.
std::string label_value(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text + '"';
}

std::string label(const std::string& model) { return "model_name=" + label_value(model); }

/// Writes the metrics of models, which have the names of vLLM's metrics.
void write_models(std::span<const ModelCounts> models, MetricsText& text) {
  using Value = int64_t DecodingCounts::*;
  const auto values = [&](const std::string& name, std::string_view kind, std::string_view help, Value value) {
    text.begin(name, kind, help);
    for (const ModelCounts& model : models)
      text.value(label(model.model), static_cast<double>(model.counts.*value));
  };
  using Distribution = Histogram DecodingCounts::*;
  const auto histograms = [&](const std::string& name, std::string_view help, Distribution histogram) {
    text.begin(name, "histogram", help);
    for (const ModelCounts& model : models) text.histogram(label(model.model), model.counts.*histogram);
  };
  values("num_requests_waiting", "gauge", "Sentences or prompts that wait for a place in a batch.",
         &DecodingCounts::waiting);
  values("num_requests_running", "gauge", "Sentences or prompts in batches.", &DecodingCounts::running);
  values("prompt_tokens_total", "counter", "Tokens of sources and prompts that the models have read.",
         &DecodingCounts::source_tokens);
  values("generation_tokens_total", "counter", "Tokens that the models have written.",
         &DecodingCounts::target_tokens);
  histograms("request_queue_time_seconds", "Time that a sentence or prompt waits for a place in a batch.",
             &DecodingCounts::queue_time);
  histograms("time_to_first_token_seconds", "Time until the first step of a sentence or prompt is done.",
             &DecodingCounts::first_token);
  histograms("request_decode_time_seconds", "Time until a sentence or prompt is done, with waiting.",
             &DecodingCounts::request_time);
  histograms("batch_fill_ratio", "Tokens in a batch, for each step, as a share of those that fit.",
             &DecodingCounts::batch_fill);
}

}  // namespace

void Metrics::count_request(const std::string& endpoint, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{endpoint, status}];
  times_.try_emplace(endpoint, histogram_of_times()).first->second.add(seconds);
}

void Metrics::count_cut_sentences(const std::string& model, size_t sentences) {
  const std::lock_guard lock(mutex_);
  cut_sentences_[model] += sentences;
}

Metrics::InFlight::InFlight(Metrics& metrics) : metrics_(metrics) {
  const std::lock_guard lock(metrics_.mutex_);
  ++metrics_.in_flight_;
}

Metrics::InFlight::~InFlight() {
  const std::lock_guard lock(metrics_.mutex_);
  --metrics_.in_flight_;
}

std::string Metrics::text(std::span<const ModelCounts> models, size_t waiting_bytes) const {
  const std::lock_guard lock(mutex_);
  MetricsText text;
  text.begin("http_requests_total", "counter", "Requests answered, by endpoint and status.");
  for (const auto& [key, count] : requests_)
    text.value(fmt::format("endpoint={},status=\"{}\"", label_value(key.first), key.second),
               static_cast<double>(count));
  text.begin("num_requests_in_flight", "gauge", "HTTP requests that are being answered.");
  text.value("", static_cast<double>(in_flight_));
  text.begin("waiting_text_bytes", "gauge", "Bytes of texts that are being translated.");
  text.value("", static_cast<double>(waiting_bytes));
  text.begin("e2e_request_latency_seconds", "histogram",
             "Time from when an HTTP request has arrived to the end of its answer.");
  for (const auto& [endpoint, histogram] : times_)
    text.histogram("endpoint=" + label_value(endpoint), histogram);
  text.begin("sentences_cut_total", "counter", "Sentences whose ends were too long for the model to read.");
  for (const ModelCounts& model : models) {
    const auto found = cut_sentences_.find(model.model);
    text.value(label(model.model), found == cut_sentences_.end() ? 0 : static_cast<double>(found->second));
  }
  write_models(models, text);
  return text.take();
}

}  // namespace sixfold::serve
