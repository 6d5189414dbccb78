#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/search.h"

// The lines of a text that a finished model translates, so that settings of it can be chosen by measurements.

namespace sixfold {

/// Source lines with reference translations.
struct ReferencedText {
  size_t lines = 0;
  std::function<std::vector<int32_t>(size_t line)> source;  ///< the encoder input of a line, not empty
  std::function<std::string(size_t line)> reference;
};

/// A line of a text and the encoder input of it.
struct MeasuredLine {
  size_t number = 0;
  std::vector<int32_t> source;
};

/// A measurement needs so many lines.
inline constexpr size_t min_measured_lines = 200;

/// At most 1,000 lines, spread evenly over a text: as many as have 30,000 source tokens, but not fewer than
/// `min_measured_lines` where the text has so many.
std::vector<MeasuredLine> measured_lines(const ReferencedText& text);

/// The best translation of each line. The model must be packed. When `stop` becomes nonzero, `Cancelled` is
/// thrown.
std::vector<Hypothesis> translations_of(const DecodeWorkspace& decoding, const std::vector<MeasuredLine>& lines,
                                        SearchOptions options, const std::atomic<int>* stop);

/// The approximate cost of `translations_of`, as the number of tokens that training processes in the same time;
/// 0 if the text has too few lines for a measurement.
int64_t translation_tokens(const ReferencedText& text, int beam_size);

}  // namespace sixfold
