#include "program/bench/layer_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace sixfold {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto& all_sizes = all_enumerators<LayerSize>;

/// Selects the one of four values that belongs to a size.
template <class T>
T& select_by_size(LayerSize size, T& n, T& d, T& k, T& r) {
  switch (size) {
    case LayerSize::n:
      return n;
    case LayerSize::d:
      return d;
    case LayerSize::k:
      return k;
    case LayerSize::r:
      return r;
  }
  throw_unknown("size of a layer", size);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Kernels may still be running when an op returns; reading an element waits for them.
void wait_for(const Tensor& tensor, Backend& backend) { tensor.slice_rows(0, 1).to_floats(backend); }

/// A mixer with weights and an input.
class TimedMixer {
 public:
  TimedMixer(MixerKind kind, const LayerSizes& sizes, const TimingOptions& options)
      : stack_(options.stack),
        backend_(make_backend({.threads = options.threads})),
        arena_(std::make_shared<Arena>(backend_)),
        x_(lasting_memory(backend_), sizes.n, sizes.d, DType::f32) {
    ParameterBuilder make(backend_, DType::f32, /*seed=*/1);
    mixer_ = make_mixer(make.in("layer"), architecture_of(kind, sizes, stack_), {.stack = stack_, .layer = 0});
    weights_ = make.take_parameters();
    for (Parameter& weight : weights_) weight.tensor.set_requires_grad(true);
    RandomStream random(/*seed=*/1, /*stream=*/0);
    std::vector<float> values(static_cast<size_t>(x_.size()));
    for (float& value : values) value = static_cast<float>(random.bits()) / 2147483648.0f - 1;  // -1 to 1
    x_.copy_from(*backend_, values);
    x_.set_requires_grad(true);
    rows_.add(sizes.n);
  }

  LayerTime step() {
    x_.set_gradient({});
    for (const Parameter& weight : weights_) weight.tensor.set_gradient({});
    Tape tape;
    Context context(backend_, arena_, tape, {.seed = 1, .update = 1});
    const Tensor gradient = context.tensor(x_.rows(), x_.cols(), DType::f32);
    backend_->run(kernel::Fill{gradient.view(), 1});
    const TokenRows rows = context.token_rows(rows_);
    WholeSequences state(rows.ragged, /*causal=*/stack_ == AttentionKind::decoder, context);
    LayerContext layer{.context = context, .rows = rows, .state = state, .memory = {}, .kind = stack_};
    wait_for(gradient, *backend_);
    LayerTime time;
    const Clock::time_point begin = Clock::now();
    const Tensor y = (*mixer_)(x_, layer);
    wait_for(y, *backend_);
    time.forward = seconds_since(begin);
    y.set_gradient(gradient);
    tape.backward();
    wait_for(x_.gradient(), *backend_);
    time.backward = seconds_since(begin) - time.forward;
    return time;
  }

 private:
  AttentionKind stack_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  Tensor x_;
  std::unique_ptr<const Mixer> mixer_;
  std::vector<Parameter> weights_;
  Ragged rows_;
};

/// All values of one size, each with the middle values of the others.
std::vector<LayerSizes> sizes_of(const LayerStudyOptions& options, LayerSize size) {
  std::vector<LayerSizes> all;
  for (const int value : options.values(size)) {
    all.push_back(options.middle());
    all.back()[size] = value;
  }
  return all;
}

bool grows(const LayerStudyOptions& options, MixerKind kind, LayerSize size) {
  return depends_on(kind, size) && options.values(size).size() > 1;
}

void check(const LayerStudyOptions& options) {
  require(!options.kinds.empty(), "there is no kind of layer to measure");
  require(options.timing.repeat >= 1, "{} repetitions; at least 1 is needed", options.timing.repeat);
  for (const LayerSize size : all_sizes) {
    const std::vector<int>& values = options.values(size);
    const int smallest = size == LayerSize::n ? 2 : 1;  // one token has no path
    require(!values.empty() && values.front() >= smallest, "{}: expected numbers at least {}",
            name_of_enum(size), smallest);
    require(std::ranges::adjacent_find(values, std::greater_equal<>()) == values.end(),
            "{}: the values must increase", name_of_enum(size));
  }
  const AttentionKind stack = options.timing.stack;
  for (const MixerKind kind : options.kinds) {
    require(std::ranges::count(options.kinds, kind) == 1, "{} is given twice", name_of_enum(kind));
    require(std::ranges::any_of(all_sizes, [&](LayerSize size) { return grows(options, kind, size); }),
            "{}: no size that matters to it has two values, so that nothing grows", name_of_enum(kind));
    mixer_reach(kind, options.middle(), stack);  // throws for a kind that this stack can't have
    for (const LayerSize size : all_sizes)
      if (grows(options, kind, size))
        for (const LayerSizes& sizes : sizes_of(options, size)) architecture_of(kind, sizes, stack);
  }
}

LayerGrowth measure_growth(const LayerStudyOptions& options, MixerKind kind, LayerSize size) {
  LayerGrowth growth{.size = size, .values = options.values(size)};
  std::vector<double> values, totals;
  for (const LayerSizes& sizes : sizes_of(options, size)) {
    const LayerTime time = time_mixer(kind, sizes, options.timing);
    growth.times.push_back(time);
    values.push_back(sizes[size]);
    totals.push_back(time.total());
  }
  growth.exponent = growth_exponent(values, totals);
  return growth;
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> result;
  for (const double value : values) {
    require(value > 0 && std::isfinite(value), "the growth of {} can't be fitted; it must be positive", value);
    result.push_back(std::log(value));
  }
  return result;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

int& LayerSizes::operator[](LayerSize size) { return select_by_size(size, n, d, k, r); }

PaperFormulas paper_formulas(MixerKind kind) {
  switch (kind) {
    case MixerKind::attention:
      return {"n^2 d", "1", "1"};
    case MixerKind::restricted_attention:
      return {"r n d", "1", "n / r"};
    case MixerKind::recurrent:
    case MixerKind::lstm:
    case MixerKind::gru:
    case MixerKind::bahdanau:
      return {"n d^2", "n", "n"};
    case MixerKind::convolution:
      return {"k n d^2", "1", "n / k"};
    case MixerKind::separable:
      return {"k n d + n d^2", "1", "n / k"};
    case MixerKind::ssru:
      return {"n d^2", "n", "n"};
    case MixerKind::average:
      return {"n d^2", "1", "1"};
  }
  throw_unknown("kind of mixer", kind);
}

bool depends_on(MixerKind kind, LayerSize size) {
  if (size == LayerSize::k) return kind == MixerKind::convolution || kind == MixerKind::separable;
  return size != LayerSize::r || kind == MixerKind::restricted_attention;
}

Architecture architecture_of(MixerKind kind, const LayerSizes& sizes, AttentionKind stack) {
  constexpr int head_width = 64;
  Architecture a;
  a.d_model = sizes.d;
  a.heads = sizes.d % head_width == 0 ? sizes.d / head_width : 1;
  (stack == AttentionKind::encoder ? a.encoder_mixer : a.decoder_mixer) = kind;
  a.kernel_size = sizes.k;
  a.attention_window = sizes.r;
  a.positions = Positions::none;
  a.dropout = 0;
  validate(a);
  return a;
}

Reach mixer_reach(MixerKind kind, const LayerSizes& sizes, AttentionKind stack) {
  const ParameterBuilder make(make_backend({.device = "reference"}), DType::f32, /*seed=*/std::nullopt);
  const auto mixer =
      make_mixer(make.in("layer"), architecture_of(kind, sizes, stack), {.stack = stack, .layer = 0});
  require(!mixer->reads_memory(), "{}: reads the source, which a layer that is measured alone does not have",
          name_of_enum(kind));
  return mixer->reach();
}

LayerTime time_mixer(MixerKind kind, const LayerSizes& sizes, const TimingOptions& options) {
  const double min_seconds = 0.02 * options.repeat;  // shorter measurements would be noise
  TimedMixer mixer(kind, sizes, options);
  mixer.step();  // warm-up: allocates memory and wakes the threads
  std::vector<double> forward, backward;
  const Clock::time_point begin = Clock::now();
  while (std::ssize(forward) < options.repeat || seconds_since(begin) < min_seconds) {
    const LayerTime time = mixer.step();
    forward.push_back(time.forward);
    backward.push_back(time.backward);
  }
  return {.forward = median(forward), .backward = median(backward)};
}

const std::vector<int>& LayerStudyOptions::values(LayerSize size) const {
  return select_by_size(size, n, d, k, r);
}

LayerSizes LayerStudyOptions::middle() const {
  LayerSizes sizes;
  for (const LayerSize size : all_sizes) sizes[size] = values(size)[(values(size).size() - 1) / 2];
  return sizes;
}

std::vector<LayerStudy> study_layers(const LayerStudyOptions& options,
                                     const std::function<void(MixerKind, LayerSize)>& progress) {
  check(options);
  std::vector<LayerStudy> studies;
  for (const MixerKind kind : options.kinds) {
    LayerStudy study{
        .kind = kind, .reach = mixer_reach(kind, options.middle(), options.timing.stack), .growths = {}};
    for (const LayerSize size : all_sizes) {
      if (!grows(options, kind, size)) continue;
      if (progress) progress(kind, size);
      study.growths.push_back(measure_growth(options, kind, size));
    }
    studies.push_back(std::move(study));
  }
  return studies;
}

double growth_exponent(std::span<const double> sizes, std::span<const double> times) {
  require(sizes.size() == times.size(), "{} sizes, but {} times", sizes.size(), times.size());
  const std::vector<double> x = logarithms(sizes), y = logarithms(times);
  require(x.size() >= 2 && *std::ranges::min_element(x) < *std::ranges::max_element(x),
          "a growth needs two different sizes");
  const double middle_x = mean(x), middle_y = mean(y);
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - middle_x) * (y[i] - middle_y);
    variance += (x[i] - middle_x) * (x[i] - middle_x);
  }
  return covariance / variance;
}

double median(std::span<const double> values) {
  require(!values.empty(), "the median of no values");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace sixfold
