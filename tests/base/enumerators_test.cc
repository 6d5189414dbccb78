#include "base/enumerators.h"

#include <gtest/gtest.h>

#include "base/options.h"
#include "error_message.h"

namespace sixfold {

enum class Season { spring, summer, autumn, winter };
enum class Planet { venus, earth, mars };

template <>
struct EnumNames<Season> {
  static constexpr std::pair<Season, std::string_view> names[] = {{Season::winter, "winter"},
                                                                  {Season::spring, "spring"},
                                                                  {Season::summer, "summer"},
                                                                  {Season::autumn, "autumn"}};
};

template <>
struct EnumNames<Planet> {
  static constexpr std::pair<Planet, std::string_view> names[] = {{Planet::venus, "venus"},
                                                                  {Planet::earth, "earth"}};
};

namespace {

TEST(Enumerators, AreCounted) {
  EXPECT_EQ(enumerator_count<Season>(), 4u);
  EXPECT_EQ(all_enumerators<Season>[3], Season::winter);
  EXPECT_TRUE(is_enumerator<Planet::mars>());
  EXPECT_FALSE(is_enumerator<static_cast<Planet>(3)>());
}

/// `name_of_enum` and the reading of options do not compile for an enum with an enumerator that has no name.
TEST(Enumerators, AreNamedOrRefused) {
  EXPECT_TRUE(all_are_named<Season>());
  EXPECT_FALSE(all_are_named<Planet>());
}

TEST(Enumerators, AValueThatIsNoneIsAnError) {
  const auto unknown = [](int value) {
    return error_message([&] { name_of_enum(static_cast<Season>(value)); });
  };
  EXPECT_EQ(unknown(7), "unknown enumerator 7; this should not happen, please report it");
}

}  // namespace
}  // namespace sixfold
