#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/layers/architecture.h"
#include "model/layers/attention_kind.h"
#include "model/layers/mixer.h"

namespace sixfold {

/// The sizes in table 1 of the paper.
enum class LayerSize {
  n,  ///< length of the sequence, in tokens
  d,  ///< d_model
  k,  ///< kernel_size of a convolution
  r,  ///< attention_window of restricted attention
};

template <>
struct EnumNames<LayerSize> {
  static constexpr std::pair<LayerSize, std::string_view> names[] = {
      {LayerSize::n, "n"}, {LayerSize::d, "d"}, {LayerSize::k, "k"}, {LayerSize::r, "r"}};
};

struct LayerSizes {
  int n = 2048, d = 128, k = 7, r = 32;

  int& operator[](LayerSize size);
  int operator[](LayerSize size) const { return LayerSizes(*this)[size]; }
};

/// The formulas of table 1 for a kind of layer.
struct PaperFormulas {
  std::string_view complexity;  ///< operations of a layer, such as "n^2 d"
  std::string_view sequential;  ///< minimum number of sequential operations
  std::string_view path;        ///< maximum path length
};

/// The row of table 1 for a mixer. A mixer that the paper does not have gets the formulas of its own paper.
PaperFormulas paper_formulas(MixerKind kind);

/// Whether the cost of a mixer depends on a size: k matters only to convolutions, r only to restricted
/// attention.
bool depends_on(MixerKind kind, LayerSize size);

/// The seconds that a mixer takes for one sequence; medians.
struct LayerTime {
  double forward = 0;   ///< as in training, with recording on the tape
  double backward = 0;  ///< the gradients of the input and of all weights
  double total() const { return forward + backward; }
};

struct TimingOptions {
  AttentionKind stack = AttentionKind::encoder;  ///< encoder: mixers read both sides; decoder: only the left
  int threads = 1;
  /// Minimum number of repetitions, of which the median counts. A step that takes less than 20 ms is repeated
  /// more often, so that the total time is the same as if it took 20 ms.
  int repeat = 5;
};

/// The architecture in which the mixer of a stack has this kind and these sizes. Heads are 64 wide where d is a
/// multiple of 64; otherwise there is a single one. Throws an input error that names the key if a size is not
/// possible.
Architecture architecture_of(MixerKind kind, const LayerSizes& sizes, AttentionKind stack);

/// The reach that the mixer declares. Throws as `architecture_of`, and for a mixer that reads the source.
Reach mixer_reach(MixerKind kind, const LayerSizes& sizes, AttentionKind stack);

/// Times the mixer of one layer, including its linear maps, on one sequence of n tokens. Throws as
/// `mixer_reach`.
LayerTime time_mixer(MixerKind kind, const LayerSizes& sizes, const TimingOptions& options);

/// The exponent p of the power law `time = c * size^p` that fits best: the slope of the line through the
/// logarithms, by least squares. Throws an input error unless there are as many times as sizes, at least two
/// different sizes, and all values are positive.
double growth_exponent(std::span<const double> sizes, std::span<const double> times);

/// The median, or the mean of the two middle values if the number of values is even. Throws an input error if
/// there are none.
double median(std::span<const double> values);

/// The times of a mixer when one size grows and the others are constant.
struct LayerGrowth {
  LayerSize size = LayerSize::n;
  std::vector<int> values;
  std::vector<LayerTime> times;
  double exponent = 0;  ///< of forward and backward together
};

struct LayerStudy {
  MixerKind kind = MixerKind::attention;
  Reach reach;  ///< with the sizes of `LayerStudyOptions::middle`
  std::vector<LayerGrowth> growths;
};

struct LayerStudyOptions {
  std::vector<MixerKind> kinds{MixerKind::attention, MixerKind::restricted_attention, MixerKind::lstm,
                               MixerKind::convolution, MixerKind::separable};
  /// The values of each size, increasing. A size with one value does not grow.
  std::vector<int> n{512, 1024, 2048, 4096, 8192}, d{64, 128, 256, 512}, k{3, 7, 15, 31}, r{16, 32, 64, 128};
  TimingOptions timing;

  const std::vector<int>& values(LayerSize size) const;
  /// While one size grows, the others are in the middle of their values, or the lower of two middles.
  LayerSizes middle() const;
};

/// Measures each kind against each size that matters to it. Calls `progress`, unless it is empty, before each
/// growth is measured. Throws an input error if a list is empty or not increasing, and as `architecture_of`,
/// before anything is measured.
std::vector<LayerStudy> study_layers(const LayerStudyOptions& options,
                                     const std::function<void(MixerKind kind, LayerSize size)>& progress = {});

}  // namespace sixfold
