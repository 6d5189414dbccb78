#include "layers/architecture.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {

Architecture preset(Preset name) {
  Architecture a;
  switch (name) {
    case Preset::tiny:
      a.d_model = 128, a.d_ff = 256, a.heads = 4, a.encoder_layers = a.decoder_layers = 4;
      break;
    case Preset::small:
      a.d_model = 256, a.d_ff = 1024, a.heads = 4, a.encoder_layers = a.decoder_layers = 3;
      break;
    case Preset::base:
      break;
    case Preset::big:
      a.d_model = 1024, a.d_ff = 4096, a.heads = 16, a.dropout = 0.3f;
      break;
  }
  return a;
}

bool has_step(const std::vector<ProcessStep>& steps, ProcessStep step) {
  return std::count(steps.begin(), steps.end(), step) > 0;
}

void validate(const Architecture& a) {
  check_ranges(a);
  require(a.has_encoder() || a.has_decoder(),
          "encoder_layers and decoder_layers are both 0; at least one must be positive");
  require((a.d_k > 0 && a.d_v > 0) || a.d_model % a.heads == 0,
          "d_model {} is not divisible by {} heads; choose another number of heads, or set d_k and d_v",
          a.d_model, a.heads);
  require(a.positions != Positions::rotary || a.key_width() % 2 == 0,
          "positions: 'rotary' rotates pairs of features, but d_k is {}; choose an even d_k", a.key_width());
  const auto check = [](std::string_view key, const std::vector<ProcessStep>& steps, bool may_add) {
    for (const ProcessStep step : {ProcessStep::dropout, ProcessStep::add, ProcessStep::norm})
      require(std::count(steps.begin(), steps.end(), step) <= 1, "{}: {} occurs twice; remove one", key,
              name_of_enum(step));
    require(may_add || !has_step(steps, ProcessStep::add), "{}: 'add' is not possible here; remove it", key);
  };
  check("postprocess_embedding", a.postprocess_embedding, false);
  check("preprocess", a.preprocess, false);
  check("postprocess", a.postprocess, true);
  check("postprocess_top", a.postprocess_top, true);
}

void require_encoder_and_decoder(const Architecture& a, const std::string& where) {
  require(a.has_encoder() && a.has_decoder(),
          "{}: translation needs an encoder and a decoder, but {}_layers is 0", where,
          a.has_encoder() ? "decoder" : "encoder");
}

}  // namespace sixfold
