#include "tasks/translation/measured_lines.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {

std::vector<MeasuredLine> measured_lines(const ReferencedText& text) {
  constexpr size_t max_lines = 1000, max_source_tokens = 30'000;
  // With fewer lines they are spread anew, so that they are of all parts of the text, such as its languages.
  for (size_t count = std::min(text.lines, max_lines);;) {
    std::vector<MeasuredLine> lines;
    size_t tokens = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t number = i * text.lines / count;
      lines.push_back({number, text.source(number)});
      tokens += lines.back().source.size();
    }
    if (tokens <= max_source_tokens || count <= min_measured_lines) return lines;
    count = std::max(min_measured_lines, std::min(count - 1, count * max_source_tokens / tokens));
  }
}

std::vector<Hypothesis> translations_of(const DecodeWorkspace& decoding, const std::vector<MeasuredLine>& lines,
                                        SearchOptions options, const std::atomic<int>* stop) {
  constexpr size_t lines_per_search = 50;  // `stop` is checked between searches
  options.n_best = 1;
  options.batch_tokens = 2048;
  std::vector<Hypothesis> outputs(lines.size());
  for (size_t begin = 0; begin < lines.size(); begin += lines_per_search) {
    throw_if_stopped(stop);
    std::vector<std::vector<int32_t>> sources;
    for (size_t i = begin; i < std::min(begin + lines_per_search, lines.size()); ++i)
      sources.push_back(lines[i].source);
    search(decoding, sources, options,
           [&](size_t i, std::vector<Hypothesis> found) { outputs[begin + i] = std::move(found.front()); });
  }
  return outputs;
}

int64_t translation_tokens(const ReferencedText& text, int beam_size) {
  const std::vector<MeasuredLine> lines = measured_lines(text);
  if (lines.size() < min_measured_lines) return 0;
  int64_t tokens = 0;
  for (const MeasuredLine& line : lines) tokens += std::ssize(line.source);
  return (1 + beam_size) * tokens;
}

}  // namespace sixfold
