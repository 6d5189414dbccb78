// Reading, cutting and changing images.
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "data/augment.h"
#include "data/patches.h"
#include "error_message.h"
#include "formats/idx.h"
#include "formats/idx_bytes.h"
#include "formats/image_file.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Values = std::vector<uint8_t>;

std::string png_bytes(const Values& values, unsigned width, unsigned height, png_uint_32 format) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = width, png.height = height, png.format = format;
  png_alloc_size_t size = 0;
  EXPECT_TRUE(png_image_write_get_memory_size(png, size, 0, values.data(), 0, nullptr));
  std::string bytes(size, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&png, bytes.data(), &size, 0, values.data(), 0, nullptr));
  bytes.resize(size);
  return bytes;
}

std::string jpeg_bytes(const Values& values, int width, int height, bool grey) {
  tjhandle handle = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(handle, values.data(), width, 0, height, grey ? TJPF_GRAY : TJPF_RGB, &data, &size,
                        grey ? TJSAMP_GRAY : TJSAMP_444, 100, 0),
            0);
  std::string bytes(reinterpret_cast<char*>(data), size);
  tjFree(data);
  tjDestroy(handle);
  return bytes;
}

std::string error_of(const std::string& bytes) {
  return error_message([&] { decode_image(bytes, "a.file"); });
}

TEST(Decode, ReadsPng) {
  const Values grey{0, 60, 120, 180, 240, 255};
  const Image image = decode_image(png_bytes(grey, 3, 2, PNG_FORMAT_GRAY), "a");
  EXPECT_EQ(image.size, (ImageSize{2, 3, 1}));
  EXPECT_EQ(image.values, grey);
  const Values colours{255, 0, 0, 0, 255, 0};
  EXPECT_EQ(decode_image(png_bytes(colours, 1, 2, PNG_FORMAT_RGB), "a").values, colours);
  // One grey pixel of 16 bits, 51 * 257, in a file that names no gamma.
  const std::string deep(
      "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x10\0\0\0\0j\xEEG\x16\0\0\0\vIDATx\x9C"
      "c06\6\0\0\x9C\0g)I\xCD\x95\0\0\0\0IEND\xAE"
      "B`\x82",
      68);
  EXPECT_EQ(decode_image(deep, "a").values, Values{51});
  const Values transparent{9, 9, 9, 0, 7, 8, 9, 255};
  EXPECT_EQ(decode_image(png_bytes(transparent, 2, 1, PNG_FORMAT_RGBA), "a").values,
            (Values{255, 255, 255, 7, 8, 9}));
}

TEST(Decode, ReadsJpeg) {
  const Values grey(64, 77);
  const Image image = decode_image(jpeg_bytes(grey, 8, 8, true), "a");
  EXPECT_EQ(image.size, (ImageSize{8, 8, 1}));
  for (const uint8_t value : image.values) EXPECT_NEAR(value, 77, 1);
  Values red;
  for (int i = 0; i < 64; ++i) red.insert(red.end(), {200, 10, 20});
  const Image colour = decode_image(jpeg_bytes(red, 8, 8, false), "a");
  EXPECT_EQ(colour.size, (ImageSize{8, 8, 3}));
  for (size_t i = 0; i < red.size(); ++i) EXPECT_NEAR(colour.values[i], red[i], 3);
}

TEST(Decode, ReadsNetpbmInEachForm) {
  const ImageSize size{1, 2, 1};
  EXPECT_EQ(decode_image(std::string("P5 2 1 255\n\x01\xFF"), "a").values, (Values{1, 255}));
  EXPECT_EQ(decode_image("P2\n# made by hand\n2 # two\n1\n15\n0 15\n", "a").values, (Values{0, 255}));
  EXPECT_EQ(decode_image("P2\n2 1 255\n7 9", "a").size, size);
  EXPECT_EQ(decode_image("P6 1 1 255\nabc", "a").values, (Values{'a', 'b', 'c'}));
  EXPECT_EQ(decode_image("P3 1 1 100 100 50 0", "a").values, (Values{255, 128, 0}));
  EXPECT_EQ(decode_image(std::string("P5 1 1 65535\n\xFF\xFF"), "a").values, (Values{255}));
}

TEST(Decode, RefusesWhatIsDamagedByName) {
  const std::string png = png_bytes(Values(64, 3), 8, 8, PNG_FORMAT_GRAY),
                    jpeg = jpeg_bytes(Values(64, 3), 8, 8, true);
  for (const size_t kept : {10, 30, 45})
    EXPECT_TRUE(error_of(png.substr(0, kept)).starts_with("a.file: is a damaged PNG"));
  EXPECT_TRUE(error_of(jpeg.substr(0, 20)).starts_with("a.file: is a damaged JPEG"));
  EXPECT_TRUE(error_of(jpeg.substr(0, jpeg.size() - 8)).starts_with("a.file: is a damaged JPEG"));
  EXPECT_TRUE(error_of("P5 2 2 255\nabc").starts_with("a.file: is a damaged PGM file: it is too short"));
  EXPECT_TRUE(error_of("P2 1 1 10 11").starts_with("a.file: is a damaged PGM file: a value is too large"));
  EXPECT_TRUE(error_of("P6 2").starts_with("a.file: is a damaged PPM file: its header"));
  EXPECT_TRUE(error_of("P5 0 4 255\n").starts_with("a.file: is 4 x 0 pixels"));
  EXPECT_TRUE(error_of("P5 99999 99999 255\n").starts_with("a.file: is a damaged PGM file: it is too short"));
  EXPECT_EQ(error_of("P5 16385 1 255\n" + std::string(16385, 'a')),
            "a.file: is 1 x 16385 pixels; an image may have 1 to 16384 in each direction: scale or cut it");
  EXPECT_EQ(decode_image("P5 1 16384 255\n" + std::string(16384, 'a'), "a").size.height, 16384);
  EXPECT_EQ(error_of(""), "a.file: is empty; expected a PNG, JPEG, PPM or PGM file");
  EXPECT_TRUE(error_of("GIF89a").starts_with("a.file: is not an image of a known format"));
}

