#include "families/json/rope.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace sixfold {
namespace {

using nlohmann::json;

/// The keys of the rotary positions: those of rope_scaling, or of rope_parameters.
class RopeSettings {
 public:
  explicit RopeSettings(const JsonKeys& keys) : path_(keys.path()) {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
      if (!keys.has(key) || keys.at(key).empty()) continue;
      group_ = key;
      values_ = keys.at(key);
      require(values_.is_object(), "{}: {} is not an object", path_, key);
    }
  }

  bool has(const char* key) const { return values_.contains(key) && !values_[key].is_null(); }
  float number(const char* key, float default_value) const {
    if (!has(key)) return default_value;
    require(values_[key].is_number(), "{}: {}.{} is {}; it must be a number", path_, group_, key,
            values_[key].dump());
    return values_[key].get<float>();
  }
  float required(const char* key) const {
    require(has(key), "{}: {}.{} is missing", path_, group_, key);
    return number(key, 0);
  }
  bool boolean(const char* key, bool default_value) const {
    require(!has(key) || values_[key].is_boolean(), "{}: {}.{} is not true or false", path_, group_, key);
    return has(key) ? values_[key].get<bool>() : default_value;
  }
  int count(const char* key, int default_value) const {
    return has(key) ? static_cast<int>(whole_number(values_[key], fmt::format("{}: {}.{}", path_, group_, key),
                                                    1, (1 << 30) - 1))
                    : default_value;
  }
  std::vector<float> factors(const char* key, int count) const {
    const json list = values_.value(key, json());
    require(list.is_array() && std::cmp_equal(list.size(), count) &&
                std::ranges::all_of(list, [](const json& one) { return one.is_number(); }),
            "{}: {}.{} is not a list of {} numbers", path_, group_, key, count);
    return list.get<std::vector<float>>();
  }
  std::string type() const {
    const json type = values_.value("rope_type", values_.value("type", json("default")));
    return type.is_string() ? type.get<std::string>() : type.dump();
  }
  [[noreturn]] void refuse_type() const {
    throw_input_error(
        "{}: {} has the type '{}'; only default, linear, dynamic, llama3, yarn and "
        "longrope are supported",
        path_, group_, type());
  }

 private:
  std::string path_, group_;
  json values_ = json::object();
};

/// The factor by which yarn multiplies cosines and sines.
float magnitude_of(const RopeSettings& rope, float factor) {
  const auto scaled = [&](float by) { return yarn_magnitude(factor, by); };
  if (rope.has("attention_factor")) return rope.number("attention_factor", 1);
  const float up = rope.number("mscale", 0), down = rope.number("mscale_all_dim", 0);
  return static_cast<float>(up != 0 && down != 0 ? scaled(up) / scaled(down) : scaled(1));
}

/// The factor by which longrope multiplies cosines and sines.
float longrope_magnitude_of(const RopeSettings& rope, int context, int original) {
  if (rope.has("attention_factor")) return rope.number("attention_factor", 1);
  const double factor = rope.number("factor", static_cast<float>(context) / static_cast<float>(original));
  return factor <= 1 ? 1 : static_cast<float>(std::sqrt(1 + std::log(factor) / std::log(double(original))));
}

