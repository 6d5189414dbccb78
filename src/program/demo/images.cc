#include "program/demo/images.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace sixfold::demo {
namespace {

/// Lengths are in units of an eighth of a pixel. A pixel is sampled at 4 x 4 points.
constexpr int unit = 8, samples = 4;
constexpr int side = picture_side * unit;

struct Rgb {
  int red, green, blue;
};

constexpr std::array<std::pair<std::string_view, Rgb>, 6> colours = {{{"red", {220, 40, 40}},
                                                                      {"green", {40, 170, 60}},
                                                                      {"blue", {50, 90, 230}},
                                                                      {"yellow", {235, 215, 50}},
                                                                      {"purple", {150, 60, 190}},
                                                                      {"orange", {245, 135, 30}}}};
constexpr std::array<std::string_view, 4> shapes = {"circle", "square", "triangle", "cross"};
constexpr std::array<std::string_view, 4> relations = {"left of", "above", "inside", "in front of"};

template <class Enum>
constexpr size_t index(Enum value) {
  return static_cast<size_t>(value);
}

struct Vector {
  int x = 0, y = 0;
};

/// A shape on the canvas: its centre and its radius, which bounds it in both directions.
struct Placed {
  ColouredShape what;
  Vector centre;
  int radius = 0;

  bool covers(int x, int y) const {
    const int dx = std::abs(x - centre.x), dy = y - centre.y, r = radius;
    switch (what.shape) {
      case Shape::circle:
        return dx * dx + dy * dy <= r * r;
      case Shape::square:
        return std::max(dx, std::abs(dy)) <= r;
      case Shape::triangle:  // its tip is at -r, its base at 3/4 r
        return 7 * dx <= 4 * (dy + r) && 4 * dy <= 3 * r;
      case Shape::cross:
        return std::max(dx, std::abs(dy)) <= r && 8 * std::min(dx, std::abs(dy)) <= 3 * r;
    }
    throw_unknown("shape", what.shape);
  }
  bool is_on_canvas() const {
    return std::min(centre.x, centre.y) >= radius && std::max(centre.x, centre.y) <= side - radius;
  }
};

int between(RandomStream& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<uint32_t>(high - low + 1)));
}

/// A random centre of a shape that lies on the canvas.
Vector anywhere(RandomStream& random, int radius) {
  const int x = between(random, radius, side - radius);
  return {x, between(random, radius, side - radius)};
}

/// Places two shapes beside each other, at about the same height, or one above the other.
std::pair<Placed, Placed> apart(const Scene& scene, RandomStream& random) {
  constexpr int gap = unit, max_offset = 4 * unit;
  Placed first{scene.first, {}, between(random, 36, 56)}, second{scene.second, {}, between(random, 36, 56)};
  const int r1 = first.radius, r2 = second.radius;
  const int along = between(random, r1, side - 2 * r2 - r1 - gap), across = between(random, r1, side - r1);
  first.centre = {along, across};
  second.centre = {between(random, along + r1 + r2 + gap, side - r2),
                   std::clamp(across + between(random, -max_offset, max_offset), r2, side - r2)};
  if (scene.relation == Relation::above)
    for (Placed* shape : {&first, &second}) std::swap(shape->centre.x, shape->centre.y);
  return {first, second};
}

/// Places a small shape inside a large one.
std::pair<Placed, Placed> nested(const Scene& scene, RandomStream& random) {
  Placed inner{scene.first, {}, between(random, 32, 36)}, outer{scene.second, {}, between(random, 112, 124)};
  outer.centre = anywhere(random, outer.radius);
  const int jitter = outer.radius / 18;
  const int low =
      scene.second.shape == Shape::triangle ? outer.radius / 5 : 0;  // the tip of a triangle is too narrow
  inner.centre.x = outer.centre.x + between(random, -jitter, jitter);
  inner.centre.y = outer.centre.y + low + between(random, -jitter, jitter);
  return {inner, outer};
}

/// A point at the edge of a shape, relative to its centre, in one of four directions.
Vector edge_of(Shape shape, int radius, uint32_t direction) {
  const int far = 4 * radius / 5;
  const std::array<Vector, 4> round = {{{0, -far}, {0, far}, {-far, 0}, {far, 0}}};
  const int x = 7 * radius / 10, y = radius / 3;
  const std::array<Vector, 4> triangle = {{{0, -x}, {0, x}, {-x, y}, {x, y}}};
  return (shape == Shape::triangle ? triangle : round)[direction];
}

/// Places a shape in front of another one, so that it covers a part of its edge.
std::pair<Placed, Placed> overlapping(const Scene& scene, RandomStream& random) {
  Placed front{scene.first, {}, between(random, 38, 48)}, back{scene.second, {}, between(random, 72, 88)};
  do {
    back.centre = anywhere(random, back.radius);
    const Vector edge = edge_of(back.what.shape, back.radius, random.below(4));
    front.centre.x = back.centre.x + edge.x + between(random, -unit, unit);
    front.centre.y = back.centre.y + edge.y + between(random, -unit, unit);
  } while (!front.is_on_canvas());
  return {front, back};
}

