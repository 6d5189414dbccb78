#include "model/layers/patch_embedding.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr int pixel_values = 256;

/// The normalized value of each pixel value of each channel, [channels, pixel_values].
std::vector<float> scaled_pixels(const ImageInput& input) {
  std::vector<float> scaled;
  for (int channel = 0; channel < input.channels; ++channel) {
    const auto of_channel = [&](const std::vector<float>& all) {
      return all[all.size() == 1 ? 0 : static_cast<size_t>(channel)];
    };
    const float mean = of_channel(input.mean), std = of_channel(input.std);
    const bool centered = mean == 0.5f && std == 0.5f;  // -1 to 1
    for (int value = 0; value < pixel_values; ++value) {
      const auto x = static_cast<float>(value);
      scaled.push_back(centered ? x / 127.5f - 1.0f : (x / 255.0f - mean) / std);
    }
  }
  return scaled;
}

}  // namespace

void validate(const ImageInput& o) {
  require(o.height > 0 && o.width > 0, "image: the height is {} and the width {}; both must be above 0",
          o.height, o.width);
  require(o.channels == 1 || o.channels == 3, "image.channels is {}; expected 1 or 3", o.channels);
  require(o.patch <= o.height && o.patch <= o.width,
          "image.patch is {}, but the images are only {} x {} pixels", o.patch, o.height, o.width);
  require(o.step() <= o.patch,
          "image.stride is {}, but patches have only {} pixels on a side; pixels between them "
          "would be left out",
          o.stride, o.patch);
  require((o.height - o.patch) % o.step() == 0 && (o.width - o.patch) % o.step() == 0,
          "image.patch: patches of {} pixels, {} pixels apart, do not cover images of {} x {} pixels exactly; "
          "choose "
          "other sizes",
          o.patch, o.step(), o.height, o.width);
  for (const auto& [key, numbers] : {std::pair("mean", &o.mean), std::pair("std", &o.std)})
    require(numbers->size() == 1 || std::cmp_equal(numbers->size(), o.channels),
            "image.{}: has {} numbers; expected one, or one for each of the {} channels", key, numbers->size(),
            o.channels);
}

PatchEmbedding::PatchEmbedding(ParameterBuilder make, const ImageInput& input, int d_model)
    : width_(input.patch_values()),
      dtype_(make.dtype()),
      scaled_(scaled_pixels(input)),
      map_(make, width_, d_model),
      class_token_(input.class_token ? make.table("class_token", 1, d_model, ParameterUse::elementwise)
                                     : Tensor()) {}

Tensor PatchEmbedding::with_class_token(const Tensor& patches, const TokenRows& rows, Context& context) const {
  std::vector<int32_t> from, inverse, token;  // -1: a row of zeros
  for (int image = 0; image < rows.ragged.sequences(); ++image)
    for (int i = 0; i < rows.ragged.length(image); ++i) {
      token.push_back(i == 0 ? 0 : -1);
      from.push_back(i == 0 ? -1 : static_cast<int32_t>(inverse.size()));
      if (i > 0) inverse.push_back(rows.ragged.begin(image) + i);
    }
  const Tensor placed = ops::gather_rows(context, patches, context.indices(from), context.indices(inverse));
  return ops::add(context, placed, ops::embed(context, {.table = class_token_}, context.indices(token), rows));
}

Tensor PatchEmbedding::operator()(std::span<const int32_t> values, const TokenRows& rows,
                                  Context& context) const {
  std::vector<float> scaled;
  scaled.reserve(values.size());
  const size_t channels = scaled_.size() / pixel_values;
  for (int image = 0; image < rows.ragged.sequences(); ++image) {
    const auto first = static_cast<size_t>(rows.ragged.begin(image) + (class_token_ ? 1 : 0)),
               end = static_cast<size_t>(rows.ragged.begin(image) + rows.ragged.length(image)),
               width = static_cast<size_t>(width_);
    for (size_t i = first * width; i < end * width; ++i)
      scaled.push_back(scaled_[i % channels * pixel_values + static_cast<size_t>(values[i])]);
  }
  const Tensor x = context.matrix(scaled, std::ssize(scaled) / width_, width_, dtype_);
  return class_token_ ? with_class_token(map_(x, context), rows, context) : map_(x, context);
}

}  // namespace sixfold