RotaryScaling scaling_of(const RopeSettings& rope, const JsonKeys& keys, ModelConfig& c) {
  const std::string type = rope.type();
  const int context = c.context_tokens;
  RotaryScaling s;
  if (type == "default" || type == "dynamic") return s;  // the latter changes longer texts only
  // Earlier names of longrope are su and, in folders of Phi-3, yarn.
  const bool longrope = type == "longrope" || type == "su" || (type == "yarn" && rope.has("short_factor"));
  s.kind = longrope           ? RotaryScalingKind::factors
           : type == "linear" ? RotaryScalingKind::linear
           : type == "llama3" ? RotaryScalingKind::llama3
           : type == "yarn"   ? RotaryScalingKind::yarn
                              : RotaryScalingKind::none;
  if (s.kind == RotaryScalingKind::none) rope.refuse_type();
  if (s.kind != RotaryScalingKind::linear)
    s.original_context = keys.positive("original_max_position_embeddings",
                                       rope.count("original_max_position_embeddings", context));
  if (s.kind == RotaryScalingKind::factors) {
    s.magnitude = longrope_magnitude_of(rope, context, std::max(2, s.original_context));
    s.factors = rope.factors("short_factor", c.rotated_features() / 2);
    c.context_tokens = std::min(context, s.original_context);
    return s;
  }
  const bool by_length = s.kind == RotaryScalingKind::yarn && !rope.has("factor");
  s.factor = by_length ? static_cast<float>(context) / static_cast<float>(s.original_context)
                       : rope.required("factor");
  if (s.kind == RotaryScalingKind::llama3) {
    s.low = rope.required("low_freq_factor");
    s.high = rope.required("high_freq_factor");
  }
  if (s.kind == RotaryScalingKind::yarn) {
    s.low = rope.number("beta_slow", 1);
    s.high = rope.number("beta_fast", 32);
    s.whole_features = rope.boolean("truncate", true);
    s.magnitude = magnitude_of(rope, s.factor);
  }
  return s;
}

}  // namespace

double yarn_magnitude(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

void read_rope(const JsonKeys& keys, const RopeKeys& names, ModelConfig& c) {
  const RopeSettings rope(keys);
  c.positions = Positions::rotary;
  c.rotary_base = rope.number("rope_theta", keys.get(names.base, 10000.0f));
  const char* const name = names.share ? names.share : RopeKeys().share;
  const float share = rope.number("partial_rotary_factor", keys.get(name, names.default_share));
  require(share > 0 && share <= 1, "{}: {} is {}; it must be above 0 and at most 1", keys.path(), name, share);
  require(
      names.share || share == 1,
      "{}: {} is {}, but models of this class rotate all features; remove the key if that is what was trained",
      keys.path(), name, share);
  const int rotated = static_cast<int>(static_cast<float>(c.key_width()) * share);
  c.rotary_features = rotated == c.key_width() ? 0 : rotated;
  require(rotated > 0, "{}: {} is {}; no feature of a head is rotated", keys.path(), name, share);
  c.rotary_scaling = scaling_of(rope, keys, c);
}

nlohmann::ordered_json rope_json(const ModelConfig& c) {
  const RotaryScaling& s = c.rotary_scaling;
  const std::string type = s.kind == RotaryScalingKind::none      ? "default"
                           : s.kind == RotaryScalingKind::factors ? "longrope"
                                                                  : std::string(name_of_enum(s.kind));
  nlohmann::ordered_json rope{{"rope_type", type}, {"rope_theta", shortest_decimal(c.rotary_base)}};
  if (c.rotary_features > 0)
    rope["partial_rotary_factor"] = static_cast<double>(c.rotary_features) / c.key_width();
  if (s.kind == RotaryScalingKind::none) return rope;
  if (s.kind == RotaryScalingKind::factors) {
    for (const float factor : s.factors) rope["short_factor"].push_back(shortest_decimal(factor));
    rope["long_factor"] = rope["short_factor"];
    rope["original_max_position_embeddings"] = c.context_tokens;
    rope["attention_factor"] = shortest_decimal(s.magnitude);
    return rope;
  }
  rope["factor"] = shortest_decimal(s.factor);
  if (s.kind == RotaryScalingKind::linear) return rope;
  rope["original_max_position_embeddings"] = s.original_context;
  if (s.kind == RotaryScalingKind::llama3) {
    rope["low_freq_factor"] = shortest_decimal(s.low);
    rope["high_freq_factor"] = shortest_decimal(s.high);
  } else {
    rope["beta_slow"] = shortest_decimal(s.low);
    rope["beta_fast"] = shortest_decimal(s.high);
    rope["truncate"] = s.whole_features;
    rope["attention_factor"] = shortest_decimal(s.magnitude);
  }
  return rope;
}

}  // namespace sixfold
