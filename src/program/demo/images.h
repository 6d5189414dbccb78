#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "formats/image.h"

/// Pictures of two coloured shapes, one left of the other, above it, inside it or in front of it, with captions
/// that say what they show: "a red circle left of a blue square".
namespace sixfold::demo {

enum class Colour { red, green, blue, yellow, purple, orange };
enum class Shape { circle, square, triangle, cross };
enum class Relation { left_of, above, inside, in_front_of };

struct ColouredShape {
  Colour colour = Colour::red;
  Shape shape = Shape::circle;
  friend bool operator==(const ColouredShape&, const ColouredShape&) = default;
};

/// What a picture shows: the first shape is left of the second, above it, and so on.
struct Scene {
  ColouredShape first;
  Relation relation = Relation::left_of;
  ColouredShape second;
  friend bool operator==(const Scene&, const Scene&) = default;
};

/// Returns all scenes in a fixed order. Shapes that overlap have different colours.
std::vector<Scene> all_scenes();

/// "a red circle left of a blue square"
std::string caption_of(const Scene& scene);

/// The side of a picture, in pixels.
constexpr int picture_side = 32;

/// Draws a scene on a dark background, 3 channels. Places, sizes, shades and noise are a function of (seed,
/// number). It computes with integers only, so that all machines draw the same.
Image draw(const Scene& scene, uint64_t seed, uint64_t number);

struct CaptionedImage {
  Scene scene;
  Image image;
};

struct PictureOptions {
  int train = 16000;
  int valid = 300;
  int test = 1000;
  uint64_t seed = 1;
};

struct Pictures {
  std::vector<CaptionedImage> train, valid, test;
};

/// The maximum number of pictures of the three parts together.
constexpr int max_pictures = 200'000;

/// Generates pictures; they depend only on the options. Of all scenes, 10% are only in `test`, 5% only in
/// `valid`, and the others only in `train`: a picture that is held out shows known colours, shapes and
/// relations in a combination that training never shows. Each part shows its scenes equally often. Throws an
/// input error for negative counts, no training pictures, or more than `max_pictures`.
Pictures make_pictures(const PictureOptions& options);

}  // namespace sixfold::demo
