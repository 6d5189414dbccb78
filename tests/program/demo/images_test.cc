#include "program/demo/images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "error_message.h"

namespace sixfold::demo {
namespace {

const Pictures& pictures() {
  static const Pictures made = make_pictures({.train = 3000, .valid = 105, .test = 422});
  return made;
}

std::set<std::string> captions(const std::vector<CaptionedImage>& part) {
  std::set<std::string> all;
  for (const CaptionedImage& picture : part) all.insert(caption_of(picture.scene));
  return all;
}

std::string bytes(const std::vector<CaptionedImage>& part) {
  std::string all;
  for (const CaptionedImage& picture : part) {
    all += caption_of(picture.scene) + "\n";
    all.append(picture.image.values.begin(), picture.image.values.end());
  }
  return all;
}

/// The pixels of a picture that have a colour.
struct Spot {
  std::set<std::pair<int, int>> pixels;  // column, row
  int left = picture_side, right = -1, top = picture_side, bottom = -1;

  void add(int column, int row) {
    pixels.emplace(column, row);
    left = std::min(left, column), right = std::max(right, column);
    top = std::min(top, row), bottom = std::max(bottom, row);
  }
  /// The middle of the box around it, in half pixels.
  int x() const { return left + right; }
  int y() const { return top + bottom; }
  int64_t size() const { return std::ssize(pixels); }
};

/// The named colour of a pixel, unless it is the background or a mixture at an edge.
std::optional<Colour> colour_of(const uint8_t* pixel) {
  constexpr std::array<std::array<int, 3>, 6> named = {
      {{220, 40, 40}, {40, 170, 60}, {50, 90, 230}, {235, 215, 50}, {150, 60, 190}, {245, 135, 30}}};
  constexpr int most = 36;  // by shade and noise, and a little of what is beside it
  for (size_t colour = 0; colour < named.size(); ++colour)
    if (std::ranges::equal(named[colour], std::span(pixel, 3),
                           [&](int expected, int found) { return std::abs(expected - found) <= most; }))
      return static_cast<Colour>(colour);
  return std::nullopt;
}

std::map<Colour, Spot> spots_of(const Image& image) {
  std::map<Colour, Spot> spots;
  for (int row = 0; row < picture_side; ++row)
    for (int column = 0; column < picture_side; ++column)
      if (const auto colour = colour_of(image.values.data() + (row * picture_side + column) * 3))
        spots[*colour].add(column, row);
  return spots;
}

/// The shape of a spot that nothing covers: the one that fills its box most alike.
Shape shape_of(const Spot& spot) {
  using Inside = bool (*)(double x, double y);  // from -1 to 1, y from top to bottom
  constexpr std::array<std::pair<Shape, Inside>, 4> shapes = {
      {{Shape::circle, [](double x, double y) { return x * x + y * y <= 1; }},
       {Shape::square, [](double, double) { return true; }},
       {Shape::triangle, [](double x, double y) { return std::abs(x) <= (y + 1) / 2; }},
       {Shape::cross, [](double x, double y) { return std::min(std::abs(x), std::abs(y)) <= 0.375; }}}};
  Shape best = Shape::circle;
  int least = picture_side * picture_side;
  for (const auto& [shape, inside] : shapes) {
    int wrong = 0;
    for (int row = spot.top; row <= spot.bottom; ++row)
      for (int column = spot.left; column <= spot.right; ++column) {
        const double x = (2 * column - spot.x()) / (spot.right - spot.left + 1.0);
        const double y = (2 * row - spot.y()) / (spot.bottom - spot.top + 1.0);
        wrong += inside(x, y) != spot.pixels.contains({column, row});
      }
    if (wrong < least) best = shape, least = wrong;
  }
  return best;
}

TEST(DemoImages, HasTheCountsAskedForAndOneSize) {
  EXPECT_EQ(pictures().train.size(), 3000u);
  EXPECT_EQ(pictures().valid.size(), 105u);
  EXPECT_EQ(pictures().test.size(), 422u);
  for (const CaptionedImage& picture : pictures().test) {
    EXPECT_EQ(picture.image.size, (ImageSize{picture_side, picture_side, 3}));
    EXPECT_EQ(std::ssize(picture.image.values), picture.image.size.values());
  }
}

/// Training has each colour, shape and relation in each place, but not the combinations that are held out.
TEST(DemoImages, HeldOutCombinationsAreNotInTraining) {
  const std::set<std::string> train = captions(pictures().train), valid = captions(pictures().valid),
                              test = captions(pictures().test);
  EXPECT_EQ(valid.size(), 105u);
  EXPECT_EQ(test.size(), 211u);
  EXPECT_EQ(train.size() + valid.size() + test.size(), all_scenes().size()) << "each scene is in one part";
  for (const std::string& caption : test) EXPECT_FALSE(train.contains(caption) || valid.contains(caption));
  for (const std::string& caption : valid) EXPECT_FALSE(train.contains(caption));
  std::set<Colour> first_colours, second_colours;
  std::set<Shape> first_shapes, second_shapes;
  std::set<Relation> relations;
  for (const auto& [scene, image] : pictures().train) {
    first_colours.insert(scene.first.colour), second_colours.insert(scene.second.colour);
    first_shapes.insert(scene.first.shape), second_shapes.insert(scene.second.shape);
    relations.insert(scene.relation);
  }
  EXPECT_EQ(first_colours.size() + second_colours.size(), 12u);
  EXPECT_EQ(first_shapes.size() + second_shapes.size() + relations.size(), 12u);
}

TEST(DemoImages, ScenesAreDifferentAndHaveDifferentCaptions) {
  const std::vector<Scene> scenes = all_scenes();
  EXPECT_EQ(scenes.size(), 2u * 24 * 24 + 2 * 24 * 20);
  std::set<std::string> different;
  for (const Scene& scene : scenes) different.insert(caption_of(scene));
  EXPECT_EQ(different.size(), scenes.size());
  EXPECT_EQ(caption_of({{Colour::red, Shape::circle}, Relation::left_of, {Colour::blue, Shape::square}}),
            "a red circle left of a blue square");
  EXPECT_EQ(
      caption_of({{Colour::orange, Shape::cross}, Relation::in_front_of, {Colour::green, Shape::triangle}}),
      "an orange cross in front of a green triangle");
}

/// What is found in the pixels alone is what the caption says. A shape of so few pixels is taken for another
/// now and then.
TEST(DemoImages, APictureShowsItsCaption) {
  int shapes = 0, mistaken = 0;
  for (const auto& [scene, image] : pictures().test) {
    SCOPED_TRACE(caption_of(scene));
    if (scene.first.colour == scene.second.colour) continue;
    const std::map<Colour, Spot> spots = spots_of(image);
    ASSERT_TRUE(spots.contains(scene.first.colour) && spots.contains(scene.second.colour));
    const Spot &first = spots.at(scene.first.colour), &second = spots.at(scene.second.colour);
    for (const auto& [colour, spot] : spots)  // a third colour is a mixture of two, at their edges
      EXPECT_LE(spot.size(), std::max(first.size(), second.size()));
    ++shapes, mistaken += shape_of(first) != scene.first.shape;
    const bool in_box = first.left > second.left && first.right < second.right && first.top > second.top &&
                        first.bottom < second.bottom;
    switch (scene.relation) {
      case Relation::left_of:
        EXPECT_LT(first.right, second.left);
        EXPECT_LE(std::abs(first.y() - second.y()), 2 * 6);
        break;
      case Relation::above:
        EXPECT_LT(first.bottom, second.top);
        EXPECT_LE(std::abs(first.x() - second.x()), 2 * 6);
        break;
      case Relation::inside:
        EXPECT_TRUE(in_box);
        EXPECT_GT(second.size(), 3 * first.size());
        break;
      case Relation::in_front_of:
        EXPECT_FALSE(in_box);
        EXPECT_LE(std::max(first.left - second.right, second.left - first.right), 2) << "they are apart";
        EXPECT_LE(std::max(first.top - second.bottom, second.top - first.bottom), 2) << "they are apart";
        break;
    }
    if (scene.relation != Relation::left_of && scene.relation != Relation::above) continue;
    ++shapes, mistaken += shape_of(second) != scene.second.shape;
  }
  EXPECT_GT(shapes, 500);
  EXPECT_LE(mistaken, shapes / 50);
}

TEST(DemoImages, IsAFunctionOfTheSeed) {
  const Pictures same = make_pictures({.train = 3000, .valid = 105, .test = 422});
  EXPECT_EQ(bytes(same.train), bytes(pictures().train));
  EXPECT_NE(bytes(make_pictures({.train = 1, .valid = 0, .test = 422, .seed = 2}).test),
            bytes(pictures().test));
  // On every machine: the pictures as they were when this test was written.
  EXPECT_EQ(hash_hex(bytes(pictures().train)), "859d46ba50d0fae795cfc75e352eb19f");
  EXPECT_EQ(hash_hex(bytes(pictures().test)), "23845b789547a7cd4ef09fbc5c12cf22");
}

TEST(DemoImages, HeldOutPicturesDoNotDependOnTheTrainingPictures) {
  const Pictures small = make_pictures({.train = 10, .valid = 105, .test = 422});
  EXPECT_EQ(bytes(small.test), bytes(pictures().test));
  EXPECT_EQ(bytes(small.valid), bytes(pictures().valid));
}

TEST(DemoImages, ImpossibleCountsAreRefused) {
  EXPECT_NE(error_message([] { make_pictures({.train = 0}); }).find("must be at least 1"), std::string::npos);
  EXPECT_NE(error_message([] { make_pictures({.test = -1}); }).find("can't be negative"), std::string::npos);
  EXPECT_NE(error_message([] { make_pictures({.train = max_pictures}); }).find("are too many"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold::demo
