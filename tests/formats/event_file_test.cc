#include "formats/event_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"

namespace sixfold {
namespace {

/// What tests/goldens/make_event_file.py writes.
std::string write_events() {
  std::string bytes;
  EventFile events([&](std::string_view record) { bytes += record; }, 1700000000.25, "sixfold");
  events.add_scalar("train/loss", 100, 1700000010.5, 4.125);
  events.add_scalar("valid/bleu", 100, 1700000010.5, 0);
  events.add_scalar("train/loss", 200, 1700000020.5, std::nan(""));
  events.add_text("samples/1", 200, 1700000020.5, "output\n\n    Der alte Hund schläft.\n\n");
  events.restart(150, 1700000021.0);
  events.add_scalar("train/learning_rate", int64_t{1} << 40, 1700000030.0, 1e-5);
  return bytes;
}

TEST(EventFile, HasTheBytesOfTensorBoardsWriter) {
  EXPECT_EQ(write_events(), read_file(SIXFOLD_TEST_GOLDENS "/events.tfevents"));
}

TEST(EventFile, SaysWhoWroteIt) {
  const std::string bytes = write_events();
  EXPECT_EQ(writer_of_events(bytes), "sixfold");
  EXPECT_EQ(writer_of_events(""), "");
  EXPECT_EQ(writer_of_events("The old dog sleeps in the old garden."), "");
}

TEST(EventFile, RecordsThatAreNotWholeAreNone) {
  const std::string bytes = write_events();
  std::string_view rest = bytes;
  int records = 0;
  while (take_record(rest)) ++records;
  EXPECT_EQ(records, 7);
  EXPECT_TRUE(rest.empty());
  const size_t first = bytes.find("sixfold") + 7 + 4;  // the checksum follows
  for (size_t size = 0; size < first; ++size) {
    std::string_view part = std::string_view(bytes).substr(0, size);
    EXPECT_FALSE(take_record(part)) << size;
    EXPECT_EQ(part.size(), size);
  }
  for (size_t place = 0; place < first; ++place) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(changed[place] ^ 0x10);
    EXPECT_EQ(writer_of_events(changed), "") << place;
  }
}

TEST(EventFile, ChecksumsAreThoseOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
}

}  // namespace
}  // namespace sixfold
