#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/threads.h"
#include "model_folder/ownership.h"
#include "program/bench/layer_times.h"
#include "program/bench/path_length.h"
#include "program/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "program/picture.h"
#include "program/plot/chart.h"
#include "train/precision.h"

namespace sixfold::cli {
namespace {

using nlohmann::ordered_json;

struct BenchSettings {
  LayerStudyOptions study;
  PictureOptions picture;
  bool decoder = false, json = false;
};

constexpr double milliseconds = 1e3;

std::string name_of(MixerKind kind) { return std::string(name_of_enum(kind)); }

/// "n^1.92 d^1.07"
std::string exponents(const LayerStudy& study) {
  std::vector<std::string> powers;
  for (const LayerGrowth& growth : study.growths)
    powers.push_back(fmt::format("{}^{:.2f}", name_of_enum(growth.size), growth.exponent));
  return join(powers, " ");
}

/// The path length as text; "none" if the layer does not connect tokens, as a convolution with a kernel of 1.
std::string path_text(const LayerStudy& study, int n) {
  const auto length = path_length(study.reach, n);
  return length ? std::to_string(*length) : "none";
}

std::string setting_text(const LayerStudyOptions& options) {
  const LayerSizes s = options.middle();
  return fmt::format("{}, {}; sizes that do not grow: n {}, d {}, k {}, r {}",
                     name_of_enum(options.timing.stack), counted(options.timing.threads, "thread"), s.n, s.d,
                     s.k, s.r);
}

/// Aligns the cells of a table by columns: the first to the left, the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string growth_text(const LayerGrowth& growth) {
  const auto seconds = [](double value) { return fmt::format("{:.3f}", milliseconds * value); };
  std::vector<std::vector<std::string>> rows{
      {fmt::format("  {}", name_of_enum(growth.size))}, {"  forward, ms"}, {"  backward, ms"}};
  for (size_t i = 0; i < growth.values.size(); ++i) {
    rows[0].push_back(std::to_string(growth.values[i]));
    rows[1].push_back(seconds(growth.times[i].forward));
    rows[2].push_back(seconds(growth.times[i].backward));
  }
  return aligned(rows);
}

std::string as_text(const std::vector<LayerStudy>& studies, const LayerStudyOptions& options) {
  const int n = options.middle().n;
  std::string text = setting_text(options) + "\n\n";
  std::vector<std::vector<std::string>> rows{{"layer", "operations", "time grows as", "sequential",
                                              fmt::format("n = {}", n), "longest path",
                                              fmt::format("n = {}", n)}};
  for (const LayerStudy& study : studies) {
    const PaperFormulas paper = paper_formulas(study.kind);
    rows.push_back({name_of(study.kind), std::string(paper.complexity), exponents(study),
                    std::string(paper.sequential), std::to_string(sequential_operations(study.reach, n)),
                    std::string(paper.path), path_text(study, n)});
  }
  text += aligned(rows) +
          "\nOperations, sequential and longest path are the formulas of table 1, O(...), and beside them what "
          "the\nlayer declares. A layer includes its linear maps, which cost n d^2 more than the formula says. "
          "The\npath of convolutions is n / k; the paper's log_k n needs dilated ones.\n";
  for (const LayerStudy& study : studies) {
    text += "\n" + name_of(study.kind) + "\n";
    for (const LayerGrowth& growth : study.growths) text += growth_text(growth);
  }
  return text;
}

ordered_json json_of(const LayerGrowth& growth) {
  ordered_json forward = ordered_json::array(), backward = ordered_json::array();
  for (const LayerTime& time : growth.times) {
    forward.push_back(time.forward);
    backward.push_back(time.backward);
  }
  return {{"size", name_of_enum(growth.size)},
          {"exponent", growth.exponent},
          {"values", growth.values},
          {"forward_seconds", forward},
          {"backward_seconds", backward}};
}

std::string as_json(const std::vector<LayerStudy>& studies, const LayerStudyOptions& options) {
  const LayerSizes sizes = options.middle();
  ordered_json object{{"stack", name_of_enum(options.timing.stack)},
                      {"threads", options.timing.threads},
                      {"repeat", options.timing.repeat},
                      {"sizes", {{"n", sizes.n}, {"d", sizes.d}, {"k", sizes.k}, {"r", sizes.r}}},
                      {"layers", ordered_json::array()}};
  for (const LayerStudy& study : studies) {
    const PaperFormulas paper = paper_formulas(study.kind);
    const auto path = path_length(study.reach, sizes.n);
    ordered_json layer{{"kind", name_of_enum(study.kind)},
                       {"paper",
                        {{"operations", paper.complexity},
                         {"sequential_operations", paper.sequential},
                         {"path_length", paper.path}}},
                       {"sequential_operations", sequential_operations(study.reach, sizes.n)},
                       {"path_length", path ? ordered_json(*path) : ordered_json(nullptr)},
                       {"growth", ordered_json::array()}};
    for (const LayerGrowth& growth : study.growths) layer["growth"].push_back(json_of(growth));
    object["layers"].push_back(std::move(layer));
  }
  return object.dump(2) + "\n";
}

/// A chart for each size that grew, with a curve for each kind of layer.
std::string as_picture(const std::vector<LayerStudy>& studies, const LayerStudyOptions& options, Theme theme) {
  const std::pair<LayerSize, const char*> axes[] = {{LayerSize::n, "n, length of the sequence [tokens]"},
                                                    {LayerSize::d, "d, width of the model"},
                                                    {LayerSize::k, "k, kernel of a convolution [tokens]"},
                                                    {LayerSize::r, "r, neighbours on each side [tokens]"}};
  std::vector<Chart> charts;
  for (const auto& [size, label] : axes) {
    Chart chart{.title = fmt::format("Time of a layer against {}", name_of_enum(size)),
                .x_label = label,
                .y_label = "forward and backward [ms]",
                .series = {},
                .log_x = true,
                .log_y = true};
    for (size_t i = 0; i < studies.size(); ++i)
      for (const LayerGrowth& growth : studies[i].growths) {
        if (growth.size != size) continue;
        Series series{.name =
                          fmt::format("{}: {}^{:.2f}, paper {}", name_of(studies[i].kind), name_of_enum(size),
                                      growth.exponent, paper_formulas(studies[i].kind).complexity)};
        series.set_style(i);
        for (size_t value = 0; value < growth.values.size(); ++value) {
          series.x.push_back(growth.values[value]);
          series.y.push_back(milliseconds * growth.times[value].total());
        }
        chart.series.push_back(std::move(series));
      }
    if (chart.series.empty()) continue;
    if (chart.series.size() == 1) chart.title = chart.series[0].name;  // there is no legend
    charts.push_back(std::move(chart));
  }
  return charts_svg("Table 1, measured: " + setting_text(options), charts, theme);
}

bool has_extension(const std::string& path, const std::string& extension) {
  return CLI::detail::to_lower(path).ends_with(extension);
}

void write_text(const std::string& path, const std::string& text) {
  TextOutput output(path);
  output.write(text);
  output.close();
}

void run(const BenchSettings& settings) {
  const std::string& path = settings.picture.output;
  require_output_file(path, {});
  for (const MixerKind kind : settings.study.kinds)
    require(settings.decoder || !is_for_decoders(kind), "--kinds: '{}' is for decoders only; add --decoder",
            name_of_enum(kind));
  LayerStudyOptions options = settings.study;
  options.timing.stack = settings.decoder ? AttentionKind::decoder : AttentionKind::encoder;
  if (options.timing.threads == 0) options.timing.threads = available_threads();
  const auto studies = study_layers(options, [](MixerKind kind, LayerSize size) {
    log_info("measuring {} against {}", name_of_enum(kind), name_of_enum(size));
  });
  if (has_extension(path, ".json"))
    write_text(path, as_json(studies, options));
  else if (!path.empty())
    write_picture(settings.picture, as_picture(studies, options, settings.picture.theme));
  write_text("-", settings.json ? as_json(studies, options)
                                : as_text(studies, options));  // last: standard output may be closed
}

/// Adds an option that takes whole numbers at least 1, separated by commas.
void add_sizes(CLI::App& command, const std::string& option, std::vector<int>& values,
               const std::string& help) {
  const auto parse = [option, &values](const std::string& text) {
    const OptionNode node{.kind = OptionNode::Kind::assigned, .text = text};
    read_value(OptionSource{node, option, at_least(1)}, values);
  };
  command.add_option_function<std::string>(option, parse, fmt::format("{} [{}]", help, join(values, ",")))
      ->type_name("N,N,...");
}

/// A validator of CLI11: returns an error message, or an empty text if the name is valid.
std::string check_output_name(const std::string& path) {
  for (const char* extension : {".svg", ".png", ".json"})
    if (has_extension(path, extension)) return "";
  return fmt::format("{}: unknown type of file; give a name that ends in .svg, .png or .json", path);
}

void add_layers(CLI::App& bench) {
  const auto settings = std::make_shared<BenchSettings>();
  LayerStudyOptions& study = settings->study;
  study.timing.threads = 0;
  CLI::App& command =
      *bench.add_subcommand("layers", "Measure table 1 of the paper: the time of one layer of each kind");
  add_value_option(command, "--kinds", study.kinds,
                   "the mixers to measure, separated by commas "
                   "[attention,restricted_attention,lstm,convolution,separable]");
  add_sizes(command, "--n", study.n, "lengths of the sequence");
  add_sizes(command, "--d", study.d, "widths of the model (model.d_model)");
  add_sizes(command, "--k", study.k, "tokens that a convolution sees (model.kernel_size)");
  add_sizes(command, "--r", study.r, "neighbours that restricted attention sees (model.attention_window)");
  command.add_flag("--decoder", settings->decoder,
                   "measure layers of a decoder, which see only earlier tokens, instead of an encoder");
  add_value_option(command, "--repeat", study.timing.repeat,
                   "minimum number of repetitions, of which the median counts", between(1, 100'000));
  add_threads_option(command, study.timing.threads);
  command.add_flag("--json", settings->json, "print the results as JSON");
  command
      .add_option("-o,--output", settings->picture.output,
                  "also write a picture (.svg or .png) or the results (.json)")
      ->type_name("FILE")
      ->check(check_output_name);
  add_value_option(command, "--theme", settings->picture.theme,
                   "colours: light, dark, or auto, which follows the viewer's system");
  command.footer(
      "While one size grows, the others stay in the middle of their values. The path length follows from the\n"
      "places that a layer declares to read. The defaults take about a minute on two cores.\n"
      "Example:\n  sixfold bench layers --output layers.svg\n"
      "  sixfold bench layers --kinds attention,restricted_attention --n 1024,4096,16384 --r 64");
  command.callback([settings] { run(*settings); });
}

void run_products(int threads) {
  const ProductRates rates = measure_product_rates(threads > 0 ? threads : available_threads());
  const Processor processor = this_processor();
  std::string text = fmt::format("fp32: {:.0f} GFLOP/s\n", rates.fp32 / 1e9);
  if (rates.bf16 == 0) {
    text += "bf16: this processor has no such products\n";
  } else {
    text += fmt::format("bf16: {:.0f} GFLOP/s by {}, {:.2f} times fp32\n", rates.bf16 / 1e9, processor.bf16,
                        rates.bf16 / rates.fp32);
    const int width = min_bf16_width(processor);
    text += width > 0
                ? fmt::format("train.precision: auto is bf16 here if model.d_model is at least {}\n", width)
                : "train.precision: auto is fp32 here\n";
    text += fmt::format("Large products are faster with --set train.precision={}\n",
                        rates.bf16 > rates.fp32 ? "bf16" : "fp32");
  }
  write_text("-", text);
}

void add_products(CLI::App& bench) {
  const auto threads = std::make_shared<int>(0);
  CLI::App& command =
      *bench.add_subcommand("products", "Measure matrix products in fp32 and bf16, to choose train.precision");
  add_threads_option(command, *threads);
  command.footer("Example:\n  sixfold bench products");
  command.callback([threads] { run_products(*threads); });
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("bench", "Measure the speed of the parts of a model");
  command.require_subcommand(1);
  add_layers(command);
  add_products(command);
  command.footer("Example:\n  sixfold bench layers --output layers.svg");
}

}  // namespace sixfold::cli