std::pair<Placed, Placed> placed(const Scene& scene, RandomStream& random) {
  switch (scene.relation) {
    case Relation::left_of:
    case Relation::above:
      return apart(scene, random);
    case Relation::inside:
      return nested(scene, random);
    case Relation::in_front_of:
      return overlapping(scene, random);
  }
  throw_unknown("relation", scene.relation);
}

/// The colour of a shape, with a small random deviation.
Rgb shade_of(Colour colour, RandomStream& random) {
  const auto vary = [&](int value) { return std::clamp(value + between(random, -12, 12), 0, 255); };
  const Rgb plain = colours[index(colour)].second;
  const int red = vary(plain.red), green = vary(plain.green);
  return {red, green, vary(plain.blue)};
}

/// The number of sample points of a pixel in which each of three layers is visible: front, back and background.
std::array<int, 3> coverage(const Placed& front, const Placed& back, int column, int row) {
  std::array<int, 3> counts{};
  constexpr int step = unit / samples;
  for (int i = 0; i < samples * samples; ++i) {
    const int x = column * unit + (i % samples) * step + step / 2,
              y = row * unit + (i / samples) * step + step / 2;
    ++counts[front.covers(x, y) ? 0 : back.covers(x, y) ? 1 : 2];
  }
  return counts;
}

std::string noun_phrase(const ColouredShape& what) {
  const std::string_view colour = colours[index(what.colour)].first;
  return fmt::format("{} {} {}", colour == "orange" ? "an" : "a", colour, shapes[index(what.shape)]);
}

/// `count` pictures of the scenes, in turn. `part` selects the random streams of a part of the data.
std::vector<CaptionedImage> pictures_of(std::span<const Scene> scenes, int count, uint64_t seed,
                                        uint64_t part) {
  std::vector<CaptionedImage> pictures;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const Scene& scene = scenes[i % scenes.size()];
    pictures.push_back({scene, draw(scene, seed, part << 32 | i)});
  }
  return pictures;
}

}  // namespace

std::vector<Scene> all_scenes() {
  std::vector<ColouredShape> things;
  for (size_t colour = 0; colour < colours.size(); ++colour)
    for (size_t shape = 0; shape < shapes.size(); ++shape)
      things.push_back({static_cast<Colour>(colour), static_cast<Shape>(shape)});
  std::vector<Scene> scenes;
  for (const Relation relation :
       {Relation::left_of, Relation::above, Relation::inside, Relation::in_front_of}) {
    const bool overlap = relation == Relation::inside || relation == Relation::in_front_of;
    for (const ColouredShape& first : things)
      for (const ColouredShape& second : things)
        if (!overlap || first.colour != second.colour) scenes.push_back({first, relation, second});
  }
  return scenes;
}

std::string caption_of(const Scene& scene) {
  return fmt::format("{} {} {}", noun_phrase(scene.first), relations[index(scene.relation)],
                     noun_phrase(scene.second));
}

Image draw(const Scene& scene, uint64_t seed, uint64_t number) {
  constexpr int noise = 6;
  RandomStream random(seed, number);
  const auto [front, back] = placed(scene, random);
  const Rgb first = shade_of(scene.first.colour, random), second = shade_of(scene.second.colour, random);
  const int dark = between(random, 8, 48);
  Image image{.size = {picture_side, picture_side, 3}, .values = {}};
  for (int row = 0; row < picture_side; ++row)
    for (int column = 0; column < picture_side; ++column) {
      const std::array<int, 3> counts = coverage(front, back, column, row);
      const auto add = [&](int of_first, int of_second) {
        const int sum = counts[0] * of_first + counts[1] * of_second + counts[2] * dark;
        const int value = sum / (samples * samples) + between(random, -noise, noise);
        image.values.push_back(static_cast<uint8_t>(std::clamp(value, 0, 255)));
      };
      add(first.red, second.red), add(first.green, second.green), add(first.blue, second.blue);
    }
  return image;
}

Pictures make_pictures(const PictureOptions& o) {
  require(o.train > 0, "the number of training pictures is {}; it must be at least 1", o.train);
  require(o.valid >= 0 && o.test >= 0, "the numbers of pictures are {} and {}; they can't be negative", o.valid,
          o.test);
  require(int64_t{o.train} + o.valid + o.test <= max_pictures, "{} pictures are too many; at most {} are made",
          int64_t{o.train} + o.valid + o.test, max_pictures);
  std::vector<Scene> scenes = all_scenes();
  constexpr uint64_t order = uint64_t{1} << 40;  // a random stream that no picture uses
  RandomStream random(o.seed, order);
  shuffle(scenes, random);
  const std::span<const Scene> all(scenes);
  const size_t tests = all.size() / 10, valids = all.size() / 20;
  return {.train = pictures_of(all.subspan(tests + valids), o.train, o.seed, 0),
          .valid = pictures_of(all.subspan(tests, valids), o.valid, o.seed, 1),
          .test = pictures_of(all.first(tests), o.test, o.seed, 2)};
}

}  // namespace sixfold::demo