TEST(Idx, ReadsImagesAndLabels) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "images", idx_bytes({2, 1, 3}, "abcdef"));
  write_file_atomically(folder / "labels", idx_bytes({2}, std::string("\x00\x09", 2)));
  write_file_atomically(folder / "colours", idx_bytes({1, 1, 1, 3}, "rgb"));
  IdxFile images(folder / "images"), labels(folder / "labels");
  Values values;
  EXPECT_EQ(images.size(), (ImageSize{1, 3, 1}));
  EXPECT_TRUE(images.next(values) && images.next(values));
  EXPECT_EQ(values, (Values{'d', 'e', 'f'}));
  EXPECT_FALSE(images.next(values));
  EXPECT_FALSE(labels.has_images());
  EXPECT_TRUE(labels.next(values) && labels.next(values));
  EXPECT_EQ(values, Values{9});
  EXPECT_EQ(IdxFile(folder / "colours").size(), (ImageSize{1, 1, 3}));
  EXPECT_TRUE(IdxFile::has_magic(folder / "images"));
  write_file_atomically(folder / "text", "a.png\n");
  EXPECT_FALSE(IdxFile::has_magic(folder / "text"));
}

TEST(Idx, RefusesWhatIsDamaged) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& bytes) {
    write_file_atomically(folder / "file", bytes);
    return error_message([&] {
      IdxFile file(folder / "file");
      Values values;
      while (file.next(values)) {
      }
    });
  };
  EXPECT_NE(message(idx_bytes({2}, "a")).find("is too short (after 1 of 2 items)"), std::string::npos);
  EXPECT_NE(message(idx_bytes({1}, "ab")).find("has more bytes than items"), std::string::npos);
  EXPECT_NE(message(idx_bytes({1, 2}, "ab")).find("has 2 dimensions"), std::string::npos);
  EXPECT_NE(message(idx_bytes({1, 0, 2}, "")).find("0 x 2 pixels"), std::string::npos);
  EXPECT_NE(message(idx_bytes({1, 1, 1, 2}, "ab")).find("have 2 channels"), std::string::npos);
  EXPECT_NE(message(std::string("\0\0\x0D\3", 4)).find("is not an IDX file of bytes"), std::string::npos);
  EXPECT_NE(message("").find("is too short"), std::string::npos);
}

TEST(Patches, AreCutInTheOrderOfReading) {
  Image image{.size = {3, 3, 1}, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(patches_of(image, 1, 1), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(patches_of(image, 2, 1), (std::vector<int32_t>{0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8}));
  EXPECT_EQ(patches_of(image, 2, 2, /*class_token=*/true), (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 3, 4}));
  image = {.size = {1, 2, 3}, .values = {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(patches_of(image, 1, 1), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Augment, ChangesNothingUnlessAsked) {
  const Image image{.size = {2, 2, 1}, .values = {1, 2, 3, 4}};
  RandomStream random(1, 1);
  EXPECT_EQ(augmented(image, {}, random).values, image.values);
}

TEST(Augment, FlipsHalfOfTheImages) {
  const Image image{.size = {1, 3, 1}, .values = {1, 2, 3}};
  int flipped = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    RandomStream random(i, 1);
    const Values values = augmented(image, {.flip = true}, random).values;
    EXPECT_TRUE(values == image.values || values == (Values{3, 2, 1}));
    flipped += values != image.values;
  }
  EXPECT_NEAR(flipped, 200, 40);
}

/// A single bright pixel arrives at each of the places that the shift allows, and nothing else appears.
TEST(Augment, ShiftsInEachDirection) {
  Image image{.size = {5, 5, 1}, .values = Values(25)};
  image.values[12] = 9;
  std::vector<int> places(25);
  for (uint64_t i = 0; i < 600; ++i) {
    RandomStream random(i, 1);
    const Values values = augmented(image, {.shift = 1}, random).values;
    for (size_t place = 0; place < 25; ++place) places[place] += values[place] == 9;
  }
  for (int place = 0; place < 25; ++place) {
    const bool near = std::abs(place / 5 - 2) <= 1 && std::abs(place % 5 - 2) <= 1;
    EXPECT_EQ(places[static_cast<size_t>(place)] > 20, near) << place;
  }
}

TEST(Augment, CutsOutASquare) {
  const Image image{.size = {6, 6, 1}, .values = Values(36, 1)};
  bool whole = false;
  for (uint64_t i = 0; i < 60; ++i) {
    RandomStream random(i, 1);
    const Values values = augmented(image, {.cut_out = 3}, random).values;
    const auto grey = std::count(values.begin(), values.end(), 128);
    EXPECT_TRUE(grey >= 4 && grey <= 9) << grey;
    whole |= grey == 9;
  }
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace sixfold
