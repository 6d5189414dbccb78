#pragma once
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sixfold {

/// One sentence's attention in one layer, all heads.
struct SentenceAttention {
  std::vector<std::string> source, target;  ///< pieces, end symbols included
  int layer = 0, heads = 0;
  std::vector<float> weights;  ///< [heads, target, source]; of self-attention both sides are the same
};

/// What is told of a translation besides its text and score. Each costs a pass over the finished translation.
struct ExtraOutputs {
  bool tokens = false;
  bool alignment = false;
  bool attention = false;
  /// Of alignment and attention: which layer's cross-attention, negative: counted from the last. None: the last
  /// but one, which aligns words best (Garg et al. 2019), where there are several.
  std::optional<int> layer = {};

  bool any() const { return tokens || alignment || attention; }
};

struct TranslateOptions {
  std::optional<int> beam_size;  ///< none: as the model says
  int64_t batch_tokens = 0;      ///< tokens decoded at once by each thread; 0: as many as suit the model's size
  int max_source_length = 1024;  ///< pieces, end symbol not counted; what is beyond is cut, with a warning
  std::string target_language;   ///< "deu" puts the symbol >>deu<< before each source; empty: none is put there
  std::string shortlist;         ///< a file that `sixfold shortlist` made for the model; empty: all symbols
  std::string
      split_sentences;    ///< a language: lines are paragraphs, translated sentence by sentence; empty: no
  size_t first_line = 1;  ///< the number that warnings give the first line
  int n_best = 1;         ///< translations of each line, at most the beam size
  ExtraOutputs details = {};
  std::stop_token cancel = {};  ///< when it is asked for, the work soon ends with `Cancelled`
};

struct TranslatedToken {
  std::string piece;
  double log_probability = 0;
};

struct Translation {
  std::string text;
  double score = 0;            ///< the sum of log-probabilities, divided as the model's rules of search say
  double log_probability = 0;  ///< that sum, over pieces and end symbol
  // Where `ExtraOutputs` ask for it:
  std::vector<TranslatedToken> tokens;  ///< the end symbol the last, but where the length limit cut it off
  /// Source and target word, from 0, words being what white space parts in the text that the pieces make: each
  /// target word with the source word that it attends to most, unless that is the end of the sentence.
  std::vector<std::pair<int, int>> alignment;
  std::optional<SentenceAttention> attention;
};

/// A line and what became of it.
struct TranslatedLine {
  size_t index = 0;                       ///< from 0
  std::string source;                     ///< the line itself
  std::vector<Translation> translations;  ///< best first; of a line without visible characters one, of no text
};

enum class NextLine { line, none_yet, end };

/// Gives the lines to translate, one after the other. Asked to `wait`, it may take a little time (some 50 ms)
/// to see whether there is one; else it answers at once. One call at a time, though from several threads.
using LineSource = std::function<NextLine(std::string& line, bool wait)>;

using TranslatedLineReceiver = std::function<void(const TranslatedLine&)>;

}  // namespace sixfold
